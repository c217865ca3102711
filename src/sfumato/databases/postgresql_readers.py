"""Who may read a table or a view of PostgreSQL, or what its rows come from: the tables and views beneath it, and parts of these.

Who has a role may become it, whether its rights are inherited or not. Rows are read by way of parts of a table, and of what it is a part of, too. Of
what a view joins nobody knows here which table holds what is to be hidden, so that each counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.postgresql_reached import Asked
from sfumato.databases.table import TableName

_READERS = """
WITH RECURSIVE beneath AS (
    SELECT %(table)s::oid AS number
    UNION SELECT further.number FROM beneath, LATERAL (
        SELECT d.refobjid AS number FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
            JOIN pg_class c ON c.oid = w.ev_class AND c.relkind IN ('v', 'm')
            WHERE w.ev_class = beneath.number AND d.refclassid = 'pg_class'::regclass
        UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = beneath.number
    ) further
), above AS (
    SELECT number FROM beneath UNION SELECT inhparent FROM pg_inherits JOIN above ON inhrelid = number
), reading AS (
    SELECT r.oid, t.number FROM pg_roles r, above t
    WHERE has_table_privilege(r.oid, t.number, 'SELECT') OR has_any_column_privilege(r.oid, t.number, 'SELECT')
)
SELECT DISTINCT a.rolname::text, n.nspname::text, c.relname::text
FROM pg_roles a JOIN reading r ON pg_has_role(a.oid, r.oid, 'MEMBER')
JOIN pg_class c ON c.oid = r.number JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.rolname = ANY(%(roles)s)
"""


def readers(connection: Asked, table: TableName, roles: Sequence[str]) -> tuple[list[str], list[TableName]]:
    """Return those of some roles that may read what a table shows, and what they may read."""
    found = connection.facts(_READERS, {"roles": list(roles), "table": connection.number_of(table)})
    return sorted({role for role, *_ in found}), sorted({TableName(name, schema) for _, schema, name in found}, key=str)

"""Views of PostgreSQL, a source or beneath it, that look at tables with the rights of whoever reads them (``security_invoker``, from 15 on).

They do so wherever they are read from, so that a view of somebody else over one of them gives its readers no rights to what is beneath.
"""

from __future__ import annotations

from sfumato.databases.postgresql_reached import Asked
from sfumato.databases.table import TableName

# what a materialised view shows was read when it was refreshed
_INVOKERS = """
WITH RECURSIVE views AS (
    SELECT %(table)s::oid AS number
    UNION SELECT d.refobjid FROM views JOIN pg_class v ON v.oid = views.number AND v.relkind = 'v' JOIN pg_rewrite w ON w.ev_class = v.oid
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
)
SELECT n.nspname::text, c.relname::text FROM views JOIN pg_class c ON c.oid = views.number JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE EXISTS (SELECT FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_invoker' AND option_value::boolean) ORDER BY 1, 2
"""


def invokers(connection: Asked, table: TableName) -> list[TableName]:
    """Return these views."""
    return [TableName(name, schema) for schema, name in connection.facts(_INVOKERS, {"table": connection.number_of(table)})]

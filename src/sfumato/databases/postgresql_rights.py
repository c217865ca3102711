"""Who may do what with tables of PostgreSQL: all that others may, and tables that nobody but their owner may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sfumato.databases.failures import NO_SCHEMA
from sfumato.databases.needed_rights import OF_OWNERS, Need
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.table import TableName
from sfumato.errors import UsageError

# all rights that are given to anybody, as the transaction sees them: those that are given by default to a new table among them
_REVOKE = """
DO $sfumato$ DECLARE who text; BEGIN
    FOR who IN SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
        FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = {name}::regclass AND a.grantee <> c.relowner
    LOOP EXECUTE 'REVOKE ALL ON ' || {name}::regclass || ' FROM ' || who || ' CASCADE'; END LOOP;
END $sfumato$
"""
_GRANTS = """
SELECT CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END, g.privilege_type, g.is_grantable, g.attname FROM (
    SELECT a.*, NULL AS attname, c.relowner FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %(table)s
    UNION ALL SELECT a.*, t.attname, c.relowner FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
        WHERE c.oid = %(table)s AND NOT t.attisdropped
) g WHERE g.grantee <> g.relowner
"""

_OF_SCHEMA = "SELECT has_schema_privilege(oid, 'USAGE'), has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %(schema)s"
_OF_TABLE = """
SELECT has_table_privilege(c.oid, %(right)s) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s
"""

Facts = Callable[[str, Any], list[tuple[Any, ...]]]
"""What asks the catalogue."""


def missing_rights(facts: Facts, needs: Sequence[Need], server: str) -> list[Need]:
    """Return the rights that the user has not; those to a table that is not there are had by who makes it. A schema that is not there is an error."""
    return [missing for need in needs for missing in _missing(facts, need, server)]


def _missing(facts: Facts, need: Need, server: str) -> Iterator[Need]:
    names = {"schema": need.table.schema, "name": need.table.name, "right": need.right}
    if need.right in OF_OWNERS:
        return
    if need.right != "CREATE":
        if facts(_OF_TABLE, names) == [(False,)]:
            yield need
        return
    found = facts(_OF_SCHEMA, names)
    if not found:
        raise NO_SCHEMA.error(server, f"schema {need.table.schema}")
    ((may_use, may_create),) = found
    if not may_use:
        yield Need("USAGE", need.table)
    if not may_create:
        yield need


def grants_of(facts: Facts, number: int) -> list[list[Any]]:
    """Return what others than its owner may do with a table: who, what, whether they may pass it on, and with which column, if with one alone."""
    return [list(row) for row in facts(_GRANTS, {"table": number})]


def granting(table: TableName, grant: Sequence[Any]) -> str:
    """Return the statement that gives a right again."""
    who, privilege, grantable, column = grant
    what = privilege if column is None else f"{privilege} ({quoted_name(column)})"
    return f"GRANT {what} ON {quoted(table)} TO {grantee(who)}{' WITH GRANT OPTION' if grantable else ''}"


def grantee(name: str | None) -> str:
    """Return a role as a grant names it; none is everybody.

    >>> grantee(None), grantee("nurse")
    ('PUBLIC', '"nurse"')
    """
    return "PUBLIC" if name is None else quoted_name(name)


def kept_private(table: TableName) -> str:
    """Return the statement that takes all rights to a table from everybody but its owner."""
    return _REVOKE.format(name=_literal(quoted(table)))


def _literal(text: str) -> str:
    """Return a name as a text of SQL, within a block between dollar signs."""
    if "$sfumato$" in text:
        raise UsageError("the name of the schema or of the table ends a block of statements", code="database-name", hint="name it otherwise")
    return "'" + text.replace("'", "''") + "'"

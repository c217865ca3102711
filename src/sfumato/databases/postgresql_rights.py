"""Tables of PostgreSQL that nobody but their owner may read."""

from __future__ import annotations

from sfumato.databases.postgresql_types import quoted
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


def kept_private(table: TableName) -> str:
    """Return the statement that takes all rights to a table from everybody but its owner."""
    return _REVOKE.format(name=_literal(quoted(table)))


def _literal(text: str) -> str:
    """Return a name as a text of SQL, within a block between dollar signs."""
    if "$sfumato$" in text:
        raise UsageError("the name of the schema ends a block of statements", code="database-name", hint="name the schema otherwise")
    return "'" + text.replace("'", "''") + "'"

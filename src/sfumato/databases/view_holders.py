"""Who has been granted something on a view, beside its owner, as its server tells it."""

from __future__ import annotations

from typing import Any

from sfumato.databases.address import Kind
from sfumato.databases.mysql_readers import seen
from sfumato.databases.table import TableName

_POSTGRESQL = """
SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE coalesce(r.rolname::text, a.grantee::text) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, LATERAL (
    SELECT grantee FROM aclexplode(c.relacl)
    UNION SELECT o.grantee FROM pg_attribute t, LATERAL aclexplode(t.attacl) o WHERE t.attrelid = c.oid
) a LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE n.nspname = %s AND c.relname = %s AND a.grantee <> c.relowner ORDER BY 1
"""
_MYSQL = "SELECT User, Host FROM mysql.tables_priv WHERE Db = %s AND Table_name = %s ORDER BY User, Host"


def view_holders(connection: Any, kind: Kind, view: TableName) -> list[tuple[str, ...]] | None:
    """Return of each the names that a policy may have for it, the shortest first; None where this user may not know."""
    placed = connection.placed(view)
    place = [placed.schema, placed.name]
    if kind == "postgresql":
        return [(name,) for (name,) in connection.facts(_POSTGRESQL, place)]
    found = seen(connection, _MYSQL, place)
    return None if found is None else [_names(user, host) for user, host in found]


def _names(user: str, host: str) -> tuple[str, ...]:
    """Return what an account is called; roles have no host, and who names none means every host.

    >>> _names("nurse", ""), _names("ann", "%"), _names("ann", "10.0.0.%")
    (('nurse',), ('ann', 'ann@%'), ('ann@10.0.0.%',))
    """
    if host == "%":
        return user, f"{user}@%"
    return (f"{user}@{host}" if host else user,)

"""What a user of MySQL or MariaDB may do: the server prepares a statement, or refuses to without the right, and never does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.databases.failures import NO_RIGHT, NO_SCHEMA
from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import quoted
from sfumato.databases.needed_rights import Need
from sfumato.errors import SfumatoError

_ASKED: Mapping[str, str] = {
    "SELECT": "SELECT 1 FROM {} LIMIT 0",
    "INSERT": "INSERT INTO {} () VALUES ()",
    "UPDATE": "UPDATE {} SET state = NULL WHERE 1 = 0",
    "DELETE": "DELETE FROM {} WHERE 1 = 0",
    "CREATE": "CREATE TABLE {} (id INT)",
}
_SCHEMA = "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s"


def missing_rights(session: Session, needs: Sequence[Need]) -> list[Need]:
    """Return the rights that the user has not; a database that is not there, or is not shown to the user, is an error."""
    for schema in dict.fromkeys(need.table.schema for need in needs):
        if schema != session.staging and not session.facts(_SCHEMA, [schema]):
            raise NO_SCHEMA.error(session.shown, f"database {schema}")
    return [need for need in needs if not _may(session, need)]


def _may(session: Session, need: Need) -> bool:
    statement = _ASKED[need.right].format(quoted(need.table)).replace("\\", "\\\\").replace("'", "''")
    try:
        session.do(f"PREPARE sfumato_asked FROM '{statement}'")
    except SfumatoError as error:
        if error.code == "database-unreachable":
            raise
        # a table that is not there yet, or has other columns, is no question of rights
        return error.code != NO_RIGHT.code
    session.do("DEALLOCATE PREPARE sfumato_asked")
    return True

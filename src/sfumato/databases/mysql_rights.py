"""What a user of MySQL or MariaDB may do: the server prepares a statement, or refuses to without the right, and never does it.

Statements that change tables it prepares for everybody. They are asked for of a table that nobody has: without the right the server says so, and with
it that there is no such table.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfumato.databases.failures import NO_RIGHT, NO_SCHEMA, WHERE_RIGHTS_ARE
from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import quoted
from sfumato.databases.needed_rights import Need, granted
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError

_ASKED: Mapping[str, str] = {
    "SELECT": "SELECT 1 FROM {} LIMIT 0",
    "INSERT": "INSERT INTO {} () VALUES ()",
    "UPDATE": "UPDATE {} SET state = NULL WHERE 1 = 0",
    "DELETE": "DELETE FROM {} WHERE 1 = 0",
    "CREATE": "CREATE TABLE {} (id INT)",
    "CREATE TEMPORARY TABLES": "CREATE TEMPORARY TABLE {} (id INT)",
}
_ASKED_OF_NONE: Mapping[str, str] = {
    "ALTER": "ALTER TABLE {} ADD COLUMN id INT",
    "DROP": "DROP TABLE {}",
    "INDEX": "CREATE INDEX sfumato_asked ON {} (id)",
}
# a right to one table, which may not be there yet, says nothing of others in its database
_OF_TABLE = "SELECT 1 FROM information_schema.table_privileges WHERE table_schema = %s AND table_name = %s AND privilege_type = %s LIMIT 1"
_SEES_ALL = "SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'SHOW DATABASES' LIMIT 1"
_SCHEMA = "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s"


def missing_rights(session: Session, needs: Sequence[Need]) -> list[Need]:
    """Return the rights that the user has not; a database that is not there, or is not shown to the user, is an error."""
    for schema in dict.fromkeys(need.table.schema for need in needs):
        if schema != session.staging and not session.facts(_SCHEMA, [schema]):
            raise _not_shown(session, str(schema), [need for need in needs if need.table.schema == schema])
    return [need for need in needs if not _may(session, need)]


def _not_shown(session: Session, schema: str, needs: Sequence[Need]) -> SfumatoError:
    """Return what is said of a database that is not shown: who may see all of them knows that it is not there, others may lack every right to it."""
    if session.facts(_SEES_ALL, []):
        return NO_SCHEMA.error(session.shown, f"database {schema}")
    words = f"has no database {schema}, or gives this user no right to it"
    hint = f"{granted(needs, 'mysql')}; CREATE DATABASE first, where it is not there; {WHERE_RIGHTS_ARE}"
    return replace(NO_RIGHT, words=words, hint=hint).error(session.shown)


def _may(session: Session, need: Need) -> bool:
    if need.right in _ASKED_OF_NONE:
        nobody = TableName(f"sfumato_asked_{secrets.token_hex(8)}", need.table.schema)
        is_refused = _is_refused(session, _ASKED_OF_NONE[need.right].format(quoted(nobody)))
        return not is_refused or bool(session.facts(_OF_TABLE, [need.table.schema, need.table.name, need.right]))
    statement = _ASKED[need.right].format(quoted(need.table)).replace("\\", "\\\\").replace("'", "''")
    # what is prepared under the same name, or the end of the session, takes it away again
    return not _is_refused(session, f"PREPARE sfumato_asked FROM '{statement}'")


def _is_refused(session: Session, statement: str) -> bool:
    """Return whether the user has no right to something; a table that is not there yet, or has other columns, is no question of rights."""
    try:
        session.do(statement)
    except SfumatoError as error:
        if error.code == "database-unreachable":
            raise
        return error.code == NO_RIGHT.code
    return False

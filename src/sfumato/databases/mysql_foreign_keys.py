"""Foreign keys of tables that a user of MySQL or MariaDB has no right to: the catalogue does not show them, and the server heeds them all the same.

What is deleted or changed in the table that they refer to is deleted or changed in theirs too (``ON DELETE CASCADE``), and they follow a table that
is renamed. One statement tells of them and changes nothing: a table that has foreign keys, or to which some refer, is refused as a partition of
another for that reason, before it is refused because its columns are not those of the other.
"""

from __future__ import annotations

import secrets

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import quoted, quoted_name, text_of
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError

UNSEEN = "tables that this user cannot see"
"""Whose foreign keys they are, in words."""

REFERRED = (1217, 1451, 3730)
"""The errors with which a server refuses to drop a table to which foreign keys refer."""

TOO_DEEP = (3008, 6575)
"""The errors with which it refuses to follow them further: MySQL 9 goes to 30 tables, and counts rows that refer to others of their table as such."""

_BOUND = 1740
# other columns, other options such as the format of rows, another engine, partitions of its own: foreign keys would have been told first
_FREE = (1736, 1731, 1497, 1732)
_INDEXED = "SELECT DISTINCT column_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s AND column_name IS NOT NULL"
_ALL_READ = "SELECT grantee FROM information_schema.user_privileges WHERE privilege_type = 'SELECT'"


def is_bound(session: Session, table: TableName) -> bool | None:
    """Return whether a table has foreign keys or some refer to it, whoever may see them; None where the server does not tell this user."""
    other = session.staged_name(table)
    # a name that no table has: the statement must never be carried out
    column = quoted_name(f"sfumato_{secrets.token_hex(8)}")
    try:
        session.reserve(other, [])
        session.do(f"CREATE TABLE {quoted(other)} ({column} INT) ENGINE = InnoDB PARTITION BY HASH ({column}) PARTITIONS 1")
        found = session.refused_with(f"ALTER TABLE {quoted(other)} EXCHANGE PARTITION p0 WITH TABLE {quoted(table)}", (_BOUND, *_FREE))
        session.do(f"DROP TABLE {quoted(other)}")
    except SfumatoError as error:
        if error.code not in ("database-rights", "database-failed"):
            raise
        return None
    return found == _BOUND


def sees_all(session: Session) -> bool:
    """Return whether the catalogue shows this user all tables there are, because it may read them all."""
    name, _, host = session.user.rpartition("@")
    if any(text_of(value) == "ON" for _, value in session.facts("SHOW VARIABLES LIKE 'partial_revokes'", [])):
        return False
    return f"'{name}'@'{host}'" in {text_of(grantee) for (grantee,) in session.facts(_ALL_READ, [])}


def unseen_keys(session: Session, table: TableName, seen: bool) -> dict[str, list[str]]:
    """Return the columns to which foreign keys refer that the catalogue does not show, or may, by whose keys they are.

    These are all that have an index, for no others can be referred to. ``seen`` says whether the catalogue shows foreign keys of the table or to it:
    then the server does not say whether there are others.
    """
    bound = is_bound(session, table)
    if bound is False or ((seen or bound is None) and sees_all(session)):
        return {}
    whose = UNSEEN if bound and not seen else f"{UNSEEN}, if there are any,"
    return {whose: sorted(text_of(name) for (name,) in session.facts(_INDEXED, [table.schema, table.name]))}

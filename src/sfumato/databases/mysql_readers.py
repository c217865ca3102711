"""Who may read a table of MySQL or MariaDB: by rights to it, to its database or to all, of their own, of everybody's, or of roles that they have.

A role may be taken by whoever has it, whether it is taken for them when they come or not, and has the roles that it was granted itself. Accounts are
known by their names, wherever they come from: a role of a policy names no host mostly, and so stands for all of them. What a view reads counts as
the view does; of what it joins nobody knows here which table holds what is to be hidden.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_beneath import tables_beneath
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError

_PUBLIC = "PUBLIC"
# rights of nobody in particular to a database are those of everybody
_ANYBODY = ""
_OF_TABLE = "SELECT User FROM mysql.tables_priv WHERE Db = %s AND Table_name = %s AND FIND_IN_SET('Select', CONCAT(Table_priv, ',', Column_priv)) > 0"
_OF_DATABASE = "SELECT User FROM mysql.db WHERE %s LIKE Db AND Select_priv = 'Y'"
_OF_ALL = "SELECT User FROM mysql.user WHERE Select_priv = 'Y'"
_ROLES_OF_MARIADB = "SELECT User, Role FROM mysql.roles_mapping"
_ROLES_OF_MYSQL = "SELECT TO_USER, FROM_USER FROM mysql.role_edges"
_ROLES_OF_ANYBODY = "SELECT @@GLOBAL.mandatory_roles"


def readers(session: Session, table: TableName, roles: Sequence[str], is_mariadb: bool) -> tuple[list[str], list[TableName], list[str]]:
    """Return those of some roles that may read what a table shows, what they may read, and what the user of the run may not look up."""
    beneath, unknown = tables_beneath(session, table)
    named, read = set[str](), []
    for each in beneath:
        known = Readers(session, each, is_mariadb)
        found = {role for role in roles if known.may_read(role)}
        named |= found
        read += [each] if found else []
        unknown += known.unknown
    return [role for role in roles if role in named], read, list(dict.fromkeys(unknown))


class Readers:
    """Who may read a table, as far as the user of a run may know it."""

    def __init__(self, catalogue: Session, table: TableName, is_mariadb: bool) -> None:
        self._catalogue, self._everybody = catalogue, {_ANYBODY, *([_PUBLIC] if is_mariadb else [])}
        rights = (
            seen(catalogue, _OF_TABLE, [table.schema, table.name]),
            seen(catalogue, _OF_DATABASE, [table.schema]),
            seen(catalogue, _OF_ALL, []),
        )
        roles = seen(catalogue, _ROLES_OF_MARIADB if is_mariadb else _ROLES_OF_MYSQL, [])
        names = ("mysql.tables_priv", "mysql.db", "mysql.user", "mysql.roles_mapping" if is_mariadb else "mysql.role_edges")
        self.unknown = [name for name, found in zip(names, (*rights, roles), strict=True) if found is None]
        self._reading = {name for found in rights for (name,) in found or ()}
        self._roles = [(who, role) for who, role in roles or ()] + ([] if is_mariadb else self._of_anybody())

    def may_read(self, role: str) -> bool:
        """Return whether somebody who is called so may read the table."""
        has = {role, role.rpartition("@")[0], *self._everybody}
        while more := {taken for who, taken in self._roles if who in has} - has:
            has |= more
        return bool(has & self._reading)

    def _of_anybody(self) -> list[tuple[str, str]]:
        """Return the roles that MySQL lets everybody have."""
        ((roles,),) = self._catalogue.facts(_ROLES_OF_ANYBODY, [])
        return [(_ANYBODY, role.strip().partition("@")[0].strip("`'\"")) for role in text_of(roles or "").split(",") if role.strip()]


def seen(catalogue: Session, query: str, values: Sequence[str | None]) -> list[tuple[str, ...]] | None:
    """Return what the tables of rights say; None where this user may not read them."""
    try:
        return [tuple(text_of(part) for part in row) for row in catalogue.facts(query, values)]
    except SfumatoError as error:
        if error.code != "database-rights":
            raise
        return None

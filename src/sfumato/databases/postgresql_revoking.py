"""Rights to a table of PostgreSQL that are taken away from everybody but its owner, and from those too to whom others passed them on.

A right is revoked by who gave it, and the server chooses in whose name it revokes: it takes the user's own, where that has grant options for all that
is named, before that of the owner. Nor does ``CASCADE`` reach what somebody passed on who could still do so, by a role that they have. So the owner's
grants are revoked in the name of the owner, and what is left then in the names of those who gave it.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_rights import grantee, grants_of
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import DataError, SfumatoError

# as the transaction sees them, in which some are revoked already
_RIGHTS = """
SELECT pg_get_userbyid(g.grantor)::text, CASE WHEN g.grantee <> 0 THEN pg_get_userbyid(g.grantee)::text END, g.privilege_type::text, g.attname::text
FROM (
    SELECT a.*, NULL::name AS attname, c.relowner FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = {table}
    UNION ALL SELECT a.*, t.attname, c.relowner FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
        WHERE c.oid = {table} AND NOT t.attisdropped
) g WHERE g.grantee <> g.relowner ORDER BY 1, 2, 3, 4
"""
_OWNER = """
SELECT o.rolname, has_schema_privilege(o.oid, c.relnamespace, 'USAGE')
    AND pg_has_role(o.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner WHERE c.oid = %s
"""
_TEXTS = [TableColumn(name, "text", pa.string()) for name in ("grantor", "grantee", "privilege", "column")]
Right = tuple[str, str | None, str, str | None]


class Revoking:
    """A table, and how rights to it are taken away within the transaction."""

    def __init__(self, connection: PostgresqlConnection, table: TableName) -> None:
        self._connection, self._table = connection, table
        self._number = connection.number_of(table)
        ((self._ourselves,),) = connection.facts("SELECT current_user", [])
        ((self._owner, self._can_be_owner),) = connection.facts(_OWNER, [self._number])

    def revoke(self) -> list[list[Any]]:
        """Revoke what others may do, on the table and on columns, and return what that was.

        Whoever gives or takes rights waits for nobody. What is revoked here nobody else can change any more before the end of the transaction: so the
        catalogue, which does not know of it yet, is asked until it says nothing new. What the user has is left, unless some of it was passed on.
        """
        revoked: set[str | None] = set()
        while True:
            grantors = {grantor for grantor, *_ in self._connection.facts(_RIGHTS.format(table=self._number), [])}
            left = set() if self._ourselves in grantors - {self._owner} else {self._ourselves}
            found = [grant for grant in grants_of(self._connection.facts, self._number) if grant[0] not in left]
            new = {grant[0] for grant in found} - revoked
            if not new:
                break
            for who in new:
                self._in_the_name_of(self._owner if self._can_be_owner else None, f"REVOKE ALL ON {quoted(self._table)} FROM {grantee(who)} CASCADE")
            revoked |= new
            self._revoke_passed_on()
        if revoked and (kept := self._of_others()):
            raise self._kept(sorted({grantor for grantor, *_ in kept}))
        return found

    def _revoke_passed_on(self) -> None:
        """Revoke what is left in the names of those who gave it, who must have a grant option of their own to be taken for those who revoke."""
        for grantor, who, privilege, column in self._of_others():
            if grantor == self._owner:
                continue
            right = f"{privilege} ({quoted_name(column)})" if column is not None else privilege
            owner = self._owner if self._can_be_owner else None
            try:
                self._in_the_name_of(owner, f"GRANT {right} ON {quoted(self._table)} TO {quoted_name(grantor)} WITH GRANT OPTION")
                self._in_the_name_of(grantor, f"REVOKE {right} ON {quoted(self._table)} FROM {grantee(who)} CASCADE")
            except SfumatoError as error:
                if error.code != "database-rights":
                    raise
                raise self._kept([grantor]) from None
            self._in_the_name_of(owner, f"REVOKE ALL ON {quoted(self._table)} FROM {quoted_name(grantor)} CASCADE")

    def _of_others(self) -> list[Right]:
        """Return what others than the user and the owner may do, as this transaction sees it."""
        return [right for right in self._rights() if right[1] != self._ourselves]

    def _rights(self) -> list[Right]:
        batches = self._connection.select(_RIGHTS.format(table=self._number), _TEXTS)
        return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]

    def _in_the_name_of(self, role: str | None, statement: str) -> None:
        """Do something as a role, if one is named, and then be the user again."""
        if role is None:
            self._connection.do(statement)
            return
        for each in (f"SET LOCAL ROLE {quoted_name(role)}", statement, "RESET ROLE"):
            self._connection.do(each)

    def _kept(self, grantors: list[str]) -> DataError:
        return DataError(
            f"others may read {self._table}, by rights that {', '.join(grantors)} gave them, and that this user cannot take away",
            code="in-place-shown",
            hint="REVOKE ... in the name of who gave them, see that nothing such as an event trigger gives them again, and run again",
        )

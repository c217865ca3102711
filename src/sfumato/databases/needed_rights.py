"""What the user of a run must be allowed to do, asked for before anything is done: what is missing is told at once, and not half-way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from sfumato.databases.address import Kind
from sfumato.databases.failures import NO_RIGHT, WHERE_RIGHTS_ARE
from sfumato.databases.private_names import is_staged
from sfumato.databases.table import TableName

Right = Literal["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "USAGE", "ALTER", "DROP", "INDEX", "CREATE TEMPORARY TABLES"]
OF_OWNERS: frozenset[Right] = frozenset({"ALTER", "DROP", "INDEX", "CREATE TEMPORARY TABLES"})
"""Rights of MySQL and MariaDB to what elsewhere is its owner's to do, where who makes a table may do it."""


class Need(NamedTuple):
    """A right to a table, with its schema; those of owners, and that to create a table of the name, are rights to the schema."""

    right: Right
    table: TableName

    def granted(self, kind: Kind) -> str:
        r"""Return what somebody would grant.

        >>> Need("DELETE", TableName("visits", "ward")).granted("mysql"), Need("CREATE", TableName("a", "my_ward")).granted("mysql")
        ('GRANT DELETE ON ward.visits', 'GRANT CREATE ON `my\\_ward`.*')
        >>> Need("CREATE", TableName("a", "ward")).granted("postgresql")
        'GRANT CREATE ON SCHEMA ward'
        """
        if not self._is_of_schema:
            return f"GRANT {self.right} ON {self.table}"
        # in the name of a database it stands for any character there
        whole = "`" + str(self.table.schema).replace("_", "\\_") + "`.*"
        return f"GRANT {self.right} ON {whole if kind == 'mysql' else f'SCHEMA {self.table.schema}'}"

    def __str__(self) -> str:
        """Return it as people say it."""
        return f"{self.right} {f'in {self.table.schema}' if self._is_of_schema else f'on {self.table}'}"

    @property
    def _is_of_schema(self) -> bool:
        # what is staged has a name that nobody could grant anything on
        return self.right in ("CREATE", "USAGE") or self.right in OF_OWNERS or is_staged(self.table.name)


def refuse_missing(server: str, kind: Kind, missing: Sequence[Need]) -> None:
    """Refuse to begin where rights are missing, and name them all."""
    if missing:
        told = ", ".join(dict.fromkeys(map(str, missing)))
        raise replace(NO_RIGHT, hint=f"{granted(missing, kind)}; {WHERE_RIGHTS_ARE}").error(server, f"no {told}")


def granted(needs: Sequence[Need], kind: Kind) -> str:
    """Return what somebody would grant, each once."""
    return "; ".join(dict.fromkeys(need.granted(kind) for need in needs))

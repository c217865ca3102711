"""Tables of databases: their names, and what their columns hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from sfumato.core.nested_types import unreadable


@dataclass(frozen=True)
class TableName:
    """A table and the schema it is in; none: the one in which the database looks first."""

    name: str
    schema: str | None = None

    def __str__(self) -> str:
        """Return it as people write it."""
        return self.written(str)

    def written(self, quoted: Callable[[str], str]) -> str:
        """Return it with both names quoted."""
        return f"{quoted(self.schema)}.{quoted(self.name)}" if self.schema else quoted(self.name)


@dataclass(frozen=True)
class ForeignKey:
    """Columns of a table whose values are those of columns of another one, or of the same; the table that is referred to has its schema.

    ``by_period`` says that the last of them is a time that must lie within those there, and need not be one of them.
    """

    columns: tuple[str, ...]
    table: TableName
    referred: tuple[str, ...]
    by_period: bool = False


OnDelete = Literal["refused", "held", "deleted", "emptied"]
"""What a foreign key does when rows are deleted to which others refer: it refuses that, at once or at the end of the statement; or the others go too;
or they get another value in its columns."""


@dataclass(frozen=True)
class Referring:
    """Columns of a table by which its rows refer to rows of another one, or of the same, and what becomes of them when those are deleted.

    ``collations`` are those by which the server compares the columns, as SQL writes them, where it has to be told; ``spares_heirs`` says that rows of
    tables which inherit from the first are not meant, ``to_itself`` the same of the second; ``by_period`` is as of a foreign key.
    """

    table: TableName
    columns: tuple[str, ...]
    to: TableName
    referred: tuple[str, ...]
    on_delete: OnDelete
    collations: tuple[str | None, ...] = ()
    spares_heirs: bool = False
    to_itself: bool = False
    by_period: bool = False


@dataclass(frozen=True)
class TableColumn:
    """A column: its name, the type as the server calls it, and how its values are read. ``kind`` is none where nobody knows the type.

    ``as_text`` says that the server writes them as text, because its own form is not one of Arrow's, ``padded`` that it fills them with blanks
    which mean nothing there and are not read.
    """

    name: str
    called: str
    kind: pa.DataType | None
    as_text: bool = False
    padded: bool = False

    @property
    def field(self) -> pa.Field:
        """The column as a source describes it."""
        return pa.field(self.name, self.kind) if self.kind is not None else unreadable(self.name, f"values of type {self.called}")

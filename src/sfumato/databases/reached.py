"""Tables that a deletion reaches: partitions and tables that inherit have rows of another, and a view has those of what is beneath it."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.databases.table import TableName


@dataclass(frozen=True)
class Reached:
    """A table of which rows are deleted by a statement that names a table or a view.

    ``alike`` says that its columns have the names that they have there, as those of partitions have, and those beneath a view need not. ``in_part``
    says that the statement reaches it by way of the table that it is a part of, so that only what looks at single rows of it is told.
    """

    table: TableName
    alike: bool = True
    in_part: bool = False

"""What the catalogue says of a table whose rows shall be changed where they are: what must stay so, and what would be in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.databases.unique_index import UniqueIndex


@dataclass(frozen=True)
class Standing:
    """A table as the server knows it, beside its columns and their types.

    ``hanging`` is what makes any change of rows fail, or be seen or kept elsewhere, in words; ``referring`` has the columns to which foreign keys
    refer, by the tables that have these; ``touched`` are columns that the server itself changes with every row; ``numbered`` those to which it lets
    nobody give a value; ``whole`` the own foreign keys of which all columns are missing or none.
    """

    key: Sequence[str]
    required: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    unique: Sequence[UniqueIndex] = ()
    foreign: frozenset[str] = frozenset()
    referring: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hanging: Sequence[str] = ()
    numbered: frozenset[str] = frozenset()
    whole: Sequence[tuple[str, ...]] = ()

    @property
    def referred(self) -> frozenset[str]:
        """The columns to which foreign keys refer."""
        return frozenset(name for names in self.referring.values() for name in names)

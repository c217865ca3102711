"""A unique index as the server compares by it: what it is made of, what equals what, and for which rows it holds.

Rows are masked some at a time, so that new values stand beside old ones for a while. What two rows must not have in common is not the columns of an
index: it may look at the beginning of a text or at an expression, at some rows only, by rules of its own for what is equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

# which of so many parts are missing is asked for by a query each, which joins by the others; of further parts within these
_TOLD_APART = 5


@dataclass(frozen=True)
class Part:
    """What an index has of a row, in SQL of the table's own columns; ``same`` says of two of them whether they are equal."""

    value: str
    same: str = "{} = {}"


@dataclass(frozen=True)
class UniqueIndex:
    """An index in which each combination may be there once; ``columns`` are those on which it hangs.

    ``condition`` says for which rows it holds. Values that are missing differ from all others, unless they are alike. ``apart`` follows a query whose
    values shall be computed once for each row, and not for each pair.
    """

    name: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    condition: str | None = None
    missing_alike: bool = False
    apart: str = ""

    def collisions(self, new: str, old: str, key: Sequence[str]) -> Iterator[str]:
        """Yield queries for the number of rows of one table that have what another row of the other has; ``key`` tells rows apart.

        >>> list(UniqueIndex("once", ("a",), (Part("a"),)).collisions("n", "o", ["id"]))
        ['SELECT COUNT(*) FROM (SELECT id AS k0, a AS p0 FROM n) w JOIN (SELECT id AS k0, a AS p0 FROM o) s ON w.p0 = s.p0 WHERE NOT (w.k0 = s.k0)']
        """
        names = [*(f"{name} AS k{place}" for place, name in enumerate(key)), *(f"{part.value} AS p{place}" for place, part in enumerate(self.parts))]
        where = f" WHERE {self.condition}" if self.condition is not None else ""
        rows = [f"(SELECT {', '.join(names)} FROM {table}{where}{self.apart}) {alias}" for table, alias in ((new, "w"), (old, "s"))]
        itself = " AND ".join(f"w.k{place} = s.k{place}" for place in range(len(key)))
        for same in self._conditions():
            yield f"SELECT COUNT(*) FROM {' JOIN '.join(rows)} ON {same} WHERE NOT ({itself})"

    def _conditions(self) -> Iterator[str]:
        """Yield the conditions of which one holds where two rows have the same: a server joins by what is equal, and not by what may be missing."""
        pairs = [(f"w.p{place}", f"s.p{place}", part) for place, part in enumerate(self.parts)]
        equal = [part.same.format(one, other) for one, other, part in pairs]
        if not self.missing_alike:
            yield " AND ".join(equal)
            return
        missing = [f"({one} IS NULL AND {other} IS NULL)" for one, other, _ in pairs]
        either = [f"({one} OR {other})" for one, other in zip(equal, missing, strict=True)][_TOLD_APART:]
        for chosen in product(*zip(equal[:_TOLD_APART], missing[:_TOLD_APART], strict=True)):
            yield " AND ".join([*chosen, *either])

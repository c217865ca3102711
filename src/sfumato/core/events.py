"""Events: the words of streams in which each record is decided at once, by itself: somebody shows an attribute at a time.

Nothing waits. A record leaves with its attribute, with a more general one, or not at all, and what was decided is never taken back. All times are
those of the stream, in microseconds since 1970, never the clock's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy

SUPPRESSED, LATE = -1, -2
"""What stands in place of a level where a record is not published: too few people share it, or it came after its window."""


@dataclass(frozen=True, eq=False)
class Events:
    """Records in the order in which they came. ``people`` has a number for each person, the same whenever they come.

    ``attributes`` is what each shows, as the search that reads them says: texts of paths (Arrow), leaf codes of a ladder (whole numbers), or latitude
    and longitude (two columns of numbers); what is missing, unknown or no place is never published. ``opted_out`` are records of people in whose
    name nothing may be made up.
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.int64]
    people: NDArray[np.int64]
    attributes: pa.Array | NDArray[Any]
    opted_out: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int, end: int) -> Events:
        """Return the records from one place up to, but without, another."""
        opted_out = None if self.opted_out is None else self.opted_out[start:end]
        return Events(self.numbers[start:end], self.times[start:end], self.people[start:end], self.attributes[start:end], opted_out)


@dataclass(frozen=True, eq=False)
class EventDecisions:
    """What becomes of some records, and what leaves in which order.

    ``levels`` says by how many steps the attribute of each record is generalised: 0 is as it came, ``SUPPRESSED`` and ``LATE`` are not published.
    ``published`` has for each column of the attribute the text that stands in it, null where the record is not published. ``thresholds`` is how many
    people were asked for; it is private, like everything here but what leaves.

    What leaves is in ``places``, ``shown`` and ``is_fake``, side by side and in order: the place of a record among these, the person whose number
    it is published under, and whether that person is another one than the record's, who never showed the attribute.
    """

    numbers: NDArray[np.int64]
    levels: NDArray[np.int8]
    thresholds: NDArray[np.int64]
    published: Mapping[str, pa.Array]
    places: NDArray[np.int64]
    shown: NDArray[np.int64]
    is_fake: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class EventMeasures:
    """How a stream of events is doing: counts since the beginning, and the measures of what is in the window now.

    ``p_kanon`` is the share of people with something published whose set of published attributes is that of at least ``k`` people: a measure, no
    promise. ``silent`` people, of whom nothing is published, are in neither of its terms. Entropies are those of the sets of attributes that people
    show, in bits, before and after; fakes count for ``p_kanon``, which is what an attacker sees, and not for the entropy. The one after may be the
    larger: an attribute that left now as itself and now as its category tells people apart who showed the same, and silent people, who may all be
    alike, are not in it. What cannot be told, as there is nobody, is NaN.
    """

    z: int
    k: int
    records: int
    by_level: Mapping[int, int]
    suppressed: int
    late: int
    fakes: int
    people: int
    silent: int
    p_kanon: float
    entropy_before: float
    entropy_after: float

    @property
    def residual_information(self) -> float:
        """The entropy after as a share of that before."""
        return self.entropy_after / self.entropy_before if self.entropy_before else float("nan")

    def shares(self) -> dict[int, float]:
        """Return the share of all records that left at each level."""
        return {level: number / self.records for level, number in self.by_level.items()} if self.records else {}


class EventSession(Protocol):
    """A stream of events that is being anonymised. The same state, records and chance give the same decisions."""

    @property
    def held(self) -> int:
        """How many records wait in it: none."""
        ...

    def push(self, events: Events) -> EventDecisions:
        """Take further records and decide of each."""
        ...

    def opt_out(self, people: NDArray[np.int64]) -> None:
        """Never make anything up in the name of some people."""
        ...

    def people(self) -> NDArray[np.int64]:
        """Return the numbers of the people in the window, in order: in the name of nobody else can anything be published."""
        ...

    def measured(self) -> EventMeasures:
        """Return how the stream is doing."""
        ...

    def snapshot(self) -> bytes:
        """Return the state; it is secret."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        ...


@runtime_checkable
class EventSearch(Protocol):
    """Decides of each record of a stream at once. A search over clusters has a ``start`` too, and no columns of an attribute."""

    @property
    def attribute_columns(self) -> tuple[str, ...]:
        """The columns that together are the attribute, in the order in which events have them."""
        ...

    def start(self, ladder: Hierarchy | None = None) -> EventSession:
        """Begin a session; ``ladder`` is that of the attribute's column, where the search says that it needs one."""
        ...


@dataclass(frozen=True)
class Breach:
    """A record that should not have left as it did. Names records by number and says counts, never values."""

    number: int
    what: str
    found: int = field(default=0)
    asked: int = field(default=0)

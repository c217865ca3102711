"""Streams: the words that windows, clusters, events and the engine share: what has come, what was decided of it, what became of each record.

A record has a number: its place in the stream, from 0, which no other record ever gets. Whatever is decided is decided of numbers; the rows
themselves wait with the engine. All state is in sessions that can be written down and taken up elsewhere, and all chance comes from
``core.chance``, so that the same records under the same secret give the same bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes

if TYPE_CHECKING:
    from sfumato.core.grown_ladder import GrownLadder
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.interfaces import Promise


@dataclass(frozen=True, eq=False)
class Points:
    """Records as searches over clusters see them: every quasi-identifier is a coordinate.

    ``coordinates`` has one row a record and one column a quasi-identifier: where the column is ordered its place on the line of its type (a number,
    days or microseconds since 1970), elsewhere the leaf code of its ladder; NaN is a missing value, or one that a ladder does not know.
    ``sensitive`` has the codes of each sensitive column that a promise looks at, ``people`` a number for each person, the same whenever they come.
    """

    numbers: NDArray[np.int64]
    coordinates: NDArray[np.float64]
    people: NDArray[np.int64]
    sensitive: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def taken(self, places: NDArray[Any]) -> Points:
        """Return some of the records."""
        sensitive = {name: codes[places] for name, codes in self.sensitive.items()}
        return Points(self.numbers[places], self.coordinates[places], self.people[places], sensitive)

    def after(self, earlier: Points) -> Points:
        """Return these records behind earlier ones."""
        return Points(
            np.concatenate([earlier.numbers, self.numbers]),
            np.concatenate([earlier.coordinates, self.coordinates]),
            np.concatenate([earlier.people, self.people]),
            {name: np.concatenate([earlier.sensitive[name], codes]) for name, codes in self.sensitive.items()},
        )

    def classes(self, cluster_of: NDArray[np.int32], number: int, references: Mapping[str, NDArray[np.int64]], problem: StreamProblem) -> Classes:
        """Return clusters as promises see them; ``cluster_of`` has the cluster of each record, -1 where it is in none."""
        kept = np.flatnonzero(cluster_of >= 0)
        return Classes(
            number=number,
            class_of=cluster_of[kept].astype(np.int32),
            counts=np.ones(len(kept), np.int64),
            sensitive={name: codes[kept] for name, codes in self.sensitive.items()},
            subject=self.people[kept],
            references=references,
            ladders=problem.sensitive_ladders,
        )


@dataclass(frozen=True, eq=False)
class StreamProblem:
    """What a search over a stream is asked: the scales of the quasi-identifiers, the promises, how much each column matters.

    ``ladders`` has one entry a quasi-identifier, None where the column is ordered. ``ranges`` are the smallest and the largest coordinate that an
    ordered column may have, where the policy says so; NaN where it does not, and then it is what has been seen. ``sensitive_ladders`` are those of
    the sensitive columns whose codes are leaf codes.
    """

    names: Sequence[str]
    ladders: Sequence[Hierarchy | None]
    promises: Sequence[Promise]
    weights: Sequence[float]
    ranges: NDArray[np.float64]
    sensitive_ladders: Mapping[str, Hierarchy] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Clusters:
    """What was decided of some records: the cluster of each, the box that each cluster publishes, and who is left out.

    ``numbers`` and ``cluster_of`` run side by side. ``lows`` and ``highs`` have one row a cluster and one column a quasi-identifier: the coordinates
    of the smallest and the largest member; both NaN where all are missing, and minus and plus infinity where missing ones are mixed with others or
    the column is published as its root. ``identities`` are private numbers that no two clusters of a stream share, but for those that are used
    again; a search over windows numbers those of one window from 0. ``references`` is what t-closeness and its like were tested against, over all
    that a cluster has held so far where it is used again. What is ``suppressed`` is never published. ``centres``, where there are some, has what a
    cluster publishes in place of its interval in an ordered column; NaN where the box is published. ``decided`` has for each of ``numbers`` that of
    the record with which it was decided, where a search says so; otherwise it was with the last that came.
    """

    numbers: NDArray[np.int64]
    cluster_of: NDArray[np.int32]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    identities: NDArray[np.int64]
    references: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    suppressed: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    centres: NDArray[np.float64] | None = None
    decided: NDArray[np.int64] | None = None

    @classmethod
    def none(cls, columns: int) -> Clusters:
        """Return no decision."""
        boxes = np.empty((0, columns), np.float64)
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), boxes, boxes, np.empty(0, np.int64))


@runtime_checkable
class WindowSearch(Protocol):
    """A search over one window at a time, which knows nothing of others."""

    def cluster(self, points: Points, problem: StreamProblem) -> Clusters | None:
        """Return clusters that keep every promise and hold every record; None where no clusters do, and the window must wait or be left out."""
        ...


class ClusterSession(Protocol):
    """A search that keeps records of its own until they can be published."""

    @property
    def held(self) -> int:
        """How many records wait in it."""
        ...

    def push(self, points: Points) -> Clusters:
        """Take further records and return what can be published now."""
        ...

    def flush(self) -> Clusters:
        """Return what can still be published at the end; nobody waits afterwards."""
        ...

    def snapshot(self) -> bytes:
        """Return the state."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        ...


@runtime_checkable
class GrowingSession(Protocol):
    """A session over clusters whose ladders may grow by values that come later."""

    def standing(self, column: int) -> NDArray[np.int64]:
        """Return the leaves of a column that a record or a box of it stands on."""
        ...

    def regrown(self, problem: StreamProblem, grown: Mapping[int, GrownLadder]) -> ClusterSession:
        """Return a session that goes on from here with larger ladders, by the number of their column; this one stays as it is."""
        ...


@runtime_checkable
class ClusterSearch(Protocol):
    """A search over a stream that needs no windows."""

    def start(self, problem: StreamProblem) -> ClusterSession:
        """Begin a session."""
        ...


@runtime_checkable
class HastySearch(Protocol):
    """A search that lets no record wait for longer than it says."""

    def too_short(self, k: int) -> str | None:
        """Return why k people could never leave together; None where they could."""
        ...


@dataclass(frozen=True)
class Accounts:
    """What became of the records of a view: each is counted once.

    >>> (Accounts(released=3, held=1) + Accounts(released=2, held=-1)).as_mapping()
    {'released': 5, 'aggregated': 0, 'suppressed': 0, 'late': 0, 'dead': 0, 'held': 0}
    """

    released: int = 0
    aggregated: int = 0
    suppressed: int = 0
    late: int = 0
    dead: int = 0
    held: int = 0

    def __add__(self, other: Accounts) -> Accounts:
        return Accounts(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    @property
    def records(self) -> int:
        """How many records have come."""
        return sum(self.as_mapping().values())

    def as_mapping(self) -> dict[str, int]:
        """Return the numbers by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

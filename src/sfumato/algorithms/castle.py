"""CASTLE: records of a stream wait in clusters, and leave when their cluster keeps the promises, or one that was published before can take them in.

Cao, Carminati, Ferrari, Tan, "CASTLE: continuously anonymizing data streams" (2011). Here people are counted, not records. A cluster keeps every
promise when it is published, is merged and is split, t-closeness against the latest records; one that is used again is tested with all it has held
and the record that joins. What the paper publishes alone, with its sensitive value, is left out here, or waits for others who fit nowhere.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from sfumato.algorithms._castle_plain import PlainCastle
from sfumato.algorithms._castle_rules import Rules, columns_of
from sfumato.algorithms._points import are_known, fewest
from sfumato.core.settings import Settings
from sfumato.core.stream import ClusterSession, StreamProblem


class Castle(Settings):
    """Clusters of a stream, without windows: a record leaves at the latest when ``delta`` others have come after it.

    Needs the promise k_anonymity: its k is how many people a cluster is split by. A cluster of twice as many people is split around people taken by
    chance, with a sensitive promise by shares of its values, rounded up.

    Guarantee: every published cluster keeps every promise, one that is used again over all records that it has held; with ``outliers: suppress`` no
    record waits for more than ``delta`` others, with ``wait`` those who fit nowhere may, and at the beginning as many records wait for each other as
    ``stream: {learn: ...}`` says. A record that is left out as it comes, for an unknown value, is none of these others. Cost: for each
    record about beta x columns, and when it is published the people of its cluster / k x columns; some 500,000 records a second.
    Does not protect a person who is seen again and again: the boxes of several clusters can be intersected.
    """

    delta: Annotated[
        int,
        Field(
            ge=1,
            description="how many records may come after one before it must leave; the first wait until `learn` have come, also where that is longer",
        ),
    ] = 10_000
    beta: Annotated[int, Field(ge=1, description="the most clusters that records wait in")] = 50
    mu: Annotated[int, Field(ge=1, description="how many of the last published clusters say what loss is usual: up to that a cluster may grow")] = 100
    reusable: Annotated[
        int, Field(ge=0, description="how many published clusters of less than the usual loss are kept, for records that lie within them")
    ] = 64
    outliers: Annotated[
        Literal["suppress", "wait"],
        Field(
            description="suppress: who fits nowhere is left out; wait: in a cluster that publishes every column as its root, beyond delta if need be"
        ),
    ] = "suppress"
    horizon: Annotated[
        int | None, Field(ge=1, description="how many of the latest records t-closeness compares a cluster with; delta where it is not given")
    ] = None

    def start(self, problem: StreamProblem) -> ClusterSession:
        """Begin a session."""
        if not are_known(problem.promises):
            return PlainCastle(self.rules(problem), problem)
        from sfumato.algorithms._castle_session import CompiledCastle

        return CompiledCastle(self.rules(problem), problem)

    def too_short(self, k: int) -> str | None:
        """Return why no cluster of k people could ever leave; None where one could.

        >>> Castle(delta=3).too_short(5), Castle(delta=3).too_short(4), Castle(delta=3, outliers="wait").too_short(5)
        ('delta: 3 lets each record wait for 3 others, and 5 people are never together', None, None)
        """
        if self.outliers == "wait" or self.delta + 1 >= k:
            return None
        return f"delta: {self.delta} lets each record wait for {self.delta} others, and {k} people are never together"

    def rules(self, problem: StreamProblem) -> Rules:
        """Return what a session goes by."""
        sensitive = tuple(dict.fromkeys(name for promise in problem.promises for name in promise.reads))
        diverse = [(promise.reads[0], how[1]) for promise in problem.promises if (how := promise.compiled_on_points()) and how[0] in _VALUES]
        target = diverse[0][0] if diverse else sensitive[0] if sensitive else ""
        # the last of the limits is l, with the recursive kind c comes before it
        least = max([1, *(math.ceil(limits[-1]) for name, limits in diverse if name == target)])
        return Rules(
            self.delta,
            self.beta,
            self.mu,
            self.reusable,
            self.outliers == "wait",
            self.horizon or self.delta,
            fewest(problem.promises),
            sensitive,
            bool(sensitive),
            least,
            sensitive.index(target) if sensitive else 0,
            all(promise.monotone_when_grown for promise in problem.promises),
            columns_of(problem),
        )


_VALUES = ("distinct", "entropy", "recursive")

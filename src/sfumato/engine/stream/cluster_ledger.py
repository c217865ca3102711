"""Ledger: who has been published in which cluster, where clusters are used again, so that promises are measured over all that a cluster has held.

It is kept apart from the search and counts in another way. What t-closeness compares a cluster with moves from record to record, so that it is the
search alone that measures it; people and values are counted here.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.verify import refuse_broken

_OF_A_CLASS = ("k_anonymity", "l_diversity")


@dataclass(frozen=True, eq=False)
class Ledger:
    """The rows of the latest clusters, side by side: the cluster, the person, and the codes of sensitive values."""

    clusters: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    people: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    codes: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    def checked(self, plan: StreamPlan, clusters: NDArray[np.int64], people: NDArray[np.int64], codes: Mapping[str, NDArray[np.int32]]) -> Ledger:
        """Return the ledger with further rows; refuse them where a cluster, with all it has held, does not keep a promise."""
        kept = {name: np.concatenate([self.codes.get(name, np.empty(0, np.int32)), own]) for name, own in codes.items()}
        ledger = Ledger(np.concatenate([self.clusters, clusters]), np.concatenate([self.people, people]), kept)
        # the beginnings of a cluster that was forgotten are known to the search alone
        known = np.isin(ledger.clusters, np.setdiff1d(clusters, self._forgotten(clusters)))
        names, of_row = np.unique(ledger.clusters[known], return_inverse=True)
        seen = Classes(
            number=len(names),
            class_of=of_row.reshape(-1).astype(np.int32),
            counts=np.ones(int(known.sum()), np.int64),
            sensitive={name: own[known] for name, own in kept.items()},
            subject=ledger.people[known],
        )
        refuse_broken([promise for promise in plan.plan.promises if promise.component_name() in _OF_A_CLASS], seen)
        return ledger._latest(64 * max(64, getattr(plan.resolved.algorithm, "reusable", 0)))

    def _forgotten(self, clusters: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the clusters that were published before and are not here any more: numbers rise."""
        names, before = np.unique(clusters), np.unique(self.clusters)
        return names[(names < before.max(initial=-1)) & ~np.isin(names, before)] if len(before) else names[:0]

    def _latest(self, most: int) -> Ledger:
        names = np.unique(self.clusters)
        if len(names) <= most:
            return self
        kept = self.clusters >= names[-most]
        return Ledger(self.clusters[kept], self.people[kept], {name: own[kept] for name, own in self.codes.items()})

    def as_bytes(self) -> bytes:
        """Return it as bytes."""
        written = io.BytesIO()
        columns = {f"codes {name}": own for name, own in self.codes.items()}
        np.savez(written, clusters=self.clusters, people=self.people, **columns)  # type: ignore[arg-type]
        return written.getvalue()

    @classmethod
    def of_bytes(cls, data: bytes) -> Ledger:
        """Return the ledger of bytes."""
        with np.load(io.BytesIO(data), allow_pickle=False) as read:
            codes = {name.removeprefix("codes "): read[name] for name in read.files if name.startswith("codes ")}
            return cls(read["clusters"], read["people"], codes)

"""The work of one push where a search keeps records in clusters of its own until they can leave."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sfumato.core.grown_ladder import GrownLadder
from sfumato.core.stream import Clusters, GrowingSession
from sfumato.engine.stream.boxes import written
from sfumato.engine.stream.closing import learn, place, points_of, problem_of, release_of
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.retracing import Retraced
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.scales import Placed, Scale
from sfumato.engine.stream.sensitive import Coded
from sfumato.engine.stream.verify import Promised
from sfumato.engine.stream.work import Work, joined, number_of_rows


class ClusterWork(Work):
    """Gives rows to a search over clusters, and publishes those that it lets go.

    Types and ladders that the policy leaves open are made from the first records, which wait for each other until there are enough of them.
    """

    def _start(self) -> Any:
        search: Any = self._plan.resolved.algorithm
        return search.start(problem_of(self._plan, self._nowhere(), self._ladders()))

    def _take(self, rows: Rows) -> None:
        if self.search is None:
            waiting = joined(self.state.waiting, rows)
            self.state = replace(self.state, waiting=waiting)
            enough = self._plan.settings.learn
            if number_of_rows(waiting) < enough or waiting is None:
                return
            # of exactly so many, however the stream was cut into batches
            self._begin(waiting.part(0, enough))
            rows = waiting.part(enough, len(waiting))
        self._give(rows)

    def _end(self) -> None:
        waiting = self.state.waiting
        if self.search is None and waiting is not None and len(waiting):
            self._begin(waiting)
        if self.search is not None:
            self._let_go(self.search.flush(), self.state.next_number - 1)

    def _begin(self, rows: Rows) -> None:
        self.state = replace(self.state, waiting=None, learnt=learn(self._plan, rows, self.state.learnt))
        self.search = self.started()
        self._give(rows, int(rows.numbers[-1]))

    def _give(self, rows: Rows, not_before: int = -1) -> None:
        """Let the search decide of further rows, of none before a record has come."""
        if not len(rows):
            return
        self._grow(rows)
        unfit, left_out = Unfit(len(rows)), np.zeros(len(rows), bool)
        placed, learnt = place(self._plan, rows, self.state.learnt, unfit, left_out)
        coded, known = self.state.known.coded(self._plan.plan, rows, unfit)
        self.state = replace(self.state, learnt=learnt, known=known)
        self._dead += unfit.letters(rows.numbers)
        self._suppressed.append(rows.numbers[left_out & unfit.fits])
        kept = unfit.fits & ~left_out
        rows = rows.where(kept)
        self.state = replace(self.state, waiting=joined(self.state.waiting, rows))
        taken = [replace(each, places=each.places[kept], unknown=each.unknown[kept]) for each in placed]
        points = points_of(rows, taken, {name: codes[kept] for name, codes in coded.codes.items()})
        if self.search is None:
            raise AssertionError("records are given to a search that has begun")
        self._let_go(self.search.push(points), not_before)

    def _grow(self, rows: Rows) -> None:
        """Let ladders that can grow by the values of further rows, and the search go on with them."""
        names, session = self._plan.plan.quasi_identifiers, None if self.search is None else self.search.search
        if not isinstance(session, GrowingSession):
            return
        before = self.state.learnt.scales
        after = {name: before[name].grown(rows.made(name), partial(session.standing, place)) for place, name in enumerate(names)}
        grown = {place: _grown(before[name], after[name]) for place, name in enumerate(names) if after[name] is not before[name]}
        if grown:
            self.state = replace(self.state, learnt=replace(self.state.learnt, scales=after))
            search: Any = self._plan.resolved.algorithm
            problem = problem_of(self._plan, self._nowhere(), self._ladders())
            # a new one beside the old: a push that raises goes back to that
            self.search = Retraced(partial(search.start, problem), session.regrown(problem, grown).snapshot())

    def _let_go(self, clusters: Clusters, not_before: int) -> None:
        """Publish what the search has decided, and forget what it leaves out; nothing was decided before a record had come."""
        waiting = self.state.waiting
        if waiting is None:
            return
        self._suppressed.append(clusters.suppressed)
        leaving = waiting.taken(np.searchsorted(waiting.numbers, clusters.numbers))
        gone = np.isin(waiting.numbers, np.concatenate([clusters.numbers, clusters.suppressed]))
        self.state = replace(self.state, waiting=waiting.where(~gone))
        if not len(leaving):
            return
        coded, _ = self.state.known.coded(self._plan.plan, leaving, Unfit(len(leaving)))
        boxes = written(self._plan.plan, self._nowhere(), clusters)
        promised = Promised(coded.codes, clusters.references, coded.ladders)
        found = release_of(self._plan, leaving, clusters, boxes, {}, promised, self.state.learnt, whole=False, among=waiting)
        if found is None:
            raise AssertionError("a search over clusters keeps promises of what is published too")
        ledger = self.state.ledger.checked(self._plan, clusters.identities[clusters.cluster_of], leaving.people, coded.codes)
        self.state = replace(self.state, learnt=replace(self.state.learnt, looked=True), ledger=ledger)
        with_record = np.full(len(leaving), self.state.next_number - 1) if clusters.decided is None else clusters.decided
        self._hand_out(*found, np.maximum(with_record, not_before) - leaving.numbers)

    def _nowhere(self) -> list[Placed]:
        """Return the scales with no value on them."""
        scales = self.state.learnt.scales
        return [Placed(np.empty(0), np.zeros(0, np.int64), scales[name], scales[name].ladder) for name in self._plan.plan.quasi_identifiers]

    def _ladders(self) -> Coded:
        resolved = self._plan.resolved
        return Coded({}, {}, {name: resolved.ladders[name] for name in self._plan.plan.watched if name in resolved.ladders})


def _grown(before: Scale, after: Scale) -> GrownLadder:
    if before.ladder is None or after.ladder is None:
        raise AssertionError("only a ladder grows")
    return GrownLadder(before.ladder, after.ladder)

"""The kernel decides as the pseudocode does, record by record, however the stream is cut into pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.chance import derived_chance
from sfumato.core.durations import SECOND
from sfumato.core.events import LATE, EventDecisions, Events, EventSession
from sfumato.core.hierarchy import Hierarchy
from sfumato.measures.event_labels import replay_of, seen
from tests.plain_z_anonymity import Output, algorithm_1, algorithm_2, algorithm_5, paths, rest

WINDOW = 20
LEAVES = ["a.b.c", "a.b.d", "a.b.e", "a.f.g", "a.f.h", "i.j.k", "i.j.l", "i.m", "n", "o.p.q.r"]
# attributes that are categories of others too
OF_ANY_DEPTH = [*LEAVES, "a", "a.b", "o.p"]


@st.composite
def streams(draw: st.DrawFn, in_order: bool = True, most: int = 120, among: Sequence[str] = LEAVES) -> Events:
    number = draw(st.integers(1, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    people = draw(st.integers(1, 12))
    # equal times, gaps that empty the window, and times that jump back by less and by more than it
    steps = random.choice([0, 0, 1, 2, 7, 45], number) if in_order else random.choice([0, 1, 2, 9, 45, -1, -8, -25], number)
    weights = random.dirichlet(np.ones(len(among)) * draw(st.sampled_from([0.3, 3.0])))
    leaves = pa.array([among[place] for place in random.choice(len(among), number, p=weights)])
    return Events(np.arange(number), np.cumsum(steps) * SECOND, random.integers(0, people, number), leaves, random.random(number) < 0.1)


def tuples(events: Events) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(t, u, paths(s)) for t, u, s in zip(events.times.tolist(), events.people.tolist(), events.attributes.to_pylist(), strict=True)]


def outputs(decisions: EventDecisions) -> list[Output]:
    """Return what left because of each record, in the order in which it left."""
    left: list[Output] = [[] for _ in range(len(decisions))]
    texts = decisions.published["s"].to_pylist()
    for place, person in zip(decisions.places.tolist(), decisions.shown.tolist(), strict=True):
        left[place].append((person, texts[place]))
    return left


def pushed(session: EventSession, events: Events, size: int) -> list[Output]:
    return [one for first in range(0, len(events), size) for one in outputs(session.push(events.part(first, first + size)))]


def search(**given: object) -> ZAnonymity:
    return ZAnonymity(**({"time": "t", "path": "s", "window": f"{WINDOW}s"} | given))


@settings(max_examples=60, deadline=None)
@given(events=streams(), z=st.integers(2, 6), size=st.sampled_from([1, 7, 200]))
def test_without_generalisation_it_decides_as_algorithm_1(events: Events, z: int, size: int) -> None:
    left = pushed(search(z=z, generalise=False, count="all").start(), events, size)
    assert left == list(algorithm_1(tuples(events), z, WINDOW * SECOND))


@settings(max_examples=60, deadline=None)
@given(events=streams(), z=st.integers(2, 6), size=st.sampled_from([1, 7, 200]))
def test_with_generalisation_it_decides_as_algorithm_2(events: Events, z: int, size: int) -> None:
    left = pushed(search(z=z, count="all").start(), events, size)
    assert left == list(algorithm_2(tuples(events), z, WINDOW * SECOND))


@pytest.mark.parametrize("generalise", [False, True])
@settings(max_examples=60, deadline=None)
@given(events=streams(), z=st.integers(2, 8), diffmax=st.sampled_from([1, 2, 5, 0.25, 0.5]), size=st.sampled_from([1, 7, 200]))
def test_the_original_with_noise_decides_as_algorithm_5(generalise: bool, events: Events, z: int, diffmax: float, size: int) -> None:
    events = Events(events.numbers, events.times, events.people, events.attributes)
    left = pushed(search(z=z, generalise=generalise, original=True, noise={"diffmax": diffmax}).start(), events, size)
    most = int(z * diffmax) if isinstance(diffmax, float) else min(diffmax, z - 1)
    expected = list(algorithm_5(tuples(events), z, WINDOW * SECOND, most, generalise))
    assert [Counter(one) for one in left] == [Counter(one) for one in expected]
    # the true one is last in both
    assert [one[-1:] for one in left] == [one[-1:] for one in expected]


@pytest.mark.parametrize("generalise", [False, True])
@settings(max_examples=60, deadline=None)
@given(events=streams(in_order=False), z=st.integers(2, 6), size=st.sampled_from([1, 7, 200]))
def test_the_rest_is_counted_as_it_is_defined_whatever_the_clock_does(generalise: bool, events: Events, z: int, size: int) -> None:
    session = search(z=z, generalise=generalise).start()
    pieces = [session.push(events.part(first, first + size)) for first in range(0, len(events), size)]
    left = [one for piece in pieces for one in outputs(piece)]
    late = [level == LATE for piece in pieces for level in piece.levels.tolist()]
    expected = list(rest(tuples(events), z, WINDOW * SECOND, generalise))
    assert left == [[one] if isinstance(one, tuple) else [] for one in expected]
    assert late == [one == "late" for one in expected]


WAYS = {
    "plain": {},
    "all": {"count": "all"},
    "noise": {"noise": {"diffmax": 0.5}},
    "steps": {"tuning": {"by": "steps", "every": "5s", "k": 2, "p": 0.5}},
    "search": {"tuning": {"every": "5s", "k": 3, "p": 0.9, "hysteresis": 0.0}, "noise": {"diffmax": 2}, "floors": {"0-24": 3}},
}


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=15, deadline=None)
@given(events=streams(in_order=False, among=OF_ANY_DEPTH), z=st.integers(2, 6), size=st.sampled_from([5, 11]), cut=st.integers(0, 100))
def test_a_session_goes_on_elsewhere_as_if_nothing_had_happened(name: str, events: Events, z: int, size: int, cut: int) -> None:
    def push(session: EventSession, first: int) -> tuple[object, ...]:
        with derived_chance(bytes(32), f"records from {first}"):
            made = session.push(events.part(first, first + size))
        return made.levels.tolist(), made.thresholds.tolist(), made.places.tolist(), made.shown.tolist(), made.is_fake.tolist()

    one, other = (search(z=z, **WAYS[name]).start() for _ in range(2))
    for first in range(0, len(events), size):
        if first >= cut:
            state = one.snapshot()
            other = search(z=z, **WAYS[name]).start()
            other.restore(state)
            assert other.snapshot() == state
            assert other.measured().by_level == one.measured().by_level
            assert np.array_equal(other.people(), one.people())
            assert push(other, first) == push(one, first)
        else:
            push(one, first)
    assert other.held == one.held == 0


@pytest.mark.parametrize("seed", range(12))
def test_late_records_that_left_first_do_not_change_what_is_drawn_elsewhere(seed: int) -> None:
    random = np.random.default_rng(seed)
    # one in three comes just before it leaves: rings with holes, of which a snapshot must know
    times = np.cumsum(random.choice([0, 1], 600)) - random.choice([0, 0, WINDOW - 2], 600)
    leaves = pa.array([LEAVES[place] for place in random.choice(5, 600)])
    events = Events(np.arange(600), times * SECOND, random.integers(0, 60, 600), leaves, np.zeros(600, bool))
    drawn = []
    for is_elsewhere in (False, True):
        session, made = search(z=9, noise={"diffmax": 4}).start(), []
        for first in range(0, len(events), 5):
            if is_elsewhere:
                state, session = session.snapshot(), search(z=9, noise={"diffmax": 4}).start()
                session.restore(state)
            with derived_chance(bytes(32), f"records from {first}"):
                piece = session.push(events.part(first, first + 5))
            made += [(piece.levels.tolist(), piece.places.tolist(), piece.shown.tolist())]
        drawn.append(made)
    assert sum(len(shown) > 5 for _, _, shown in drawn[0]) > 5
    assert drawn[0] == drawn[1]


TREE = Hierarchy.of_paths("s", [["p", "A", "X"], ["q", "A", "X"], ["r", "X"], ["s", "B", "Y"], ["t", "B", "Y"], ["u"]])
NAMED = Hierarchy.of_paths("s", [["p", "A"], ["q", "A"], ["r", "B"]], "everything")


@st.composite
def shown(draw: st.DrawFn) -> tuple[dict[str, object], Hierarchy | None, Events]:
    """Return settings of an attribute, its ladder, and a stream of it."""
    events = draw(streams(in_order=draw(st.booleans()), among=draw(st.sampled_from([LEAVES, OF_ANY_DEPTH]))))
    number, random = len(events), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["paths", "names", "short", "tree", "named", "cells"]))
    if kind == "cells":
        places = np.stack([45 + random.normal(0, 0.1, number), 7.6 + random.normal(0, 0.1, number)], axis=1)
        places[random.random(number) < 0.05] = np.nan
        given: dict[str, object] = {"path": None, "latitude": "y", "longitude": "x", "cells": [1.0, 3.0, 5.0, 30.0]}
        return given, None, Events(events.numbers, events.times, events.people, places, events.opted_out)
    if kind in ("tree", "named"):
        ladder = TREE if kind == "tree" else NAMED
        leaves = random.integers(0, ladder.size + 2, number)
        return {"path": None, "taxonomy": "s"}, ladder, Events(events.numbers, events.times, events.people, leaves, events.opted_out)
    separator = draw(st.sampled_from([".", "*", "::", "é"]))
    texts = [None if random.random() < 0.05 else text.replace(".", separator) for text in events.attributes.to_pylist()]
    given = {"separator": separator, "coarsest": "last" if kind == "names" else "first", "levels": 2 if kind == "short" else 8}
    return given, None, Events(events.numbers, events.times, events.people, pa.array(texts, pa.string()), events.opted_out)


@pytest.mark.parametrize("name", [*WAYS, "original"])
@settings(max_examples=25, deadline=None)
@given(stream=shown(), z=st.integers(2, 6), size=st.sampled_from([3, 200]), generalise=st.booleans())
def test_a_replay_finds_nothing_wrong_whatever_is_shown(
    name: str, stream: tuple[dict[str, object], Hierarchy | None, Events], z: int, size: int, generalise: bool
) -> None:
    given, ladder, events = stream
    chosen = search(z=z, generalise=generalise, **given, **(WAYS | {"original": {"original": True, "noise": {"diffmax": 3}}})[name])
    if name == "original":
        order = np.argsort(events.times, kind="stable")
        kept = events.attributes.take(pa.array(order)) if isinstance(events.attributes, pa.Array) else events.attributes[order]
        events = Events(events.numbers, events.times[order], events.people[order], kept)
    session, replay = chosen.start(ladder), replay_of(chosen)
    for first in range(0, len(events), size):
        piece = events.part(first, first + size)
        decisions = session.push(piece)
        assert list(replay.breaches(seen(piece, chosen, ladder), decisions)) == []
        assert (decisions.levels[decisions.levels > 0].size == 0) or generalise
    measures = session.measured()
    assert measures.records == len(events) == sum(measures.by_level.values()) + measures.suppressed + measures.late

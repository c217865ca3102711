"""What every search over the windows of a stream, or over a stream without windows, must do, whoever wrote it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from sfumato.core.chance import derived_chance
from sfumato.core.stream import Clusters, ClusterSearch, Points, WindowSearch
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.registry import find, names
from tests.stream_records import problem, records

SEARCHES = [name for name in names("algorithms") if isinstance(find("algorithms", name).model_construct(), WindowSearch | ClusterSearch)]
CLUSTERS = [name for name in SEARCHES if name in ("castle", "microaggregation", "mondrian") or hasattr(find("algorithms", name), "cluster")]
ASKED = problem([KAnonymity(k=4), LDiversity(column="illness", l=2)])


def decided(name: str, points: Points) -> list[Clusters]:
    """Return what a search decides of some records, by the same chance each time."""
    search = find("algorithms", name)()
    with derived_chance(bytes(32), "contract"):
        if isinstance(search, WindowSearch):
            found = search.cluster(points, ASKED)
            return [] if found is None else [found]
        session = search.start(ASKED)
        return [session.push(points), session.flush()]


@pytest.mark.parametrize("name", CLUSTERS)
def test_it_says_what_it_guarantees_and_costs(name: str) -> None:
    card = inspect.getdoc(find("algorithms", name)) or ""
    assert "Guarantee:" in card
    assert "Cost:" in card


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("people", [None, 40])
def test_every_record_is_decided_once_and_every_cluster_keeps_the_promises(name: str, people: int | None) -> None:
    points = records(11, 200, people)
    told = decided(name, points)
    assert sorted(np.concatenate([np.concatenate([each.numbers, each.suppressed]) for each in told]).tolist()) == list(range(200))
    for each in told:
        members = points.taken(each.numbers)
        classes = members.classes(each.cluster_of, len(each.lows), each.references, ASKED)
        assert all(promise.holds(classes).all() for promise in ASKED.promises)


@pytest.mark.parametrize("name", CLUSTERS)
def test_arguments_are_not_changed_and_the_answer_is_the_same_twice(name: str) -> None:
    points = records(12, 150, 60)
    before = points.coordinates.copy()
    one, other = decided(name, points), decided(name, points)
    assert all(np.array_equal(a.numbers, b.numbers) and np.array_equal(a.cluster_of, b.cluster_of) for a, b in zip(one, other, strict=True))
    assert np.array_equal(before, points.coordinates, equal_nan=True)

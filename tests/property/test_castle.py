"""CASTLE: whatever the stream, nothing is lost or doubled, nobody waits too long, and every cluster keeps the promises over all that it ever held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms._castle_plain import PlainCastle
from sfumato.algorithms._castle_session import CompiledCastle
from sfumato.algorithms.castle import Castle
from sfumato.core.chance import derived_chance
from sfumato.core.grown_ladder import GrownLadder
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.stream import Clusters, ClusterSession, Points, StreamProblem
from sfumato.errors import DataError
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.promises.t_closeness import TCloseness
from tests.stream_records import TREE, problem, records

FURTHER: dict[str, list[Promise]] = {
    "size": [],
    "distinct": [LDiversity(column="illness", l=2)],
    "entropy": [LDiversity(column="illness", l=1.7, kind="entropy")],
    "recursive": [LDiversity(column="illness", l=2, kind="recursive", c=2.5)],
    "equal": [TCloseness(column="illness", t=0.35)],
    "ordered": [TCloseness(column="illness", t=0.3, distance="ordered")],
    "hierarchical": [LDiversity(column="illness", l=2), TCloseness(column="illness", t=0.3, distance="hierarchical")],
}


def run(session: ClusterSession, points: Points, pieces: Sequence[int], restart: bool = False, fresh: StreamProblem | None = None) -> list[Clusters]:
    """Push a stream piece by piece and flush it; with ``restart`` each piece is pushed into a session that goes on from a snapshot."""
    told, begin = [], 0
    for number, piece in enumerate([*pieces, len(points)]):
        part = points.taken(np.arange(begin, min(begin + piece, len(points))))
        if restart:
            state = session.snapshot()
            session = type(session)(session._rules, fresh)  # type: ignore[attr-defined, call-arg]
            session.restore(state)
        with derived_chance(bytes(32), f"piece {number}"):
            told.append(session.push(part))
        begin += len(part)
        if begin == len(points):
            break
    with derived_chance(bytes(32), "flush"):
        told.append(session.flush())
    return told


def same(one: Clusters, other: Clusters) -> bool:
    """Return whether two decisions are the same, whatever order their clusters are in."""
    return _sorted(one) == _sorted(other) and all(np.array_equal(one.references[name], other.references[name]) for name in one.references)


def _sorted(clusters: Clusters) -> object:
    ends = np.nan_to_num(np.concatenate([clusters.lows, clusters.highs], axis=1), nan=-0.5).tolist()
    boxes = sorted(zip(clusters.identities.tolist(), ends, strict=True))
    decided = np.zeros(0) if clusters.decided is None else clusters.decided
    members = sorted(zip(clusters.identities[clusters.cluster_of].tolist(), clusters.numbers.tolist(), decided.tolist(), strict=True))
    return boxes, members, sorted(clusters.suppressed.tolist())


STREAMS = {
    "seed": st.integers(0, 2**32 - 1),
    "rows": st.integers(1, 160),
    "k": st.integers(2, 5),
    "people": st.sampled_from([None, 6, 40]),
    "delta": st.sampled_from([1, 7, 30, 60]),
    "beta": st.sampled_from([1, 4, 12]),
    "reusable": st.sampled_from([0, 2, 20]),
    "outliers": st.sampled_from(["suppress", "wait"]),
    "block": st.sampled_from([1, 512]),
    "pieces": st.lists(st.integers(1, 50), max_size=4),
}


@pytest.mark.parametrize("further", FURTHER)
@settings(max_examples=15, deadline=None)
@given(**STREAMS)
def test_every_cluster_keeps_the_promises_and_nothing_is_lost_or_late(
    further: str, seed: int, rows: int, k: int, people: int | None, delta: int, beta: int, reusable: int, outliers: str, block: int, pieces: list[int]
) -> None:
    points = records(seed, rows, people, tied=seed % 2 == 0)
    asked = problem([KAnonymity(k=k), *FURTHER[further]], weights=[1.0, 2.0, 1.0])
    castle = Castle(delta=delta, beta=beta, mu=5, reusable=reusable, outliers=outliers)
    assert isinstance(castle.start(asked), CompiledCastle)
    rules = replace(castle.rules(asked), block=block, most=12)
    session = CompiledCastle(rules, asked)
    told = run(session, points, pieces)
    plain = run(PlainCastle(rules, asked), points, pieces)

    assert all(same(one, other) for one, other in zip(told, plain, strict=True))
    decided = np.concatenate([np.concatenate([each.numbers, each.suppressed]) for each in told])
    assert sorted(decided.tolist()) == list(range(rows))
    assert session.held == 0
    if outliers == "suppress":
        assert_nobody_waits_longer(told, pieces, rows, delta)
    assert_promises_hold(points, asked, told)


def assert_nobody_waits_longer(told: list[Clusters], pieces: list[int], rows: int, delta: int) -> None:
    come, out = 0, set[int]()
    for each, piece in zip(told[:-1], [*pieces, rows], strict=False):
        come = min(rows, come + piece)
        out |= {*each.numbers.tolist(), *each.suppressed.tolist()}
        # when the record number p has come, p - delta and all before it are out
        assert out >= set(range(max(0, come - delta)))


def assert_promises_hold(points: Points, asked: StreamProblem, told: list[Clusters]) -> None:
    """Test every cluster over all that it has held up to each release, against what that release was tested against."""
    held: dict[int, list[int]] = {}
    boxes: dict[int, list[float]] = {}
    for each in told:
        for number, cluster in zip(each.numbers.tolist(), each.cluster_of.tolist(), strict=True):
            held.setdefault(int(each.identities[cluster]), []).append(number)
        assert len(set(each.identities.tolist())) == len(each.identities)
        for place, identity in enumerate(each.identities.tolist()):
            ends = np.nan_to_num(np.concatenate([each.lows[place], each.highs[place]]), nan=-0.5).tolist()
            assert boxes.setdefault(identity, ends) == ends
            members = points.taken(np.array(held[identity]))
            classes = members.classes(np.zeros(len(members), np.int32), 1, each.references, asked)
            assert all(promise.holds(classes).all() for promise in asked.promises)
            assert_covered(members, each.lows[place], each.highs[place], asked)


def assert_covered(members: Points, low: np.ndarray, high: np.ndarray, asked: StreamProblem) -> None:
    for column, own in enumerate(members.coordinates.T):
        if np.isnan(low[column]):
            assert np.isnan(own).all()
        elif high[column] < np.inf:
            assert not np.isnan(own).any()
            ladder = asked.ladders[column]
            if ladder is None:
                assert ((own >= low[column]) & (own <= high[column])).all()
            else:
                level, node = ladder.lowest_level(int(low[column]), int(high[column]))
                assert (ladder.groups(level)[own.astype(int)] == node).all()


@pytest.mark.parametrize("kind", [CompiledCastle, PlainCastle])
@settings(max_examples=10, deadline=None)
@given(**STREAMS)
def test_a_snapshot_at_any_moment_changes_nothing(
    kind: type[CompiledCastle],
    seed: int,
    rows: int,
    k: int,
    people: int | None,
    delta: int,
    beta: int,
    reusable: int,
    outliers: str,
    block: int,
    pieces: list[int],
) -> None:
    points = records(seed, rows, people)
    asked = problem([KAnonymity(k=k), LDiversity(column="illness", l=2), TCloseness(column="illness", t=0.4, distance="ordered")])
    rules = Castle(delta=delta, beta=beta, mu=3, reusable=reusable, outliers=outliers, horizon=20).rules(asked)
    rules = replace(rules, block=block)
    through = run(kind(rules, asked), points, pieces)
    again = run(kind(rules, asked), points, pieces, restart=True, fresh=asked)
    assert all(same(one, other) for one, other in zip(through, again, strict=True))


class Other(KAnonymity):
    """A promise that no kernel knows."""

    def compiled(self) -> None:  # type: ignore[override]
        return None


def test_a_promise_that_no_kernel_knows_is_asked_itself() -> None:
    points, asked = records(5, 120), problem([KAnonymity(k=2), Other(k=6)])
    session = Castle(delta=40, beta=6, mu=5).start(asked)
    assert isinstance(session, PlainCastle)
    told = run(session, points, [30, 30])
    assert sum(len(each.numbers) for each in told) > 60
    assert_promises_hold(points, asked, told)


def test_codes_that_appear_later_find_room() -> None:
    early, late = records(1, 100), records(2, 100, first=100)
    late.sensitive["illness"][:] += 2
    asked = problem([KAnonymity(k=3), TCloseness(column="illness", t=0.6)])
    object.__setattr__(asked, "sensitive_ladders", {})
    session = Castle(delta=20, beta=5, mu=5).start(asked)
    told = [session.push(early), session.push(late), session.flush()]
    assert_promises_hold(late.after(early), asked, told)
    assert len(told[1].references["illness"]) == 6


@pytest.mark.parametrize("state", [b"", b"{}", b'{"castle": 2, "kind": "compiled", "rules": ""}\n', b"PK\x03\x04"])
def test_a_state_of_something_else_is_refused(state: bytes) -> None:
    with pytest.raises(DataError) as raised:
        Castle().start(problem([KAnonymity(k=3)])).restore(state)
    assert raised.value.code == "castle-state"


def test_a_state_of_other_promises_is_refused() -> None:
    state = Castle().start(problem([KAnonymity(k=3)])).snapshot()
    with pytest.raises(DataError, match="of other settings, promises or columns"):
        Castle().start(problem([KAnonymity(k=4)])).restore(state)


@pytest.mark.parametrize("further", ["size", "entropy"])
def test_a_published_cluster_takes_in_later_records(further: str) -> None:
    points, asked = records(3, 1500), problem([KAnonymity(k=3), *FURTHER[further]])
    told = run(Castle(delta=30, beta=10, mu=10).start(asked), points, [50] * 30)
    releases = [identity for each in told for identity in each.identities.tolist()]
    assert len(releases) > len(set(releases))
    assert_promises_hold(points, asked, told)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), pieces=st.lists(st.integers(5, 50), min_size=2, max_size=5), further=st.sampled_from([*FURTHER]))
def test_ladders_that_grow_leave_both_searches_of_one_mind(seed: int, pieces: list[int], further: str) -> None:
    """A leaf comes in the middle of the tree, and another behind it; the records stand where they stood."""
    larger = Hierarchy.of_paths("tree", [["p", "A"], ["pp", "A"], ["q", "A"], ["r"], ["s", "B", "C"], ["t", "B", "C"], ["u", "D", "C"], ["v"]])
    grown = GrownLadder(TREE, larger)
    promises = [KAnonymity(k=3), *FURTHER[further]]
    asked = problem(promises)
    after = replace(asked, ladders=[None, None, larger])
    castle, told = Castle(delta=20, beta=5, reusable=10), []
    for kind in (PlainCastle, CompiledCastle):
        session: PlainCastle | CompiledCastle = kind(castle.rules(asked), asked)
        first = run_pieces(session, records(seed, sum(pieces), people=30), pieces)
        before, standing = session.snapshot(), session.standing(2)
        larger_one = session.regrown(after, {2: grown})
        assert session.snapshot() == before
        assert larger_one.standing(2).tolist() == grown.codes[standing].tolist()
        later = records(seed + 1, 60, people=30, first=sum(pieces))
        later.coordinates[:, 2] = grown.places(later.coordinates[:, 2])
        later.coordinates[::7, 2] = 1.0
        told.append([*first, *run_pieces(larger_one, later, [25, 60]), larger_one.held])
    plain, compiled = told
    assert all(same(one, other) for one, other in zip(plain[:-1], compiled[:-1], strict=True))
    assert plain[-1] == compiled[-1]


def run_pieces(session: ClusterSession, points: Points, pieces: Sequence[int]) -> list[Clusters]:
    found, begin = [], 0
    for number, piece in enumerate(pieces):
        with derived_chance(bytes(32), f"piece {number}"):
            found.append(session.push(points.taken(np.arange(begin, min(begin + piece, len(points))))))
        begin += piece
    return found

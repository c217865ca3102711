"""Which rows of a stream are anonymised together."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.engine.stream.forming import Clock, arrive, session_ends
from sfumato.errors import PolicyError
from sfumato.policy.windows import Window

SECOND = 1_000_000


def arrived(times: list[int], window: Window, cuts: list[int], late_join: bool = False) -> tuple[list[bool], list[int], Clock]:
    clock, late, joined = Clock(), [], []
    for part in np.split(np.array(times, np.int64), cuts):
        found = arrive(window, clock, part, late_join)
        clock = found.clock
        late += found.late.tolist()
        joined += found.times.tolist()
    return late, joined, clock


def test_a_record_is_late_when_its_window_was_over_before_it_came() -> None:
    window = Window(time="10s", column="at", lateness="5s")

    # 16 s ends nothing; 25 s ends the window up to 20 s less 5: that up to 10 s is over with 15 s, that up to 20 s with 25 s
    late, _, clock = arrived([1 * SECOND, 16 * SECOND, 9 * SECOND, 19 * SECOND, 25 * SECOND, 19 * SECOND, 21 * SECOND], window, [])

    assert late == [False, False, True, False, False, True, False]
    assert clock.over == 20 * SECOND


def test_equal_times_are_in_one_window_and_none_is_late() -> None:
    late, _, clock = arrived([10 * SECOND] * 4, Window(time="10s", column="at"), [2])

    assert late == [False] * 4
    assert clock.over == 10 * SECOND


def test_a_clock_that_jumps_back_makes_records_late_and_opens_no_window_again() -> None:
    late, _, clock = arrived([100 * SECOND, 1 * SECOND, 2 * SECOND, 101 * SECOND], Window(time="10s", column="at"), [])

    assert late == [False, True, True, False]
    assert clock.over == 100 * SECOND


def test_times_before_1970_have_windows_too() -> None:
    late, _, clock = arrived([-15 * SECOND, -14 * SECOND, -1 * SECOND, -11 * SECOND], Window(time="10s", column="at"), [])

    assert late == [False, False, False, True]
    assert clock.over == -10 * SECOND


def test_late_records_may_join_the_oldest_window_that_is_open() -> None:
    late, joined, _ = arrived([35 * SECOND, 1 * SECOND], Window(time="10s", column="at"), [], late_join=True)

    assert late == [False, True]
    assert joined == [35 * SECOND, 30 * SECOND]


@pytest.mark.parametrize("seed", range(20))
def test_who_is_late_does_not_hang_on_how_records_are_cut(seed: int) -> None:
    chance = random.Random(seed)
    times = [chance.randrange(0, 100) * SECOND for _ in range(50)]
    window = Window(time="10s", column="at", lateness="7s")

    whole = arrived(times, window, [])

    assert arrived(times, window, sorted(chance.sample(range(1, 50), 5))) == whole


def test_a_session_ends_where_nothing_came_for_longer_than_the_gap() -> None:
    people = np.array([1, 2, 1, 1])
    times = np.array([0, 3, 10, 21])

    assert session_ends(people, times, np.zeros(4, bool), 10).tolist() == [10, 3, 10, 21]


def test_a_record_that_begins_a_session_splits_the_one_that_covers_it() -> None:
    times = np.array([0, 4, 8, 4])

    # the last to come begins one at 4: what was at 4 and after belongs to it
    assert session_ends(np.ones(4, np.int64), times, np.array([False, False, False, True]), 100).tolist() == [0, 8, 8, 8]


def test_a_second_beginning_at_the_same_time_cuts_nothing() -> None:
    times = np.array([5, 5, 7])

    assert session_ends(np.ones(3, np.int64), times, np.array([True, True, False]), 100).tolist() == [7, 7, 7]


@dataclass
class Slice:
    """A slice of the time of one person, as the splitting of sessions knows it."""

    start: int
    end: int
    rows: list[int] = field(default_factory=list)


def split_one_by_one(times: list[int], starts: list[bool], gap: int) -> list[int]:
    """Insert the rows of one person in the order in which they came, as the algorithm of the document does, and cut slices at gaps."""
    slices = [Slice(-(10**9), 10**9)]
    order = sorted(range(len(times)), key=lambda row: starts[row])
    for row in order:
        covering = next(one for one in slices if one.start <= times[row] < one.end)
        if starts[row] and covering.start != times[row]:
            # change the end of the slice to the time of the row, and add one from there to its former end
            later = Slice(times[row], covering.end, [other for other in covering.rows if times[other] >= times[row]])
            covering.rows = [other for other in covering.rows if times[other] < times[row]]
            covering.end = times[row]
            slices.append(later)
            covering = later
        covering.rows.append(row)
    lasts = [0] * len(times)
    for one in slices:
        rows = sorted(one.rows, key=lambda row: times[row])
        session: list[int] = []
        for row in rows:
            if session and times[row] - times[session[-1]] > gap:
                for member in session:
                    lasts[member] = times[session[-1]]
                session = []
            session.append(row)
        for member in session:
            lasts[member] = times[session[-1]]
    return lasts


@pytest.mark.parametrize("seed", range(50))
def test_sessions_are_those_that_splitting_one_by_one_finds(seed: int) -> None:
    chance = random.Random(seed)
    number = chance.randrange(1, 30)
    times = [chance.randrange(0, 60) for _ in range(number)]
    starts = [chance.random() < 0.2 for _ in range(number)]

    found = session_ends(np.zeros(number, np.int64), np.array(times), np.array(starts), 5)

    assert found.tolist() == split_one_by_one(times, starts, 5)


@pytest.mark.parametrize("window", [{"time": "10s", "column": "at", "lateness": "2s"}, {"session": "5s", "column": "at"}, {"count": 20}])
def test_delays_are_counted_in_records_however_the_stream_is_cut(window: dict[str, Any]) -> None:
    columns = {"person": {"role": "identifier"}, "at": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}}
    policy = {"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "window": window}
    records = [{"person": f"p{number % 30}", "at": 1_700_000_000 + number // 2, "age": 20 + number * 7 % 50} for number in range(400)]
    delays = []
    for size in (1, 13, 400):
        session = sfumato.stream(policy)
        for start in range(0, 400, size):
            session.push(records[start : start + size])
        session.flush()
        delays.append(session.measured()["delay"])

    assert delays[0] == delays[1] == delays[2]
    assert 0 < delays[0]["mean"] < delays[0]["longest"] < 60


@pytest.mark.parametrize(
    "window", [{"time": "1h", "column": "at"}, {"time": "10s", "column": "at", "lateness": "30s"}, {"session": "5m", "column": "at"}]
)
def test_no_more_is_held_than_may_be_wherever_batches_end(window: dict[str, Any]) -> None:
    columns = {"person": {"role": "identifier"}, "at": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}}
    policy = {"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "window": {**window, "most": 30}}
    records = [{"person": f"p{number % 20}", "at": 1_700_000_000 + number // 2, "age": 20 + number * 7 % 50} for number in range(200)]
    found = []
    for size in (1, 13, 200):
        session, released = sfumato.stream(policy), []
        for start in range(0, 200, size):
            released += [sorted(map(str, release.batch.to_pylist())) for release in session.push(records[start : start + size])]
        found.append((released, session.accounts, session.measured()["delay"]))

    assert found[0] == found[1] == found[2]
    assert found[0][1].held <= 30


def of_numbers(algorithm: Any, numbers: list[float | None]) -> list[Any]:
    """Return what is published of numbers that come in one window, each of another person."""
    columns = {
        "u": {"role": "identifier", "type": "text"},
        "n": {"role": "quasi_identifier", "type": "decimal"},
        "s": {"role": "other", "type": "text"},
    }
    policy = {"subject": "u", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "algorithm": algorithm, "window": {"count": len(numbers)}}
    session = sfumato.stream(policy, secret=bytes(32))
    released = session.push([{"u": f"u{place}", "n": number, "s": "x"} for place, number in enumerate(numbers)])
    return [row["n"] for release in released for row in release.batch.to_pylist()]


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian", "microaggregation"])
def test_a_window_in_which_all_values_are_missing_is_released(algorithm: str) -> None:
    assert of_numbers(algorithm, [None] * 4) in ([None] * 4, ["*"] * 4)


@pytest.mark.parametrize("number", [48.1371549, 1e-9, 1.0000001, 1 / 3])
def test_a_mean_of_equal_numbers_is_that_number_whatever_digits_it_has(number: float) -> None:
    assert [float(shown) for shown in of_numbers({"microaggregation": {"publish": "mean"}}, [number] * 4)] == [number] * 4


@pytest.mark.parametrize("hierarchy", ["prefix", "flat"])
def test_a_taxonomy_of_events_is_written_down_before_the_first(hierarchy: str) -> None:
    columns = {"u": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}, "item": {"role": "sensitive", "hierarchy": hierarchy}}
    search = {"z_anonymity": {"z": 2, "time": "at", "window": "100s", "taxonomy": "item"}}

    with pytest.raises(PolicyError) as refused:
        sfumato.stream({"subject": "u", "columns": columns, "algorithm": search}, secret=bytes(32))

    assert [mistake.code for mistake in refused.value.mistakes] == ["policy-hierarchy-missing"]

"""Records far ahead of the stream's own time: which are believed, however the stream is cut, and what becomes of late ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.engine.stream.ahead import Doubted, ahead_of
from sfumato.engine.stream.session import Session
from sfumato.errors import DataError
from sfumato.measures.clock_replay import ClockReplay

SECRET = bytes(range(32))
COLUMNS: dict[str, Any] = {"person": {"role": "identifier"}, "at": {"role": "identifier", "type": "timestamp"}}
WINDOWS: dict[str, Any] = {
    "columns": COLUMNS | {"age": {"role": "quasi_identifier", "type": "integer"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "window": {"time": "10m", "column": "at"},
}
WAYS: dict[str, dict[str, Any]] = {
    "windows": WINDOWS,
    "sessions": WINDOWS | {"window": {"session": "10m", "column": "at"}},
    "events": {
        "columns": COLUMNS | {"age": {"role": "sensitive", "type": "integer"}},
        "algorithm": {"z_anonymity": {"z": 2, "window": "1h", "time": "at", "path": "age", "generalise": False}},
    },
}


def session(way: str, **stream: Any) -> Session:
    return sfumato.stream({"subject": "person", **WAYS[way], "stream": {"jump": "1h", **stream}}, secret=SECRET)


def at(minutes: float, person: str) -> dict[str, Any]:
    time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    return {"person": person, "at": time.isoformat(), "age": 30}


FAR = 5 * 365 * 24 * 60
NIGHT = 8 * 60


@pytest.mark.parametrize("way", WAYS)
def test_one_clock_in_the_far_future_makes_nobody_late(way: str) -> None:
    made = session(way)

    pushed = made.push([at(0, "ada"), at(1, "ben"), at(FAR, "eve"), at(2, "ada"), at(3, "ben")])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(2, "time-ahead", "at")]
    assert (made.accounts.late, made.accounts.dead) == (0, 1)


@pytest.mark.parametrize("way", WAYS)
def test_after_a_quiet_night_the_second_person_is_believed(way: str) -> None:
    made = session(way)
    made.push([at(0, "ada"), at(1, "ben"), at(NIGHT, "eve"), at(NIGHT + 1, "eve")])
    assert made.accounts.dead == 2

    made.push([at(NIGHT + 2, "dan"), at(NIGHT + 3, "eve")])

    assert made.accounts.dead == 2
    assert made.time == at_microseconds(NIGHT + 3)


def at_microseconds(minutes: float) -> int:
    return round(datetime.fromisoformat(at(minutes, "")["at"]).timestamp()) * 1_000_000


def test_what_is_in_doubt_is_remembered_by_a_state() -> None:
    made, other = session("windows"), session("windows")
    made.push([at(0, "ada"), at(NIGHT, "eve")])

    other.restore(made.snapshot())
    other.push([at(NIGHT, "dan")])

    assert other.accounts.dead == 1


def test_two_wrong_clocks_that_agree_are_not_believed_with_a_right_one_between_them() -> None:
    made = session("windows")

    made.push([at(0, "ada"), at(FAR, "eve"), at(1, "ada"), at(FAR, "dan"), at(2, "ada")])

    assert (made.accounts.late, made.accounts.dead) == (0, 2)


def test_a_person_who_was_set_aside_as_ahead_has_opted_out_all_the_same() -> None:
    noise = {"z": 2, "window": "1h", "time": "at", "path": "age", "noise": {"diffmax": 1, "opted_out": "no"}}
    columns = WAYS["events"]["columns"] | {"no": {"role": "identifier"}}
    made = sfumato.stream({"subject": "person", "columns": columns, "algorithm": {"z_anonymity": noise}, "stream": {"jump": "1h"}}, secret=SECRET)

    with_letter = made.push([at(0, "ada") | {"no": "no"}, at(FAR, "eve") | {"no": "yes"}])

    assert [letter.code for letter in with_letter.dead] == ["time-ahead"]
    assert made._search is not None
    assert len(made._search.search.snapshot()) > len(started_without_anybody(made))


def started_without_anybody(like: Session) -> bytes:
    fresh = sfumato.stream(like._resolved.policy, secret=SECRET)
    fresh.push([at(0, "ada") | {"no": "no"}])
    assert fresh._search is not None
    return bytes(fresh._search.search.snapshot())


@pytest.mark.parametrize("way", WAYS)
def test_a_late_record_is_kept_where_the_policy_asks_for_it(way: str) -> None:
    made = session(way, jump=None, on_late="set_aside")

    pushed = made.push([at(120, "ada"), at(0, "ben"), at(121, "eve")])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(1, "late", "at")]
    assert (made.accounts.late, made.accounts.dead) == (0, 1)


def test_a_late_event_has_no_next_window_to_go_into() -> None:
    made = session("events", jump=None, on_late="next")
    assert made.push([at(120, "ada"), at(0, "ben")]).late.tolist() == [1]


def test_a_late_record_that_is_to_be_kept_does_not_stop_a_stream_that_stops_at_unfit_ones() -> None:
    made = session("windows", jump=None, on_late="set_aside", on_unfit="error")
    made.push([at(120, "ada"), at(0, "ben")])
    assert made.accounts.dead == 1
    with pytest.raises(DataError) as caught:
        session("windows", on_unfit="error").push([at(0, "ada"), at(FAR, "eve")])
    assert caught.value.message == "1 of the records does not fit, the first is record 1: time-ahead in column at"


@pytest.mark.parametrize("way", WAYS)
def test_it_is_measured_how_many_of_the_latest_are_late_and_how_far_the_clock_is_ahead(way: str) -> None:
    made = session(way, jump=None)
    made.push([at(0, "ada"), at(FAR, "eve"), *(at(place / 60, "ben") for place in range(8))])
    told = made.measured()
    assert (told["late_lately"], told["clock_ahead"]) == (0.8, 5 * 31_556_952)


CAME = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=40)


@given(came=CAME, cuts=st.lists(st.integers(0, 40), max_size=4), jump=st.integers(1, 15))
def test_what_is_ahead_hangs_on_the_records_and_not_on_batches(came: list[tuple[int, int]], cuts: list[int], jump: int) -> None:
    replay = ClockReplay(jump)
    expected = [replay.is_ahead(time, person) for time, person in came]
    latest: int | None = None
    doubted: Doubted = ()
    found: list[bool] = []
    bounds = sorted({0, len(came), *(cut for cut in cuts if cut < len(came))})
    for start, end in pairwise(bounds):
        times, people = (np.array([each[which] for each in came[start:end]], np.int64) for which in (0, 1))
        ahead, doubted = ahead_of(latest, doubted, jump, times, people)
        believed = times[~ahead].tolist()
        latest = max([*believed, *([] if latest is None else [latest])])
        found += ahead.tolist()
    assert found == expected

"""Attacks on a stream: by who comes when, how often and how late, and by what several releases tell together."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.stream import Clusters, Points, StreamProblem
from sfumato.errors import PromiseError, SfumatoError

COLUMNS: dict[str, Any] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "type": "integer"},
    "at": {"role": "identifier", "type": "integer"},
    "illness": {"role": "sensitive"},
}


def policy(window: dict[str, Any], k: int = 3, **other: Any) -> dict[str, Any]:
    return {"subject": "person", "columns": COLUMNS, "promises": [{"k_anonymity": {"k": k}}], "window": window} | other


def record(person: str, age: int, at: int = 0, illness: str = "flu") -> dict[str, Any]:
    return {"person": person, "age": age, "at": at, "illness": illness}


def people_of_classes(session: sfumato.Session, records: list[dict[str, Any]], size: int = 7) -> list[set[str]]:
    """Return the people behind each class of text of each release."""
    found = []
    pushes = [session.push(records[start : start + size]) for start in range(0, len(records), size)]
    for release in [release for pushed in [*pushes, session.flush()] for release in pushed]:
        classes = defaultdict(set)
        for age, number in zip(release.batch.column("age").to_pylist(), release.numbers.tolist(), strict=True):
            classes[age].add(records[number]["person"])
        found += list(classes.values())
    return found


def test_a_window_of_one_person_is_never_published() -> None:
    for on_small in ("carry", "suppress"):
        session = sfumato.stream(policy({"time": "10s", "column": "at", "on_small": on_small}))

        # the victim alone in a window, whatever comes around it
        records = [*(record(f"p{n}", 20 + n, n) for n in range(4)), record("victim", 70, 12), *(record(f"q{n}", 30 + n, 25 + n) for n in range(4))]

        assert all(len(people) >= 3 for people in people_of_classes(session, records))


def test_a_flood_of_one_person_makes_no_crowd() -> None:
    session = sfumato.stream(policy({"count": 50}))
    flood = [record("loud", 40 + n % 3) for n in range(200)]
    flood[20] = record("victim", 41)

    assert people_of_classes(session, flood) == []
    assert session.accounts.suppressed == 200


@pytest.mark.parametrize("search", [{}, {"algorithm": "microaggregation"}, {"algorithm": {"castle": {"delta": 4}}}], ids=str)
def test_a_missing_subject_and_an_empty_one_are_one_person(search: dict[str, Any]) -> None:
    asked = policy({"count": 9}) | search
    session = sfumato.stream({key: value for key, value in asked.items() if key != "window"} if "castle" in str(search) else asked)
    records = [record(("a", "", None)[n % 3], 20 + n) for n in range(18)]  # type: ignore[arg-type]

    assert people_of_classes(session, records) == []


def test_a_missing_subject_and_an_empty_one_show_an_attribute_as_one_person() -> None:
    columns = {"person": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}, "item": {"role": "sensitive"}}
    session = sfumato.stream({"subject": "person", "columns": columns, "algorithm": {"z_anonymity": {"z": 3, "time": "at", "path": "item"}}})

    assert session.push([{"person": whose, "at": 1000, "item": "x.y"} for whose in ("a", "", None)]) == []


def test_an_accomplice_with_many_records_does_not_isolate_the_victim() -> None:
    session = sfumato.stream(policy({"count": 20}))
    records = [record("accomplice", 60 + n % 2) for n in range(15)] + [record("victim", 61)] + [record(f"p{n}", 20 + n) for n in range(4)]

    assert all(len(people) >= 3 for people in people_of_classes(session, records))


def test_carrying_does_not_publish_anybody_twice() -> None:
    session = sfumato.stream(policy({"count": 2}))
    records = [record("victim", 70), *(record(f"p{n}", 20 + n) for n in range(9))]

    numbers = [number for start in range(0, 10, 2) for release in session.push(records[start : start + 2]) for number in release.numbers.tolist()]

    assert len(numbers) == len(set(numbers))


def test_a_late_record_cannot_complete_a_window_that_was_too_small() -> None:
    session = sfumato.stream(policy({"time": "10s", "column": "at", "on_small": "suppress"}, k=3))
    session.push([record("victim", 70, 1), record("ben", 71, 2)])
    over = session.push([record("cem", 30, 15)])
    assert over == []
    assert over.suppressed.tolist() == [0, 1]

    # the attacker sends the third person afterwards, and learns whether two others were there by whether a window appears
    late = session.push([record("attacker", 72, 3)])

    assert late == []
    assert late.late.tolist() == [3]


def test_neighbouring_windows_of_totals_share_no_record() -> None:
    columns = {"person": {"role": "identifier"}, "pay": {"role": "other", "type": "integer", "mask": {"aggregate": {"function": "sum", "k": 3}}}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 4}})
    pays = [30, 31, 32, 33, 34, 35, 36, 37]

    releases = session.push([{"person": f"p{n}", "pay": pay} for n, pay in enumerate(pays)])

    # what one total is more than the other is nobody's value, for no record is in both
    assert [set(release.batch.column("pay").to_pylist()) for release in releases] == [{126}, {142}]
    assert not {*releases[0].numbers.tolist()} & {*releases[1].numbers.tolist()}


def test_totals_of_one_window_that_differ_by_one_person_are_not_published() -> None:
    # rows are counted in all and by ward: the ward of three and all four differ by one person
    count = {"role": "other", "type": "integer", "mask": {"aggregate": {"function": "count", "k": 3}}}
    in_ward = count | {"when": {"column": "ward", "equals": "A"}, "otherwise": "empty"}
    columns = {"person": {"role": "identifier"}, "ward": {"role": "other"}, "all": count, "here": in_ward}
    given = {"subject": "person", "columns": columns, "window": {"count": 4, "on_small": "suppress"}}
    rows = [{"person": f"p{n}", "ward": "A" if n < 3 else "B", "all": 1, "here": 1} for n in range(4)]

    pushed = sfumato.stream(given).push(rows)

    assert pushed == []
    assert pushed.suppressed.tolist() == [0, 1, 2, 3]


def test_a_group_of_one_is_not_told_and_not_made_up_for_by_the_next_window() -> None:
    mask = {"aggregate": {"function": "average", "by": ["ward"], "k": 3}}
    columns = {"person": {"role": "identifier"}, "ward": {"role": "other"}, "pay": {"role": "other", "type": "integer", "mask": mask}}
    session = sfumato.stream({"subject": "person", "columns": columns, "window": {"count": 4}})
    rows = [{"person": f"p{n}", "ward": ward, "pay": 10 + n} for n, ward in enumerate("AAABAAABAAAB")]

    told = [row for start in (0, 4, 8) for release in session.push(rows[start : start + 4]) for row in release.batch.to_pylist()]

    assert [row["pay"] for row in told if row["ward"] == "B"] == [17, 17, 17]


def test_a_search_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(_: Any, points: Points, problem: StreamProblem) -> Clusters:
        """Put everybody into a cluster of their own."""
        del problem
        places = np.arange(len(points), dtype=np.int32)
        return Clusters(points.numbers, places, points.coordinates, points.coordinates, places.astype(np.int64))

    def too_narrow(_: Any, points: Points, problem: StreamProblem) -> Clusters:
        """Publish the value of one for all."""
        del problem
        box = points.coordinates[:1]
        return Clusters(points.numbers, np.zeros(len(points), np.int32), box, box, np.zeros(1, np.int64))

    for lie, code in ((alone, "verify-promise"), (too_narrow, "verify-covers")):
        session = sfumato.stream(policy({"count": 4}))
        monkeypatch.setattr("sfumato.algorithms.mondrian.Mondrian.cluster", lie)
        with pytest.raises(PromiseError) as caught:
            session.push([record(f"p{n}", 20 + n) for n in range(4)])
        assert caught.value.code == code
        assert session.accounts.records == 0


def test_a_mask_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"person": {"role": "identifier"}, "note": {"role": "other", "mask": {"shorten": {"length": 2}}}}
    session = sfumato.stream({"columns": columns})
    monkeypatch.setattr("sfumato.engine.stream.rows.Rows.made", lambda rows, _: pa.array(["hello"] * len(rows)))

    with pytest.raises(PromiseError) as caught:
        session.push([{"person": "ada", "note": "hello"}])

    assert caught.value.code == "verify-mask"


def test_no_value_of_a_record_is_in_any_message(caplog: pytest.LogCaptureFixture) -> None:
    canary = "canary-4711"
    messages = []
    with caplog.at_level(logging.DEBUG):
        for bad in ({"age": canary}, {"at": canary}, {canary: 1}, {"illness": [canary]}, {"person": {canary: canary}}):
            for on_unfit in ("set_aside", "error"):
                session = sfumato.stream(policy({"time": "1s", "column": "at"}, stream={"on_unfit": on_unfit}))
                session.push([record("ada", 30, 1)])
                try:
                    messages.append(repr(session.push([record("ben", 31, 2) | bad]).dead))
                except SfumatoError as error:
                    messages.append(f"{error} {error.__cause__} {error.__context__}")
    assert len(messages) == 10
    assert canary not in "".join(messages) + caplog.text

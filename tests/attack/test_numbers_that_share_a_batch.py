"""A number is the same person, value and time whatever numbers stand beside it: Arrow and pandas make fractions of a column for one of them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sfumato

PERSON = 12345678901
SECRET = bytes(32)
WINDOW = {"window": {"count": 2, "on_small": "suppress"}, "accept": ["singling_out"]}


def policy(kind: str | None, **further: Any) -> dict[str, Any]:
    declared = {"type": kind} if kind else {}
    columns = {"person": {"role": "identifier", **declared}, "age": {"role": "quasi_identifier", "type": "integer"}, **further}
    return {"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], **WINDOW}


@pytest.mark.parametrize("kind", [None, "text"])
@pytest.mark.parametrize("person", [PERSON, 1_700_000_000_000, 2**53 - 1])
def test_a_fraction_beside_somebody_makes_no_second_person_of_them(person: int, kind: str | None) -> None:
    session = sfumato.stream(policy(kind), secret=SECRET)
    session.push([{"person": "x", "age": 90}, {"person": "y", "age": 90}])

    released = [*session.push([{"person": person, "age": 20}]), *session.push([{"person": person, "age": 22}, {"person": 0.5, "age": 90}])]

    assert released == []


def test_a_missing_id_in_a_data_frame_makes_no_second_person_of_the_others() -> None:
    session = sfumato.stream(policy("text"), secret=SECRET)
    session.push(pd.DataFrame({"person": ["x", "y"], "age": [90, 90]}))

    released = [
        *session.push(pd.DataFrame({"person": [PERSON], "age": [20]})),
        *session.push(pd.DataFrame({"person": [PERSON, None], "age": [22, 90]})),
    ]

    assert released == []


def test_a_fraction_beside_a_sensitive_value_makes_no_second_value_of_it() -> None:
    asked = policy("text", illness={"role": "sensitive", "type": "text"})
    asked["promises"].append({"l_diversity": {"column": "illness", "l": 2}})
    session = sfumato.stream(asked, secret=SECRET)
    session.push([{"person": "x", "age": 9, "illness": "u"}, {"person": "y", "age": 9, "illness": "v"}])

    released = [
        *session.push([{"person": "a", "age": 20, "illness": PERSON}]),
        *session.push([{"person": "b", "age": 22, "illness": PERSON}, {"person": "c", "age": 9, "illness": 0.5}]),
    ]

    assert released == []


def test_a_fraction_beside_somebody_does_not_count_twice_for_z_anonymity() -> None:
    columns = {"person": {"role": "identifier", "type": "text"}, "at": {"role": "identifier", "type": "integer"}, "item": {"role": "sensitive"}}
    asked = {"subject": "person", "columns": columns, "algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "item"}}}
    session = sfumato.stream(asked, secret=SECRET)
    session.push([{"person": "x", "at": 1, "item": "q"}])

    released = [
        *session.push([{"person": PERSON, "at": 2, "item": "rare"}]),
        *session.push([{"person": PERSON, "at": 3, "item": "rare"}, {"person": 0.5, "at": 3, "item": "other"}]),
    ]

    assert [row for release in released for row in release.batch.to_pylist()] == []


@pytest.mark.parametrize("odd", [1_700_000_000_000.5, float("nan")])
def test_one_fraction_takes_no_whole_numbers_with_it(odd: float) -> None:
    columns = {
        "person": {"role": "identifier"},
        "at": {"role": "identifier", "type": "integer"},
        "age": {"role": "quasi_identifier", "type": "integer"},
    }
    asked = {
        "subject": "person",
        "columns": columns,
        "promises": [{"k_anonymity": {"k": 2}}],
        "window": {"time": "1h", "column": "at", "unit": "ms"},
    }
    session = sfumato.stream(asked, secret=SECRET)
    rows = [{"person": f"p{number}", "at": 1_700_000_000_000 + number, "age": 30 + number} for number in range(8)]

    dead = session.push([*rows[:4], {"person": "odd", "at": odd, "age": 33}, *rows[4:]]).dead

    assert [(letter.number, letter.column) for letter in dead] == [(4, "at")]


def test_one_fraction_in_a_column_of_arrow_takes_no_whole_numbers_with_it() -> None:
    session = sfumato.stream(policy("text"), secret=SECRET, schema=pa.schema([("person", pa.string()), ("age", pa.int64())]))

    pushed = session.push(pa.table({"person": ["a", "b", "c"], "age": pa.array([12345678901.0, 12345678902.0, 0.5])}))

    assert [letter.number for letter in pushed.dead] == [2]

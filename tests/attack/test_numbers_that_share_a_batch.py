"""A number is the same person, value and time whatever numbers stand beside it: Arrow and pandas make fractions of a column for one of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato
from sfumato.engine.stream.exact_casts import cast

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


def written(kind: str, numbers: list[Any]) -> Any:
    people = [f"p{place}" for place in range(len(numbers))]
    if kind == "list":
        return [{"person": person, "age": number} for person, number in zip(people, numbers, strict=True)]
    return pa.table({"person": people, "age": pa.array(numbers)})


@pytest.mark.parametrize("kind", [None, "text"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([Decimal(7)], [Decimal(7), Decimal("0.5")]),
        ([7], [Decimal("7.0"), Decimal("0.5")]),
        ([7.0], [Decimal("7.00"), Decimal("0.25")]),
        (["7"], [Decimal("7.0"), Decimal("0.5")]),
        ([10**22], [Decimal(10**22), Decimal("0.5")]),
    ],
)
@pytest.mark.parametrize("algorithm", ["mondrian", "microaggregation", {"castle": {"delta": 2}}])
def test_decimals_of_another_scale_make_no_second_person(first: list[Any], second: list[Any], kind: str | None, algorithm: Any) -> None:
    asked = policy(kind) | {"algorithm": algorithm}
    if isinstance(algorithm, dict):
        del asked["window"]
    session = sfumato.stream(asked, secret=SECRET)
    numbers = [*first, *second]
    session.push([{"person": "x", "age": 90}, {"person": "y", "age": 90}])
    session.flush()

    rows = [{"person": number, "age": 20 + place} for place, number in enumerate(numbers)]
    pushes = [session.push(rows[: len(first)]), session.push(rows[len(first) :]), session.flush()]

    assert [letter for pushed in pushes for letter in pushed.dead] == []
    # somebody else is in every class of the two records
    for pushed in pushes:
        for release in pushed:
            clusters = {cluster for number, cluster in zip(release.numbers.tolist(), release.clusters.tolist(), strict=True) if number in (2, 3)}
            for cluster in clusters:
                members = {number for number, other in zip(release.numbers.tolist(), release.clusters.tolist(), strict=True) if other == cluster}
                assert members - {2, 3}


@pytest.mark.parametrize("way", ["list", "arrow"])
def test_decimals_in_a_column_of_floats_are_the_numbers_that_they_say(way: str) -> None:
    asked = {**policy(None), "columns": {"person": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "decimal"}}}
    session = sfumato.stream(asked, secret=SECRET)
    session.push(written(way, [1, 2]))

    (release,) = session.push(written(way, [Decimal("7988.73"), Decimal("7990.73")]))

    assert release.batch.column("age").to_pylist() == ["[7988.73, 7990.73]"] * 2


def test_the_first_decimals_do_not_say_how_many_digits_others_have() -> None:
    asked = {**policy(None), "columns": {"person": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "decimal"}}}
    session = sfumato.stream(asked, secret=SECRET)
    session.push(written("list", [Decimal("19.99"), Decimal("20.50")]))

    assert session.push(written("list", [Decimal("100.00"), 120, Decimal("1.125"), 2.5])).dead == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([Decimal("19.9"), Decimal("20.5")]), pa.array([0.55, 0.56])),
        (pa.array([1.5, 2.5], pa.float32()), pa.array([0.123456789, 0.1234567895])),
        (pa.array([1.0, 2.0]), pa.array([2**53 + 1, 2**53 + 3])),
        (pa.array([1.0, 2.0]), pa.array(["9007199254740993", "9007199254740995"])),
        (pa.array([1.0, 2.0]), pa.array([Decimal("0.12345678901234567891"), Decimal("0.12345678901234567899")])),
    ],
)
def test_a_number_that_a_column_cannot_hold_is_set_aside_and_not_rounded(first: pa.Array, second: pa.Array) -> None:
    asked = {**policy(None), "columns": {"person": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "decimal"}}}
    session = sfumato.stream(asked, secret=SECRET)
    session.push(pa.table({"person": ["a", "b"], "age": first}))

    pushed = session.push(pa.table({"person": ["c", "d"], "age": second}))

    assert [(letter.number, letter.code) for letter in pushed.dead] == [(2, "value-type"), (3, "value-type")]
    assert list(pushed) == []


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False, places=3)
)
KINDS = [pa.int64(), pa.float64(), pa.float32(), pa.decimal128(20, 3), pa.string()]


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.sampled_from(KINDS))
@example([2.0**-52], pa.float32())
def test_a_cast_makes_the_same_number_or_none(numbers: list[Any], kind: pa.DataType) -> None:
    for number in numbers:
        try:
            values = pa.array([number])
        except (pa.ArrowException, OverflowError):
            continue
        (made,) = cast(values, kind).to_pylist()

        if made is not None:
            shown = repr(made) if pa.types.is_float64(kind) else str(np.float32(made)) if pa.types.is_float32(kind) else str(made)
            assert Decimal(shown) == Decimal(repr(number) if isinstance(number, float) else number)


def instants(first: Any, second: Any, kind: str = "timestamp") -> tuple[list[str], list[int]]:
    columns = {"person": {"role": "identifier"}, "at": {"role": "quasi_identifier", "type": kind, "hierarchy": {"interval": {}}}}
    session = sfumato.stream({**policy(None), "columns": columns}, secret=SECRET)
    people = [["a", "b"], [f"p{place}" for place in range(len(second))]]
    texts: list[str] = []
    dead: list[int] = []
    for names, values in zip(people, (first, second), strict=True):
        given = pa.table({"person": names, "at": values}) if isinstance(values, pa.Array) else None
        pushed = session.push([{"person": name, "at": value} for name, value in zip(names, values, strict=True)] if given is None else given)
        texts += [text for release in pushed for text in release.batch.column("at").to_pylist()]
        dead += [letter.number for letter in pushed.dead]
    return texts, dead


NEW_YEAR = datetime(2020, 1, 3)


@pytest.mark.parametrize(
    ("first", "second", "wrong", "kind"),
    [
        # one with an hour among days, one with half a second among seconds
        (pa.array([date(2020, 1, 1), date(2020, 1, 2)]), pa.array([NEW_YEAR, NEW_YEAR, NEW_YEAR + timedelta(hours=5)]), [4], "date"),
        (pa.array([NEW_YEAR] * 2, pa.timestamp("s")), pa.array([NEW_YEAR, NEW_YEAR, NEW_YEAR + timedelta(milliseconds=500)]), [4], "timestamp"),
        ([NEW_YEAR] * 2, [NEW_YEAR, "2020-01-03T00:00:00"], [], "timestamp"),
        ([NEW_YEAR] * 2, ["2020-01-03T00:00:00Z", "2020-01-04T01:00:00+01:00"], [], "timestamp"),
        ([NEW_YEAR.replace(tzinfo=UTC)] * 2, ["2020-01-03T00:00:00", "2020-01-04T00:00:00"], [], "timestamp"),
        (["2020-01-01", "2020-01-02"], pa.array([NEW_YEAR, NEW_YEAR]), [], "date"),
        # nothing is cut off, and no number is a time
        ([date(2020, 1, 1), date(2020, 1, 2)], [NEW_YEAR + timedelta(hours=5), NEW_YEAR + timedelta(hours=23)], [2, 3], "date"),
        ([NEW_YEAR] * 2, [5, 6], [2, 3], "timestamp"),
        ([date(2020, 1, 1), date(2020, 1, 2)], [5, 6], [2, 3], "date"),
    ],
)
def test_times_are_what_they_say_whatever_stands_beside_them(first: Any, second: Any, wrong: list[int], kind: str) -> None:
    texts, dead = instants(first, second, kind)

    assert dead == wrong
    assert len(texts) == 2 + (0 if len(wrong) == len(second) else 2)


@pytest.mark.parametrize("narrow", [np.float32(0.1), np.float16(0.1)])
def test_a_fraction_of_few_bytes_is_the_number_that_it_is_written_with(narrow: Any) -> None:
    columns = {"person": {"role": "identifier", "type": "decimal"}, "age": {"role": "quasi_identifier", "type": "integer"}}
    session = sfumato.stream({**policy(None), "columns": columns}, secret=SECRET)
    session.push([{"person": 1.5, "age": 90}, {"person": 2.5, "age": 90}])

    pushed = [*session.push(pa.table({"person": pa.array([narrow]), "age": [20]})), *session.push([{"person": narrow, "age": 22}])]

    assert pushed == []


def test_a_number_of_thousands_of_digits_is_a_dead_letter() -> None:
    session = sfumato.stream(policy("text"), secret=SECRET)

    pushed = session.push([{"person": "x", "age": 20}, {"person": 10**5000, "age": 21}, {"person": "y", "age": 22}])

    assert [letter.number for letter in pushed.dead] == [1]


@pytest.mark.parametrize(
    ("written", "kind", "listed"),
    [
        (lambda numbers: pa.array([Decimal(number).quantize(Decimal("0.01")) for number in numbers]), "decimal", "7"),
        (lambda numbers: pa.array([Decimal(number).quantize(Decimal("0.01")) for number in numbers]), "integer", "7"),
        (lambda numbers: pa.array([Decimal(number).quantize(Decimal("0.01")) for number in numbers]), None, "7"),
        (lambda numbers: pa.array([datetime(2020, 1, 1) + timedelta(days=number) for number in numbers]), "date", "2020-01-08"),
    ],
)
def test_nothing_is_made_up_in_the_name_of_somebody_listed_who_comes_in_another_writing(
    written: Any, kind: str | None, listed: str, tmp_path: Any
) -> None:
    (tmp_path / "out.txt").write_text(f"{listed}\n")
    declared = {"type": kind} if kind else {}
    columns = {
        "person": {"role": "identifier", "mask": "keep", **declared},
        "at": {"role": "identifier", "type": "integer"},
        "item": {"role": "sensitive"},
    }
    noise = {"diffmax": 0.5, "opted_out_file": str(tmp_path / "out.txt")}
    search = {"z_anonymity": {"z": 6, "time": "at", "path": "item", "noise": noise}}
    session = sfumato.stream({"subject": "person", "columns": columns, "algorithm": search, "accept": ["singling_out"]}, secret=SECRET)
    chance = np.random.default_rng(5)
    made_up: list[Any] = []
    for start in range(0, 400, 100):
        people = chance.integers(1, 13, 100).tolist()
        items = [f"a.{number}" for number in chance.integers(0, 30, 100).tolist()]
        for release in session.push(pa.table({"person": written(people), "at": pa.array(range(start, start + 100)), "item": items})):
            shown = release.batch.column("person").to_pylist()
            made_up += [name for name, number in zip(shown, release.numbers.tolist(), strict=True) if number < 0]
        # names of all types go into a state and come back
        state = session.snapshot()
        session = sfumato.stream({"subject": "person", "columns": columns, "algorithm": search, "accept": ["singling_out"]}, secret=SECRET)
        session.restore(state)

    assert made_up
    assert written([7])[0].as_py() not in made_up


@pytest.mark.parametrize("number", [2**64 - 1, 2**63, 2**64 - 2048])
def test_a_large_number_without_a_sign_beside_a_fraction_gets_none(number: int) -> None:
    session = sfumato.stream({"columns": {"amount": {"role": "sensitive"}}}, secret=SECRET)

    (first,) = session.push([{"amount": np.uint64(number)}, {"amount": 7.5}])

    assert not any(str(amount).startswith("-") for amount in first.batch.column("amount").to_pylist())


@pytest.mark.parametrize("value", [b"x", time(5), -0.0, float("nan"), np.datetime64("2026-01-01T00:00:00.000000001"), True, Decimal("1e30")])
@pytest.mark.parametrize("other", ["x", 0.25, Decimal("1.5"), None, date(2026, 1, 1)])
@pytest.mark.parametrize("kind", ["text", "decimal", "timestamp", None])
@pytest.mark.parametrize("first", ["y", 1.5, time(6), np.datetime64("2025-01-01T00:00:00.000000001")])
def test_what_a_value_becomes_does_not_hang_on_the_value_beside_it(value: Any, other: Any, kind: str | None, first: Any) -> None:
    def became(*pieces: list[Any]) -> list[Any]:
        session = sfumato.stream({"columns": {"said": {"role": "sensitive", **({"type": kind} if kind else {})}}}, secret=SECRET)
        told: dict[int, Any] = {}
        for piece in ([first], *pieces):
            pushed = session.push([{"said": each} for each in piece])
            told |= {letter.number: letter.code for letter in pushed.dead}
            told |= {number: repr(row["said"]) for release in pushed for number, row in zip(release.numbers, release.batch.to_pylist(), strict=True)}
        return [told[number] for number in sorted(told)]

    assert became([value], [other]) == became([value, other])

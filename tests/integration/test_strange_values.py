"""Values that are rare and real: each goes the whole road, or is one clear error. No row is lost, and nothing is told of a value."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.canonical import as_text
from sfumato.errors import DataError

SENSITIVE = {"illness": {"role": "sensitive"}}


def released(values: Any, k: int = 2, **column: Any) -> list[Any]:
    """Return what is published of a column of values, each of which three people have."""
    rows = values.take([place // 3 for place in range(3 * len(values))]) if isinstance(values, pa.Array) else [v for v in values for _ in range(3)]
    table = pa.table({"value": rows, "illness": ["ab"[place % 2] for place in range(len(rows))]})
    policy = {"columns": {"value": {"role": "quasi_identifier", **column}, **SENSITIVE}, "promises": [{"k_anonymity": {"k": k}}]}
    release = sfumato.run(policy, data=table)
    assert release.table.num_rows + int(release.record.rows.suppressed) == len(rows)
    shown: list[Any] = release.table["value"].to_pylist()
    assert min(Counter(shown).values()) >= k
    return shown


def refused(values: Any, code: str, secret: str, **column: Any) -> None:
    with pytest.raises(DataError) as raised:
        released(values, **column)
    assert raised.value.code == code
    assert secret not in str(raised.value)


def test_a_column_of_several_types_is_text_and_none_is_lost() -> None:
    assert set(released(["12", "twelve", "1.5", "2024-01-01", "10.0.0.1", ""])) >= {"12", "1.5"}


def test_a_declared_type_refuses_what_is_not_of_it() -> None:
    refused(["12", "13", "twelve"], "value-type", "twelve", type="integer")
    assert "12" in released(["12", "13", "twelve"], type="integer", on_unknown="generalise")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_missing_or_refused(value: float) -> None:
    try:
        shown = released(pa.array([1.0, 2.0, 3.0, value]))
    except DataError as error:
        assert error.code in ("value-type", "value-outside-hierarchy")
        assert "inf" not in error.message
    else:
        assert not any("nan" in str(text).lower() or "inf" in str(text).lower() for text in shown)


def test_both_zeros_are_one_value() -> None:
    assert set(released(pa.array([0.0, -0.0, 1.0]), k=6)) == {"0", "[0, 1]"} or set(released(pa.array([0.0, -0.0, 1.0]), k=3)) == {"0", "1"}


def test_huge_integers_and_decimals_are_covered_by_what_is_published() -> None:
    huge = [10**17, 10**17 + 1, 10**18, -(10**18)]
    assert len(released(pa.array(huge))) == 12
    decimals = [Decimal("123456789012345678901234567890.12"), Decimal("-0.01"), Decimal("0.00"), Decimal("99999999999999999999.99")]
    assert len(released(pa.array(decimals, pa.decimal128(38, 2)))) == 12
    assert len(released([str(10**40), str(10**40 + 1), "3"])) == 9


def test_dates_before_1900_and_in_several_formats() -> None:
    assert set(released(["1815-12-10", "1799-07-14", "0476-09-04"])) == {"1815-12-10", "1799-07-14", "0476-09-04"}
    # another format makes text of the column: nothing is guessed
    mixed = released(["1815-12-10", "10.12.1815", "12/10/1815"])
    assert set(mixed) == {"1815-12-10", "10.12.1815", "12/10/1815"}
    refused(["1815-12-10", "10.12.1815"], "value-type", "10.12", type="date")


def test_the_hour_that_comes_twice_is_two_instants() -> None:
    # in Berlin the clocks were put back at three
    instants = ["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2024-10-27T02:30:00+02:00"]
    hours = {"calendar": {"levels": ["hour", "day"], "time_zone": "Europe/Berlin"}}
    shown = Counter(released(instants, type="timestamp", hierarchy=hours, level={"minimum": 1}))
    assert len(shown) == 2
    assert sorted(shown.values()) == [3, 6]


def test_an_ipv4_address_within_ipv6_is_one_of_ipv6() -> None:
    shown = released(["10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2", "2001:db8::1"], type="ip", hierarchy={"network": {}})
    assert len(shown) == 12
    refused(["10.0.0.1", "10.0.0.999"], "value-type", "999", type="ip", hierarchy={"network": {}})


def test_places_outside_the_globe_are_unknown_values() -> None:
    places = ["46.95 7.44", "47.56 7.59", "95.0 7.0"]
    refused(places, "value-outside-hierarchy", "95", hierarchy={"grid": {}})
    assert "*" in released(places, hierarchy={"grid": {}}, on_unknown="generalise")


STRANGE = [
    "👩‍👩‍👧",
    "שלום",
    "e\u0301",
    "é",
    "a,b",
    'say "no"',
    "two\nlines",
    "a\r\nb",
    "\x00",
    "\ufeffmark",
    " blank ",
    "a;b",
    "'",
    "\t",
    "\u2028",
    "NULL",
]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_strange_text_is_published_as_it_was(ending: str, tmp_path: Path) -> None:
    table = pa.table({"value": [text for text in STRANGE for _ in range(3)], "note": [text for _ in range(3) for text in STRANGE]})
    policy = {
        "columns": {"value": {"role": "quasi_identifier"}, "note": {"role": "other"}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "sink": str(tmp_path / f"release.{ending}"),
    }

    release = sfumato.run(policy, data=table)

    assert Counter(release.table["value"].to_pylist()) == Counter(table["value"].to_pylist())
    assert Counter(release.table["note"].to_pylist()) == Counter(table["note"].to_pylist())
    if ending == "csv":
        with (tmp_path / "release.csv").open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        assert Counter(row[0] for row in lines[1:]) == Counter(table["value"].to_pylist())


def test_mixed_encodings_are_refused_with_their_line(write_policy: Callable[..., Path], tmp_path: Path) -> None:
    policy = write_policy({"source": "data.csv", "columns": {"town": {"role": "other"}}, "sink": "release.csv"})
    (tmp_path / "data.csv").write_bytes("town\nKöln\n".encode() + "Köln\n".encode("latin-1"))

    with pytest.raises(DataError) as raised:
        sfumato.run(policy)

    assert raised.value.code == "file-encoding"
    assert "ln" not in raised.value.message.replace("line", "")


@pytest.mark.slow
def test_five_thousand_columns(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    names = [f"c{number}" for number in range(5000)]
    columns: dict[str, Any] = {name: {"role": "other"} for name in names}
    columns |= {name: {"role": "quasi_identifier"} for name in names[:20]} | {name: {"role": "identifier"} for name in names[-1000:]}
    rows = [names, *([str((row * (number + 1)) % 3) for number in range(5000)] for row in range(60))]
    policy = write_policy({"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": "release.csv"}, rows)

    release = sfumato.run(policy)

    assert release.table.num_rows == 60
    assert len(release.table.column_names) == 4000
    assert min(Counter(zip(*(release.table[name].to_pylist() for name in names[:20]), strict=True)).values()) >= 5


def test_an_exponent_in_a_column_of_long_numbers_rounds_none_of_them() -> None:
    shown = released(["9007199254740993", "1e3", "2.5"])

    assert "9007199254740993" in shown
    assert set(released(["1e3", "2.5", "1000.125"])) == {"1000", "2.5", "1000.125"}


@pytest.mark.parametrize("smallest", ["0.0000000000", "0.0000000001"])
def test_a_small_number_makes_no_binary_fractions_of_long_decimals(smallest: str) -> None:
    numbers = [Decimal(smallest), *(Decimal(f"24691357802469{number:03}.0246913578") for number in range(99))]
    policy = {"columns": {"n": {"role": "quasi_identifier"}, "d": {"role": "other"}}, "promises": [{"k_anonymity": {"k": 5}}]}
    table = pa.table({"n": pa.array(numbers, pa.decimal128(38, 10)), "d": pa.array([Decimal(smallest)] * 100, pa.decimal128(38, 10))})

    release: Any = sfumato.run(policy, table)

    bounds = [[Decimal(bound) for bound in text.strip("[]").split(", ")] for text in set(release.table["n"].to_pylist())]
    assert all(any(bound[0] <= number <= bound[-1] for bound in bounds) for number in numbers)
    assert sum(number in bound for number in numbers for bound in bounds) == 2 * len(bounds)
    assert as_text(table["d"]).to_pylist()[0] == smallest


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
@pytest.mark.parametrize("power", [0, -4, -300, 300])
def test_binary_fractions_of_any_length_are_published(algorithm: str, power: int) -> None:
    numbers = np.random.default_rng(7).normal(size=300) * 10.0**power
    policy = {"columns": {"n": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 5}}], "algorithm": algorithm}

    assert sfumato.run(policy, data=pa.table({"n": numbers})).record.rows.out == 300


def test_numbers_further_apart_than_a_float_can_say_are_published() -> None:
    policy = {"columns": {"n": {"role": "quasi_identifier", "hierarchy": {"interval": {"bins": 5}}}}, "promises": [{"k_anonymity": {"k": 2}}]}

    found = sfumato.run(policy, data=pa.table({"n": [-1.5e308, 1.5e308, 1e308, -1e308]})).table.column("n").to_pylist()
    assert found == ["[-1.5e+308, -1e+308]"] * 2 + ["[1e+308, 1.5e+308]"] * 2


def test_what_stands_for_a_missing_value_may_have_more_digits() -> None:
    policy = {"columns": {"n": {"role": "quasi_identifier", "missing": ["-99.999"]}}, "promises": [{"k_anonymity": {"k": 2}}]}

    found = sfumato.run(policy, data=pa.table({"n": ["1.5", "1.5", "2.5", "2.5", "-99.999", "-99.999"]})).table.column("n").to_pylist()
    assert found == ["1.5", "1.5", "2.5", "2.5", None, None]


def test_loss_is_told_where_numbers_are_too_close_for_floats() -> None:
    numbers = [10**17 + place % 3 for place in range(9)] + [15 * 10**16]
    policy = {
        "columns": {"n": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "algorithm": "datafly",
        "suppression_limit": 0.2,
    }

    assert sfumato.run(policy, data=pa.table({"n": numbers})).record.measures["after"]["gcp"] == 0


def test_years_beyond_the_calendar_have_names_of_their_own() -> None:
    instants = ["9999-12-31T23:00:00Z", "9999-12-31T23:30:00Z", "1005-01-01T00:00:00Z", "1005-01-02T00:00:00Z"]
    column = {"role": "quasi_identifier", "hierarchy": {"calendar": {"levels": ["decade"], "time_zone": "Asia/Tokyo"}}, "level": {"minimum": 1}}
    policy = {"columns": {"at": column}, "promises": [{"k_anonymity": {"k": 2}}]}

    assert sorted(sfumato.run(policy, data=pa.table({"at": instants})).table.column("at").to_pylist()) == ["10000s"] * 2 + ["1000s"] * 2


def test_values_with_commas_stand_in_quotes_in_a_set() -> None:
    column = {
        "role": "quasi_identifier",
        "hierarchy": {"taxonomy": {"tree": {"*": ["x", "y"], "x": ["a", "a, b"], "y": ["c", "d"]}}},
        "publish": "set",
    }
    policy = {"columns": {"v": column}, "promises": [{"k_anonymity": {"k": 2}}]}

    found = sfumato.run(policy, data=pa.table({"v": ["a", "a, b", "c", "d"]})).table.column("v").to_pylist()
    assert sorted(found) == ['{a, "a, b"}'] * 2 + ["{c, d}"] * 2


def test_numbers_are_not_ordered_as_letters_because_one_is_none() -> None:
    promises = [{"k_anonymity": {"k": 2}}, {"t_closeness": {"column": "s", "t": 0.3, "distance": "ordered"}}]
    columns = {"d": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    table = pa.table({"d": [1, 1, 2, 2], "s": ["1", "2", "10", "k.A."]})

    with pytest.raises(DataError) as raised:
        sfumato.run({"columns": columns, "promises": promises}, data=table)
    assert (raised.value.code, "k.A." in raised.value.sentence()) == ("value-type", False)
    columns["s"]["missing"] = "k.A."
    assert sfumato.run({"columns": columns, "promises": promises}, data=table).record.rows.out == 4

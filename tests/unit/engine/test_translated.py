"""Dates and numbers that a source writes in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.core.written_forms import WrittenForm
from sfumato.errors import DataError, PolicyError

PROMISE = [{"k_anonymity": {"k": 2}}]


def policy(**changes: Any) -> dict[str, Any]:
    columns = {"born": {"role": "quasi_identifier", "type": "date", "publish": "interval"}, "paid": {"role": "other", "accept": ["singling_out"]}}
    return {"columns": columns, "formats": {"born": "%d.%m.%Y", "paid": "1.234,56"}, "promises": PROMISE, **changes}


@pytest.mark.parametrize(
    ("form", "given", "expected"),
    [
        (
            "%d/%m/%Y",
            ["01/02/1999", "31/12/1850", "1/2/1999", "30/02/1999", "1/2/99", "01/02/1999 ", ""],
            ["1999-02-01", "1850-12-31", "1999-02-01", *[None] * 4],
        ),
        ("%d.%m.%y", ["01.02.69", "01.02.68"], ["1969-02-01", "2068-02-01"]),
        ("%d %b %Y", ["05 Mar 2020", "05 Mrz 2020"], ["2020-03-05", None]),
        ("%m/%d/%Y %I:%M %p", ["01/02/2020 11:30 PM", "01/02/2020 12:30 AM"], ["2020-01-02T23:30:00", "2020-01-02T00:30:00"]),
        ("%Y-%j", ["2020-060", "2020-367"], ["2020-02-29", None]),
        ("%Y%m%d", ["20200131", "20201301"], ["2020-01-31", None]),
        (
            "1.234,56",
            ["1.234,5", "1234,5", "1234567", "-0,5", "1.23,5", "1,5,6", "12.50", "1.234"],
            ["1234.5", "1234.5", "1234567", "-0.5", *[None] * 3, "1234"],
        ),
        ("1 234,56", ["12 345,67", "1  2"], ["12345.67", None]),
        ("1'234.56", ["1'234'567.8", "7"], ["1234567.8", "7"]),
        ("1234,56", ["1234,56", "1.234,56"], ["1234.56", None]),
    ],
)
def test_a_form_is_read_and_all_else_left_as_it_is(form: str, given: list[str], expected: list[str | None]) -> None:
    found = WrittenForm.of(form).canonical(pa.array([*given, None])).to_pylist()

    assert found == [right if right is not None else text for text, right in zip(given, expected, strict=True)] + [None]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("dd.mm.yyyy", "is neither a pattern of a date"),
        ("%d.%m", "says no whole date"),
        ("%Q.%m.%Y", "has a part that is not known: %Q"),
        ("1234.567", "is neither a pattern of a date"),
    ],
)
def test_a_form_that_means_nothing_is_refused_with_its_line(form: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"columns: {{born: {{role: quasi_identifier}}}}\nformats:\n  born: '{form}'\npromises: [{{k_anonymity: {{k: 2}}}}]\n")

    with pytest.raises(PolicyError) as raised:
        sfumato.plan(path, data=pa.table({"born": ["x"]}))
    (mistake,) = raised.value.mistakes
    assert (mistake.key, mistake.line) == ("formats.born", 3)
    assert mistake.message.startswith(words)


def test_dates_and_numbers_of_a_csv_file_are_published_in_our_form(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("born;paid\n17.05.1984;1.250,50\n30.05.1984;7\n01.01.1991;8,5\n02.01.1991;9\n")
    given = policy(source={"delimited": {"path": str(tmp_path / "in.csv"), "delimiter": ";"}}, sink=str(tmp_path / "out.csv"))

    sfumato.run(given)

    first, second = "[1984-05-17, 1984-05-30]", "[1991-01-01, 1991-01-02]"
    assert sorted((tmp_path / "out.csv").read_text().splitlines()) == sorted(
        ["born,paid", f'"{first}",1250.50', f'"{first}",7', f'"{second}",8.5', f'"{second}",9']
    )


def test_two_ways_of_writing_one_day_are_one_day() -> None:
    table = pa.table({"born": ["1.5.1984", "01.05.1984"], "paid": ["1", "2"]})

    assert sfumato.run(policy(), data=table).table.column("born").to_pylist() == ["1984-05-01"] * 2


def test_what_does_not_fit_is_no_value_of_the_type() -> None:
    table = pa.table({"born": ["17.05.1984", "30.05.1984", "1984-13-01"], "paid": ["1", "2", "3"]})

    with pytest.raises(DataError) as raised:
        sfumato.run(policy(), data=table)
    assert (raised.value.code, "1984" in raised.value.message) == ("value-type", False)


def test_a_form_of_a_column_that_has_a_type_is_refused(tmp_path: Path) -> None:
    born = pa.array(["1984-05-17", "1984-05-18"]).cast(pa.date32())
    pq.write_table(pa.table({"born": born, "paid": ["1", "2"]}), tmp_path / "in.parquet")

    with pytest.raises(PolicyError) as raised:
        sfumato.plan(policy(source=str(tmp_path / "in.parquet")))
    assert [(mistake.key, mistake.code) for mistake in raised.value.mistakes] == [("formats.born", "policy-format")]


def test_a_form_of_an_unknown_column_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        sfumato.plan(policy(formats={"bron": "%d.%m.%Y"}), data=pa.table({"born": ["x"], "paid": ["1"]}))
    assert [(mistake.key, mistake.code, mistake.hint) for mistake in raised.value.mistakes] == [("formats.bron", "policy-unknown-column", "born")]


def test_the_plan_says_how_a_column_is_read() -> None:
    plan = sfumato.plan(policy(), data=pa.table({"born": ["17.05.1984"], "paid": ["1"]}))

    assert "Read born as it is written there, %d.%m.%Y, and write it as ISO 8601." in plan.steps
    assert "Read paid as it is written there, 1.234,56, and write it as a number with a point." in plan.steps
    assert plan.settings["formats"] == {"born": "%d.%m.%Y", "paid": "1.234,56"}

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
        ("%Y-%j", ["2020-060", "2020-367", "2019-366"], ["2020-02-29", None, None]),
        ("%Y%m%d", ["202011", "2020131"], [None, None]),
        ("%d.%m.%Y %b", ["31.12.1999 Dec", "31.12.1999 Jan"], ["1999-12-31", None]),
        ("%Y%m%d", ["20200131", "20201301"], ["2020-01-31", None]),
        (
            "1.234,56",
            ["1.234,5", "1234,5", "1234567", "-0,5", "1.23,5", "1,5,6", "12.50", "1.234"],
            ["1234.5", "1234.5", "1234567", "-0.5", *[None] * 3, "1234"],
        ),
        ("1 234,56", ["12 345,67", "12\u00a0345,67", "12\u202f345", "1  2"], ["12345.67", "12345.67", "12345", None]),
        ("1'234.56", ["1'234'567.8", "1\u2019234", "7"], ["1234567.8", "1234", "7"]),
        ("1234,56", ["1234,56", "1.234,56", "1,50", "+2", "007", "-0,0"], ["1234.56", None, "1.5", "2", "7", "0"]),
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
        ("%d.%m.%Y %d", "says one thing twice"),
        ("%d.%m.%Y%", "has a part that is not known: %;"),
        ("%d.%m.%Y %I:%M", "needs %I and %p together"),
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
        ["born,paid", f'"{first}",1250.5', f'"{first}",7', f'"{second}",8.5', f'"{second}",9']
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


def test_what_clocks_of_a_zone_show_is_read_as_the_instant_it_was() -> None:
    given = policy(
        columns={"at": {"role": "quasi_identifier", "hierarchy": {"calendar": {"levels": ["hour", "day"], "time_zone": "Europe/Berlin"}}}},
        formats={"at": {"pattern": "%d.%m.%Y %H:%M", "time_zone": "Europe/Berlin"}},
    )
    table = pa.table({"at": ["31.12.2023 23:30", "31.12.2023 23:45", "29.10.2023 02:30", "29.10.2023 02:31"]})

    assert sorted(sfumato.run(given, data=table).table.column("at").to_pylist()) == ["2023-10-29T02+02:00"] * 2 + ["2023-12-31T23+01:00"] * 2


def test_a_distance_from_utc_is_read() -> None:
    found = WrittenForm.of("%d.%m.%Y %H:%M %z").canonical(pa.array(["01.01.2024 00:30 +0100", "01.01.2024 00:30"])).to_pylist()

    assert found == ["2023-12-31T23:30:00Z", "01.01.2024 00:30"]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"pattern": "%d.%m.%Y %H:%M", "time_zone": "Mars"}, "a time zone that nobody knows"),
        ({"pattern": "%d.%m.%Y", "time_zone": "UTC"}, "only where the pattern"),
    ],
)
def test_a_zone_that_means_nothing_is_refused(form: dict[str, str], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        sfumato.plan(policy(formats={"born": form}), data=pa.table({"born": ["x"], "paid": ["1"]}))


@pytest.mark.parametrize(("column", "value"), [("paid", "12.5"), ("born", "2020-01-31")])
def test_what_could_be_read_as_something_else_is_refused_without_saying_it(column: str, value: str) -> None:
    rows = {"born": ["17.05.1984", "30.05.1984", "01.06.1984"], "paid": ["1", "2", "3"]}
    rows[column][2] = value

    with pytest.raises(DataError) as raised:
        sfumato.run(policy(), data=pa.table(rows))
    assert (raised.value.code, value in raised.value.sentence()) == ("value-format", False)


def test_what_stands_for_a_missing_value_need_not_fit() -> None:
    columns = {"born": {"role": "quasi_identifier", "type": "date", "missing": "9999-12-31"}}
    table = pa.table({"born": ["17.05.1984", "30.05.1984", "9999-12-31", "9999-12-31"]})

    found = sfumato.run(policy(columns=columns, formats={"born": "%d.%m.%Y"}), data=table)

    assert sorted(found.table.column("born").to_pylist(), key=str) == ["1984-05", "1984-05", None, None]


def test_the_record_says_that_kept_values_do_not_fit() -> None:
    table = pa.table({"born": ["17.05.1984", "30.05.1984"], "paid": ["1", "much"]})

    assert "some values of column paid do not fit its format and stayed as they were" in sfumato.run(policy(), data=table).record.notes


@pytest.mark.parametrize(("values", "form"), [(["31.12.1999", "1.1.2000"], "%d.%m.%Y"), (["75,3", "80,1"], "1.234,56")])
def test_the_record_says_what_a_column_looks_like(values: list[str], form: str) -> None:
    given = {"columns": {"x": {"role": "quasi_identifier"}}, "promises": PROMISE}

    (note,) = [note for note in sfumato.run(given, data=pa.table({"x": values})).record.notes if "formats" in note]
    assert note == f"column x was read as text, and most of its values look like {form}; if they are dates or numbers: formats: {{x: '{form}'}}"


def test_texts_for_missing_values_are_known_as_the_source_writes_them() -> None:
    columns = {"d": {"role": "quasi_identifier"}, "s": {"role": "sensitive", "missing": ["31.12.9999", "?"]}}
    given = {"columns": columns, "formats": {"s": "%d.%m.%Y"}, "promises": [*PROMISE, {"l_diversity": {"column": "s", "l": 2}}]}
    table = pa.table({"d": [1, 1, 2, 2], "s": ["31.12.9999", "?", "1.1.2020", "2.1.2020"]})

    assert sfumato.run(given, data=table).table.column("d").to_pylist() == ["[1, 2]"] * 4


def test_two_ways_of_writing_one_number_are_one_number() -> None:
    columns = {"d": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}
    given = {"columns": columns, "formats": {"s": "1.234,56"}, "promises": [*PROMISE, {"l_diversity": {"column": "s", "l": 2}}]}
    table = pa.table({"d": [1, 1, 2, 2], "s": ["1,5", "1,50", "2", "+2"]})

    assert sfumato.run(given, data=table).table.column("d").to_pylist() == ["[1, 2]"] * 4


def test_a_form_of_a_categorical_column_is_read() -> None:
    table = pa.table({"born": pa.array(["17.05.1984", "30.05.1984"]).dictionary_encode(), "paid": ["1", "2"]})

    assert sfumato.run(policy(), data=table).table.column("born").to_pylist() == ["[1984-05-17, 1984-05-30]"] * 2


def test_a_column_with_a_format_is_not_advised_to_have_ours() -> None:
    given = {"columns": {"d": {"role": "quasi_identifier"}}, "formats": {"d": "%d.%m.%Y"}, "promises": PROMISE}
    values = ["31.12.1999"] * 60 + ["1.1.2000"] * 60 + ["soon"] * 2

    notes = sfumato.run(given, data=pa.table({"d": values})).record.notes
    assert not [note for note in notes if "formats:" in note]
    assert "column d was read as text, because some of its values are not of type date; list them under missing if they are none" in notes

"""What the record says about values that a reader should know of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError

FLOATS = pa.table({"weight": [13 + step / 70 for step in range(100)] + [19.87654321, 0.1], "job": ["a"] * 100 + ["c", "a"]})


def notes(table: pa.Table, columns: dict[str, Any], **others: Any) -> str:
    policy = {"columns": columns, "promises": [{"k_anonymity": {"k": 5}}], **others}
    return "\n".join(sfumato.run(policy, data=table).record.notes)


def weight(interval: dict[str, Any]) -> dict[str, Any]:
    return {"weight": {"role": "quasi_identifier", "hierarchy": {"interval": interval}}, "job": {"role": "quasi_identifier", "level": {"maximum": 0}}}


@pytest.mark.parametrize("interval", [{"width": 10}, {"edges": [10, 20], "minimum": 0, "maximum": 100}], ids=str)
def test_the_value_of_a_suppressed_person_names_no_interval_whose_ends_the_policy_says(interval: dict[str, Any]) -> None:
    policy = {"columns": weight(interval), "promises": [{"k_anonymity": {"k": 5}}], "algorithm": "datafly", "suppression_limit": 0.1}

    release = sfumato.run(policy, data=FLOATS)

    assert set(release.table["weight"].to_pylist()) == {"[10, 19.999999999999996]"}
    assert release.record.notes == []


def test_intervals_named_after_values_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    found = notes(FLOATS, weight({"quantiles": 2}), algorithm="datafly", suppression_limit=0.1)

    assert found == "intervals are named after values of the table as read, those of suppressed rows included (weight)"


def test_bounds_are_said_to_be_tight_where_they_are() -> None:
    table = pa.table({"age": list(range(20)), "job": ["a", "b"] * 10})
    columns = {"age": {"role": "quasi_identifier"}, "job": {"role": "quasi_identifier"}}
    whole = {"age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 5}}, "level": {"minimum": 1}}, "job": columns["job"]}

    assert notes(table, columns) == "bounds are tight: an interval shows the true smallest and largest value of its class (age)"
    assert notes(table, whole) == ""
    assert notes(table.select(["job"]), {"job": columns["job"]}) == ""


def test_a_column_that_is_nearly_of_a_type_is_named() -> None:
    table = pa.table({"age": [*(str(20 + number) for number in range(40)), "canary"]})

    assert "column age was read as text, because some of its values are not of type integer" in notes(table, {"age": {"role": "quasi_identifier"}})
    with pytest.raises(DataError) as caught:
        notes(table, {"age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 5}}}})
    assert caught.value.message == "column age is text, because 1 of its 41 values are not of type integer (as in 1250)"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "ladder", "words"),
    [
        (["2020-01-01", "2020-01-02", "2020-13-45"], "calendar", "1 of its 3 values are not of type date (as in 2020-01-31)"),
        (["10.0.0.1", "10.0.0.2", "10.0.0.999"], "network", "1 of its 3 values are not of type ip (as in 10.0.0.1 or 2001:db8::1)"),
        (
            ["1.5", "2.5", "1.1234567890123456789"],
            "interval",
            "1 of its 3 values are not of type decimal (with a point, as in 12.50, and up to 18 digits on either side of it)",
        ),
        (["2020-01-01", "2020-02-30", "2020-13-45", "2020-01-02"], "calendar", "2 of its 4 values are not of type date (as in 2020-01-31)"),
    ],
    ids=str,
)
def test_values_that_only_have_the_form_of_a_type_are_counted(values: list[str], ladder: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        notes(pa.table({"d": values}), {"d": {"role": "quasi_identifier", "hierarchy": {ladder: {"width": 5} if ladder == "interval" else {}}}})

    assert caught.value.message == f"column d is text, because {words}"


def test_codes_with_leading_zeros_are_no_mistaken_numbers() -> None:
    table = pa.table({"zip": ["01067", "10115", "20095", "01069"] * 2})

    assert "was read as text" not in notes(table, {"zip": {"role": "quasi_identifier"}})


def test_an_address_that_is_none_is_told() -> None:
    table = pa.table({"ip": ["10.0.0.1", "10.0.0.2", "10.0.0.256"] * 2})

    assert "column ip was read as text, because some of its values are not of type ip" in notes(table, {"ip": {"role": "quasi_identifier"}})


def test_a_column_that_a_few_rows_hold_up_is_told_and_let_go_within_the_limit() -> None:
    table = pa.table({"ip": [f"10.0.{place % 20}.{place}" for place in range(200)] + ["192.168.1.1"]})
    policy = {"columns": {"ip": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}

    held = sfumato.run(policy, data=table)
    assert set(held.table.column("ip").to_pylist()) == {"*"}
    (note,) = [note for note in held.record.notes if note.startswith("column ip says nothing any more")]
    assert "suppression_limit: 0.01" in note

    freed = sfumato.run({**policy, "suppression_limit": 0.01}, data=table)
    assert (freed.record.rows.out, freed.record.rows.suppressed) == (200, "< 2")
    assert "*" not in freed.table.column("ip").to_pylist()


def test_a_column_all_of_whose_values_are_unknown_has_the_type_that_it_was_said_to_have() -> None:
    column = {"role": "quasi_identifier", "type": "timestamp", "on_unknown": "generalise"}
    release = sfumato.run({"columns": {"at": column}, "promises": [{"k_anonymity": {"k": 2}}]}, data=pa.table({"at": ["soon", "late"]}))

    assert (release.record.columns["at"]["type"], release.table["at"].to_pylist()) == ("timestamp", ["*", "*"])


@pytest.mark.parametrize(
    ("ages", "words"),
    [(["1", "2", "x"], "1 row not of type integer, row 3"), (["?", None, "x", "y"], "2 rows not of type integer, the first in row 3")],
)
def test_the_first_row_that_is_not_of_the_type_is_named(ages: list[str], words: str) -> None:
    column = {"role": "quasi_identifier", "type": "integer", "missing": ["?"]}
    with pytest.raises(DataError) as caught:
        sfumato.run({"columns": {"age": column}, "promises": [{"k_anonymity": {"k": 2}}]}, data=pa.table({"age": ages}))
    assert caught.value.message == f"column age: {words}"


def test_of_many_columns_that_are_not_named_the_first_are_told_and_the_others_counted() -> None:
    data = pa.table({"age": ["1", "2"], **{f"c{number:03}": ["x", "y"] for number in range(500)}})
    notes = sfumato.run({"columns": {"age": {"role": "other", "mask": "constant"}}, "unnamed": "remove"}, data).record.notes
    (note,) = [each for each in notes if "does not name" in each]
    assert note.endswith("c017, c018, c019 and 480 more")


def test_people_whose_many_rows_stand_together_are_noticed() -> None:
    table = pa.table({"age": ["1", "2"] * 6000, "pid": [str(place // 20) for place in range(12000)], "sex": ["m", "f", "d"] * 4000})
    columns = {"age": {"role": "quasi_identifier"}, "pid": {"role": "identifier"}, "sex": {"role": "identifier"}}
    notes = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, data=table).record.notes
    assert [note.partition(" stand")[0] for note in notes if "stand in several rows" in note] == ["many values of the identifier pid"]


def test_columns_that_nobody_named_and_that_may_say_whose_rows_they_are_make_one_note() -> None:
    people = [str(place // 2) for place in range(200)]
    table = pa.table({"age": ["1", "2"] * 100, "pid": people, "card": people, "room": people})
    policy = {"columns": {"age": {"role": "quasi_identifier"}, "pid": {"role": "identifier"}}, "unnamed": "remove"}
    notes = sfumato.run(policy | {"promises": [{"k_anonymity": {"k": 2}}]}, data=table).record.notes
    assert [note for note in notes if "stand in several rows" in note] == [
        "many values of the identifier pid stand in several rows: if it says whose they are, say subject: pid; "
        "as it is, promises count rows and not people",
        "of 2 columns that the policy does not name many values stand in several rows (card, room): if one of them says whose they are, "
        "name it and say subject; as it is, promises count rows and not people",
    ]

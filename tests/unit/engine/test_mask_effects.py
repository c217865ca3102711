"""What a run says of what its masks did: values refused or removed, conditions that never held, masks that changed nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.record import RunRecord
from sfumato.errors import DataError

PHONES = ["+49 421 123456", "n/a", None, "none", "+49 421 654321"]
MAILS = ["ada@example.org", "b@example.org", "c@example.org", "?", "e@example.org"]


def recorded(columns: dict[str, Any], data: dict[str, Any], **keys: Any) -> RunRecord:
    release = sfumato.run({"columns": columns, **keys}, data=pa.table(data))
    assert isinstance(release, sfumato.Release)
    return release.record


def notes(record: RunRecord) -> list[str]:
    return [note for note in record.notes if note.startswith("columns.")]


def masked(mask: Any, **keys: Any) -> dict[str, Any]:
    return {"role": "other", "mask": mask, "accept": "singling_out", **keys}


def test_values_that_cannot_be_taken_are_told_of_all_rows_and_columns_together() -> None:
    with pytest.raises(DataError) as caught:
        recorded({"phone": masked("phone_mask"), "mail": masked("email_mask")}, {"phone": PHONES, "mail": MAILS})
    assert str(caught.value) == (
        "column phone: 2 rows with a value that phone_mask cannot take, the first in row 2; "
        "column mail: 1 row with a value that email_mask cannot take, row 4 [mask-invalid]\n"
        "  try: mask the others with `when`, or say on_invalid: remove in columns.phone; "
        "mask the others with `when`, or say on_invalid: remove in columns.mail"
    )


def test_rows_are_counted_where_values_repeat() -> None:
    with pytest.raises(DataError) as caught:
        recorded({"phone": masked("phone_mask")}, {"phone": ["+49 421 123456"] * 3000 + ["n/a"] * 1200})
    assert caught.value.message == "column phone: 1200 rows with a value that phone_mask cannot take, the first in row 3001"


def test_missing_values_that_are_refused_are_told_with_the_first_row() -> None:
    with pytest.raises(DataError) as caught:
        recorded({"phone": masked("empty", on_null="error")}, {"phone": ["a"] * 2000 + [None] * 7})
    assert caught.value.message == "column phone: 7 rows without a value, the first in row 2001"


def test_rows_of_a_quasi_identifier_are_counted_too() -> None:
    columns = {"zip": {"role": "quasi_identifier", "mask": "postcode_mask"}}
    with pytest.raises(DataError) as caught:
        recorded(columns, {"zip": ["28462", "?", "?", "28462"]}, promises=[{"k_anonymity": {"k": 2}}])
    assert caught.value.message == "column zip: 2 rows with a value that postcode_mask cannot take"
    columns["zip"]["on_null"] = "error"
    with pytest.raises(DataError) as caught:
        recorded(columns, {"zip": ["28462", None, None, "28462"]}, promises=[{"k_anonymity": {"k": 2}}])
    assert caught.value.message == "column zip: 2 rows without a value"


@pytest.mark.parametrize("others", [{}, {"on_invalid": "error"}, {"on_invalid": "remove"}], ids=str)
@pytest.mark.parametrize("times", [1, 1000])
def test_values_that_an_operation_removes_of_its_own_are_told_like_invalid_ones(others: dict[str, Any], times: int) -> None:
    mask = {"regex_replace": {"pattern": "[0-9]+", "replacement": "#", "unmatched": "remove"}}
    record = recorded({"room": masked(mask, **others)}, {"room": ["ward 1", "none", None, "", "hall", "attic"] * times})
    assert record.columns["room"]["removed"] == 3 * times
    number = f"{3 * times} values"
    assert notes(record) == [f"columns.room: {number} that regex_replace cannot take were removed"]


def test_what_is_removed_of_a_quasi_identifier_and_by_several_operations_is_counted_once() -> None:
    ways = {"a": "remove", "b": "invalid"}
    first, second = ({"regex_replace": {"pattern": letter, "replacement": "#", "unmatched": way}} for letter, way in ways.items())
    values = ["ab", "ab", "b", "b", "a", "a"]
    columns = {"room": {"role": "quasi_identifier", "mask": [first, second], "on_invalid": "remove"}}
    assert recorded(columns, {"room": values}, promises=[{"k_anonymity": {"k": 2}}]).columns["room"]["removed"] == 4
    del columns["room"]["on_invalid"]
    with pytest.raises(DataError) as caught:
        recorded(columns, {"room": values}, promises=[{"k_anonymity": {"k": 2}}])
    assert caught.value.message == "column room: 2 rows with a value that regex_replace cannot take"


def test_fewer_than_k_values_that_were_removed_are_not_counted() -> None:
    mask = {"regex_replace": {"pattern": "[0-9]+", "replacement": "#", "unmatched": "remove"}}
    columns = {"room": masked(mask), "age": {"role": "quasi_identifier"}}
    data = {"room": ["1", "2", "3", "x"], "age": ["1"] * 4}
    record = recorded(columns, data, promises=[{"k_anonymity": {"k": 2}}])
    assert record.columns["room"]["removed"] == "< 2"
    assert "columns.room: fewer than 2 values that regex_replace cannot take were removed" in notes(record)


def test_the_record_says_how_many_values_were_removed() -> None:
    columns = {"phone": masked("phone_mask", on_invalid="remove"), "mail": masked("email_mask", on_invalid="remove")}
    record = recorded(columns, {"phone": PHONES, "mail": MAILS})
    assert record.columns["phone"]["removed"] == 2
    assert record.columns["mail"]["removed"] == "< 2"
    assert notes(record) == [
        "columns.phone: 2 values that phone_mask cannot take were removed",
        "columns.mail: fewer than 2 values that email_mask cannot take were removed",
    ]


def test_removed_values_of_a_quasi_identifier_are_counted_in_rows() -> None:
    columns = {"zip": {"role": "quasi_identifier", "mask": "postcode_mask", "on_invalid": "remove"}}
    record = recorded(columns, {"zip": ["28462"] * 3 + ["?"] * 4}, promises=[{"k_anonymity": {"k": 3}}])
    assert record.columns["zip"]["removed"] == 4


def test_a_condition_that_never_held_is_told() -> None:
    columns = {"phone": masked("empty", when={"column": "ward", "equals": "Z"}), "ward": {"role": "other", "accept": "singling_out"}}
    assert notes(recorded(columns, {"phone": PHONES, "ward": list("ABABA")})) == ["columns.phone: the condition held for no row"]


def test_a_mask_that_changed_nothing_is_told() -> None:
    columns = {"pay": masked({"round_number": {"base": 10}}), "ward": masked("keep")}
    assert notes(recorded(columns, {"pay": [10, 20, None], "ward": ["A", "B", "B"]})) == ["columns.pay: round_number changed no value"]


def test_the_mask_of_all_other_rows_counts_too() -> None:
    pay = masked({"noise": {"amount": 5}}, when={"column": "ward", "equals": "Z"}, otherwise={"noise": {"amount": 0.1}})
    found = notes(recorded({"pay": pay, "ward": {"role": "other"}}, {"pay": [1000, 2000] * 10, "ward": ["A", "A"] * 10}))
    assert found == ["columns.pay: the condition held for no row", "columns.pay: noise changed no value"]


def test_noise_that_is_too_small_to_be_seen_is_told() -> None:
    record = recorded({"pay": masked({"noise": {"amount": 0.001, "decimals": 0}})}, {"pay": [10.0, 20.0, 30.0] * 7})
    assert notes(record) == ["columns.pay: noise changed no value"]
    large = {"pay": [1e18] * 50 + [1.0] * 50}
    found = notes(recorded({"pay": masked({"noise": {"amount": 0.4}})}, {"pay": large["pay"] + [1e18] * 10}))
    assert found == ["columns.pay: noise left 54% of the values as they were"]


def test_a_shuffle_among_rows_that_are_nearly_alike_is_told() -> None:
    found = notes(recorded({"sex": masked("shuffle")}, {"sex": ["f"] * 999 + ["m"]}, promises=[]))
    # the one stays where it is, or changes places with one of the others
    assert found in ([f"columns.sex: shuffle {words}"] for words in ("left 99% of the values as they were", "changed no value"))


def test_the_summary_says_it_too(tmp_path: Path, sfumato_command: Any) -> None:
    (tmp_path / "data.csv").write_text("phone\n+49 421 123456\nn/a\nn/a\n")
    (tmp_path / "policy.yaml").write_text(
        "source: data.csv\ncolumns:\n  phone: {role: identifier, mask: phone_mask, on_invalid: remove}\nsink: out.csv\n"
    )
    ended = sfumato_command("run", tmp_path / "policy.yaml")
    assert "note      columns.phone: 2 values that phone_mask cannot take were removed\n" in ended.stdout


def test_a_shuffle_among_few_people_is_told() -> None:
    columns = {"pay": masked({"shuffle": {"within": ["ward"]}}), "ward": {"role": "other"}}
    data = {"pay": [*range(10)], "ward": [*"AABBCCCCCC"]}
    assert not any("mixes" in note for note in recorded(columns, data).notes)
    people = {**columns, "who": {"role": "identifier"}}
    record = recorded(people, {**data, "who": [*"aabcdefghi"]}, subject="who")
    assert "columns.pay: shuffle mixes 2 rows among fewer than 2 people each, of whom many keep their own value" in record.notes


def test_noise_that_rounding_takes_away_is_warned_of() -> None:
    record = recorded({"pay": masked({"noise": {"amount": 0.04, "decimals": 1}})}, {"pay": [1.0, 2.0, 3.0]})
    assert "column pay: noise of 0.04 is less than half of what 1 decimal shows, and most values stay as they were" in record.notes

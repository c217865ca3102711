from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError
from sfumato.masking.date_shift import DateShift

KEYS = Keys({"main": (Key("k1", bytes(range(32))),), "other": (Key("k2", bytes(32)),)})
FIRST = date(2020, 1, 31)


def masked(values: list[Any] | pa.Array, people: list[Any] | pa.Array, **settings: Any) -> list[Any]:
    mask = DateShift(**{"by": "pid", "key": "main", "days": 30} | settings)
    batch = pa.RecordBatch.from_pydict({"value": values, "pid": people})
    found: list[Any] = mask.apply(batch, MaskContext("value", keys=KEYS)).to_pylist()
    return found


def test_all_dates_of_a_person_move_by_the_same_days() -> None:
    first, second, third, other = masked(["2020-01-31", "2020-02-10", "2020-02-10T12:30:00Z", "2020-02-10"], ["a", "a", "a", "b"])
    assert date.fromisoformat(second) - date.fromisoformat(first) == timedelta(days=10)
    assert third == f"{second}T12:30:00Z"
    assert other != second


def test_people_move_both_ways_up_to_the_most_and_never_not_at_all() -> None:
    moved = {(found - FIRST).days for found in masked([FIRST] * 500, list(range(500)), days=3)}
    assert moved == {-3, -2, -1, 1, 2, 3}


def test_some_may_stay_where_that_is_allowed() -> None:
    moved = {(found - FIRST).days for found in masked([FIRST] * 500, list(range(500)), days=1, zero=True)}
    assert moved == {-1, 0, 1}


def test_a_person_is_the_same_in_another_column_table_and_type() -> None:
    whole = masked([FIRST] * 3, [7, 8, 9])
    assert masked([FIRST], [8]) == whole[1:2]
    assert masked([FIRST] * 3, ["7", "8", "9"]) == whole
    assert masked([FIRST] * 3, pa.array(["7", "8", "9"]).dictionary_encode()) == whole


def test_another_key_or_domain_moves_otherwise() -> None:
    people = list(range(50))
    assert masked([FIRST] * 50, people) != masked([FIRST] * 50, people, key="other")
    assert masked([FIRST] * 50, people, domain="a") != masked([FIRST] * 50, people, domain="b")


def test_a_row_without_a_subject_stops_the_run() -> None:
    mask = MaskedColumn("value", [DateShift(by="pid", key="main", days=3)])
    batch = pa.RecordBatch.from_pydict({"value": ["2020-01-31", "2020-01-31"], "pid": [None, "a"]})
    with pytest.raises(DataError) as raised:
        mask.apply(batch, MaskContext("value", keys=KEYS))
    assert raised.value.sentence() == (
        "column value: 1 row with a value that date_shift, for want of a value in pid, cannot take [mask-invalid]\n"
        "  try: a value of pid in every row, or say on_invalid: remove in columns.value"
    )


def test_what_is_no_date_is_told_apart_from_a_row_without_a_subject() -> None:
    mask = MaskedColumn("value", [DateShift(by="pid", key="main", days=3)])
    batch = pa.RecordBatch.from_pydict({"value": ["canary", "2020-01-31"], "pid": ["a", ""]})
    with pytest.raises(DataError) as raised:
        mask.apply(batch, MaskContext("value", keys=KEYS))
    assert raised.value.message == (
        "column value: 1 row with a value that date_shift cannot take: no date, or one that 3 days may take beyond the years 1 to 9999; "
        "column value: 1 row with a value that date_shift, for want of a value in pid, cannot take"
    )


def test_what_is_no_date_or_would_leave_the_calendar_is_null() -> None:
    found = masked(["soon", None] + ["9999-12-31"] * 50 + ["0001-01-01"] * 50, list(range(102)))
    assert found[:2] == [None, None]
    assert None in found[2:52]
    assert None in found[52:]


def test_it_reads_the_column_of_the_subject_and_needs_its_key() -> None:
    mask = DateShift(by="pid", key="main", days=3)
    assert tuple(mask.reads) == ("pid",)
    assert tuple(mask.keys) == ("main",)


def test_an_empty_subject_is_nobody_as_a_missing_one_is() -> None:
    assert masked(["2020-01-31"] * 3, ["", None, "a"])[:2] == [None, None]

"""What every mask must do, whoever wrote it."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.canonical import as_text
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import WIDE, Card, Mask, MaskContext, Reversible
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.expressions import expressed
from sfumato.databases.pads import Pads
from sfumato.databases.table import TableColumn
from sfumato.errors import SfumatoError
from sfumato.registry import find, names
from sfumato.sources.memory import Memory

MASKS = names("masking")
TEXTS = pa.array(["Ann", None, "", 'Bo "B", ö', "Ann", "日本語 🙂", "x" * 40])
KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})

SETTINGS: dict[str, dict[str, Any]] = {
    "aggregate": {"function": "mode", "plain": True},
    "deterministic_encrypt": {"key": "main"},
    "encrypt": {"key": "main"},
    "format_preserving_encrypt": {"key": "main"},
    "hash": {"key": "main"},
    "character_mask": {"keep_first": 1, "keep_last": 2},
    "choice": {"values": ["one", "two", "three"], "weights": [1, 2, 0.5], "key": "main"},
    "entity_tag": {"kind": "PERSON"},
    "expression": {"sql": "upper(value) || '!'", "same_again": True},
    "map_values": {"mapping": {"A": "surgery", "B": "surgery", "": "none", "語": "🙂"}},
    "national_id_mask": {"kind": "us_ssn"},
    "nested": {"paths": {"$.a": {"shorten": {"length": 2}}, "$.b[*]": "keep"}, "absent": "keep"},
    "pattern_mask": {"pattern": r"ONLUAC-X\O", "key": "main"},
    "regex_replace": {"pattern": "^.?", "replacement": "*"},
    "shuffle_characters": {"key": "main"},
    "shorten": {"length": 3, "ellipsis": "."},
    "date_jitter": {"days": 30, "hours": 5, "key": "main"},
    "date_shift": {"by": "person", "key": "main", "days": 30},
    "fake": {"kind": "name", "locale": "de_DE", "key": "main"},
    "generalise": {"size": 10},
    "noise": {"amount": 5, "distribution": "gaussian", "key": "main"},
    "random_date": {"first": "1990-01-01", "last": "1999-12-31", "key": "main"},
    "random_number": {"minimum": 1, "maximum": 1000, "key": "main"},
    "random_text": {"minimum_length": 3, "maximum_length": 9, "alphabet": "abcß日🙂", "key": "main"},
    "random_uuid": {"key": "main"},
    "round_number": {"base": 5},
    "top_bottom_code": {"bottom": 18, "top": 90, "beyond": "label"},
}
"""The settings of masks that need some."""

DATES = pa.array(["1984-05-17", None, "2024-05-07T09:51:00Z", "1899-12-31", "1984-05-17", "2024-05-07 09:51:00.25"])
NUMBERS = pa.array(["17", None, "-4.25", "103.5", "17", "1e3", "0"])

VALUES: dict[str, pa.Array] = {
    "microaggregate": pa.array(["1", None, "2.5", "-3", "1", "40", "45", "42"]),
    "format_preserving_encrypt": pa.array(["4111111111111111", None, "0000000", "123456", "4111111111111111", "9" * 40, "1000000"]),
    "card_mask": pa.array(["4111 1111 1111 1111", None, "378282246310005", "5555-5555-5555-4444", "4111 1111 1111 1111"]),
    "email_mask": pa.array(["ada@example.org", None, "b@c.de", "日本@例え.jp", "ada@example.org", "x" * 60 + "@y.z"]),
    "iban_mask": pa.array(["DE89370400440532013000", None, "GB82 WEST 1234 5698 7654 32", "no9386011117947", "DE89370400440532013000"]),
    "map_values": pa.array(["A", None, "B", "語", "A", ""]),
    "national_id_mask": pa.array(["219-09-9999", None, "078 05 1120", "899999999", "219-09-9999"]),
    "nested": pa.array(['{"a": "Ann"}', None, "[]", '{"a": "ö", "b": [1, "x"]}', '{"a": "Ann"}', "{}"]),
    "phone_mask": pa.array(["+49 421 123456", None, "0041 44 668 18 00", "(0421) 12-34-56", "+49 421 123456", "12345"]),
    "postcode_mask": pa.array(["28462", None, "SW1A 1AA", "1234 AB", "28462", "00-950"]),
    "url_mask": pa.array(["https://example.org/a?b=c", None, "ftp://u:p@[2001:db8::1]:21", "http://例え.jp#x", "https://example.org/a?b=c"]),
    "uuid_mask": pa.array(["123e4567-e89b-12d3-a456-426614174000", None, "0" * 32, "F" * 32, "123e4567-e89b-12d3-a456-426614174000"]),
    "date_jitter": DATES,
    "date_shift": DATES,
    "generalise": NUMBERS,
    "noise": NUMBERS,
    "round_number": NUMBERS,
    "top_bottom_code": NUMBERS,
}
"""A column that a mask can take, where it cannot take any text: the first and fifth value are the same, the second is missing."""


def mask_called(name: str) -> Mask:
    found: Mask = find("masking", name)(**SETTINGS.get(name, {}))
    return found


def column_of(name: str) -> pa.Array:
    return VALUES.get(name, TEXTS)


def batch_of(name: str) -> pa.RecordBatch:
    values = column_of(name)
    others = [other for other in mask_called(name).reads if other != "value"]
    return pa.RecordBatch.from_arrays(
        [values, *(pa.array([str(place % 2) for place in range(len(values))]) for _ in others)], names=["value", *others]
    )


def context_of(name: str, tmp_path: Any = None) -> MaskContext:
    del name
    return MaskContext(column="value", keys=KEYS, private=tmp_path)


def masked(name: str, batch: pa.RecordBatch, context: MaskContext) -> pa.Array:
    return MaskedColumn("value", [mask_called(name)], on_null="keep").apply(batch, context)


@pytest.mark.parametrize("name", MASKS)
def test_it_is_a_mask_with_a_card(name: str) -> None:
    mask = mask_called(name)
    assert isinstance(mask, Mask)
    assert isinstance(mask.card, Card)
    assert mask.card.reveals.endswith(".")
    assert inspect.getdoc(type(mask))
    assert mask.component_name() == name


@pytest.mark.parametrize("name", MASKS)
def test_it_gives_one_value_a_row_of_the_type_it_says(name: str, tmp_path: Any) -> None:
    mask, batch = mask_called(name), batch_of(name)
    found = masked(name, batch, context_of(name, tmp_path))
    assert len(found) == batch.num_rows
    assert found.type == mask.output_type(column_of(name).type)
    assert mask.card.changes_type or found.type == column_of(name).type


@pytest.mark.parametrize("name", MASKS)
def test_rows_of_no_rows_are_no_rows(name: str, tmp_path: Any) -> None:
    batch = batch_of(name).slice(0, 0)
    found = mask_called(name).apply(batch, context_of(name, tmp_path))
    assert len(found) == 0
    assert found.type == mask_called(name).output_type(column_of(name).type)


@pytest.mark.parametrize("name", MASKS)
def test_a_column_of_nothing_but_nulls_stays_so(name: str, tmp_path: Any) -> None:
    values = pa.nulls(5, column_of(name).type)
    batch = batch_of(name).slice(0, 5).set_column(0, "value", values)
    assert masked(name, batch, context_of(name, tmp_path)).null_count == 5


@pytest.mark.parametrize("name", MASKS)
def test_missing_values_stay_missing_or_are_made_up(name: str, tmp_path: Any) -> None:
    mask, batch, context = mask_called(name), batch_of(name), context_of(name, tmp_path)
    assert masked(name, batch, context)[1].as_py() is None
    if mask.card.generates:
        made = MaskedColumn("value", [mask], on_null="generate").apply(batch, context)
        assert made[1].is_valid
    else:
        assert mask.card.nulls == "kept"


@pytest.mark.parametrize("name", MASKS)
def test_every_value_that_it_can_take_becomes_one(name: str, tmp_path: Any) -> None:
    found = masked(name, batch_of(name), context_of(name, tmp_path))
    if not mask_called(name).card.empties:
        assert [place for place in range(len(found)) if found[place].as_py() is None] == [1]


@pytest.mark.parametrize("name", MASKS)
def test_determinism_and_uniqueness_are_what_the_card_says(name: str, tmp_path: Any) -> None:
    mask, batch, context = mask_called(name), batch_of(name), context_of(name, tmp_path)
    one, other = masked(name, batch, context).to_pylist(), masked(name, batch, context).to_pylist()
    if mask.card.deterministic:
        assert one == other
        if mask.card.scope == "value":
            assert one[0] == one[4]
    if mask.card.uniqueness == "preserved" and mask.card.scope not in WIDE:
        distinct = [place for place in range(len(one)) if place not in (1, 4)]
        assert len({one[place] for place in distinct}) == len(distinct)


@pytest.mark.parametrize("name", MASKS)
def test_a_value_alone_becomes_what_it_becomes_among_others(name: str, tmp_path: Any) -> None:
    mask, batch, context = mask_called(name), batch_of(name), context_of(name, tmp_path)
    if not mask.card.deterministic or mask.card.scope in WIDE:
        return
    whole = masked(name, batch, context).to_pylist()
    assert [masked(name, batch.slice(place, 1), context)[0].as_py() for place in range(batch.num_rows)] == whole


@pytest.mark.parametrize("name", MASKS)
def test_dictionaries_and_slices_are_masked_like_plain_columns(name: str, tmp_path: Any) -> None:
    mask, context = mask_called(name), context_of(name, tmp_path)
    if not mask.card.deterministic or mask.card.scope in WIDE:
        return
    batch = batch_of(name)
    coded = batch.set_column(0, "value", batch.column(0).dictionary_encode())
    many = batch.take(pa.array(np.arange(5000) % batch.num_rows))
    whole = masked(name, batch, context).to_pylist()
    if mask.card.scope == "value":
        assert masked(name, coded, context).to_pylist() == whole
        assert masked(name, many, context).to_pylist() == [whole[place % batch.num_rows] for place in range(5000)]
    assert masked(name, batch.slice(2, 3), context).to_pylist() == whole[2:5]


STRANGE = ["", " ", "\n", "\0", "\x7f", "-1", "1e999", "+", "@", "://", "\\", "\u0301", "\u200d", "\u202eabc", "\U0010ffff", "ß" * 3, "x" * 5000]


@pytest.mark.parametrize("name", MASKS)
def test_whatever_a_text_holds_it_is_masked_or_removed(name: str, tmp_path: Any) -> None:
    mask = mask_called(name)
    if not (pa.types.is_string(column_of(name).type) and mask.card.scope == "value"):
        return
    batch = pa.RecordBatch.from_pydict({"value": STRANGE})
    found = MaskedColumn("value", [mask], on_invalid="remove").apply(batch, context_of(name, tmp_path))
    found.validate(full=True)
    assert len(found) == len(STRANGE)


@pytest.mark.parametrize("name", MASKS)
def test_no_value_is_told_where_it_cannot_be_taken(name: str, tmp_path: Any) -> None:
    mask = mask_called(name)
    if not (pa.types.is_string(column_of(name).type) and mask.card.scope == "value"):
        return
    batch = pa.RecordBatch.from_pydict({"value": ["canary 7f3a", "canary@@7f3a", "canary://7f3a\n"]})
    try:
        MaskedColumn("value", [mask]).apply(batch, context_of(name, tmp_path))
    except SfumatoError as error:
        assert "canary" not in str(error)
        assert "7f3a" not in str(error)


@pytest.mark.parametrize("name", MASKS)
def test_what_can_be_undone_is_undone(name: str, tmp_path: Any) -> None:
    mask, batch, context = mask_called(name), batch_of(name), context_of(name, tmp_path)
    assert isinstance(mask, Reversible) == mask.card.reversible
    if isinstance(mask, Reversible):
        made = masked(name, batch, context)
        assert mask.reveal(as_text(made), context).to_pylist() == column_of(name).to_pylist()
        assert mask.reveal(as_text(made.slice(0, 0)), context).to_pylist() == []


@pytest.mark.parametrize("name", MASKS)
def test_nothing_is_told_of_a_key(name: str) -> None:
    context = context_of(name)
    assert KEYS.current("main").secret.hex() not in repr(context)
    assert repr(bytes(range(4)))[2:-1] not in repr(context)


@pytest.mark.parametrize("name", MASKS)
def test_a_card_says_sql_where_a_database_can_do_it(name: str) -> None:
    """What engines then make of values is held to the mask in ``tests/databases/test_expressions.py``."""
    masked, context = MaskedColumn("value", [mask_called(name)]), context_of(name)
    kinds = (pa.string(), pa.int64(), pa.decimal128(10, 2), pa.date32())
    columns = [TableColumn("value", "", kind) for kind in kinds if masked.misfit(kind, None) is None]
    pads = Pads.of([(masked, context)], ["main"])
    found = [not masked.reads and expressed(masked, context, {"value": column}, "duckdb", str, pads) for column in columns]
    assert any(found) == ("sql" in mask_called(name).card.engines)


DAYS = [datetime.date(2020, 1, 31), datetime.date(1999, 12, 31), None, datetime.date(2020, 1, 31), datetime.date(1900, 1, 1)]
INSTANTS = [None if day is None else datetime.datetime(day.year, day.month, day.day, 12, 30) for day in DAYS]
TIMES = [datetime.time(12, 30), datetime.time(1, 2, 3), None, datetime.time(12, 30), datetime.time(0)]
WHOLE = [5, 7, None, 5, 100]
MONEY = [Decimal("5.00"), Decimal("7.25"), None, Decimal("5.00"), Decimal("100.10")]
WORDS = ["5", "x", None, "5", "日本"]


def plain_columns() -> Iterator[pa.Array]:
    yield from (pa.array(WHOLE, kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()))
    yield pa.array([0, 1, None, 0, 2**64 - 1], pa.uint64())
    yield pa.array([np.float16(5), np.float16(7.5), None, np.float16(5), np.float16(-0.0)], pa.float16())
    yield from (pa.array([5.0, float("nan"), None, 5.0, float("inf")], kind) for kind in (pa.float32(), pa.float64()))
    yield from (pa.array(MONEY, kind) for kind in (pa.decimal128(10, 2), pa.decimal256(60, 2), pa.decimal32(6, 2), pa.decimal64(12, 2)))
    yield pa.array([Decimal(500), Decimal(700), None, Decimal(500), Decimal(1000)], pa.decimal128(10, -2))
    yield from (pa.array(DAYS, kind) for kind in (pa.date32(), pa.date64()))
    for unit in ("s", "ms", "us", "ns"):
        yield from (pa.array(INSTANTS, pa.timestamp(unit, tz=zone)) for zone in (None, "Europe/Berlin"))
        yield pa.array(WHOLE, pa.duration(unit))
    yield from (pa.array(TIMES, kind) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")))
    yield pa.array([True, False, None, True, False])
    yield from (pa.array(WORDS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view()))
    yield from (pa.array([b"5", b"\xff", None, b"5", b""], kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view()))
    yield pa.nulls(5)
    yield pa.array([[1], [2], None, [1], []])


def coded(column: pa.Array) -> pa.Array | None:
    try:
        return column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return None


PLAIN = list(plain_columns())
COLUMNS_OF_TYPES = [*PLAIN, *(found for column in PLAIN if (found := coded(column)) is not None)]


def masked_type(name: str, column: pa.Array, tmp_path: Any) -> tuple[pa.DataType, pa.DataType]:
    """Return the type of what the mask makes of a column, and the type that it says it makes."""
    mask = MaskedColumn("value", [mask_called(name)], on_invalid="remove")
    others = {other: pa.array(list("ababa")) for other in mask.reads}
    source = Memory(table=pa.table({"value": column, **others}))
    kind = source.describe().field("value").type
    if mask.misfit(kind, None) is not None:
        return kind, kind
    (batch,) = source.batches(["value", *others])
    found = mask.apply(batch, context_of(name, tmp_path))
    found.validate(full=True)
    assert len(found) == len(column)
    return found.type, mask.output_type(kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", MASKS)
def test_a_column_of_any_type_is_masked_or_refused(name: str, tmp_path: Any) -> None:
    for column in COLUMNS_OF_TYPES:
        with suppress(SfumatoError):
            made, said = masked_type(name, column, tmp_path)
            assert made == said

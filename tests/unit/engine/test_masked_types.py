"""Masks through a whole run on columns of types that Arrow itself treats in special ways."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import sfumato
from sfumato.errors import PolicyError

CODED = [
    pa.array([7, 9, None, 7]).dictionary_encode(),
    pa.array([7.5, 9.0, None, 7.5], pa.float32()).dictionary_encode(),
    pa.array([Decimal("7.50"), Decimal("9.00"), None, Decimal("7.50")]).dictionary_encode(),
    pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None, datetime.date(2020, 1, 1)]).dictionary_encode(),
    pa.array([True, False, None, True]).dictionary_encode(),
    pa.array(["a", "b", None, "a"], pa.string_view()).dictionary_encode(),
]


def released(mask: Any, column: pa.Array) -> pa.Array:
    policy = {"columns": {"x": {"role": "other", "mask": mask, "accept": "singling_out"}}}
    release = sfumato.run(policy, data=pa.table({"x": column}))
    assert isinstance(release, sfumato.Release)
    return release.table.column("x").combine_chunks()


@pytest.mark.parametrize("column", CODED, ids=lambda column: str(column.type.value_type))
def test_dictionaries_of_any_values_are_masked_as_these_values(column: pa.Array) -> None:
    values = column.to_pylist()
    assert sorted(released("keep", column).to_pylist(), key=str) == sorted(values, key=str)
    assert released("empty", column).to_pylist() == [None] * 4
    mode = {"aggregate": {"function": "mode", "plain": True}}
    assert sorted(released(mode, column).to_pylist(), key=str) == sorted([values[0]] * 3 + [None], key=str)


@pytest.mark.parametrize(
    ("column", "held"),
    [(pa.array([datetime.time(9)] * 4, pa.time32("s")), "times of day"), (pa.array([True] * 4), "truth values")],
)
def test_an_operation_on_numbers_refuses_what_is_neither_number_nor_text(column: pa.Array, held: str) -> None:
    with pytest.raises(PolicyError) as caught:
        released({"aggregate": {"function": "max"}}, column)
    assert caught.value.mistakes[0].message == f"aggregate takes integer or decimal, and the column holds {held}"


@pytest.mark.parametrize("kind", [pa.decimal32(6, 2), pa.decimal64(12, 2), pa.decimal128(10, -2)])
def test_narrow_decimals_are_published_as_the_same_numbers(kind: pa.DataType) -> None:
    column = pa.array([Decimal(100), None, Decimal(300), Decimal(100)], kind)
    assert sorted(released("keep", column).to_pylist(), key=str) == sorted(column.to_pylist(), key=str)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_large_text_stays_large_where_a_mask_keeps_the_type(ending: str, tmp_path: Path) -> None:
    texts = pa.array(["x", "y", None] * 20, pa.large_string())
    table = pa.table({"kept": texts, "mixed": texts, "short": texts})
    write = {"parquet": parquet.write_table, "arrow": feather.write_feather}[ending]
    write(table, str(tmp_path / f"in.{ending}"))
    masks = {"mixed": "shuffle", "short": {"shorten": {"length": 1}}}
    columns = {"kept": {"role": "other"}} | {name: {"role": "other", "mask": mask} for name, mask in masks.items()}
    sfumato.run({"source": str(tmp_path / f"in.{ending}"), "columns": columns, "sink": str(tmp_path / f"out.{ending}")})
    found = {"parquet": parquet.read_table, "arrow": feather.read_table}[ending](str(tmp_path / f"out.{ending}"))
    assert found.schema.types == [pa.large_string(), pa.large_string(), pa.string()]


@pytest.mark.parametrize("first", [pa.string(), pa.large_string()], ids=str)
def test_files_of_both_widths_of_text_are_one_table(first: pa.DataType, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, kind in enumerate((first, pa.string(), pa.large_string())):
        parquet.write_table(pa.table({"kept": pa.array(["x", "y"] * 20, kind), "age": ["1", "2"] * 20}), tmp_path / "in" / f"{number}.parquet")
    policy = {"source": f"{tmp_path}/in/", "columns": {"kept": {"role": "other"}, "age": {"role": "quasi_identifier"}}}
    release = sfumato.run(policy | {"promises": [{"k_anonymity": {"k": 2}}]})
    assert release.table.schema.field("kept").type == pa.large_string()
    assert sorted(release.table.column("kept").to_pylist()) == ["x"] * 60 + ["y"] * 60

"""What every mask must do, whoever wrote it."""

from __future__ import annotations

import inspect

import ibis
import pyarrow as pa
import pytest

from sfumato.core.interfaces import Card, Mask, MaskContext
from sfumato.registry import find, names

MASKS = names("masking")
COLUMN = pa.array(["Ann", None, "", 'Bo "B", ö', "Ann"])
BATCH = pa.RecordBatch.from_arrays([COLUMN], names=["name"])
CONTEXT = MaskContext(column="name")


def mask_called(name: str) -> Mask:
    return find("masking", name)()


@pytest.mark.parametrize("name", MASKS)
def test_it_is_a_mask_with_a_card(name: str) -> None:
    mask = mask_called(name)
    assert isinstance(mask, Mask)
    assert isinstance(mask.card, Card)
    assert inspect.getdoc(type(mask))
    assert mask.component_name() == name


@pytest.mark.parametrize("name", MASKS)
def test_it_gives_one_value_a_row_of_the_type_it_says(name: str) -> None:
    mask = mask_called(name)
    masked = mask.apply(BATCH, CONTEXT)
    assert len(masked) == len(COLUMN)
    assert masked.type == mask.output_type(COLUMN.type)
    assert mask.card.changes_type or masked.type == COLUMN.type


@pytest.mark.parametrize("name", MASKS)
def test_nulls_are_what_the_card_says(name: str) -> None:
    mask = mask_called(name)
    masked = mask.apply(BATCH, CONTEXT)
    assert masked[1].is_valid == (mask.card.nulls == "masked")


@pytest.mark.parametrize("name", MASKS)
def test_determinism_and_uniqueness_are_what_the_card_says(name: str) -> None:
    mask = mask_called(name)
    one, other = mask.apply(BATCH, CONTEXT).to_pylist(), mask.apply(BATCH, CONTEXT).to_pylist()
    if mask.card.deterministic:
        assert one == other
        assert one[0] == one[4]
    if mask.card.uniqueness == "preserved":
        assert len({one[0], one[2], one[3]}) == 3


@pytest.mark.parametrize("name", MASKS)
def test_the_expression_means_the_same_as_the_arrow_function(name: str) -> None:
    mask = mask_called(name)
    table = ibis.table({"name": "string"}, name="people")
    expression = mask.express({"name": table.name}, CONTEXT)
    if expression is None:
        assert "sql" not in mask.card.engines
        return
    import duckdb

    query = ibis.to_sql(table.select(masked=expression), dialect="duckdb")
    with duckdb.connect() as connection:
        connection.register("people", pa.table({"name": COLUMN}))
        found = connection.sql(str(query)).to_arrow_table()["masked"].to_pylist()
    assert found == mask.apply(BATCH, CONTEXT).to_pylist()

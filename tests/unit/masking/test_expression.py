"""An expression over one row, which can reach nothing else."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError
from sfumato.masking.expression import Expression

ROWS = pa.RecordBatch.from_pydict({"name": ["ann", "bo", "it's"], "n": ["1", "x", None]})


def made(sql: str, *columns: str) -> list[str | None]:
    return list(Expression(sql=sql, columns=list(columns)).apply(ROWS, MaskContext("name")).to_pylist())


def test_it_is_computed_from_the_row() -> None:
    assert made("upper(left(name, 1)) || '.'") == ["A.", "B.", "I."]
    assert made("name || coalesce(n, '-')", "n") == ["ann1", "box", "it's-"]
    assert made("TRY_CAST(n AS INTEGER) + 1", "n") == ["2", None, None]
    assert made("length(name) -- and no more") == ["3", "2", "4"]


@pytest.mark.parametrize(
    "sql",
    [
        "1) FROM rows; DROP TABLE x; SELECT (1",
        "name; SELECT 1",
        "name) FROM rows WHERE (1=1",
        "",
        "SELECT",
        "sum(n) OVER ()",
        "(SELECT 1)",
        "?",
        "$1",
    ],
)
def test_what_is_no_expression_over_a_row_is_refused_with_the_policy(sql: str) -> None:
    with pytest.raises(PolicyError):
        Expression(sql=sql)


@pytest.mark.parametrize("sql", ["count(*)", "nobody", "name::INTEGER", "read_text('{path}')", "a, b", "getenv('HOME')", "(name, n)"])
def test_what_cannot_be_computed_stops_without_a_value(sql: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")

    with pytest.raises(DataError) as raised:
        made(sql.format(path=secret))
    assert raised.value.code == "mask-expression"
    assert not {"ann", "it's", "canary"} & set(raised.value.sentence().split())


def test_plan_and_record_say_that_nobody_knows_what_it_lets_through() -> None:
    policy = {"columns": {"name": {"role": "other", "mask": {"expression": {"sql": "lower(name)", "same_again": True}}}}}
    release = sfumato.run(policy, data=pa.table({"name": ["Ann", "Bo"]}))

    assert sorted(release.table.column("name").to_pylist()) == ["ann", "bo"]
    assert any("nothing is known of it here" in note for note in release.record.notes)


def test_wide_decimals_are_computed_with_where_they_fit() -> None:
    wide = pa.RecordBatch.from_pydict({"x": pa.array([Decimal("1.50"), None], pa.decimal256(60, 2))})
    assert Expression(sql="x * 2").apply(wide, MaskContext("x")).to_pylist() == ["3.00", None]


def test_decimals_that_are_too_wide_are_refused_in_words() -> None:
    wide = pa.RecordBatch.from_pydict({"x": pa.array([Decimal(10**50)], pa.decimal256(60, 2))})
    with pytest.raises(DataError) as caught:
        Expression(sql="x * 2").apply(wide, MaskContext("x"))
    assert caught.value.message == "column x: the expression of its mask cannot be computed"

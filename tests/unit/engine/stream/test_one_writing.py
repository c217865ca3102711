"""A number has one text in a stream, whichever way it came: as Python's own, or in a column of Arrow of whatever type holds it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.stream.exact_casts import cast, text_of_number, texts_of
from sfumato.engine.stream.incoming import take
from sfumato.policy.model import Policy

_DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15, places=10)


def written(values: pa.Array) -> str | None:
    """Return the one text of an array of one."""
    (text,) = texts_of(values).to_pylist()
    return None if text is None else str(text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(number: int) -> None:
    assert text_of_number(number) == written(pa.array([number])) == written(pa.array([Decimal(number)], pa.decimal128(38, 6)))


@given(_DECIMALS, st.integers(10, 20))
def test_decimals_of_any_scale(number: Decimal, scale: int) -> None:
    assert text_of_number(number) == written(pa.array([number], pa.decimal128(38, scale))) == written(pa.array([number], pa.decimal256(60, scale)))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_as_the_shortest_decimal_that_means_them(number: float) -> None:
    assert written(pa.array([number])) == text_of_number(Decimal(repr(number)))


@pytest.mark.parametrize(("kind", "width"), [(pa.float32(), 32), (pa.float16(), 16)])
@given(data=st.data())
def test_floats_of_few_bytes_wherever_they_come(kind: pa.DataType, width: Literal[16, 32], data: st.DataObject) -> None:
    number = data.draw(st.floats(allow_nan=False, allow_infinity=False, width=width))
    narrow = pa.array([number], kind)
    came = session_of([{"person": narrow.to_numpy(zero_copy_only=False)[0]}])
    assert written(narrow) == written(cast(narrow, pa.float64())) == written(came)
    again = cast(pa.array([written(narrow)]), kind)
    assert again.to_pylist() == narrow.to_pylist()


def session_of(records: list[dict[str, Any]]) -> pa.Array:
    """Return the column that a list of mappings becomes."""
    policy = Policy.model_validate({"columns": {"person": {"role": "identifier"}}})
    return take(records, policy).columns["person"]

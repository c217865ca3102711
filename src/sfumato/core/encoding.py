"""From the distinct values of a column, as they were read, to the leaf codes of its hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Encoding
from sfumato.core.told_apart import told_apart

_NO_FRACTION = "\0"


def encode(hierarchy: Hierarchy, values: pa.Array, missing: Sequence[str] = ()) -> Encoding:
    """Return the leaf code of each distinct value; texts of ``missing`` become the missing value, unknown ones ``outside``.

    >>> colours = Hierarchy.of_paths("colour", [["red"], ["blue"]])
    >>> encode(colours, pa.array(["blue", "?", "green"]), missing=["?"]).codes.tolist()
    [1, 2, 3]
    """
    missed = is_missing(values, missing)
    # what is missing must not decide with how many digits the others are written
    typed = typed_values(pc.if_else(missed, pa.scalar(None, values.type), values), hierarchy.kind)
    found = pc.index_in(*_alike(typed, hierarchy))
    codes = pc.fill_null(found, hierarchy.outside).to_numpy(zero_copy_only=False).astype(np.int32)
    codes[missed.to_numpy(zero_copy_only=False)] = hierarchy.missing
    return Encoding(hierarchy.column, codes, null_code=hierarchy.missing, size=hierarchy.size + 2)


def is_missing(values: pa.Array, missing: Sequence[str]) -> pa.Array:
    """Return which values are missing: those that some texts stand for, and those that a mask has removed."""
    return pc.or_(values.is_null(), pc.is_in(canonical.as_text(values), value_set=pa.array(list(missing), pa.string())))


def _alike(typed: pa.Array, hierarchy: Hierarchy) -> tuple[pa.Array, pa.Array]:
    """Return values and leaves in texts that are the same where the values are: decimals with as many digits."""
    kinds = (typed.type, hierarchy.values.type)
    if any(map(pa.types.is_floating, kinds)) and any(map(pa.types.is_decimal, kinds)):
        first, second = (array if pa.types.is_floating(array.type) else canonical.exact_fractions(array) for array in (typed, hierarchy.values))
        # a leaf that no fraction is stands for nothing else
        return canonical.render(first), pc.fill_null(canonical.render(second), _NO_FRACTION)
    if typed.type == hierarchy.values.type or not all(map(pa.types.is_decimal, kinds)):
        return canonical.render(typed), hierarchy.leaves
    scale = max(kind.scale for kind in kinds)
    first, second = (canonical.render(_scaled(array, scale)) for array in (typed, hierarchy.values))
    return first, second


def _scaled(values: pa.Array, scale: int) -> pa.Array:
    return pc.cast(values, pa.decimal256(76, scale))


def typed_values(values: pa.Array, kind: canonical.ValueType) -> pa.Array:
    """Return the values in their type; what is not of the type is null."""
    return canonical.as_text(values) if kind == "text" else canonical.parse_exactly(values, kind)


def not_of_type(values: pa.Array, kind: canonical.ValueType, missing: Sequence[str]) -> NDArray[np.bool_]:
    """Return which values are neither of a type nor missing.

    >>> not_of_type(pa.array(["1", "?", "x"]), "integer", ["?"]).tolist()
    [False, False, True]
    """
    missed = is_missing(values, missing)
    found: NDArray[np.bool_] = pc.and_not(typed_values(values, kind).is_null(), missed).to_numpy(zero_copy_only=False)
    return found


def distinct_typed(
    values: pa.Array, counts: NDArray[np.int64], kind: canonical.ValueType, missing: Sequence[str]
) -> tuple[pa.Array, NDArray[np.int64], int]:
    """Return the distinct typed values in order, how many rows have each, and how many rows are neither of the type nor missing."""
    present = pc.invert(is_missing(values, missing))
    typed = typed_values(values.filter(present), kind)
    rows = counts[present.to_numpy(zero_copy_only=False)]
    known = typed.is_valid().to_numpy(zero_copy_only=False)
    # not Arrow's grouping of tables, which loads much to do little
    distinct = typed.filter(pa.array(known)).dictionary_encode()
    sums = np.zeros(len(distinct.dictionary), np.int64)
    np.add.at(sums, distinct.indices.to_numpy(), rows[known])
    order = pc.sort_indices(distinct.dictionary).to_numpy()
    return distinct.dictionary.take(order), sums[order], int(rows[~known].sum())


def sensitive_codes(column: str, values: pa.Array, missing: Sequence[str] = (), kind: canonical.ValueType | None = None) -> Encoding:
    """Return the codes by which promises tell sensitive values apart: each distinct value its own, all missing ones one more.

    What a value is, and what is missing, ``told_apart`` says. With a type, codes are in the order of the values.

    >>> sensitive_codes("illness", pa.array(["flu", "?"]), ["?"]).codes.tolist()
    [0, 2]
    >>> sensitive_codes("grade", pa.array(["10", "9"]), kind="integer").codes.tolist()
    [1, 0]
    >>> sensitive_codes("dose", pa.array([0.0, -0.0, 2.5])).codes.tolist()
    [0, 0, 1]
    >>> sensitive_codes("dose", pa.array(["1.50", "1.5"]), kind="decimal").codes.tolist()
    [0, 0]
    >>> sensitive_codes("dose", pa.array([1.5, float("nan"), None])).codes.tolist()
    [0, 2, 2]
    """
    told, ranks = told_apart(values, missing, kind), np.arange(len(values))
    if kind is not None:
        ranks[pc.sort_indices(typed_values(values, kind)).to_numpy()] = np.arange(len(values))
    groups = told.dictionary_encode(null_encoding="encode").indices.to_numpy()
    first = np.full(len(values), len(values))
    np.minimum.at(first, groups, ranks)
    distinct, codes = np.unique(first[groups], return_inverse=True)
    size = len(distinct)
    return Encoding(column, np.where(told.is_null().to_numpy(zero_copy_only=False), size, codes).astype(np.int32), null_code=size, size=size + 1)

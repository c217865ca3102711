"""The codes of sensitive columns: one a value, in the order of the values or of a hierarchy where a promise measures distances by it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.encoding import encode, sensitive_codes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Encoding
from sfumato.engine.as_published import original_of
from sfumato.engine.plan import Plan
from sfumato.errors import DataError


def measured_by_ladder(plan: Plan) -> list[str]:
    """Return the sensitive columns whose hierarchy says how far apart their values are."""
    columns = plan.resolved.policy.columns
    scaled = dict.fromkeys(name for promise in plan.resolved.promises for name in promise.scales)
    return [name for name in scaled if columns[name].hierarchy is not None]


def encode_sensitive(plan: Plan, name: str, values: pa.Array, ladders: Mapping[str, Hierarchy]) -> Encoding:
    """Return the code of each distinct value of a sensitive column."""
    column = plan.resolved.policy.columns[name]
    if name in ladders:
        return encode(ladders[name], values, column.missing)
    if not any(name in promise.scales for promise in plan.resolved.promises):
        return sensitive_codes(name, values, column.missing, column.type)
    kind = column.type or canonical.infer(present(values, column.missing))
    if kind == "text" and column.type is None:
        _refuse_no_order(name, present(values, column.missing))
    return sensitive_codes(name, values, column.missing, kind)


def _refuse_no_order(name: str, values: pa.Array) -> None:
    """Refuse to take numbers or dates in the order of their letters because a few values are none."""
    near = canonical.nearly(values, np.ones(len(values), np.int64))
    form = canonical.another_form(values, np.ones(len(values), np.int64))
    if near is None and form is None:
        return
    kind = near[0] if near is not None else "date or number"
    raise DataError(
        f"column {name}: a promise measures distances by the order of its values, and some of them are not of type {kind}",
        code="value-type",
        hint=f"list what stands for a missing value under columns.{name}.missing, say formats: {{{name}: ...}}, or type: text to order them as text",
    )


def encode_published(plan: Plan, name: str, values: pa.Array, ladders: Mapping[str, Hierarchy]) -> Encoding:
    """Return the code of what each distinct value of a masked sensitive column becomes."""
    column = original_of(name)
    # what it refuses is told of the rows that are written
    made = plan.resolved.masks[column].made(pa.RecordBatch.from_arrays([values], names=[column]), plan.context(column, ladders.get(column)))
    return of_published(name, made.values)


def of_published(name: str, masked: pa.Array) -> Encoding:
    """Return codes by which published values are told apart, in the order of the values where they have one."""
    distinct = canonical.as_text(masked).dictionary_encode()
    codes = sensitive_codes(name, distinct.dictionary, (), canonical.infer(distinct.dictionary))
    places = distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Encoding(original_of(name), np.append(codes.codes, codes.null_code)[places].astype(np.int32), codes.null_code, codes.size, name)


def present(values: pa.Array, missing: list[str]) -> pa.Array:
    """Return the values that do not stand for a missing one."""
    if not missing:
        return values
    return values.filter(pc.invert(pc.is_in(canonical.as_text(values), value_set=pa.array(missing, pa.string()))))

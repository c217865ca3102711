"""The codes of sensitive columns: one a value, in the order of the values or of a hierarchy where a promise measures distances by it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.encoding import encode, sensitive_codes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Encoding
from sfumato.engine.plan import Plan


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
    in_order = any(name in promise.scales for promise in plan.resolved.promises)
    kind = (column.type or canonical.infer(present(values, column.missing))) if in_order else None
    return sensitive_codes(name, values, column.missing, kind)


def present(values: pa.Array, missing: list[str]) -> pa.Array:
    """Return the values that do not stand for a missing one."""
    if not missing:
        return values
    return values.filter(pc.invert(pc.is_in(canonical.as_text(values), value_set=pa.array(missing, pa.string()))))

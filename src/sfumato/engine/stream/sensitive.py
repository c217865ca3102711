"""The codes by which promises tell the sensitive values of a stream apart: of a window among its own values, else among all that have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.encoding import encode, not_of_type, sensitive_codes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.told_apart import told_apart
from sfumato.engine.as_published import original_of, published_names
from sfumato.engine.count import build_hierarchy
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import measured_by_ladder, of_published, present
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.rows import Rows

Codes = dict[str, NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Coded:
    """The codes of sensitive columns, how many codes each has, and the ladders whose leaf codes some are."""

    codes: Codes
    sizes: Mapping[str, int]
    ladders: Mapping[str, Hierarchy] = field(default_factory=dict)


def kinds_of(plan: Plan, rows: Rows) -> dict[str, ValueType]:
    """Return the types of the sensitive columns whose order a promise measures distances by, from the first rows."""
    columns = plan.resolved.policy.columns
    scaled = {name for promise in plan.resolved.promises for name in promise.scales} - {*measured_by_ladder(plan)}
    return {name: columns[name].type or canonical.infer(present(rows.came(name).drop_null(), columns[name].missing)) for name in sorted(scaled)}


def told_by(plan: Plan, name: str) -> ValueType | None:
    """Return the type in whose one writing values of a sensitive column are told apart: that of its ladder where distances are measured by it."""
    ladder = plan.resolved.ladders.get(name) if name in measured_by_ladder(plan) else None
    return plan.resolved.policy.columns[name].type if ladder is None else ladder.kind


def of_window(plan: Plan, rows: Rows, kinds: Mapping[str, ValueType], unfit: Unfit) -> Coded:
    """Code the sensitive columns of a window; set rows aside whose value a ladder does not know, or that has no place in the order of others."""
    columns, by_ladder = plan.resolved.policy.columns, measured_by_ladder(plan)
    codes: Codes = {}
    sizes, ladders = {}, {}
    for name in plan.watched:
        coded, missing = rows.came(name).dictionary_encode(), columns[name].missing
        if name in by_ladder:
            counts = np.bincount(coded.indices.drop_null().to_numpy(), minlength=len(coded.dictionary)).astype(np.int64)
            ladders[name] = plan.resolved.ladders.get(name) or build_hierarchy(plan, name, columns[name], coded.dictionary, counts)
            encoding = encode(ladders[name], coded.dictionary, missing)
            unfit.add(_taken(encoding.codes == ladders[name].outside, coded, False), "value-outside-hierarchy", name)
        else:
            kind = kinds.get(name)
            if kind is not None and kind != "text":
                unfit.add(_taken(not_of_type(coded.dictionary, kind, missing), coded, False), "value-type", name)
            encoding = sensitive_codes(name, coded.dictionary, missing, kind or columns[name].type)
        codes[name], sizes[name] = _taken(encoding.codes, coded, encoding.null_code).astype(np.int32), encoding.size
    for name in published_names(plan.promises):
        coded = rows.made(original_of(name)).dictionary_encode()
        encoding = of_published(name, coded.dictionary)
        codes[name], sizes[name] = _taken(encoding.codes, coded, encoding.null_code).astype(np.int32), encoding.size
    return Coded(codes, sizes, ladders)


@dataclass(frozen=True)
class Known:
    """The sensitive values that a stream has shown, each with a code of its own for good; 0 is a missing value."""

    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def coded(self, plan: Plan, rows: Rows, unfit: Unfit) -> tuple[Coded, Known]:
        """Return the codes of further rows, and what is known after them."""
        columns, ladders = plan.resolved.policy.columns, {name: plan.resolved.ladders[name] for name in measured_by_ladder(plan)}
        codes: Codes = {}
        known = {name: dict(values) for name, values in self.values.items()}
        sizes = {}
        for name in [*plan.watched, *published_names(plan.promises)]:
            published = name not in columns
            values = rows.made(original_of(name)) if published else rows.came(name)
            if name in ladders:
                coded = canonical.as_text(values).dictionary_encode()
                encoding = encode(ladders[name], coded.dictionary, columns[name].missing)
                unfit.add(_taken(encoding.codes == ladders[name].outside, coded, False), "value-outside-hierarchy", name)
                codes[name], sizes[name] = _taken(encoding.codes, coded, encoding.null_code).astype(np.int32), encoding.size
                continue
            mine = known.setdefault(name, {})
            told = told_apart(values) if published else told_apart(values, columns[name].missing, columns[name].type)
            coded = told.dictionary_encode()
            found = [mine.setdefault(text, len(mine) + 1) for text in coded.dictionary.to_pylist()]
            codes[name], sizes[name] = _taken(np.array(found, np.int32), coded, 0).astype(np.int32), len(mine) + 1
        return Coded(codes, sizes, ladders), Known(known)


def _taken(of_values: NDArray[Any], coded: pa.DictionaryArray, null: object) -> NDArray[Any]:
    """Return for each row what there is for its value, and something else for a missing one."""
    places = pc.fill_null(coded.indices, len(of_values)).to_numpy(zero_copy_only=False)
    found: NDArray[Any] = np.append(of_values, np.array([null], of_values.dtype))[places]
    return found

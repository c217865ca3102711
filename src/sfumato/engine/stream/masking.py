"""Masks on a stream: those that look at one row at a time as records come, those that look at many when their window is over."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.encoding import is_missing
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.mask_effect import Made
from sfumato.core.masked_column import MaskedColumn
from sfumato.engine.count import build_hierarchy
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.rows import Rows
from sfumato.errors import DataError, Mistake, PolicyError


def mask_as_they_come(plan: StreamPlan, columns: Mapping[str, pa.Array], unfit: Unfit) -> dict[str, pa.Array]:
    """Return what masks of single values and rows make of records; set those aside that a mask refuses."""
    made = {}
    for name in plan.narrow:
        batch = pa.RecordBatch.from_pydict({other: columns[other] for other in plan.looked_at(name)})
        made[name] = _made(plan, name, batch, unfit)
    return made


def mask_window(plan: StreamPlan, rows: Rows, unfit: Unfit) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
    """Return what masks of groups and of whole windows make of rows, and which of these are in groups of which nothing may be told."""
    made, few = {}, np.zeros(len(rows), bool)
    for name in plan.wide:
        mask = plan.masks[name]
        result = mask.made(rows.columns(plan.looked_at(name)), plan.context(name, _ladder(plan, name, rows.came(name))))
        made[name] = result.values
        unfit.add(result.missing, "mask-null", name)
        if mask.on_invalid == "error":
            operations = {step.component_name() for step in (*mask.steps, *mask.otherwise)}
            for told, wrong in result.invalid.items():
                if told in operations and mask.card.scope in ("group", "table") and _is_of_groups(mask, told):
                    few |= wrong
                else:
                    unfit.add(wrong, "mask-invalid", name)
    return made, few


def removed_of(plan: StreamPlan, public: pa.RecordBatch, rows: Rows) -> dict[str, int]:
    """Return how many values of a release are missing and were not, by column; of columns whose masks remove what they cannot take."""
    found = {}
    for name, mask in plan.masks.items():
        if mask.effect().may_remove and name in public.schema.names:
            there = pc.invert(is_missing(rows.came(name), plan.resolved.policy.columns[name].missing))
            found[name] = pc.sum(pc.and_(there, public.column(name).is_null())).as_py() or 0
    return {name: number for name, number in found.items() if number}


def repeated(plan: StreamPlan, name: str, rows: Rows) -> pa.Array:
    """Return what a mask of single rows makes of rows a second time."""
    result = plan.masks[name].made(rows.columns(plan.looked_at(name)), plan.context(name, _ladder(plan, name, rows.came(name))))
    return result.values


def _is_of_groups(mask: MaskedColumn, name: str) -> bool:
    """Return whether an operation refuses groups, not values."""
    return any(step.component_name() == name and step.card.scope in ("group", "table") for step in (*mask.steps, *mask.otherwise))


def _made(plan: StreamPlan, name: str, batch: pa.RecordBatch, unfit: Unfit) -> pa.Array:
    values, missing, invalid, failed = _without_failures(plan, name, batch)
    unfit.add(missing, "mask-null", name)
    unfit.add(invalid, "mask-invalid", name)
    for code, rows in failed.items():
        unfit.add(rows, code, name)
    return values


_Parts = tuple[pa.Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, NDArray[np.bool_]]]


def _without_failures(plan: StreamPlan, name: str, batch: pa.RecordBatch) -> _Parts:
    """Mask rows; where the mask stops at some of them, halves are looked at apart until the culprits are alone."""
    mask = plan.masks[name]
    rows = batch.num_rows
    try:
        made: Made = mask.made(batch, plan.context(name, _ladder(plan, name, batch.column(name))))
    except DataError as error:
        if rows <= 1:
            return (
                pa.nulls(rows, mask.output_type(batch.column(name).type)),
                np.zeros(rows, bool),
                np.zeros(rows, bool),
                {error.code: np.ones(rows, bool)},
            )
    else:
        wrong = list(made.invalid.values()) if mask.on_invalid == "error" else []
        invalid = np.logical_or.reduce(wrong) if wrong else np.zeros(rows, bool)
        return made.values, made.missing, invalid, {}
    middle = rows // 2
    first, second = _without_failures(plan, name, batch.slice(0, middle)), _without_failures(plan, name, batch.slice(middle))
    failed = {
        code: np.concatenate([first[3].get(code, np.zeros(middle, bool)), second[3].get(code, np.zeros(rows - middle, bool))])
        for code in first[3] | second[3]
    }
    return pa.concat_arrays([first[0], second[0]]), np.concatenate([first[1], second[1]]), np.concatenate([first[2], second[2]]), failed


def _ladder(plan: StreamPlan, name: str, values: pa.Array) -> Hierarchy | None:
    """Return the hierarchy whose levels a mask shows: the written one, or one whose labels mean the same over any values."""
    if not plan.masks[name].needs_ladder:
        return None
    resolved = plan.resolved
    if name in resolved.ladders:
        return resolved.ladders[name]
    coded = values.dictionary_encode()
    counts = np.bincount(coded.indices.drop_null().to_numpy(), minlength=len(coded.dictionary)).astype(np.int64)
    built = build_hierarchy(plan.plan, name, resolved.policy.columns[name], coded.dictionary, counts)
    if built.builder is None and built.height > 1:
        words = "is made of how often values occur, and in a stream that changes from batch to batch"
        path = ("columns", name, "hierarchy")
        hint = "a hierarchy that is written down, or prefixes, networks or the calendar"
        raise PolicyError([Mistake(f"columns.{name}.hierarchy", words, "policy-stream", hint, resolved.lines.at(path))], name=resolved.name)
    return built

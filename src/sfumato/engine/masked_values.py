"""Masked columns as they were written: whether they single people out, and whether those that must be unique still are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan, Staged
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.number_columns import numbers_of
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, read
from sfumato.core.typed_column import Times
from sfumato.engine.plan import Plan
from sfumato.engine.singling_out import refuse_found, refuse_linking, refuse_rows_of_one, refuse_unless_accepted
from sfumato.errors import DataError

_MOST = 0.5


def measured_columns(plan: Plan) -> list[str]:
    """Return the masked columns that are held against their originals row by row."""
    columns = plan.resolved.policy.columns
    return [name for name in plan.masked if name not in plan.quasi_identifiers and (columns[name].unique or plan.resolved.promises)]


def check_masked(plan: Plan, masks: MaskPlan, staged: Staged, originals: Mapping[str, NDArray[np.uint64]], people: NDArray[np.int64] | None) -> None:
    """Refuse a release whose masked columns single people out unless that is accepted, or make one value of several that must stay apart.

    ``originals`` are fingerprints of what the published rows had, ``people`` whose they are; None where everybody has one. A mask that leaves most
    values as they were is none, whatever its card says.
    """
    names = [name for name in masks.masks if name in originals]
    if not names:
        return
    written = read(staged.written, names, {name: [name] for name in names}, Quiet())
    of_few: list[str] = []
    for name, column in written.columns.items():
        if plan.resolved.policy.columns[name].unique:
            _refuse_joined(name, column, originals[name])
        counts = column.counts()[:-1] if people is None else _people_of_values(column, people)
        distinct = int((counts > 0).sum())
        same = float((written.prints[name] == originals[name]).mean()) if staged.rows else 0.0
        mask = plan.resolved.masks[name]
        if plan.resolved.promises and shows_values(mask, same) and int((counts == 1).sum()) * 2 > distinct:
            refuse_unless_accepted(plan, name, distinct)
        if people is None and tells_people_apart(plan, name) and _few_people(plan, column, originals[name], staged.text_classes(Quiet()).class_of):
            of_few.append(name)
        linking = int(((counts == 1) & (column.counts()[:-1] > 1)).sum())
        if plan.resolved.promises and linking * 2 > distinct:
            refuse_linking(plan, name, distinct)
    refuse_rows_of_one(plan, of_few)


def shows_values(mask: MaskedColumn, same: float) -> bool:
    """Return whether a reader who knows a value finds it again in what a mask made of it; ``same`` is the share of values that are what they were."""
    return mask.is_plain_to_see or same > _MOST or (_is_moved(mask) and not _keeps_scale(mask) and not mask.card.keyed)


def tells_people_apart(plan: Plan, name: str) -> bool:
    """Return whether a column is an identifier whose published values show which rows have the same, beside a promise about people."""
    card = plan.resolved.masks[name].card
    counted = any(promise.component_name() == "k_anonymity" for promise in plan.resolved.promises)
    return counted and plan.resolved.policy.columns[name].role == "identifier" and card.deterministic and card.uniqueness != "lossy"


def _few_people(plan: Plan, column: CodedColumn, originals: NDArray[np.uint64], class_of: NDArray[np.int32]) -> bool:
    """Return whether in some class of k rows fewer than k values of an identifier stand; a missing one is somebody's of whom nothing is said."""
    there = column.codes >= 0
    _, values = np.unique(originals[there], return_inverse=True)
    pairs = np.unique(class_of[there].astype(np.int64) * (int(values.max(initial=0)) + 1) + values)
    number = int(class_of.max(initial=-1)) + 1
    persons = np.bincount(pairs // (int(values.max(initial=0)) + 1), minlength=number) + np.bincount(class_of[~there], minlength=number)
    return bool(persons.min(initial=plan.threshold) < plan.threshold)


def perturbed_columns(plan: Plan) -> list[str]:
    """Return the columns of numbers and dates whose values become others near them by chance, beside promises."""
    if not plan.resolved.promises:
        return []
    return [name for name in plan.masked if name not in plan.quasi_identifiers and _is_moved(plan.resolved.masks[name])]


def _is_moved(mask: MaskedColumn) -> bool:
    return any(step.card.perturbs and step.card.types and not step.keys for step in mask.operations)


def _keeps_scale(mask: MaskedColumn) -> bool:
    """Return whether numbers and dates are still what they are compared with by size; where another operation follows they may be anything."""
    return all(step.component_name() == "keep" or (step.card.types and not step.card.changes_type) for step in mask.operations)


def check_perturbed(plan: Plan, staged: Staged, originals: Mapping[str, CodedColumn]) -> None:
    """Refuse a column in which most people still have the value that is nearest to their own, and nobody else has it, unless it is accepted."""
    names = perturbed_columns(plan)
    if not names or not staged.rows:
        return
    for name, column in read(staged.written, names, {}, Quiet()).columns.items():
        known, found = np.zeros((2, staged.rows), bool)
        # a column may hold both: a value that is of another type than the others does not change what these are
        for places in (numbers_of, _moments):
            before, after = (np.append(places(each.values), np.nan)[each.codes] for each in (originals[name], column))
            before = before[staged.link]
            compared = ~(np.isnan(before) | np.isnan(after))
            known |= compared
            found[compared] |= _is_found(before[compared], after[compared])
        if known.any() and float(found[known].mean()) > _MOST:
            refuse_found(plan, name)


def _moments(values: pa.Array) -> NDArray[np.float64]:
    """Return the days and instants of a column on one line; NaN where there is none."""
    times = Times.of(values)
    return np.where(times.valid, times.microseconds.astype(np.float64), np.nan)


def _is_found(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether the published value nearest to an original is its own row's, and only that row's."""
    if not len(after):
        return np.zeros(0, bool)
    distinct, places, counts = np.unique(after, return_inverse=True, return_counts=True)
    above = np.searchsorted(distinct, before).clip(0, len(distinct) - 1)
    nearest = np.minimum(np.abs(distinct[above] - before), np.abs(distinct[(above - 1).clip(0)] - before))
    found: NDArray[np.bool_] = (np.abs(after - before) <= nearest) & (counts[places] == 1)
    return found


def _people_of_values(column: CodedColumn, people: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many people have each value."""
    known = column.codes >= 0
    pairs = np.unique(np.stack([column.codes[known].astype(np.int64), people[known]], axis=1), axis=0)
    return np.bincount(pairs[:, 0], minlength=len(column.values))


def _refuse_joined(name: str, column: CodedColumn, originals: NDArray[np.uint64]) -> None:
    _, before = np.unique(originals, return_inverse=True)
    pairs = np.unique(before.astype(np.int64) * (len(column.values) + 1) + column.codes + 1)
    if len(pairs) != len(np.unique(column.codes)):
        raise DataError(
            f"column {name} must stay unique, and its mask made one value of several; nothing has been published",
            code="mask-not-unique",
            hint=f"encrypt or tokenise it, or say unique: false in columns.{name}",
        )

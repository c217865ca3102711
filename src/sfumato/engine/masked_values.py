"""Masked columns as they were written: whether they single people out, and whether those that must be unique still are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan, Staged
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, read
from sfumato.engine.plan import Plan
from sfumato.engine.singling_out import refuse_linking, refuse_unless_accepted
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
    for name, column in written.columns.items():
        if plan.resolved.policy.columns[name].unique:
            _refuse_joined(name, column, originals[name])
        counts = column.counts()[:-1] if people is None else _people_of_values(column, people)
        distinct = int((counts > 0).sum())
        same = float((written.prints[name] == originals[name]).mean()) if staged.rows else 0.0
        shows = plan.resolved.masks[name].is_plain_to_see or same > _MOST
        if plan.resolved.promises and shows and int((counts == 1).sum()) * 2 > distinct:
            refuse_unless_accepted(plan, name, distinct)
        linking = int(((counts == 1) & (column.counts()[:-1] > 1)).sum())
        if plan.resolved.promises and linking * 2 > distinct:
            refuse_linking(plan, name, distinct)


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

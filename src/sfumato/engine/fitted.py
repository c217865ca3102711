"""A recoding that was searched on one table and verified there, kept so that other rows can be put into its classes.

Rows of another table do not have the promises by themselves: they are measured anew on what the rows become, by its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.hierarchy import ROOT
from sfumato.core.interfaces import Dictionary, MaskPlan
from sfumato.core.mask import WIDE
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, read
from sfumato.core.recoding import Recoding
from sfumato.core.record import RunRecord
from sfumato.core.text_classes import TextClasses
from sfumato.core.workplace import Workplace
from sfumato.engine.count import sensitive_ladders
from sfumato.engine.placing import LEFT_OUT, Placing
from sfumato.engine.plan import Plan, Plans, make_plans, with_keys
from sfumato.engine.record import make_record
from sfumato.engine.rows_verified import holding_rows
from sfumato.engine.run import Timings, staged_views
from sfumato.engine.verify import read_again, verify
from sfumato.errors import DataError, PromiseError, UsageError
from sfumato.policy.load import Loaded
from sfumato.policy.seed import chance_of
from sfumato.registry import find


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was decided on the table that was fitted. It holds values of that table, and is as private as it."""

    loaded: Loaded
    combinations: NDArray[Any]
    recoding: Recoding
    masks: MaskPlan
    record: RunRecord
    columns: Sequence[str]
    published: Sequence[str]


def fit(loaded: Loaded, data: Any) -> tuple[Fitted, pa.Table]:
    """Search and verify as a run does, and return what was decided, and what each row becomes, in the order of the rows."""
    plan = _in_memory(loaded, data)
    _refuse_wide_masks(plan)
    timings, progress = Timings(), Quiet()
    with Workplace() as workplace:
        (view,) = staged_views(Plans({"": plan}, {}, {}), workplace, progress, timings)
        counted, recoding, masks, staged = view.counted, view.recoding, view.masks, view.staged
        original, _ = read_again([(plan, masks)], [], counted.rows, progress)
        verified = verify(plan, counted, masks, staged, view.suppressed, recoding.levels, original, progress)
        record = make_record(plan, counted, recoding, verified, view.suppressed, view.timings.seconds, view.staged.effects).model_copy(
            update={"status": "fitted"}
        )
        record = record.model_copy(update={"notes": [*record.notes, *view.notes]})
        written = pa.Table.from_batches(staged.written.batches(staged.written.describe().names))
    frequencies = counted.frequencies
    fitted = Fitted(
        loaded, frequencies.combinations, recoding.by_combination(frequencies), masks, record, tuple(plan.schema.names), tuple(written.column_names)
    )
    place = np.full(counted.rows, LEFT_OUT, np.int64)
    place[staged.link] = np.arange(len(staged.link))
    rows = written.take(pa.array(np.maximum(place, 0)))
    return fitted, _typed(_without(rows, place < 0, fitted), masks)


def transform(fitted: Fitted, data: Any, suppress: bool) -> pa.Table:
    """Put rows into the classes that were fitted and return what they become, in their order.

    Raise an error where one fits into none, or where the promises do not hold of what the rows become; with ``suppress`` such rows are
    left out: they say nothing, ``*`` or a missing value in every column.
    """
    plan = _in_memory(fitted.loaded, data)
    reading = read(plan.source, [*plan.quasi_identifiers, *plan.watched], {}, Quiet(), subject=plan.resolved.subject)
    if not reading.rows:
        raise DataError("the source has no rows", code="source-empty", hint="run again when there are some")
    with chance_of(plan.resolved.policy.seed, "transform"):
        class_of = Placing(fitted.masks.publications, fitted.recoding, fitted.combinations).classes_of(plan, reading, suppress)
        table, given = _written(fitted, plan, class_of), class_of >= 0
    ladders = sensitive_ladders(plan, lambda name: _dictionary(reading.columns[name]))
    while given.any():
        holds, broken = holding_rows(plan, ladders, reading, _text_classes(fitted, table, np.flatnonzero(given)), given)
        if not broken:
            return _typed(_without(table, ~given, fitted), fitted.masks)
        if not suppress:
            raise PromiseError(
                f"these rows, put into the classes that were fitted, do not keep {broken}; nothing is returned",
                code="transform-promise",
                hint="give more rows at once, fit on them, or say on_broken='suppress'",
            )
        given = holds
    raise PromiseError("every row would be left out: none would be left", code="nothing-left", hint="give more rows at once, or fit on them")


def _in_memory(loaded: Loaded, data: Any) -> Plan:
    """Return the plan for some rows; whatever the policy says, nothing is written to a file."""
    (plan,) = with_keys(make_plans(loaded, data)).views.values()
    return replace(plan, sink=find("sinks", "memory")())


def _refuse_wide_masks(plan: Plan) -> None:
    """Refuse masks that mix rows: rows that are left out later would have taken part."""
    wide = [name for name, mask in plan.resolved.masks.items() if mask.card.scope in WIDE]
    if wide:
        words = f"an anonymiser mixes no rows, and the masks of {', '.join(wide)} do"
        raise UsageError(words, code="parameter-value", hint="mask the columns before, or use sfumato.run")


def _dictionary(column: CodedColumn) -> Dictionary:
    counts = column.counts()
    return Dictionary(column.values, counts[:-1], int(counts[-1]))


def _written(fitted: Fitted, plan: Plan, class_of: NDArray[np.int32]) -> pa.Table:
    """Return what rows of known classes become."""
    masks = fitted.masks
    classes = pa.array(np.maximum(class_of, 0))
    columns = {
        name: array.dictionary_decode().take(classes)
        for place, publication in enumerate(masks.publications)
        for name, array in zip(publication.columns, publication.render(fitted.recoding, place), strict=True)
    }
    needed = list(dict.fromkeys([*masks.kept, *masks.masks, *(name for mask in masks.masks.values() for name in mask.reads)]))
    kept = pa.Table.from_batches(plan.source.batches(needed)).combine_chunks() if needed else pa.table({})
    columns |= {name: kept.column(name) for name in masks.kept}
    for name, mask in masks.masks.items():
        (batch,) = kept.select(list(dict.fromkeys([name, *mask.reads]))).to_batches()
        # the keys are read anew: what is fitted holds none
        columns[name] = mask.apply(batch, replace(masks.contexts[name], keys=plan.keys))
    return pa.table({name: columns[name] for name in fitted.published})


def _typed(table: pa.Table, masks: MaskPlan) -> pa.Table:
    """Return a table with its nested columns in their types."""
    for name in masks.nested:
        column = masks.typed(name, table.column(name).combine_chunks())
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _text_classes(fitted: Fitted, table: pa.Table, rows: NDArray[np.int64]) -> TextClasses:
    """Return the classes of some rows by the text of their quasi-identifiers."""
    columns = []
    for name in (name for publication in fitted.masks.publications for name in publication.columns):
        coded = table.column(name).combine_chunks().take(pa.array(rows)).dictionary_encode()
        columns.append(CodedColumn(coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)))
    return TextClasses.of_columns(columns, len(rows))


def _without(table: pa.Table, left_out: NDArray[np.bool_], fitted: Fitted) -> pa.Table:
    """Return a table in which some rows say nothing."""
    if not left_out.any():
        return table
    generalised = {name for publication in fitted.masks.publications for name in publication.columns}
    gone = pa.array(left_out)
    nothing = {name: pa.scalar(ROOT if name in generalised else None, table.schema.field(name).type) for name in table.column_names}
    return pa.table({name: pc.if_else(gone, nothing[name], table.column(name)) for name in table.column_names})

"""Preview: some rows as they are and as a policy would publish them, from the beginning of the source alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.canonical import as_text
from sfumato.core.quiet import Quiet
from sfumato.core.rehearsal import Rehearsal
from sfumato.core.workplace import Workplace
from sfumato.engine.first_rows import first_rows
from sfumato.engine.plan import AnyPolicy, Plan, as_source, make_plans, named_view, with_keys
from sfumato.engine.run import Timings, staged_views
from sfumato.errors import DataError
from sfumato.registry import find

_LOOKED_AT = 5000


@dataclass(frozen=True, eq=False)
class Preview:
    """Rows before and after, beside each other; None where the row would be left out. For those who may see the source.

    ``looked_at`` rows were read, ``whole`` says that there are no more, ``generalised`` that what becomes of a row depends on the others.
    """

    columns: tuple[str, ...]
    rows: list[tuple[dict[str, str | None], dict[str, str | None] | None]]
    looked_at: int
    whole: bool
    generalised: bool


def preview(policy: AnyPolicy, rows: int = 20, data: Any = None, view: str | None = None) -> Preview:
    """Anonymise the first rows of the source in memory, and return the first of them with what would be published; no vault learns of them."""
    plans = with_keys(make_plans(policy, data))
    name = named_view(plans, view)
    plan = plans.views[name]
    wanted = plans.up_to(name)
    table, whole = _beginning(list(wanted.views.values()), max(rows, _LOOKED_AT))
    source, nowhere = as_source(table), find("sinks", "memory")()
    rehearsed = {"source": source, "sink": nowhere, "rehearsal": Rehearsal()}
    in_memory = replace(wanted, views={each: replace(one, **rehearsed) for each, one in wanted.views.items()})
    with Workplace() as workplace:
        *_, last = staged_views(in_memory, workplace, Quiet(), Timings())
        staged = last.staged
        written = pa.Table.from_batches(staged.written.batches(staged.written.describe().names))
    place = np.full(table.num_rows, -1, np.int64)
    place[staged.link] = np.arange(len(staged.link))
    shown = [name for name in plan.published if name in table.column_names]
    before = _texts(table.select(shown).slice(0, rows))
    after = _texts(written)
    pairs = [(old, after[new] if new >= 0 else None) for old, new in zip(before, place[:rows].tolist(), strict=True)]
    return Preview(tuple(shown), pairs, table.num_rows, whole, bool(plan.quasi_identifiers))


def _beginning(plans: Sequence[Plan], rows: int) -> tuple[pa.Table, bool]:
    """Return the first rows of the source, and whether these are all."""
    plan = plans[0]
    reads = (name for each in plans for mask in each.resolved.masks.values() for name in mask.reads)
    needed = {*(name for each in plans for name in each.published), plan.resolved.policy.subject, *reads}
    # what is removed may be of a kind that cannot be read
    names = [name for name in plan.schema.names if name in needed]
    found, number = first_rows(plan.source, names, rows)
    if not number:
        raise DataError("the source has no rows", code="source-empty", hint="run again when there are some")
    return pa.Table.from_batches(found).slice(0, rows).combine_chunks(), number <= rows


def _texts(table: pa.Table) -> list[dict[str, str | None]]:
    columns = {name: as_text(table.column(name)).to_pylist() for name in table.column_names}
    return [{name: values[row] for name, values in columns.items()} for row in range(table.num_rows)]

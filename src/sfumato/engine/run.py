"""Run: the one road from a policy to a verified release: plan, count, search, apply, verify, publish, record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import pyarrow as pa

from sfumato.core.files import source_changed
from sfumato.core.html import html_table
from sfumato.core.interfaces import AttachPlan, MaskContext, MaskPlan, Progress, Published, Source, Staged
from sfumato.core.problem import Problem
from sfumato.core.publication import Publication, in_published_order
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding, nothing_to_recode
from sfumato.core.record import RunRecord
from sfumato.core.workplace import Workplace
from sfumato.engine.count import Counted, count, most_suppressed
from sfumato.engine.frames import as_frame, kind_of_frame
from sfumato.engine.plan import AnyPolicy, Plan, make_plan
from sfumato.engine.publish import private_part, publish
from sfumato.engine.record import make_record
from sfumato.engine.verify import verify
from sfumato.errors import number_of


@dataclass(frozen=True, eq=False)
class Release:
    """What a run has published: its record, and its rows."""

    record: RunRecord
    _source: Source
    _kind: str = "arrow"

    def __repr__(self) -> str:
        """Say in one line what was published."""
        promises = ", ".join(f"{p.promise} {p.measured:g}" for p in self.record.promises) or "no promises"
        return f"Release({number_of(self.record.rows.out, 'row')}, {promises})"

    @cached_property
    def table(self) -> pa.Table:
        """The published rows as an Arrow table; read from the file where the release is one."""
        schema = self._source.describe()
        return pa.Table.from_batches(self._source.batches(schema.names), schema)

    @property
    def data(self) -> Any:
        """The published rows as what the run was given: a pandas or polars data frame, else an Arrow table."""
        return as_frame(self.table, self._kind)

    def _repr_html_(self) -> str:
        """Return what was promised, measured and lost, for notebooks."""
        record, after = self.record, self.record.measures["after"]
        promises = [(p.promise, f"{p.asked:g}", f"{p.measured:.6g}", "holds" if p.holds else "broken") for p in record.promises]
        rows = [
            ("rows", record.rows.out),
            ("suppressed", record.rows.suppressed),
            ("classes", after["classes"]),
            ("detail lost", f"{after['loss']:.1%}"),
        ]
        notes = "".join(f"<p>{escape(note)}</p>" for note in record.notes)
        return html_table(promises, ("promise", "asked", "measured", "verdict")) + html_table(rows) + notes


class Timings:
    """How long each stage took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)


def run(policy: AnyPolicy, data: Any = None, progress: Progress | None = None) -> Release:
    """Anonymise as the policy says, verify what was written, publish it and return it with its record.

    ``data`` is an Arrow table, a pandas or polars data frame, or anything else that gives rows by Arrow's interface.

    Raises an error, and publishes nothing, where a promise cannot be kept or anything is not as it must be.
    """
    timings = Timings()
    with timings.stage("plan"):
        plan = make_plan(policy, data)
    with Workplace() as workplace:
        return replace(_run(plan, workplace, progress or Quiet(), timings), _kind=kind_of_frame(data))


def _run(plan: Plan, workplace: Workplace, progress: Progress, timings: Timings) -> Release:
    state = plan.source.state()
    counted, recoding, masks, staged = stage(plan, workplace, progress, timings)
    try:
        with timings.stage("verify"):
            suppressed = counted.rows - staged.rows
            try:
                verified = verify(plan, counted, masks, staged, suppressed, recoding.levels, progress)
            finally:
                # what verification found may be another's doing: then that is what is said
                if plan.source.state() != state:
                    raise source_changed("the source")
        record = make_record(plan, counted, recoding, verified, suppressed, timings.seconds)
        with private_part(counted, recoding, record):
            published = publish(plan, staged, record, workplace, progress)
    except BaseException:
        plan.store.discard(staged)
        raise
    return Release(record, _reader(staged, published))


def stage(plan: Plan, workplace: Workplace, progress: Progress, timings: Timings) -> tuple[Counted, Recoding, MaskPlan, Staged]:
    """Count, search and write the release where nobody can see it; nothing has been verified yet."""
    with timings.stage("count"):
        progress.stage("reading", plan.source.about())
        attached = plan.store.attach(plan.source, _attach_plan(plan), workplace, progress)
        progress.stage("counting")
        counted = count(plan, attached)
    with timings.stage("search"):
        recoding = _search(plan, counted, progress)
    with timings.stage("apply"):
        masks = _mask_plan(plan, counted)
        recoding = in_published_order(recoding, masks.publications)
        staged = plan.store.stage(attached, recoding, masks, plan.sink, workplace, progress)
        attached.release()
    return counted, recoding, masks, staged


def _attach_plan(plan: Plan) -> AttachPlan:
    coded = [*plan.quasi_identifiers, *plan.watched]
    read_by_masks = [name for mask in plan.resolved.masks.values() for name in mask.reads]
    kept = list(dict.fromkeys([*plan.kept, *plan.masked, *read_by_masks]))
    return AttachPlan(coded, kept, plan.resolved.policy.subject)


def _search(plan: Plan, counted: Counted, progress: Progress) -> Recoding:
    columns = plan.resolved.policy.columns
    names = plan.quasi_identifiers
    if not names:
        return nothing_to_recode(counted.frequencies)
    problem = Problem(
        hierarchies=[counted.hierarchies[name] for name in names],
        promises=plan.resolved.promises,
        weights=[columns[name].weight for name in names],
        suppressible=most_suppressed(plan, counted.rows) - counted.refused_rows,
        minimum_levels=[columns[name].level.minimum for name in names],
        maximum_levels=[_maximum(columns[name].level.maximum, counted, name) for name in names],
        refused=counted.refused_rows,
    )
    return plan.resolved.algorithm.search(problem, counted.frequencies, progress)


def _maximum(asked: int | None, counted: Counted, name: str) -> int:
    return counted.hierarchies[name].height if asked is None else asked


def _mask_plan(plan: Plan, counted: Counted) -> MaskPlan:
    columns = plan.resolved.policy.columns
    return MaskPlan(
        publications=[
            Publication(name, counted.hierarchies[name], columns[name].publish, columns[name].level.minimum) for name in plan.quasi_identifiers
        ],
        masks=plan.resolved.masks,
        kept=plan.kept,
        order=plan.published,
        contexts={name: MaskContext(column=name) for name in plan.masked},
    )


def _reader(staged: Staged, published: Published) -> Source:
    written: Any = staged.written
    reader: Source = written.model_copy(update={"path": published.places[0]}) if published.places else written
    return reader

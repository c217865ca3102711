"""Drift of a release: whether it is still what its record says, and keeps what was promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.interfaces import MaskPlan, ReadableSink, Sink, Source
from sfumato.core.quiet import Quiet
from sfumato.core.reading import read
from sfumato.databases.archive import BATCH, Archive
from sfumato.databases.located import LocatedSink
from sfumato.engine.live_view import definition_print
from sfumato.engine.on_text import looked_at, results_on_text
from sfumato.engine.plan import Plan
from sfumato.engine.released_file import released_file
from sfumato.engine.seen_cells import ROWS_PRINT, print_of_rows
from sfumato.engine.verify import fingerprint_of, not_kept
from sfumato.errors import DataError, SfumatoError, UnreachableError, number_of
from sfumato.policy.identity import policy_hash
from sfumato.sinks.live_view import LiveView

What = Literal["schema", "values", "promises", "release"]


@dataclass(frozen=True)
class Drifted:
    """One thing that is no longer as it was, or as it must be."""

    what: What
    words: str
    view: str = ""


def said(error: SfumatoError) -> str:
    """Return the first line of an error."""
    return str(error).split("\n", 1)[0]


def drift_of_release(plan: Plan, last: Mapping[str, Any] | None, is_archive: bool) -> Iterator[Drifted]:
    """Measure the promises on the release as it lies there, and hold it against its record, where one is known; an archive against its ledger."""
    reader = _reader(plan.sink)
    if reader is None:
        return
    try:
        schema = reader.describe()
        columns = list(_columns(plan, schema, last, is_archive))
        yield from columns
        if any(name not in schema.names for name in plan.released):
            return
        if isinstance(plan.sink, LiveView):
            yield from _definition(plan.sink, last)
        texts, watched = looked_at(plan)
        batches = list(reader.batches([*texts, *watched, *([BATCH] if is_archive else [])]))
        rows = sum(batch.num_rows for batch in batches)
        told = list(_ledger(plan, batches) if is_archive else _rows(plan, rows, last))
        yield from told
        if not columns and not told:
            yield from _values(plan, reader, batches, last)
    except (UnreachableError, DataError) as error:
        yield Drifted("release", said(error))
        return
    shown = pa.Table.from_batches(batches) if batches else schema.empty_table()
    for part in _batches(shown) if is_archive else [shown]:
        results = results_on_text(plan, part, np.ones(part.num_rows if batches and part.num_columns else rows, np.int64))
        if not all(result.holds for result in results):
            yield Drifted("promises", f"the release as it is there does not keep {not_kept(results)}")
            return


def _columns(plan: Plan, schema: pa.Schema, last: Mapping[str, Any] | None, is_archive: bool) -> Iterator[Drifted]:
    """Hold the columns against those that the policy publishes, and that were published."""
    gone = [name for name in plan.released if name not in schema.names]
    if gone:
        yield Drifted("release", f"the release has other columns than the policy publishes: {', '.join(gone)} {_are(gone)} missing")
        return
    known = [*plan.released, *(last["record"]["release_columns"] if last is not None else ()), *([BATCH] if is_archive else ())]
    more = [name for name in schema.names if name not in known]
    if more and not getattr(plan.sink, "in_place", False):
        yield Drifted("release", f"the release has other columns than were published: {', '.join(more)} {_are(more)} new")


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _definition(sink: LiveView, last: Mapping[str, Any] | None) -> Iterator[Drifted]:
    """Hold what a view is made by against what it was when it was published."""
    known = last.get("definition") if last is not None else None
    if known is not None and known != definition_print(sink):
        yield Drifted("release", "the view is another one than the last run has made: it shows what nobody has verified")


def _rows(plan: Plan, rows: int, last: Mapping[str, Any] | None) -> Iterator[Drifted]:
    """Hold the number of rows against the record; a live view shows whatever rows its table has now."""
    if last is None or rows == last["record"]["rows"]["out"] or isinstance(plan.sink, LiveView):
        return
    since = ": those that came since are not masked" if getattr(plan.sink, "in_place", False) else ""
    yield Drifted("release", f"the release has {number_of(rows, 'row')}, and its record says {last['record']['rows']['out']}{since}")


def _ledger(plan: Plan, batches: Sequence[pa.RecordBatch]) -> Iterator[Drifted]:
    """Hold the rows of an archive against its ledger, batch by batch: a record tells of one. Names that are in no ledger are data, and not told."""
    sink: Any = plan.sink
    with sink.connected() as connection:
        written = Archive(connection, sink.table_name, "").rows_written()
    there = Counter(name for batch in batches for name in batch.column(BATCH).to_pylist())
    for name, rows in sorted(written.items()):
        if there[name] != rows:
            yield Drifted("release", f"batch {name} of the archive has {number_of(there[name], 'row')}, and its ledger says {rows}")
    unknown = sum(rows for name, rows in there.items() if name not in written)
    if unknown:
        yield Drifted("release", f"the archive has {number_of(unknown, 'row')} of no batch that is in its ledger")


def _values(plan: Plan, reader: Source, batches: Sequence[pa.RecordBatch], last: Mapping[str, Any] | None) -> Iterator[Drifted]:
    """Hold what a release holds against the fingerprints of its record: files in their order, tables that were made inside a database in any."""
    if last is None or last["record"]["policy"] != policy_hash(plan.resolved.policy):
        return
    known: Mapping[str, str] = last["record"]["fingerprints"]
    texts, _ = looked_at(plan)
    if not isinstance(plan.sink, LocatedSink):
        masks = {name: plan.resolved.masks[name] for name in plan.masked if name not in plan.quasi_identifiers}
        printed = {"kept": plan.kept, "masked": MaskPlan([], masks, plan.kept, plan.published).repeatable}
        changed = "release" in known and fingerprint_of(read(reader, texts, printed, Quiet())) != known["release"]
    else:
        changed = ROWS_PRINT in known and _rows_print(texts, batches) not in (None, known[ROWS_PRINT])
    if changed:
        yield Drifted("release", "the release holds other values than were published")


def not_compared(plan: Plan, last: Mapping[str, Any] | None) -> list[str]:
    """Return the columns of a release in a database whose values are not held against what was published.

    Of one that was made inside the database these are the columns that no promise looks at, of others all.
    """
    if last is None or not isinstance(plan.sink, LocatedSink) or isinstance(plan.sink, LiveView):
        return []
    compared = [name for part in looked_at(plan) for name in part] if ROWS_PRINT in last["record"].get("fingerprints", {}) else []
    return [name for name in plan.released if name not in compared]


def _rows_print(texts: Sequence[str], batches: Sequence[pa.RecordBatch]) -> str | None:
    """Return the fingerprint of rows; None where bounds have a type of their own, whose text is a server's."""
    if not batches or not all(pa.types.is_string(batches[0].schema.field(name).type) for name in texts):
        return None
    shown = pa.Table.from_batches(batches)
    return print_of_rows([column.combine_chunks() for column in shown.columns], np.ones(shown.num_rows, np.int64))


def _batches(shown: pa.Table) -> Iterator[pa.Table]:
    """Return the rows of an archive batch by batch: each was promised by itself."""
    names = shown.column(BATCH).unique() if shown.num_rows else []
    for name in names:
        yield shown.filter(pc.equal(shown.column(BATCH), name))


def _reader(sink: Sink) -> Source | None:
    """Return what reads the release of a sink; None where it is nowhere."""
    if isinstance(sink, LocatedSink):
        return sink.as_source()
    files = [place for place in sink.places() if place != "-"]
    return released_file(Path(files[0]), sink) if files and isinstance(sink, ReadableSink) else None

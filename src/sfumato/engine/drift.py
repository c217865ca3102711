"""Drift: whether a policy still fits its source, and its last release still keeps what was promised."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sfumato.core import places
from sfumato.core.files import file_errors
from sfumato.core.interfaces import Progress, ReadableSink, Sink, Source
from sfumato.core.quiet import Quiet
from sfumato.core.workplace import Workplace
from sfumato.databases.located import LocatedSink
from sfumato.engine.on_text import looked_at, results_on_text
from sfumato.engine.plan import AnyPolicy, Plan, Plans, make_plans, with_keys
from sfumato.engine.released_file import released_file
from sfumato.engine.run import Timings, counted_views
from sfumato.engine.verify import not_kept
from sfumato.errors import DataError, PromiseError, SfumatoError, UnreachableError, number_of
from sfumato.sinks.live_view import LiveView

What = Literal["schema", "values", "promises", "release"]


@dataclass(frozen=True)
class Drifted:
    """One thing that is no longer as it was, or as it must be."""

    what: What
    words: str
    view: str = ""


@dataclass(frozen=True)
class Drift:
    """What was found, and when the release was made that it was held against; None where nobody knows of one."""

    found: list[Drifted]
    since: str | None


def drift(policy: AnyPolicy, progress: Progress | None = None) -> Drift:
    """Hold a policy against its source as it is now, and its last release against its promises. Writes nothing."""
    progress = progress or Quiet()
    try:
        plans = with_keys(make_plans(policy))
    except DataError as error:
        # columns that are new or gone: nothing else can be asked of such a source
        return Drift([Drifted("schema", _said(error))], None)
    runs = _runs()
    last = {name: _last(plan, runs) for name, plan in plans.views.items()}
    known = [run for run in last.values() if run is not None]
    found = [each for part in plans.parts for each in (*_schema(part, last), *(() if _is_in_place(part) else _source(part, progress)))]
    for name, plan in plans.views.items():
        found += [Drifted(each.what, each.words, name) for each in _release(plan, last[name])]
    return Drift(found, max((str(run["record"]["made"]) for run in known), default=None))


def _said(error: SfumatoError) -> str:
    return str(error).split("\n", 1)[0]


def _runs() -> list[Mapping[str, Any]]:
    """Return what is known of earlier runs, the newest first."""
    found = []
    for path in sorted(places.folder("runs").glob("*/run.json"), reverse=True):
        with file_errors(path):
            text = path.read_text(encoding="utf-8")
        try:
            found.append(json.loads(text))
        except ValueError:
            # a run that died while it wrote it
            continue
    return found


def _last(plan: Plan, runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the newest run that wrote to the same sink."""
    files = [str(place) for place in plan.sink.places()]
    return next((run for run in runs if files and run.get("record", {}).get("files") == files), None)


def _is_in_place(plans: Plans) -> bool:
    """Return whether the source is the release: what a run would do to it has been done, and would be done to masked values."""
    return any(getattr(plan.sink, "in_place", False) for plan in plans.views.values())


def _schema(plans: Plans, last: Mapping[str, Mapping[str, Any] | None]) -> Iterator[Drifted]:
    """Compare the columns of the source with those that it had at the last run."""
    before: Mapping[str, str] = next((run["schema"] for name in plans.views if (run := last[name]) is not None and "schema" in run), {})
    schema = next(iter(plans.views.values())).schema
    now = {field.name: str(field.type) for field in schema}
    new = [name for name in now if name not in before] if before else []
    if new:
        yield Drifted("schema", f"the source has new columns: {', '.join(new)}")
    for name, kind in now.items():
        if before.get(name, kind) != kind:
            yield Drifted("schema", f"column {name} was of type {before[name]} and is of type {kind}")


def _source(plans: Plans, progress: Progress) -> Iterator[Drifted]:
    """Count and search as a run would: values that hierarchies do not know, and promises that can no longer be kept."""
    with Workplace() as workplace:
        views = counted_views(plans, workplace, progress, Timings())
        try:
            for plan, counted, _ in views:
                for name, rows in counted.outside.items():
                    if rows:
                        words = f"column {name}: {number_of(rows, 'row')} with a value that its hierarchy does not know"
                        yield Drifted("values", words, plan.view)
        except PromiseError as error:
            yield Drifted("promises", _said(error))
        except DataError as error:
            yield Drifted("values", _said(error))


def _release(plan: Plan, last: Mapping[str, Any] | None) -> Iterator[Drifted]:
    """Measure the promises on the release as it lies there, and hold its rows against its record."""
    reader = _reader(plan.sink)
    if reader is None:
        return
    texts, watched = looked_at(plan)
    try:
        schema = reader.describe()
        gone = [name for name in plan.released if name not in schema.names]
        if gone:
            verb = "is" if len(gone) == 1 else "are"
            yield Drifted("release", f"the release has other columns than the policy publishes: {', '.join(gone)} {verb} missing")
            return
        batches = list(reader.batches([*texts, *watched]))
    except (UnreachableError, DataError) as error:
        yield Drifted("release", _said(error))
        return
    shown = pa.Table.from_batches(batches) if batches else schema.empty_table()
    rows = sum(batch.num_rows for batch in batches)
    # a live view shows whatever rows its table has now
    if last is not None and rows != last["record"]["rows"]["out"] and not isinstance(plan.sink, LiveView):
        since = ": those that came since are not masked" if getattr(plan.sink, "in_place", False) else ""
        yield Drifted("release", f"the release has {number_of(rows, 'row')}, and its record says {last['record']['rows']['out']}{since}")
    results = results_on_text(plan, shown, np.ones(rows, np.int64))
    if not all(result.holds for result in results):
        yield Drifted("promises", f"the release as it is there does not keep {not_kept(results)}")


def _reader(sink: Sink) -> Source | None:
    """Return what reads the release of a sink; None where it is nowhere."""
    if isinstance(sink, LocatedSink):
        return sink.as_source()
    files = [place for place in sink.places() if place != "-"]
    return released_file(Path(files[0]), sink) if files and isinstance(sink, ReadableSink) else None

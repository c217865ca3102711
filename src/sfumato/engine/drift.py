"""Drift: whether a policy still fits its source, and its last release still keeps what was promised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core import places
from sfumato.core.files import file_errors
from sfumato.core.interfaces import Progress, Sink
from sfumato.core.quiet import Quiet
from sfumato.core.workplace import Workplace
from sfumato.engine.drift_of_release import Drifted, drift_of_release, not_compared, said
from sfumato.engine.plan import AnyPolicy, Plans, make_plans, with_keys
from sfumato.engine.run import Timings, counted_views
from sfumato.errors import DataError, PromiseError, number_of
from sfumato.policy.load import Loaded, load
from sfumato.policy.views import resolve_views

_SECOND = len("20260131T123000")


@dataclass(frozen=True)
class Drift:
    """What was found, and when the release was made that it was held against; None where nobody knows of one.

    ``unlooked`` are columns of releases whose values were not compared.
    """

    found: list[Drifted]
    since: str | None
    unlooked: Sequence[str] = ()


def drift(policy: AnyPolicy, progress: Progress | None = None) -> Drift:
    """Hold a policy against its source as it is now, and its last release against its promises. Writes nothing."""
    progress = progress or Quiet()
    loaded = load(policy)
    is_archive = loaded.policy.retention is not None
    try:
        plans = with_keys(make_plans(loaded))
    except DataError as error:
        # columns that are new or gone: nothing else can be asked of such a source
        return _misfit(loaded, said(error))
    runs = _runs()
    last = {name: _last(plan.sink, runs) for name, plan in plans.views.items()}
    known = [run for run in last.values() if run is not None]
    found = [each for part in plans.parts for each in (*_schema(part, last), *(() if _is_in_place(part) else _source(part, progress, is_archive)))]
    for name, plan in plans.views.items():
        found += [Drifted(each.what, each.words, name) for each in drift_of_release(plan, last[name], is_archive)]
    unlooked = dict.fromkeys(column for name, plan in plans.views.items() for column in not_compared(plan, last[name]))
    return Drift(found, _since(known), list(unlooked))


def _since(known: Sequence[Mapping[str, Any]]) -> str | None:
    return max((str(run["record"]["made"]) for run in known), default=None)


def _misfit(loaded: Loaded, words: str) -> Drift:
    """Return what can be said of a source with other columns than the policy has: that, and which have other types than at the last run."""
    found, known, runs = [Drifted("schema", words)], [], _runs()
    for resolved in resolve_views(loaded).views.values():
        last = _last(resolved.sink, runs) if resolved.sink is not None else None
        if last is not None and resolved.source is not None:
            known.append(last)
            schema = resolved.source.describe()
            found += [each for each in _types(last.get("schema", {}), {field.name: str(field.type) for field in schema}) if each not in found]
    return Drift(found, _since(known))


def _runs() -> list[Mapping[str, Any]]:
    """Return what is known of earlier runs, the newest first."""
    found = []
    # names tell seconds, in which there may be several runs
    for path in sorted(
        places.folder("runs").glob("*/run.json"), key=lambda path: (path.parent.name[:_SECOND], path.stat().st_mtime_ns), reverse=True
    ):
        with file_errors(path):
            text = path.read_text(encoding="utf-8")
        try:
            found.append(json.loads(text))
        except ValueError:
            # a run that died while it wrote it
            continue
    return found


def _last(sink: Sink, runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the newest run that wrote to the same sink."""
    files = [str(place) for place in sink.places()]
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
    yield from _types(before, now)


def _types(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Drifted]:
    for name, kind in now.items():
        if before.get(name, kind) != kind:
            yield Drifted("schema", f"column {name} was of type {_called(before[name])} and is of type {_called(kind)}")


def _called(kind: str) -> str:
    """Return what people call a type.

    >>> [_called(kind) for kind in ("decimal128(12, 2)", "date32[day]", "timestamp[us, tz=UTC]", "int64", "string", "bool")]
    ['decimal(12, 2)', 'date', 'timestamp with time zone', 'integer of 64 bits', 'text', 'boolean']
    """
    name, _, rest = kind.partition("[")
    if name == "timestamp":
        return "timestamp with time zone" if "tz=" in rest else "timestamp"
    whole = re.fullmatch(r"(u?)int(\d+)", name)
    if whole:
        return f"{'unsigned ' if whole[1] else ''}integer of {whole[2]} bits"
    words = {"string": "text", "large_string": "text", "bool": "boolean", "date32": "date", "date64": "date", "time64": "time", "float": "real"}
    return words.get(name) or re.sub(r"^decimal\d+", "decimal", kind)


def _source(plans: Plans, progress: Progress, is_retained: bool) -> Iterator[Drifted]:
    """Count and search as a run would: values that hierarchies do not know, and promises that can no longer be kept.

    From a table that is retained old rows are taken: that few are left, or none, is as it must be.
    """
    with Workplace() as workplace:
        views = counted_views(plans, workplace, progress, Timings())
        try:
            for plan, counted, _ in views:
                for name, rows in counted.outside.items():
                    if rows:
                        words = f"column {name}: {number_of(rows, 'row')} with a value that its hierarchy does not know"
                        yield Drifted("values", words, plan.view)
        except PromiseError as error:
            if not is_retained:
                yield Drifted("promises", said(error))
        except DataError as error:
            if not (is_retained and error.code == "source-empty"):
                yield Drifted("values", said(error))

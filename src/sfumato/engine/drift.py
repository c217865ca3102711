"""Drift: whether a policy still fits its source, and its last release still keeps what was promised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core import places
from sfumato.core.files import file_errors
from sfumato.core.interfaces import Progress, Sink
from sfumato.core.quiet import Quiet
from sfumato.core.record import people
from sfumato.core.workplace import Workplace
from sfumato.engine.drift_of_live_view import drift_of_live_view
from sfumato.engine.drift_of_release import Drifted, drift_of_release, not_compared, said
from sfumato.engine.plan import AnyPolicy, Plan, Plans, make_plans, with_keys
from sfumato.engine.run import Timings, counted_views
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError
from sfumato.policy.load import Loaded, load
from sfumato.policy.views import resolve_views

_SECOND = len("20260131T123000")


@dataclass(frozen=True)
class Drift:
    """What was found, and when the release was made that it was held against; None where nobody knows of one.

    ``unlooked`` are columns of releases whose values were not compared. ``notes`` tell what the policy has foreseen, which is no drift.
    """

    found: list[Drifted]
    since: str | None
    unlooked: Sequence[str] = ()
    notes: Sequence[str] = ()


def drift(policy: AnyPolicy, progress: Progress | None = None) -> Drift:
    """Hold a policy against its source as it is now, and its last release against its promises. Writes nothing."""
    progress = progress or Quiet()
    loaded = load(policy)
    try:
        plans = with_keys(make_plans(loaded))
    except DataError as error:
        # columns that are new or gone
        return _misfit(loaded, Drifted("schema", said(error)), progress)
    return _held(plans, loaded, progress)


def _held(plans: Plans, loaded: Loaded, progress: Progress) -> Drift:
    """Hold the source and the release of each view against what was and what must be."""
    is_archive = loaded.policy.retention is not None
    last = _last_runs(plans)
    found: list[Drifted] = []
    notes: list[str] = []
    for part in plans.parts:
        found += _schema(part, last)
        if not _is_in_place(part):
            found += _source(part, progress, is_archive, notes)
    name = next(iter(plans.views))
    found += [Drifted("release", words, name) for words in drift_of_live_view(plans, last[name])]
    return _with_releases(plans, last, found, is_archive, notes)


def _with_releases(
    plans: Plans, last: Mapping[str, Mapping[str, Any] | None], found: Sequence[Drifted], is_archive: bool, notes: Sequence[str]
) -> Drift:
    """Return what was found of the source together with what is found of the releases."""
    of_releases = [
        Drifted(each.what, each.words, name) for name, plan in plans.views.items() for each in drift_of_release(plan, last[name], is_archive)
    ]
    unlooked = dict.fromkeys(column for name, plan in plans.views.items() for column in not_compared(plan, last[name]))
    return Drift([*found, *of_releases], _since([run for run in last.values() if run is not None]), list(unlooked), notes)


def _since(known: Sequence[Mapping[str, Any]]) -> str | None:
    return max((str(run["record"]["made"]) for run in known), default=None)


def _misfit(loaded: Loaded, misfit: Drifted, progress: Progress) -> Drift:
    """Return what can be said of a source with other columns than the policy has, and of its release.

    Without columns that are new everything can; where some are gone, which have other types than at the last run, and what has become of the release.
    """
    try:
        found = _held(_as_named(with_keys(make_plans(_leaving_out(loaded))), loaded), loaded, progress)
    except (DataError, PolicyError):
        found = _releases_alone(loaded)
    return replace(found, found=[misfit, *(each for each in found.found if each != misfit)])


def _leaving_out(loaded: Loaded) -> Loaded:
    """Return the policy as one that removes what it does not name."""
    return replace(loaded, policy=loaded.policy.model_copy(update={"unnamed": "remove"}))


def _as_named(plans: Plans, loaded: Loaded) -> Plans:
    """Return plans that removed what the policy does not name as if that were not there: so the policy is the one that was run."""
    return replace(plans, views={name: _without_unnamed(plan, loaded) for name, plan in plans.views.items()})


def _without_unnamed(plan: Plan, loaded: Loaded) -> Plan:
    policy, gone = plan.resolved.policy, set(plan.unnamed)
    named = {name: column for name, column in policy.columns.items() if name not in gone}
    own = policy.model_copy(update={"columns": named, "unnamed": loaded.policy.unnamed})
    schema = pa.schema([field for field in plan.schema if field.name not in gone])
    return replace(plan, resolved=replace(plan.resolved, policy=own), schema=schema, unnamed=())


def _releases_alone(loaded: Loaded) -> Drift:
    """Return what can be said where columns of the source are gone: of the types of the others, and of the releases."""
    found, runs = [], _runs()
    views = resolve_views(loaded)
    fields: dict[str, pa.Field] = {}
    known: list[Mapping[str, Any]] = []
    for resolved in views.views.values():
        last = _last(resolved.sink, runs) if resolved.sink is not None else None
        if last is None or resolved.source is None:
            continue
        known.append(last)
        schema, before = resolved.source.describe(), last.get("schema", {})
        found += [each for each in _types(before, {field.name: str(field.type) for field in schema}) if each not in found]
        # in the order that they had; what is gone was of some type, and its values are not looked at
        order = dict.fromkeys([*before, *resolved.policy.columns])
        there = {name: schema.field(name) if name in schema.names else pa.field(name, pa.string()) for name in order}
        fields |= {name: field for name, field in there.items() if name in resolved.policy.columns}
    try:
        plans = make_plans(loaded, pa.schema(fields.values()).empty_table())
    except SfumatoError:
        # tables, or one that is masked where it is: nothing but the source says what their releases are
        return Drift(found, _since(known))
    return _with_releases(plans, _last_runs(plans), found, loaded.policy.retention is not None, ())


def _last_runs(plans: Plans) -> dict[str, Mapping[str, Any] | None]:
    """Return the newest run of each view."""
    runs = _runs()
    return {name: _last(plan.sink, runs) for name, plan in plans.views.items()}


def _runs() -> list[Mapping[str, Any]]:
    """Return what is known of earlier runs, the newest first."""
    found = [known for path in places.folder("runs").glob("*/run.json") if (known := _run(path)) is not None]
    # names tell seconds, in which there may be several runs
    return [run for *_, run in sorted(found, key=lambda known: known[:2], reverse=True)]


def _run(path: Path) -> tuple[str, int, Mapping[str, Any]] | None:
    """Return what is known of a run, behind when it was made; None of one that died while it wrote it, or that a new run removes just now."""
    with file_errors(path):
        try:
            made, text = path.stat().st_mtime_ns, path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
    try:
        return path.parent.name[:_SECOND], made, json.loads(text)
    except ValueError:
        return None


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


def _source(plans: Plans, progress: Progress, is_retained: bool, notes: list[str]) -> Iterator[Drifted]:
    """Count and search as a run would: values that nobody has said what becomes of, and promises that can no longer be kept.

    Of values that hierarchies do not know, and that the policy generalises or suppresses, the ``notes`` get how many there are.
    From a table that is retained old rows are taken: that few are left, or none, is as it must be.
    """
    with Workplace() as workplace:
        views = counted_views(plans, workplace, progress, Timings())
        try:
            for plan, counted, _ in views:
                notes += [_foreseen(plan, name, rows) for name, rows in counted.outside.items() if rows]
        except PromiseError as error:
            if not is_retained:
                yield Drifted("promises", said(error))
        except DataError as error:
            if not (is_retained and error.code == "source-empty"):
                yield Drifted("values", said(error))


def _foreseen(plan: Plan, name: str, rows: int) -> str:
    """Return what is told of values outside a hierarchy of which the policy says what becomes of them; of few rows not how many."""
    done = {"generalise": "generalised", "suppress": "suppressed"}[plan.resolved.policy.columns[name].on_unknown]
    told = f"{plan.view}: " if plan.view else ""
    return (
        f"{told}column {name}: {people(rows, plan.threshold)} rows with a value that its hierarchy does not know, which is {done} as the policy says"
    )

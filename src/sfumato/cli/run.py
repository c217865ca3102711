"""``sfumato run``: the whole road, and a short account of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.answers import answers, leave_output_to_the_release
from sfumato.cli.arrow_alone import load_arrow_alone
from sfumato.cli.compiling import compile_if_needed
from sfumato.cli.progress import Bars
from sfumato.cli.tables import told_of_tables

if TYPE_CHECKING:
    from sfumato.core.record import RunRecord
    from sfumato.policy.model import Component


def run(policy: Path, format: str, resume: bool = False) -> None:
    """Run the policy and print the record, in short or as JSON."""
    import pyarrow as pa

    from sfumato.engine.release import Releases, views_record
    from sfumato.engine.run import run as run_policy
    from sfumato.policy.load import load
    from sfumato.policy.seed import FOR_TESTS
    from sfumato.policy.views import resolve_views

    loaded = load(policy)
    sinks = {name: view.sink for name, view in loaded.policy.views.items()} or {"": loaded.policy.sink}
    if loaded.policy.source is None or None in sinks.values():
        # what only a program can do without is said together with all other mistakes
        resolve_views(loaded, needs=("source", "sink"))
    if any(sink is not None and sink.name == "standard_output" for sink in sinks.values()):
        leave_output_to_the_release()
    load_arrow_alone()
    # Arrow's own handlers would be in the way of ours, which leave nothing behind
    pa.enable_signal_handlers(False)
    compile_if_needed(loaded)
    with Bars() as progress:
        released = run_policy(loaded, progress=progress, resume=resume)
    records = {name: each.record for name, each in released.items()} if isinstance(released, Releases) else {"": released.record}
    if format == "json":
        told = records[""].as_mapping() if "" in records else views_record(records)
        answers().write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        return
    # above everything else: what follows reads like the account of a release that protects people
    answers().write(f"mind that {FOR_TESTS}\n" if loaded.policy.seed is not None else "")
    if any(record.table is not None for record in records.values()):
        answers().write("".join(f"{line}\n" for line in told_of_tables(records, sinks[""], loaded.folder)))
        return
    for name, record in records.items():
        answers().write(f"view {name}\n" if name else "")
        answers().write(summary(*_places(record, sinks[name], loaded.folder)) + ("\n" if name else ""))
    answers().write("".join(f"{line}\n" for line in told_together(records)))


def _places(record: RunRecord, sink: Component | None, folder: Path | None) -> tuple[RunRecord, str]:
    """Return the record with its files in words, for standard output is none, and where it is kept itself."""
    from sfumato.core.record import record_path
    from sfumato.core.standard_streams import in_words
    from sfumato.registry import find

    kept = sink.settings.get("record") if sink is not None else None
    kind = find("sinks", sink.name) if sink is not None else None
    if kind is None or "record" not in kind.model_fields or (kept is None and getattr(kind, "record_beside", False)):
        return record, record_path(record.files[0])
    told = record.model_copy(update={"files": [in_words(place) for place in record.files]})
    nowhere = "kept in the private folder" if getattr(kind, "takes_rows", True) else "not kept: record: names a file for it"
    return told, str((folder or Path()) / kept) if kept else nowhere


def told_together(records: Mapping[str, RunRecord]) -> Iterator[str]:
    """Yield what is learnt from several views, each group of them once."""
    seen = {tuple(each.views): each for record in records.values() for each in record.together}
    for each in seen.values():
        who = f"{', '.join(each.readers)} may read" if each.readers else "nobody is said to read"
        kept = "; the promises hold of what these views tell together" if each.keeps and each.promises else ""
        if kept and isinstance(each.smallest_class, str):
            kept += ", and smaller classes come of what one of them shows anyway"
        yield f"{who} {' and '.join(each.views)} together: smallest joint class {each.smallest_class}{kept}"


def summary(record: RunRecord, record_file: str) -> str:
    """Return what was promised, measured and lost, in a few lines."""
    after = record.measures["after"]
    lines = ["promised and measured on the written release"]
    told = [promise.in_words() for promise in record.promises]
    width = max(map(len, told), default=0)
    for promise, settings in zip(record.promises, told, strict=True):
        verdict = "holds" if promise.holds else "BROKEN"
        lines.append(f"  {promise.promise:<12} {settings:<{width}}  measured {promise.measured:<9.6g} {verdict}")
    if not record.promises:
        lines.append("  nothing was promised")
    rows = record.rows
    types = [f"{name} {about['type']}" for name, about in record.columns.items() if "type" in about]
    masked = [f"{name} with {about['mask']}" for name, about in record.columns.items() if "mask" in about]
    lines += [
        f"rows      {_count(rows.in_)} in, {_count(rows.out)} out, {_count(rows.suppressed)} suppressed",
        *([f"read as   {', '.join(types)}"] if types else []),
        *(_generalised(after) if types else []),
        *([f"masked    {', '.join(masked)}"] if masked else []),
        f"release   {', '.join(record.files)}",
        f"record    {record_file}",
        *(f"note      {note}" for note in record.notes),
    ]
    return "\n".join(lines) + "\n"


def _generalised(after: Mapping[str, Any]) -> list[str]:
    classes, smallest, largest = (_count(after[name]) for name in ("classes", "smallest_class", "largest_class"))
    return [
        f"classes   {classes}, of {smallest} to {largest} rows that are alike in all generalised columns",
        f"lost      {after['loss']:.1%} of the detail; 0% would be the source as it was, 100% nothing but *",
        f"          global certainty penalty {after['gcp']:.4f}: how much of its column's range a published value covers, on average",
    ]


def _count(number: int | str) -> str:
    """Return a number with its thousands apart; one that is told only as a bound is text already."""
    return number if isinstance(number, str) else f"{number:,}"

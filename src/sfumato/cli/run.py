"""``sfumato run``: the whole road, and a short account of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.answers import answers, leave_output_to_the_release
from sfumato.cli.arrow_alone import load_arrow_alone
from sfumato.cli.progress import Bars

if TYPE_CHECKING:
    from sfumato.core.record import RunRecord


def run(policy: Path, format: str) -> None:
    """Run the policy and print the record, in short or as JSON."""
    import pyarrow as pa

    from sfumato.core.record import record_path
    from sfumato.core.standard_streams import OUTPUT, in_words
    from sfumato.engine.run import run as run_policy
    from sfumato.engine.warm import compile_meanwhile
    from sfumato.policy.load import load
    from sfumato.policy.resolve import resolve

    loaded = load(policy)
    if loaded.policy.source is None or loaded.policy.sink is None:
        # what only a program can do without is said together with all other mistakes
        resolve(loaded, needs=("source", "sink"))
    if loaded.policy.sink is not None and loaded.policy.sink.name == "standard_output":
        leave_output_to_the_release()
    load_arrow_alone()
    # Arrow's own handlers would be in the way of ours, which leave nothing behind
    pa.enable_signal_handlers(False)
    if compile_meanwhile(loaded):
        sys.stderr.write("compiling for this machine; this happens once and takes some seconds\n")
    with Bars() as progress:
        record = run_policy(loaded, progress=progress).record
    if format == "json":
        answers().write(json.dumps(record.as_mapping(), indent=1, ensure_ascii=False) + "\n")
    elif record.files == [OUTPUT]:
        kept = (loaded.policy.sink.settings if loaded.policy.sink else {}).get("record")
        told = record.model_copy(update={"files": [in_words(OUTPUT)]})
        answers().write(summary(told, str(Path(loaded.folder or ".") / kept) if kept else "kept in the private folder"))
    else:
        answers().write(summary(record, record_path(record.files[0])))


def summary(record: RunRecord, record_file: str) -> str:
    """Return what was promised, measured and lost, in a few lines."""
    after = record.measures["after"]
    lines = ["promised and measured on the written release"]
    told = [", ".join(f"{key} {value}" for key, value in p.settings.items() if value not in (None, [])) for p in record.promises]
    width = max(map(len, told), default=0)
    for promise, settings in zip(record.promises, told, strict=True):
        verdict = "holds" if promise.holds else "BROKEN"
        lines.append(f"  {promise.promise:<12} {settings:<{width}}  measured {promise.measured:<9.6g} {verdict}")
    if not record.promises:
        lines.append("  nothing was promised")
    rows = record.rows
    types = [f"{name} {about['type']}" for name, about in record.columns.items() if "type" in about]
    lines += [
        f"rows      {rows.in_} in, {rows.out} out, {rows.suppressed} suppressed",
        *([f"read as   {', '.join(types)}"] if types else []),
        f"classes   {after['classes']}, of {after['smallest_class']} to {after['largest_class']} rows that are alike in all generalised columns",
        f"lost      {after['loss']:.1%} of the detail; 0% would be the source as it was, 100% nothing but *",
        f"          global certainty penalty {after['gcp']:.4f}: how much of its column's range a published value covers, on average",
        f"release   {', '.join(record.files)}",
        f"record    {record_file}",
        *(f"note      {note}" for note in record.notes),
    ]
    return "\n".join(lines) + "\n"

"""``sfumato preview``: rows before and after, beside each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfumato.cli.arrow_alone import load_arrow_alone
from sfumato.cli.compiling import compile_if_needed

_WIDEST = 32


def preview(policy: Path, rows: int, view: str | None, format: str) -> None:
    """Print some rows as they are and as they would be published."""
    from sfumato.engine.preview import preview as look
    from sfumato.policy.load import load

    load_arrow_alone()
    loaded = load(policy)
    compile_if_needed(loaded)
    found = look(loaded, rows, view=view)
    if format == "json":
        pairs = [{"before": before, "after": after} for before, after in found.rows]
        answer = {"rows": pairs, "looked_at": found.looked_at, "whole": found.whole}
        sys.stdout.write(json.dumps(answer, indent=1, ensure_ascii=False) + "\n")
        return
    published = next((list(after) for _, after in found.rows if after is not None), [])
    head = [*found.columns, "|", *published]
    lines = [head]
    for before, after in found.rows:
        right = ["left out"] if after is None else [_cell(after[name]) for name in published]
        lines.append([*(_cell(before[name]) for name in found.columns), "|", *right])
    widths = [max(len(line[place]) for line in lines if place < len(line)) for place in range(len(head))]
    for line in lines:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip() + "\n")
    if not found.whole:
        finer = ": with all rows a run can publish finer values" if found.generalised else ""
        sys.stdout.write(f"From the first {found.looked_at:,} rows alone{finer}. Nothing has been written.\n")


def _cell(value: str | None) -> str:
    from sfumato.engine.ladder_tree import on_one_line

    text = "" if value is None else on_one_line(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"

"""``sfumato generate``: demonstration data."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sfumato.core.files import file_errors
from sfumato.errors import number_of


def generate(kind: str, rows: int, seed: int, output: Path | None, format: str) -> None:
    """Write rows of a kind as CSV, to a file or to standard output; there, with JSON, one object a line."""
    from sfumato.registry import find

    texts = find("generators", kind)().csv(rows, seed)
    if output is None:
        sys.stdout.writelines(_objects(texts) if format == "json" else texts)
        return
    with file_errors(output, "written"), output.open("w", encoding="utf-8", newline="") as file:
        file.writelines(texts)
    answer = {"rows": rows, "file": str(output)}
    sys.stdout.write(json.dumps(answer) + "\n" if format == "json" else f"{number_of(rows, 'row')} of {kind} in {output}\n")


def _objects(texts: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a CSV as JSON; an empty field is null."""
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    for row in csv.DictReader(lines):
        yield json.dumps({name: value or None for name, value in row.items()}, ensure_ascii=False) + "\n"

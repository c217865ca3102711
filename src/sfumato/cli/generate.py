"""``sfumato generate``: demonstration data."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfumato.core.files import file_errors


def generate(kind: str, rows: int, seed: int, output: Path | None, format: str) -> None:
    """Write rows of a kind as CSV, to a file or to standard output."""
    from sfumato.registry import find

    generator = find("generators", kind)()
    if output is None:
        for text in generator.csv(rows, seed):
            sys.stdout.write(text)
        return
    with file_errors(output, "written"), output.open("w", encoding="utf-8", newline="") as file:
        for text in generator.csv(rows, seed):
            file.write(text)
    answer = {"rows": rows, "file": str(output)}
    sys.stdout.write(json.dumps(answer) + "\n" if format == "json" else f"{rows} rows of {kind} in {output}\n")

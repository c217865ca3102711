"""``sfumato generate``: demonstration data, as a table or as a stream."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from sfumato.core.files import file_errors
from sfumato.errors import number_of

_A_MOMENT = 0.1
_JSON_LINES = (".jsonl", ".ndjson")


def generate(kind: str, rows: int | None, seed: int, output: Path | None, format: str, times: bool, rate: float | None) -> None:
    """Write rows of a kind as CSV, to a file or to standard output; there, with JSON, and into a file of JSON lines, one object a line.

    With a rate so many lines leave a second. Rows without end leave as they are made, to a file too.
    """
    from sfumato.registry import find

    texts: Iterable[str] = find("generators", kind)().csv(rows, seed, times)
    if output is None:
        _write(_objects(texts) if format == "json" else texts, sys.stdout, rows, rate)
        return
    if output.suffix.lower() in _JSON_LINES:
        texts = _objects(texts)
    with file_errors(output, "written"), output.open("w", encoding="utf-8", newline="") as file:
        _write(texts, file, rows, rate)
    answer = {"rows": rows, "file": str(output)}
    sys.stdout.write(json.dumps(answer) + "\n" if format == "json" else f"{number_of(rows or 0, 'row')} of {kind} in {output}\n")


def _write(texts: Iterable[str], file: TextIO, rows: int | None, rate: float | None) -> None:
    if rate is None and rows is not None:
        file.writelines(texts)
        return
    for text in texts if rate is None else _paced(texts, rate):
        file.write(text)
        file.flush()


def _paced(texts: Iterable[str], rate: float) -> Iterator[str]:
    """Yield lines some at a time, so that on average so many leave a second. Who waits for the reader does not make up for it."""
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    many, waiting = max(1, round(rate * _A_MOMENT)), []
    due = time.monotonic()
    for line in lines:
        waiting.append(line)
        if len(waiting) == many:
            yield "".join(waiting)
            waiting.clear()
            due = max(due + many / rate, time.monotonic() - _A_MOMENT)
            time.sleep(max(0.0, due - time.monotonic()))
    yield "".join(waiting)


def _objects(texts: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a CSV as JSON; an empty field is null."""
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    for row in csv.DictReader(lines):
        yield json.dumps({name: value or None for name, value in row.items()}, ensure_ascii=False) + "\n"

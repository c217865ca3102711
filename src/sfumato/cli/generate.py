"""``sfumato generate``: demonstration data, as a table or as a stream."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from sfumato.cli.answers import leave_output_to_the_release, take_output_back
from sfumato.cli.new_file import refuse_existing
from sfumato.core.files import file_errors
from sfumato.core.standard_streams import refuse_closed_output
from sfumato.engine.stream.whole_records import whole_records
from sfumato.errors import UsageError, number_of

_ROWS = 1000
_A_MOMENT = 0.1
_SLOWEST, _FASTEST = 0.001, 1_000_000.0
_MOST_AT_ONCE = 10_000
_PIECE = 4096
"""So many bytes leave a pipe whole, and fit into what is held of standard output."""
_JSON_LINES = (".jsonl", ".ndjson")
_CSV = (".csv", ".txt", "")


def generate(
    kind: str, number: int | None, endless: bool, seed: int, output: Path | None, format: str, times: bool, rate: float | None, force: bool
) -> None:
    """Write rows of a kind as CSV, to a file or to standard output; there, with JSON, and into a file of JSON lines, one object a line.

    With a rate so many lines leave a second. Rows without end leave as they are made, to a file too.
    """
    from sfumato.registry import find

    _look_at_rate(rate)
    rows = _rows(number, endless)
    generator = find("generators", kind)()
    if output is None:
        # what is said of it, errors too, does not go between the rows
        leave_output_to_the_release()
        texts = generator.json_lines(rows, seed, times) if format == "json" else generator.csv(rows, seed, times)
        _write(texts, _Whole(None if format == "json" else '"'), rows, rate)
        take_output_back()
        return
    _look_at_ending(output)
    if output.is_file():
        # a pipe or a device has nothing that could be lost
        refuse_existing(output, force)
    texts = generator.json_lines(rows, seed, times) if output.suffix.lower() in _JSON_LINES else generator.csv(rows, seed, times)
    with file_errors(output, "written"), output.open("w", encoding="utf-8", newline="") as file:
        _write(texts, file, rows, rate)
    answer = {"rows": rows, "file": str(output)}
    sys.stdout.write(json.dumps(answer) + "\n" if format == "json" else f"{number_of(rows or 0, 'row')} of {kind} in {output}\n")


class _Whole:
    """Standard output, which an interrupt leaves at the end of a record: each piece is held whole, or not at all."""

    def __init__(self, quote: str | None) -> None:
        refuse_closed_output()
        self._quote = quote
        # within Python standard output may be text alone
        self._bytes: BinaryIO | None = getattr(sys.stdout, "buffer", None)
        self.flush = sys.stdout.flush

    def write(self, text: str) -> None:
        if self._bytes is None:
            sys.stdout.write(text)
            return
        for piece in whole_records(text.encode(), _PIECE, self._quote):
            self._bytes.write(piece)


def _rows(number: int | None, endless: bool) -> int | None:
    """Return how many rows are asked for, None where there is no end of them."""
    if number is not None and endless:
        raise UsageError("--rows says how many, and --endless that there is no end", code="generate-endless", hint="leave one of them out")
    return None if endless else number or _ROWS


def _look_at_rate(rate: float | None) -> None:
    if rate is not None and not _SLOWEST <= rate <= _FASTEST:
        hint = "leave --rate out, and all rows leave at once"
        raise UsageError(f"the rate is not from {_SLOWEST} to {_FASTEST:,.0f} rows a second", code="generate-rate", hint=hint)


def _look_at_ending(output: Path) -> None:
    if output.suffix.lower() not in (*_JSON_LINES, *_CSV):
        hint = f"{', '.join(filter(None, (*_CSV, *_JSON_LINES)))}; sfumato run writes the others"
        raise UsageError(f"{output} has an ending in whose format nothing is generated", code="generate-ending", hint=hint)


def _write(texts: Iterable[str], file: TextIO | _Whole, rows: int | None, rate: float | None) -> None:
    if rate is None and rows is not None:
        for text in texts:
            file.write(text)
        return
    for text in texts if rate is None else _paced(texts, rate):
        file.write(text)
        file.flush()


def _paced(texts: Iterable[str], rate: float) -> Iterator[str]:
    """Yield lines some at a time, so that on average so many leave a second. Who waits for the reader does not make up for it."""
    lines = (line for text in texts for line in text.splitlines(keepends=True))
    many, waiting = max(1, min(round(rate * _A_MOMENT), _MOST_AT_ONCE)), []
    due = time.monotonic()
    for line in lines:
        waiting.append(line)
        if len(waiting) == many:
            yield "".join(waiting)
            waiting.clear()
            due = max(due + many / rate, time.monotonic() - _A_MOMENT)
            time.sleep(max(0.0, due - time.monotonic()))
    yield "".join(waiting)

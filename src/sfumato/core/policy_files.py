"""Small files that a policy names beside its data: tables with a record a line, and lists with a value a line.

They may hold data values: messages name lines and counts.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.core.files import file_errors, refuse_pipes
from sfumato.errors import DataError

Broken = Callable[[str, str, str], DataError]
"""Makes the error for a file: where in it (``:7``, or nothing), what is wrong, what to try."""

_LARGEST_FIELD = 1 << 20


def records_of(path: str, delimiter: str, broken: Broken) -> Iterator[tuple[int, list[str]]]:
    """Yield each record of a delimited file in UTF-8, and the line where it begins; empty lines are none."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_FIELD))
    begin = 1
    refuse_pipes(path)
    with file_errors(path), Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for record in reader:
                if record:
                    yield begin, record
                begin = reader.line_num + 1
        except UnicodeDecodeError:
            raise broken("", "is not UTF-8 text", "convert it to UTF-8 first") from None
        except csv.Error:
            raise broken(f":{begin}", "has a quote that does not close, or text after one that does", "mend the line") from None


def lines_of(path: str, broken: Broken) -> list[str]:
    """Return the lines of a file in UTF-8, without those that are empty."""
    refuse_pipes(path)
    with file_errors(path), Path(path).open(encoding="utf-8-sig") as file:
        try:
            text: str | None = file.read()
        except UnicodeDecodeError:
            text = None
    if text is None or "\0" in text:
        # UTF-16 without its mark is UTF-8 by chance, with a zero beside every letter
        raise broken("", "is not UTF-8 text", "convert it to UTF-8 first")
    return [line for line in text.split("\n") if line]

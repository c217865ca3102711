"""Rows to a pipe leave in whole records, whenever who writes them is stopped."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import threading
from typing import Any

import pyarrow as pa
import pytest

from sfumato.engine.stream import outputs
from sfumato.engine.stream.whole_records import whole_records
from sfumato.errors import UnreachableError
from sfumato.sinks.standard_output import StandardOutput

ROWS = pa.record_batch({"name": [f'a "{number}"\n,' * (1 + number % 40) for number in range(3000)], "age": pa.array(range(3000))})


@pytest.mark.parametrize("sink", [{}, {"quote": "'"}, {"format": "json_lines"}])
def test_what_has_left_when_a_stream_is_stopped_ends_with_a_record(sink: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stop, settings = threading.Event(), StandardOutput(**sink)
    stop.set()
    quote = settings.quote if settings.format == "delimited" else None
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as reader, os.fdopen(writes, "w") as written, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", written)
        patched.setattr(outputs, "_PATIENCE", 10)
        with pytest.raises(UnreachableError) as refused:
            outputs.StandardOutput(settings.encoded, quote, stop, lambda: None).write(ROWS)
        left = os.read(reader.fileno(), 1 << 20)
    assert refused.value.code == "output-unread"
    assert settings.encoded(ROWS, True).startswith(left)
    told = (
        [json.loads(line) for line in left.splitlines()]
        if quote is None
        else list(csv.DictReader(io.StringIO(left.decode(), newline=""), quotechar=quote))
    )
    names = ROWS.column("name").to_pylist()
    assert len(told) > 10
    assert [row["name"] for row in told] == names[: len(told)]


@pytest.mark.parametrize("most", [1, 7, 50, 4096, 1 << 20])
def test_pieces_are_all_that_was_written(most: int) -> None:
    content = StandardOutput().encoded(ROWS, True)
    pieces = [bytes(piece) for piece in whole_records(content, most, '"')]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= most

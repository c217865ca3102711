"""What was sent by a pipe and refused before anything of it was taken is sent again: it must not count twice, nor stand in the way."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError, SfumatoError
from tests.stream_policy import POLICY

PIPED = POLICY | {"source": {"standard_input": {"format": "json_lines"}}}


def lines(**further: Any) -> bytes:
    told = [{"pid": number, "age": 20 + number % 9, "illness": ("flu", "gout")[number % 2]} | further for number in range(40)]
    return "".join(json.dumps(record) + "\n" for record in told).encode()


def sent(folder: Path, content: bytes, **further: Any) -> dict[str, int]:
    """Send something to a stream by a pipe, and return what became of its records."""
    (folder / "policy.yaml").write_text(json.dumps(PIPED | further))
    out, into = os.pipe()
    with os.fdopen(into, "wb") as writes:
        writes.write(content)
    with os.fdopen(out, "rb") as reads:
        return dict(run_stream(folder / "policy.yaml", Running(once=True), pipe=reads).views[""].accounts)


def test_records_that_were_refused_with_their_policy_are_taken_once(tmp_path: Path) -> None:
    mistyped = {name: column for name, column in POLICY["columns"].items() if name != "illness"} | {"ilness": {"role": "sensitive"}}
    with pytest.raises(DataError):
        sent(tmp_path, lines(), columns=mistyped)

    assert sent(tmp_path, lines())["released"] == 40


def test_other_records_are_taken_in_place_of_those_that_were_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        sent(tmp_path, lines().replace(b"illness", b"ilness"))
    kept = [path for path in (tmp_path / "state" / "spool").iterdir() if path.stat().st_size]

    assert kept == []
    assert sent(tmp_path, lines())["released"] == 40


def test_the_form_of_records_that_were_refused_is_not_remembered(tmp_path: Path) -> None:
    columns = {name: {"role": column["role"]} for name, column in POLICY["columns"].items()}
    with pytest.raises(DataError):
        sent(tmp_path, lines(age="old").replace(b"illness", b"ilness"), columns=columns)

    assert sent(tmp_path, lines(), columns=columns)["dead"] == 0


def test_a_damaged_stream_of_arrow_does_not_stand_in_the_way_of_a_whole_one(tmp_path: Path) -> None:
    table, stream = pa.Table.from_pylist([json.loads(text) for text in lines().splitlines()]), io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    arrow = {"source": {"standard_input": {"format": "arrow"}}}
    with pytest.raises(SfumatoError):
        sent(tmp_path, b"this is no Arrow at all", **arrow)

    assert sent(tmp_path, stream.getvalue(), **arrow)["released"] == 40


def test_what_was_sent_stays_where_the_stream_could_only_not_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as interrupted:
        interrupted.setattr("sfumato.engine.stream.running._Stream._push", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sent(tmp_path, lines())

    assert sent(tmp_path, b"")["released"] == 40

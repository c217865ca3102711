"""Values of a release that somebody has written otherwise: `sfumato stream check` takes no text for another one, though both may mean one number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError
from tests.stream_policy import POLICY

KEPT = {
    "zip": {"role": "other", "type": "text", "accept": "singling_out"},
    "code": {"role": "other", "type": "text", "mask": {"shorten": {"length": 4}}, "accept": "singling_out"},
}
WINDOW = {"time": "10m", "column": "at", "publish": {"start": "since", "end": "until"}}
AT = {"at": {"role": "identifier", "type": "timestamp"}}


def released(folder: Path, sink: Any) -> Path:
    """Let a stream release a window of ten people, and return its policy."""
    told = [{"pid": n, "age": 30 + n % 2, "illness": "flu", "zip": f"0106{n}", "code": f"5E1{n}", "at": f"2026-01-01T00:0{n}:00Z"} for n in range(10)]
    told[3]["zip"] = None
    (folder / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    path = folder / "policy.yaml"
    path.write_text(json.dumps(POLICY | {"columns": POLICY["columns"] | KEPT | AT, "window": WINDOW, "sink": sink}))
    run_stream(path, Running(once=True))
    assert sfumato.check_stream(path).sentences() == []
    return path


OF_EQUAL_LENGTH = {
    "a space": ("01067", " 1067"),
    "a point": ("01067", "1067."),
    "an underline": ("01067", "1_067"),
    "a small letter": ("5E17", "5e17"),
    "another sign in a time": ("2026-01-01T00:10:00Z", "2026-01-01 00:10:00Z"),
}


@pytest.mark.parametrize("change", OF_EQUAL_LENGTH)
@pytest.mark.parametrize("sink", ["release.csv", "release.jsonl"])
def test_texts_that_mean_one_number_are_two(tmp_path: Path, sink: str, change: str) -> None:
    path, file = released(tmp_path, sink), tmp_path / sink
    before, after = OF_EQUAL_LENGTH[change]
    written = file.read_text()
    assert before in written
    file.write_text(written.replace(before, after))
    (sentence,) = sfumato.check_stream(path).sentences()
    assert "column zip" in sentence or "column code" in sentence or "column until" in sentence


IN_JSON = [('"zip":null', '"zip":""  '), ('"zip":"01067"', '"zip":1067   '), ('"illness":"flu"', '"illness":null ')]


@pytest.mark.parametrize(("before", "after"), IN_JSON)
def test_what_stands_in_json_is_of_its_type(tmp_path: Path, before: str, after: str) -> None:
    path, file = released(tmp_path, "release.jsonl"), tmp_path / "release.jsonl"
    written = file.read_text()
    assert before in written
    file.write_text(written.replace(before, after))
    (sentence,) = sfumato.check_stream(path).sentences()
    assert "a kept value differs from its original" in sentence


def as_numbers(table: pa.Table) -> pa.Table:
    zips = pa.array([None if text is None else int(text) for text in table.column("zip").to_pylist()])
    return table.set_column(table.schema.names.index("zip"), "zip", zips)


def with_words(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata({"patients": "ada, ben"})


@pytest.mark.parametrize("change", [as_numbers, with_words])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_of_a_folder_that_was_written_anew_is_told(tmp_path: Path, kind: str, change: Callable[[pa.Table], pa.Table]) -> None:
    path = released(tmp_path, {kind: {"path": "release"}})
    (file,) = (tmp_path / "release").glob("segment-*")
    if kind == "parquet":
        pq.write_table(change(pq.read_table(file)), file)
    else:
        table = change(ipc.open_file(pa.OSFile(str(file))).read_all())
        with pa.OSFile(str(file), "wb") as opened, ipc.new_file(opened, table.schema) as writer:
            writer.write_table(table)
    sentences = sfumato.check_stream(path).sentences()
    told = "column zip: a kept value" if change is as_numbers else "a file is not as long as it was released"
    assert any(told in sentence for sentence in sentences)


def test_damaged_references_are_told_where_nothing_asks_for_them(tmp_path: Path) -> None:
    """Without tuning and noise z is what the policy says, and nothing of these lines is needed."""
    path = tmp_path / "policy.yaml"
    told = [{"pid": n % 5, "age": 1, "illness": f"a.{n % 2}", "at": f"2026-01-01T00:00:{n:02}Z"} for n in range(20)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    columns = POLICY["columns"] | AT | {"age": {"role": "identifier"}}
    events = {"columns": columns, "algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "illness"}}}
    path.write_text(json.dumps({name: POLICY[name] for name in ("source", "subject", "stream", "sink")} | events))
    run_stream(path, Running(once=True))
    assert sfumato.check_stream(path).sentences() == []
    references = tmp_path / "state" / "links" / "release.references.jsonl"
    references.write_bytes(b"x" * references.stat().st_size)
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert refused.value.code == "stream-state-damaged"


@pytest.mark.parametrize("sink", ["release.csv", "release.jsonl"])
def test_missing_values_of_a_release_with_one_column_are_rows(tmp_path: Path, sink: str) -> None:
    """In delimited text they are empty lines."""
    (tmp_path / "events.csv").write_text("pid,ward\n1,a\n2,\n3,b\n4,\n")
    path = tmp_path / "policy.yaml"
    columns = {"pid": {"role": "identifier"}, "ward": {"role": "other"}}
    path.write_text(json.dumps({"source": "events.csv", "subject": "pid", "columns": columns, "stream": {"state": "state"}, "sink": sink}))
    run_stream(path, Running(once=True))
    found = sfumato.check_stream(path)
    assert (found.sentences(), found.rows[""]) == ([], 4)

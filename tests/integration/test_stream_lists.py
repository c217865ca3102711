"""Lists in JSON lines: a stream refuses what a table would, and nobody is counted by a list that is another each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError
from tests.stream_policy import POLICY


def written(folder: Path, columns: dict[str, Any], source: Any, **further: Any) -> Path:
    """Write records of one person who is a list, another each time, and the policy of a stream."""
    told = [{"pid": ["Ada", f"visit {n}"], "age": 34, "illness": ["flu", "gout"][n % 2], "tags": ["a", n]} for n in range(30)]
    (folder / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    path = folder / "policy.yaml"
    path.write_text(json.dumps(POLICY | {"columns": POLICY["columns"] | columns, "source": source} | further))
    return path


TEXT = {"json_lines": {"path": "events.jsonl", "lists": "text"}}
SAID = {
    "events.jsonl": "the source has fields whose values are lists: {}",
    json.dumps(TEXT): "the source has columns whose values are lists or structures, and cannot be quasi_identifier, sensitive or the subject: {}",
}


@pytest.mark.parametrize("source", ["events.jsonl", TEXT])
@pytest.mark.parametrize("role", ["subject", "sensitive", "quasi_identifier"])
def test_a_list_is_no_person_and_no_value(tmp_path: Path, role: str, source: Any) -> None:
    # but where the list says whose a record is the text does
    person = "pid" if role == "subject" else "illness"
    columns = {"pid": {"role": "identifier"}, "illness": {"role": "identifier"}, "tags": {"role": "identifier" if role == "subject" else role}}
    path = written(tmp_path, columns, source, subject=person)
    with pytest.raises(DataError) as refused:
        run_stream(path, Running(once=True))
    assert refused.value.code == "column-nested"
    assert refused.value.message == SAID[source if isinstance(source, str) else json.dumps(source)].format("pid" if role == "subject" else "tags")
    assert not (tmp_path / "release.jsonl").exists() or (tmp_path / "release.jsonl").read_text() == ""
    # a table says the same
    table = {name: value for name, value in json.loads(path.read_text()).items() if name not in ("window", "stream", "sink")}
    (tmp_path / "table.yaml").write_text(json.dumps(table | {"sink": "table.jsonl"}))
    with pytest.raises(DataError) as refused:
        sfumato.run(tmp_path / "table.yaml")
    assert refused.value.code == "column-nested"


def test_lists_that_are_removed_are_no_matter(tmp_path: Path) -> None:
    path = written(tmp_path, {"pid": {"role": "identifier"}, "tags": {"role": "identifier"}}, "events.jsonl", subject="illness", promises=[])
    policy = json.loads(path.read_text())
    path.write_text(
        json.dumps(policy | {"columns": policy["columns"] | {"illness": {"role": "identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]})
    )
    run_stream(path, Running(once=True))
    assert len((tmp_path / "release.jsonl").read_text().splitlines()) == 30


def test_lists_are_masked_where_they_are_read_as_text(tmp_path: Path) -> None:
    mask = {"nested": {"paths": {"$[*]": {"constant": {"value": "x"}}}}}
    columns = {"pid": {"role": "identifier"}, "tags": {"role": "other", "mask": mask}, "illness": {"role": "identifier"}}
    path = written(tmp_path, columns, TEXT, subject="illness", promises=[{"k_anonymity": {"k": 2}}])
    run_stream(path, Running(once=True))
    assert {json.loads(line)["tags"] for line in (tmp_path / "release.jsonl").read_text().splitlines()} == {'["x","x"]'}

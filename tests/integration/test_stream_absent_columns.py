"""A column of the policy that no record of a stream has: it was mistyped, and somebody must say so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.stream.dead_letters import DeadLetter
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError
from tests.stream_policy import POLICY

MISTYPED = POLICY | {"columns": POLICY["columns"] | {"ilness": POLICY["columns"]["illness"]}}
MISTYPED["columns"].pop("illness")


def record(number: int, **further: Any) -> str:
    return json.dumps({"pid": number, "age": 20 + number % 9, "illness": ("flu", "gout")[number % 2]} | further) + "\n"


def written(folder: Path, policy: dict[str, Any], records: int = 40) -> Path:
    (folder / "events.jsonl").write_text("".join(map(record, range(records))))
    (folder / "policy.yaml").write_text(json.dumps(policy))
    return folder / "policy.yaml"


def refused(policy: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        run_stream(policy, Running(once=True))
    return caught.value


def test_a_column_that_no_record_has_is_one_error_that_names_it(tmp_path: Path) -> None:
    error = refused(written(tmp_path, MISTYPED))

    assert error.code == "columns-differ"
    assert error.message == "the policy names columns that none of the first 40 records has: ilness"
    assert error.hint == "illness in place of ilness; source: {json_lines: {path: ..., fields: {ilness: text}}}, if it is rare"


def test_a_policy_that_was_mended_takes_the_state_in_which_nothing_was_taken(tmp_path: Path) -> None:
    refused(written(tmp_path, MISTYPED))

    progress = run_stream(written(tmp_path, POLICY), Running(once=True))

    assert progress.views[""].accounts["released"] == 40


def test_a_column_is_absent_after_a_thousand_records_also_where_more_would_come(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        run_stream(written(tmp_path, MISTYPED, records=1_500))

    assert caught.value.message == "the policy names columns that none of the first 1000 records has: ilness"


def test_fields_that_are_removed_do_not_hide_that_a_column_is_absent(tmp_path: Path) -> None:
    assert refused(written(tmp_path, MISTYPED | {"unnamed": "remove"})).code == "columns-differ"


@pytest.mark.parametrize("source", [{"json_lines": {"path": "events.jsonl", "fields": {"note": "text"}}}, "events.jsonl"])
def test_a_column_that_is_rare_is_no_mistake(tmp_path: Path, source: Any) -> None:
    policy = written(tmp_path, POLICY | {"source": source, "columns": POLICY["columns"] | {"note": {"role": "sensitive"}}})
    if source == "events.jsonl":
        (tmp_path / "events.jsonl").write_text("".join(record(number, **({"note": None} if number == 39 else {})) for number in range(40)))

    assert run_stream(policy, Running(once=True)).views[""].accounts["released"] == 40


def test_dead_letters_name_the_column_of_the_policy_that_was_meant(tmp_path: Path, sfumato_command: Callable[..., Any]) -> None:
    policy = written(tmp_path, POLICY)
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"pid": 1, "age": 30, "Qkxcanary": "flu"}\n{"pid": 1, "age": "old", "illness": "flu"}\n')

    ran = sfumato_command("stream", "run", str(policy), "--once")

    assert "set aside since it was started: 1 json-field-unnamed illness, 1 json-type age\n" in ran.stdout
    assert "Qkxcanary" not in ran.stdout + ran.stderr
    letters = [json.loads(line) for line in (tmp_path / "state/dead_letters.jsonl").read_text().splitlines()]
    assert [(letter["record"], letter["code"], letter["column"]) for letter in letters] == [
        (40, "json-field-unnamed", "illness"),
        (41, "json-type", "age"),
    ]


def test_letters_of_mappings_name_the_column_that_was_meant() -> None:
    policy = {key: value for key, value in POLICY.items() if key not in ("source", "sink", "stream")}
    pushed = sfumato.stream(policy).push([{"pid": 1, "age": 30, "illness": "flu"}, {"pid": 2, "agee": 31, "illness": "flu"}])

    assert pushed.dead == [DeadLetter(1, "columns-differ", "age")]

"""One sensitive value that is written in several ways is one value, wherever values are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.stream import sensitive
from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import PromiseError
from tests.writings import OTHERS, WRITINGS

WAYS: dict[str, dict[str, Any]] = {
    "mondrian": {"window": {"count": 20, "on_small": "suppress"}},
    "microaggregation": {"window": {"count": 20, "on_small": "suppress"}, "algorithm": {"microaggregation": {}}},
    "castle": {"algorithm": {"castle": {"delta": 20}}},
}
DIVERSE: dict[str, dict[str, Any]] = {
    "distinct": {"l_diversity": {"column": "s", "l": 2}},
    "entropy": {"l_diversity": {"column": "s", "l": 2, "kind": "entropy"}},
    "recursive": {"l_diversity": {"column": "s", "l": 2, "kind": "recursive", "c": 2.0}},
}


def policy(kind: str, promise: dict[str, Any], **further: Any) -> dict[str, Any]:
    columns = {"u": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}, "s": {"role": "sensitive", "type": kind}}
    return {"subject": "u", "columns": columns, "promises": [{"k_anonymity": {"k": 3}}, promise]} | further


def records(values: list[Any], rows: int = 40) -> list[dict[str, Any]]:
    return [{"u": f"p{n}", "age": 20 + n % 3, "s": values[n % len(values)]} for n in range(rows)]


def released(asked: dict[str, Any], told: list[dict[str, Any]]) -> int:
    session = sfumato.stream(asked)
    return sum(release.batch.num_rows for release in [*session.push(told), *session.flush()])


def ran(folder: Path, asked: dict[str, Any], told: list[dict[str, Any]]) -> Path:
    path = folder / "policy.yaml"
    path.write_text(json.dumps({"source": "events.csv", "sink": "release.csv", "stream": {"state": "state"}} | asked))
    (folder / "events.csv").write_text("u,age,s\n" + "".join(f"{row['u']},{row['age']},{row['s']}\n" for row in told))
    run_stream(path, Running(once=True))
    return path


@pytest.mark.parametrize("kind", WRITINGS)
def test_tables(kind: str) -> None:
    with pytest.raises(PromiseError):
        sfumato.run(policy(kind, DIVERSE["distinct"]), pa.Table.from_pylist(records(WRITINGS[kind])))


@pytest.mark.parametrize("promise", DIVERSE)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", WRITINGS)
def test_streams(kind: str, way: str, promise: str) -> None:
    asked = policy(kind, DIVERSE[promise], **WAYS[way])

    assert released(asked, records(WRITINGS[kind])) == 0
    assert released(asked, records([WRITINGS[kind][0], *OTHERS[kind]])) > 20


NOTHING: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "text": ({}, [None, ""]),
    "listed": ({"missing": ["NA"]}, [None, "", "NA"]),
    "typed": ({"type": "decimal"}, [None, float("nan")]),
    "numbers": ({}, [None, float("nan")]),
}


@pytest.mark.parametrize("way", ["table", *WAYS])
@pytest.mark.parametrize("case", NOTHING)
def test_no_value_is_one_value_however_it_is_written(case: str, way: str) -> None:
    column, values = NOTHING[case]
    other: Any = 2.5 if float in map(type, values) else "flu"
    asked = policy("text", DIVERSE["distinct"], **WAYS.get(way, {}))
    asked["columns"]["s"] = {"role": "sensitive"} | column

    if way == "table":
        assert sfumato.run(asked, pa.Table.from_pylist(records([*values, other]))).table.num_rows == 40
        with pytest.raises(PromiseError):
            sfumato.run(asked, pa.table({name: [row[name] for row in records(values)] for name in ("u", "age", "s")}))
    else:
        assert released(asked, records([*values, other])) > 20
        assert released(asked, records(values)) == 0


def test_a_release_that_took_nothings_for_values_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "policy.yaml"
    asked = policy("text", DIVERSE["distinct"], **WAYS["mondrian"])
    path.write_text(json.dumps({"source": "events.jsonl", "sink": "release.jsonl", "stream": {"state": "state"}} | asked))
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records([None, ""])))
    told_apart = sensitive.sensitive_codes
    with monkeypatch.context() as patch:
        patch.setattr(
            sensitive, "sensitive_codes", lambda name, values, *_: told_apart(name, pa.array([f"{value}." for value in values.to_pylist()]))
        )
        run_stream(path, Running(once=True))

    found = check_stream(path)

    assert found.rows[""] > 0
    assert not found.holds


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@pytest.mark.parametrize("way", ["mondrian", "microaggregation"])
@pytest.mark.parametrize("kind", ["decimal", "integer", "timestamp"])
def test_distances_in_streams(kind: str, way: str, distance: str) -> None:
    session = sfumato.stream(policy(kind, {"t_closeness": {"column": "s", "t": 0.001, "distance": distance}}, **WAYS[way]))

    # whoever is young writes in another way, and means the same
    told = [row | {"s": WRITINGS[kind][int(row["age"] == 20)]} for row in records(["any"])]

    assert {age for release in session.push(told) for age in release.batch.column("age").to_pylist()} >= {"20", "22"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", WRITINGS)
def test_a_release_that_holds_is_found_to_hold(tmp_path: Path, kind: str, way: str) -> None:
    closeness = {"t_closeness": {"column": "s", "t": 0.6, "distance": "equal"}}
    asked = policy(kind, DIVERSE["distinct"], **WAYS[way])
    asked["promises"].append(closeness)

    found = check_stream(ran(tmp_path, asked, records([*WRITINGS[kind], *OTHERS[kind]], 120)))

    assert found.sentences() == []
    assert found.rows[""] > 0


@pytest.mark.parametrize("kind", WRITINGS)
def test_a_release_that_took_writings_for_values_is_found(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told_apart = sensitive.sensitive_codes
    with monkeypatch.context() as patch:
        patch.setattr(sensitive, "sensitive_codes", lambda name, values, missing, _: told_apart(name, values, missing))
        path = ran(tmp_path, policy(kind, DIVERSE["distinct"], **WAYS["mondrian"]), records(WRITINGS[kind]))

    found = check_stream(path)

    assert found.rows[""] > 0
    assert not found.holds

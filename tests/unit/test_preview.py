"""Rows before and after, beside each other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.engine import preview as module
from sfumato.engine.preview import preview

POLICY = {
    "source": "data.csv",
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "publish": "bounds"},
        "job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"Root": ["smith", "cook"]}}}, "on_unknown": "suppress"},
        "note": {"role": "other"},
    },
    "promises": [{"k_anonymity": {"k": 2}}],
    "suppression_limit": 0.5,
    "sink": "release.csv",
}
ROWS = "name,age,job,note\nAnn,20,smith,x\nBob,29,smith,y\nCyd,40,judge,x\nDan,55,cook,y\nEve,50,cook,x\nFay,20,smith,y\n"


def test_every_row_stands_beside_what_would_be_published_of_it(write_policy: Callable[..., Path]) -> None:
    found = preview(write_policy(POLICY, ROWS), rows=4)

    assert found.columns == ("age", "job", "note")
    assert found.rows == [
        ({"age": "20", "job": "smith", "note": "x"}, {"age_from": "20", "age_to": "20", "job": "smith", "note": "x"}),
        ({"age": "29", "job": "smith", "note": "y"}, {"age_from": "29", "age_to": "55", "job": "*", "note": "y"}),
        ({"age": "40", "job": "judge", "note": "x"}, None),
        ({"age": "55", "job": "cook", "note": "y"}, {"age_from": "29", "age_to": "55", "job": "*", "note": "y"}),
    ]
    assert found.whole


def test_only_the_beginning_of_the_source_is_read(write_policy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOKED_AT", 50)
    rows = "name,age,job,note\n" + "".join(f"n{number},{20 + number % 3},cook,x\n" for number in range(40_000)) + "short line\n"

    found = preview(write_policy(POLICY, rows), rows=3)

    assert (found.looked_at, found.whole, len(found.rows)) == (50, False, 3)


def test_the_command_prints_both_sides_and_writes_nothing(
    tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    path = write_policy(POLICY, ROWS)
    before = sorted(tmp_path.iterdir())

    ended = sfumato_command("preview", path, "--rows", "3")
    as_json = json.loads(sfumato_command("preview", path, "--rows", "3", "--format", "json").stdout)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == [
        "age  job    note  |  age_from  age_to  job    note",
        "20   smith  x     |  20        20      smith  x",
        "29   smith  y     |  29        55      *      y",
        "40   judge  x     |  left out",
    ]
    assert as_json["rows"][2]["after"] is None
    assert sorted(tmp_path.iterdir()) == before


def test_a_policy_that_cannot_be_kept_on_what_was_looked_at_says_so(
    write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    ended = sfumato_command("preview", write_policy(POLICY | {"promises": [{"k_anonymity": {"k": 100}}]}, ROWS))

    assert ended.returncode == 4
    assert "promise-impossible" in ended.stderr


def test_what_is_removed_need_not_be_readable(write_policy: Callable[..., Path], tmp_path: Path) -> None:
    lines = [{"age": age, "tags": ["a", "b"]} for age in (20, 21, 30, 31)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    policy = {
        "source": "data.jsonl",
        "columns": {"age": {"role": "quasi_identifier"}, "tags": {"role": "identifier"}},
        "promises": [{"k_anonymity": {"k": 2}}],
        "sink": "release.jsonl",
    }

    assert preview(write_policy(policy), rows=1).rows == [({"age": "20"}, {"age": "[20, 21]"})]

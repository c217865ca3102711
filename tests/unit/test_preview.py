"""Rows before and after, beside each other."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine import preview as module
from sfumato.engine.preview import preview
from sfumato.errors import DataError, UnreachableError

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


def tokenised(**settings: Any) -> dict[str, Any]:
    mask = {"tokenise": {"vault": "cases.vault", "namespace": "cases", **settings}}
    columns = {"case": {"role": "other", "mask": mask}, "of": {"role": "other", "mask": mask}}
    return {"source": "data.csv", "columns": columns, "sink": "release.csv"}


def shown(policy: Path) -> list[tuple[str | None, str | None]]:
    return [(after["case"], after["of"]) for _, after in preview(policy).rows if after is not None]


@pytest.mark.parametrize("settings", [{}, {"order": "sequence"}], ids=str)
def test_a_preview_makes_no_vault(write_policy: Callable[..., Path], tmp_path: Path, settings: dict[str, Any]) -> None:
    (first, third), (second, again) = shown(write_policy(tokenised(**settings), "case,of\na,c\nb,a\n"))

    assert first == again
    assert len({first, second, third}) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "policy.yaml"]


def test_a_preview_gives_known_values_their_tokens_and_records_no_others(write_policy: Callable[..., Path], tmp_path: Path) -> None:
    policy = write_policy(tokenised(order="sequence", start=100), "case,of\nb,a\n")
    sfumato.run(policy)
    vault, names = (tmp_path / "cases.vault").read_bytes(), {path.name for path in tmp_path.iterdir()}
    (tmp_path / "data.csv").write_text("case,of\na,canary\nsparrow,b\n", encoding="utf-8")

    known = {"b": "100", "a": "101"}
    for _ in range(2):
        assert shown(policy) == [(known["a"], "103"), ("102", known["b"])]
    assert (tmp_path / "cases.vault").read_bytes() == vault
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_preview_of_a_namespace_with_a_key_leaves_the_vault_as_it_is(write_policy: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "main.key").write_text(f"k1:{base64.b64encode(bytes(range(32))).decode()}\n", encoding="utf-8")
    (tmp_path / "main.key").chmod(0o600)
    keyed = tokenised(key="main") | {"keys": {"main": {"file": "main.key"}}}
    policy = write_policy(keyed, "case,of\na,b\n")
    sfumato.run(policy)
    vault = (tmp_path / "cases.vault").read_bytes()
    recorded = (tmp_path / "release.csv").read_text(encoding="utf-8").splitlines()[1]

    (tmp_path / "data.csv").write_text("case,of\na,b\nc,a\n", encoding="utf-8")
    (one, other), (new, again) = shown(policy)

    assert f"{one},{other}" == recorded
    assert again == one
    assert new not in (one, other)
    assert (tmp_path / "cases.vault").read_bytes() == vault


def test_a_preview_says_of_a_range_that_is_too_small_that_it_is(write_policy: Callable[..., Path]) -> None:
    with pytest.raises(DataError) as caught:
        preview(write_policy(tokenised(size=2), "case,of\na,b\nc,d\n"))

    assert caught.value.code == "vault-full"


@pytest.mark.parametrize(
    ("policy", "last"),
    [
        (POLICY, "From the first 5,000 rows alone: with all rows a run can publish finer values. Nothing has been written."),
        (
            POLICY | {"columns": {name: {"role": "other"} for name in ("name", "age", "job", "note")}, "promises": []},
            "From the first 5,000 rows alone. Nothing has been written.",
        ),
    ],
    ids=["generalised", "as they are"],
)
def test_finer_values_are_promised_only_where_values_are_generalised(
    write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]], policy: dict[str, Any], last: str
) -> None:
    ended = sfumato_command("preview", write_policy(policy, "name,age,job,note\n" + "Ann,20,smith,x\n" * 5001))

    assert ended.stderr == ""
    assert ended.stdout.splitlines()[-1] == last


def test_a_preview_refuses_two_ranges_of_tokens_in_one_namespace_as_a_run_does(tmp_path: Path) -> None:
    vault = str(tmp_path / "my.vault")
    columns = {
        name: {"role": "identifier", "mask": {"tokenise": {"vault": vault, "namespace": "people", "size": size}}}
        for name, size in (("one", 1000), ("other", 2000))
    }
    with pytest.raises(UnreachableError) as caught:
        preview({"columns": columns, "name": "tokens"}, data=pa.table({"one": ["a"], "other": ["b"]}))
    assert caught.value.code == "vault-range"
    assert not Path(vault).exists()

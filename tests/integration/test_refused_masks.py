"""What a mask cannot do ends a run with one clear error: nothing is published, and no cell is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.app import run_command

Say = Callable[..., tuple[int, str, str]]

KEY = "k1:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=\n"
ROWS = "id,name,born,doc\n" + "".join(f'{number},canary{number},2020-01-{number:02d},"{{""a"": ""canary""}}"\n' for number in range(1, 21))
HASHED = {"name": {"role": "identifier", "mask": {"hash": {"key": "main"}}}}


def masked(column: str, mask: Any, **further: Any) -> dict[str, Any]:
    return {column: {"role": "other", "mask": mask} | further}


FPE = {"format_preserving_encrypt": {"key": "main"}}
CASES: dict[str, tuple[dict[str, Any], int, str]] = {
    "a key that the policy does not name": (masked("name", {"hash": {"key": "another"}}), 3, "policy-unknown-key-name"),
    "a vault that is full": (masked("name", {"tokenise": {"vault": "v.vault", "start": 0, "size": 5}}), 6, "vault-full"),
    "a value outside the FF1 domain": (masked("name", FPE), 6, "mask-invalid"),
    "a domain of fewer than a million": (masked("id", FPE), 6, "mask-invalid"),
    "a pattern that is none": (masked("name", {"pattern_mask": {"pattern": "KKKK"}}), 3, "policy-value"),
    "a regex that only backtracking could match": (masked("name", {"regex_replace": {"pattern": r"(a)\1", "replacement": "x"}}), 3, "policy-value"),
    "a JSON path that is not there": (masked("doc", {"nested": {"paths": {"$.b": "constant"}, "others": "remove"}}), 6, "mask-invalid"),
    "uniqueness of a lossy operation": (masked("name", {"shorten": {"length": 1}}, unique=True), 3, "policy-mask-unique"),
    "two masks in a circle": (
        masked("name", {"fake": {"kind": "name", "by": ["born"], "key": "main"}})
        | masked("born", {"date_shift": {"by": "name", "days": 9, "key": "main"}}),
        3,
        "policy-mask-cycle",
    ),
    "a mask that does not fit its declared type": (masked("born", {"noise": {"amount": 3}}, type="date"), 3, "policy-mask-type"),
}


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = run_command([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.mark.parametrize("case", CASES)
def test_a_mask_that_cannot_be_done_ends_the_run(say: Say, tmp_path: Path, write_policy: Callable[..., Path], case: str) -> None:
    columns, status, code = CASES[case]
    keyed(tmp_path, KEY)
    assert refused(say, tmp_path, write_policy(policy(columns), ROWS)) == (status, code)


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [(None, 0o600, "file-missing"), ("k1:AAAA\n", 0o600, "key-short"), (KEY, 0o644, "key-permission")],
    ids=["missing", "too short", "readable by everybody"],
)
def test_a_key_that_is_no_good_ends_the_run(
    say: Say, tmp_path: Path, write_policy: Callable[..., Path], content: str | None, mode: int, code: str
) -> None:
    keyed(tmp_path, content, mode)
    assert refused(say, tmp_path, write_policy(policy(HASHED), ROWS)) == (5, code)


def test_chance_on_a_quasi_identifier_of_a_promise_ends_the_run(say: Say, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    columns = {"id": {"role": "quasi_identifier", "mask": {"noise": {"amount": 3}}}}
    written = write_policy(policy(columns) | {"promises": [{"k_anonymity": {"k": 2}}]}, ROWS)
    assert refused(say, tmp_path, written) == (3, "policy-mask-promise")


def test_bytes_that_are_no_text_end_the_run(say: Say, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    written = write_policy(policy(masked("name", "character_mask")), "")
    (tmp_path / "data.csv").write_bytes(ROWS.encode() + b"21,canary\xff,2020-01-01,\n")
    assert refused(say, tmp_path, written) == (6, "file-encoding")


def test_a_column_of_only_nulls_is_masked_and_stays_so(say: Say, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    written = write_policy(policy(masked("name", {"noise": {"amount": 3}})), "id,name\n" + "x,\n" * 20)
    assert say("run", written)[0] == 0
    assert (tmp_path / "release.csv").read_text() == "name\n" + "\n" * 20


def policy(columns: dict[str, Any]) -> dict[str, Any]:
    return {"source": "data.csv", "unnamed": "remove", "keys": {"main": {"file": "main.key"}}, "columns": columns, "sink": "release.csv"}


def keyed(folder: Path, content: str | None, mode: int = 0o600) -> None:
    if content is not None:
        (folder / "main.key").write_text(content)
        (folder / "main.key").chmod(mode)


def refused(say: Say, folder: Path, written: Path) -> tuple[int, str]:
    """Run a policy that cannot be done, and return the status and the code of the one error."""
    status, printed, told = say("run", written, "--format", "json")
    assert "canary" not in printed + told
    assert not (folder / "release.csv").exists()
    return status, json.loads(printed or told)["error"]["code"]

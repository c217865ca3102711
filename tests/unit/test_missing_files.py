"""A file or folder that is not there: the hint says where its path starts, or what can be done."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import PolicyError, UnreachableError

COLUMNS = {"age": {"role": "other"}}


def hint(policy: object) -> str | None:
    with pytest.raises(UnreachableError) as raised:
        sfumato.run(policy)  # type: ignore[arg-type]
    assert raised.value.code == "file-missing"
    return raised.value.hint


def test_a_policy_is_looked_for_from_the_current_folder(tmp_path: Path) -> None:
    assert hint("nowhere.yaml") == hint(tmp_path / "nowhere.yaml") == "look at the path; it is relative to the current folder"


def test_a_source_of_a_policy_file_is_looked_for_from_that_file(write_policy: Callable[..., Path]) -> None:
    assert hint(write_policy({"source": "nowhere.csv", "columns": COLUMNS})) == "look at the path; it is relative to the policy file"


def test_a_source_of_a_mapping_is_looked_for_from_the_current_folder() -> None:
    assert hint({"source": "nowhere.csv", "columns": COLUMNS}) == "look at the path; it is relative to the current folder"


@pytest.mark.parametrize(
    ("sink", "message"),
    [("/proc/release.csv", "no file can be made in the folder /proc"), ("/proc/nowhere/release.csv", "the folder /proc/nowhere cannot be made")],
)
def test_a_sink_in_a_folder_that_takes_none_says_so(sink: str, message: str, write_policy: Callable[..., Path]) -> None:
    with pytest.raises(UnreachableError) as raised:
        sfumato.run(write_policy({"source": "data.csv", "columns": COLUMNS, "sink": sink}, "age\n30\n"))

    assert str(raised.value) == f"{message} [file-missing]\n  try: make the folder first, or name a file in another one"


def test_generated_rows_in_a_folder_that_is_not_there(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = sfumato_command("generate", "hospital", "-o", tmp_path / "no" / "rows.csv")

    assert ended.returncode == 5
    assert ended.stderr == (f"the folder {tmp_path}/no is not there [file-missing]\n  try: make the folder first, or name a file in another one\n")


def test_a_policy_without_a_source_can_be_given_data_in_python() -> None:
    with pytest.raises(PolicyError) as raised:
        sfumato.run({"columns": COLUMNS})

    assert raised.value.hint == "sfumato.run(policy, data=table), or source: data.csv in the policy"

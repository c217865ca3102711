"""A file that is not there: the hint says where its path starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import UnreachableError

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

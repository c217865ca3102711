"""What the system does not let a stream see is said to be so: it is not taken for something that is not there, nor for a fault of ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sfumato.core.files import is_regular, status_of
from sfumato.core.followed_files import FollowedFiles, whole_lines
from sfumato.engine.stream.growing import log_of
from sfumato.engine.stream.kept_state import KeptState, told_status
from sfumato.engine.stream.run_journal import is_running
from sfumato.errors import UnreachableError

NOBODY = 65534


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Let nobody look into a folder, the superuser neither."""
    is_root = os.geteuid() == 0
    folder.chmod(0)
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)


@pytest.mark.parametrize(
    "look",
    [
        told_status,
        KeptState,
        is_running,
        lambda folder: status_of(folder / "any"),
        lambda folder: is_regular(folder / "any"),
        lambda folder: log_of(folder / "links", 16),
        lambda folder: list(FollowedFiles(lambda: [folder / "events.jsonl"], whole_lines, b"").stretches()),
    ],
)
def test_a_folder_that_may_not_be_read_is_told_as_that(tmp_path: Path, look: Callable[[Path], object]) -> None:
    with closed(tmp_path), pytest.raises(UnreachableError) as caught:
        look(tmp_path)
    assert caught.value.code == "file-permission"


def test_a_name_that_is_too_long_for_any_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as caught:
        is_regular(tmp_path / ("x" * 300))
    assert caught.value.code == "file-unreachable"

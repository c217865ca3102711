"""The private folder of a run: whoever begins at the same moment leaves it alone."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.core import workplace


def test_a_start_at_the_same_moment_does_not_take_a_folder_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    real, others = workplace.fcntl.flock, [1]

    def flock(file: Any, how: int) -> None:
        if others:
            others.pop()
            # another run begins just before this one has its lock
            workplace.Workplace().close()
        real(file, how)

    monkeypatch.setattr(workplace.fcntl, "flock", flock)
    ours = workplace.Workplace()
    assert ours.folder.is_dir()
    ours.close()

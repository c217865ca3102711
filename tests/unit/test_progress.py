"""Progress: what a terminal shows of a stage, also of one in which nothing moves, and that nothing is shown elsewhere."""

from __future__ import annotations

import os
import pty
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sfumato.cli import progress
from sfumato.cli.progress import Bars


@contextmanager
def terminal(patch: pytest.MonkeyPatch) -> Iterator[int]:
    # within the test: pytest puts its own error stream in place after the fixtures
    patch.setattr(progress, "_PATIENCE", 0.05)
    patch.setenv("TERM", "xterm")
    patch.setenv("COLUMNS", "120")
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stderr", stream)
        yield reader
        patch.undo()
    os.close(reader)


def seen(reader: int) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(reader, 1 << 16).decode())


def test_a_stage_in_which_nothing_moves_is_shown_with_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as reader, Bars() as bars:
        bars.stage("counting")
        time.sleep(0.4)
        shown = seen(reader)

    assert "counting" in shown
    assert "0:00 gone" in shown
    assert "rows" not in shown


def test_a_stage_of_rows_tells_how_many_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as reader, Bars() as bars:
        bars.stage("reading", 2_000)
        bars.advance(1_000)
        time.sleep(0.4)
        shown = seen(reader)

    assert " 50% 1,000 rows, " in shown
    assert re.search(r"rows/s, 0:00 gone, 0:00 left", shown)


def test_what_ends_soon_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as reader:
        with Bars() as bars:
            bars.stage("reading", 10)
            bars.advance(10)
        time.sleep(0.1)
        os.set_blocking(reader, False)
        with pytest.raises(BlockingIOError):
            os.read(reader, 1)


def test_a_search_counts_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as reader, Bars() as bars:
        bars.stage("searching", 100)
        bars.advance(40)
        time.sleep(0.3)

        assert "rows" not in bars.told()
        assert " 40% " in seen(reader)

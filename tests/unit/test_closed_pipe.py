"""A reader that goes away before the end is no failure, and is met without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def first_line(arguments: list[str], folder: Path) -> tuple[str, str, int]:
    """Return the first line that a command prints, what it says on standard error once nobody reads on, and its status."""
    command = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    assert command.stdout is not None
    assert command.stderr is not None
    line = command.stdout.readline()
    command.stdout.close()
    with command.stderr as said:
        return line, said.read(), command.wait(timeout=120)


@pytest.mark.parametrize("arguments", [["generate", "census", "--rows", "20000"], ["components"], ["schema"]])
def test_a_command_whose_reader_has_gone_ends_with_zero(arguments: list[str], tmp_path: Path) -> None:
    line, said, status = first_line(["-m", "sfumato", *arguments], tmp_path)

    assert line
    assert (said, status) == ("", 0)


@pytest.mark.slow
def test_the_demonstration_ends_without_a_traceback(tmp_path: Path) -> None:
    line, said, status = first_line([str(DEMO)], tmp_path)

    assert line.startswith("hospital: 2000 rows")
    assert "Traceback" not in said
    assert status == 0

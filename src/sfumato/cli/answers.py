"""Where a command answers: on standard output, unless that is where the release goes."""

from __future__ import annotations

import sys
from typing import TextIO

_ELSEWHERE: list[TextIO] = []


def answers() -> TextIO:
    """Return the stream for what a command was asked for."""
    return _ELSEWHERE[-1] if _ELSEWHERE else sys.stdout or sys.stderr


def leave_output_to_the_release() -> None:
    """Answer on standard error from now on."""
    _ELSEWHERE.append(sys.stderr)


def take_output_back() -> None:
    """Answer where it was done before."""
    _ELSEWHERE.pop()

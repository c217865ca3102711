"""A reader that has gone away, as ``sfumato generate census | head -1`` has: no fault, and of no interest but where a stream ends by it."""

from __future__ import annotations

import os
import sys


def flush() -> None:
    """Write what is left to standard output; throw it away where nobody reads it any more."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget()


def forget() -> None:
    """Let what is still to be written to standard output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

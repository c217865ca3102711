"""Why a stream failed, where its status could not be written: the name of an empty file says it, which needs no room on a disk that is full."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"failed\.([a-z-]+)")


def leave_word(folder: Path, code: str | None) -> None:
    """Leave the code of an error in a private folder, in place of one that was left before; where even that cannot be done, nothing is said."""
    forget_word(folder)
    if code is not None:
        with suppress(OSError):
            (folder / f"failed.{code}").touch(mode=0o600)


def word_left(folder: Path) -> str | None:
    """Return the code that was left in a folder; None where none was."""
    return next((code for _, code in _words(folder)), None)


def forget_word(folder: Path) -> None:
    """Remove what was left: the status says it again."""
    for path, _ in _words(folder):
        with suppress(OSError):
            path.unlink()


def _words(folder: Path) -> list[tuple[Path, str]]:
    found = []
    with suppress(OSError):
        found = [(path, name[1]) for path in folder.iterdir() if (name := _NAME.fullmatch(path.name)) is not None]
    return found

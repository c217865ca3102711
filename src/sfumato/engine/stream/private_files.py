"""Private files of a stream: how they are read when somebody may have damaged them, and what is said when there is no room to write them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.core.files import file_errors
from sfumato.errors import UnreachableError


@contextmanager
def written_errors(path: Path, doing: str = "written") -> Iterator[None]:
    """Turn a failed write into one clear error. Unlike a run, a stream has published what came before."""
    try:
        with file_errors(path, doing):
            yield
    except UnreachableError as error:
        if error.code != "disk-full":
            raise
        hint = "free some space, then run again: the stream goes on where it was"
        raise UnreachableError(f"there is no space left to write {path}", code="disk-full", hint=hint) from None


def private_lines(path: Path, length: int, **kinds: type) -> Iterator[dict[str, Any]]:
    """Yield the mappings of a file of JSON lines, as far as it counts; each has what is asked for, whole numbers not below 0."""
    if not length:
        # nothing may ever have been written there
        return
    with file_errors(path), path.open("rb") as file:
        while file.tell() < length:
            yield mapping_of(file.readline(), path, **kinds)


def mapping_of(content: bytes, path: Path, **kinds: type) -> dict[str, Any]:
    """Return what a private file holds, where it has what is asked for; refuse one that is damaged."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        # so deep nothing was ever written
        raise damaged(path) from None
    if not isinstance(told, dict) or not all(_is(told.get(name), kind) for name, kind in kinds.items()):
        raise damaged(path)
    return told


def damaged(path: Path) -> UnreachableError:
    """Return the error for a private file that somebody has changed."""
    return UnreachableError(
        f"{path} is damaged",
        code="stream-state-damaged",
        hint="put back a copy of it; where there is none, name another state and another sink, and begin anew",
    )


def mark_of(secret: bytes) -> str:
    """Return by what a secret is known again, which does not tell it.

    >>> mark_of(bytes(32)) == mark_of(bytes(32)), len(mark_of(bytes(32)))
    (True, 64)
    """
    return hmac.digest(secret, b"the secret of this state", "sha256").hex()


def _is(value: Any, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, kind)

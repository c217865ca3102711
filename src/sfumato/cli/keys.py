"""``sfumato keys``: make a key, and put a new one before those that are in use."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from sfumato.errors import UsageError

_NOT_SHOWN = "the file that is named"


def new(identity: str | None, output: Path | None, format: str) -> None:
    """Print a new key, or write it to a file that only its owner may read."""
    from sfumato.core.files import file_errors
    from sfumato.key_material import named

    line = _new_line(identity)
    found = line.partition(":")[0]
    if output is None:
        sys.stdout.write(json.dumps({"id": found, "key": line}) + "\n" if format == "json" else f"{line}\n")
        return
    shown = named(str(output), _NOT_SHOWN)
    with file_errors(shown, "written", "the current folder"):
        try:
            handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            hint = f"name another file, or: sfumato keys add {shown if shown == str(output) else '...'}"
            raise UsageError(f"{shown} is there already", code="output-exists", hint=hint) from None
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
    _say(found, shown, f"the key {found} is in {shown}, which only you may read; without it nothing that it encrypts can be revealed", format)


def add(path: Path, identity: str | None, format: str) -> None:
    """Put a new key before those of a file: it is the one in use from now on, the others undo what was done under them."""
    from sfumato.core.keys import KeySource
    from sfumato.core.staging import StagedFile
    from sfumato.key_material import named

    shown = named(str(path), _NOT_SHOWN)
    before = KeySource(file=str(path)).read(named(str(path), "(its file is not shown)"))
    line = _new_line(identity)
    found = line.partition(":")[0]
    if any(key.id == found for key in before):
        raise UsageError(f"{shown} has a key with the id {found} already", code="key-twice", hint="--id with another one, or none")
    file = StagedFile(str(path))
    try:
        file.write(f"{line}\n".encode() + path.read_bytes())
        file.publish()
    except BaseException:
        file.abort()
        raise
    older = ", ".join(key.id for key in before)
    _say(
        found,
        shown,
        f"the key {found} is the one in use of {shown} from now on; {older} still {'undo' if len(before) > 1 else 'undoes'} what it made\n"
        "what hash, fake, date_shift and other pseudonyms make under this key is another from now on, and no longer joins earlier releases",
        format,
    )


def _new_line(identity: str | None) -> str:
    from sfumato.core.keys import is_key_id, new_key

    if identity is not None and not is_key_id(identity):
        raise UsageError(
            "the id of a key has letters, digits, points, hyphens and underscores, 63 at most, and begins with a letter or digit",
            code="key-name",
            hint="--id 2026-01",
        )
    return new_key(identity)


def _say(identity: str, shown: str, words: str, format: str) -> None:
    sys.stdout.write(json.dumps({"id": identity, "file": shown}) + "\n" if format == "json" else f"{words}\n")

"""The audit of an installation: who has revealed what, when and why.

One line of JSON an event, only ever appended to. It holds no value and no key.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.core import places
from sfumato.core.files import file_errors


def audit_file() -> Path:
    """Return the file, in the private folder."""
    return places.folder("audit") / "reveals.jsonl"


def append(**event: Any) -> None:
    """Write an event with the time and the user, and bring it to the disk; an error where that cannot be done."""
    line = json.dumps({"time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "user": _user(), **event}, ensure_ascii=False) + "\n"
    path = audit_file()
    with file_errors(path, "written"), os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # a byte of an argument that is no text becomes an escape, which JSON has too
        file.write(line.encode(errors="backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def _user() -> str:
    """Return who runs the process, as the operating system knows it: anybody may change the environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # a user without a name, as in some containers
        return str(os.getuid())

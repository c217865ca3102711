"""What was measured of a stream over time, read beside the process that runs it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

from sfumato.engine.stream.running import state_folder
from sfumato.errors import UnreachableError, UsageError
from sfumato.policy.load import Loaded


def measured_over_time(loaded: Loaded) -> dict[str, list[dict[str, Any]]]:
    """Return for each view what was measured at every commit, in order."""
    folder = state_folder(loaded)
    if not (folder / "state.sqlite").is_file():
        raise UsageError(f"there is no state of this stream in {folder}", code="stream-unknown", hint="sfumato stream run policy.yaml begins it")
    views: dict[str, list[dict[str, Any]]] = {name: [] for name in [*loaded.policy.views] or [""]}
    try:
        with closing(sqlite3.connect(f"file:{folder / 'state.sqlite'}?mode=ro", uri=True)) as database:
            for view, records, told in database.execute("SELECT view, records, told FROM measured ORDER BY view, records"):
                views.setdefault(view, []).append({"records": records, **json.loads(told)})
    except sqlite3.Error:
        hint = "look at the folder's permissions"
        raise UnreachableError(f"the state in {folder} cannot be read", code="stream-state-damaged", hint=hint) from None
    return views

"""What was measured of a stream over time, read beside the process that runs it."""

from __future__ import annotations

from typing import Any

from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.running import state_folder
from sfumato.policy.load import Loaded


def measured_over_time(loaded: Loaded) -> dict[str, list[dict[str, Any]]]:
    """Return for each view what was measured at every commit, in order."""
    views: dict[str, list[dict[str, Any]]] = {name: [] for name in [*loaded.policy.views] or [""]}
    for view, told in KeptState(state_folder(loaded)).measured():
        views.setdefault(view, []).append(told)
    return views

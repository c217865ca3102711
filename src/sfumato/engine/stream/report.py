"""What was measured of a stream over time, read beside the process that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.running import state_folder
from sfumato.errors import UsageError
from sfumato.policy.load import Loaded
from sfumato.policy.own_files import is_of_stream
from sfumato.policy.views import resolve_views


def measured_over_time(loaded: Loaded) -> dict[str, list[dict[str, Any]]]:
    """Return for each view what was measured at every commit, in order."""
    views: dict[str, list[dict[str, Any]]] = {name: [] for name in [*loaded.policy.views] or [""]}
    kept = KeptState(state_folder(loaded))
    kept.refuse_other_policy(loaded, "report it with the policy that it was run with")
    for view, told in kept.measured():
        views.setdefault(view, []).append(told)
    return views


def refuse_own_files(target: Path, loaded: Loaded) -> None:
    """Refuse to write a page over what the stream reads, keeps or has released, whatever else may be written over."""
    views = [*resolve_views(loaded).views.values()]
    if is_of_stream(target, loaded, views[0].source, [view.sink for view in views]):
        raise UsageError(f"{target} belongs to the stream", code="stream-report-place", hint="name another file, which --force may replace")

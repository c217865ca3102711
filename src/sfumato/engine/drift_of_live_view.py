"""Drift of a live view: whether it could be made again as the policy says, and who has rights to it.

What it shows hangs on what its source is now, and who its readers are on what others have granted since: both can change without the view itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.databases.view_holders import view_holders
from sfumato.databases.view_text import view_text
from sfumato.engine.live_view import refuse_live_view
from sfumato.engine.plan import Plans
from sfumato.errors import DataError, PolicyError, UnreachableError, UsageError
from sfumato.sinks.live_view import LiveView

_ANOTHER = "live-view-name"


def drift_of_live_view(plans: Plans, last: Mapping[str, Any] | None) -> Iterator[str]:
    """Say why the view could not be made again, and whose rights to it are not those of the policy; nothing where the sink is another."""
    sink = next(iter(plans.views.values())).sink
    if isinstance(sink, LiveView):
        yield from _refused(plans, last is not None and "definition" in last)
        yield from _granted(sink)


def _refused(plans: Plans, is_compared: bool) -> Iterator[str]:
    """Say what a run would refuse; of another view than the last run has made the comparison of both tells."""
    try:
        refuse_live_view(plans)
    except PolicyError as error:
        yield from (f"{mistake.key}: {mistake.message} [{mistake.code}]" for mistake in error.mistakes)
    except (DataError, UnreachableError, UsageError) as error:
        if error.code != _ANOTHER or not is_compared:
            yield str(error).split("\n", 1)[0]


def _granted(sink: LiveView) -> Iterator[str]:
    """Compare those who were granted something on the view with the roles of the policy, as far as the user of the run may know them."""
    with sink.connected() as connection:
        is_there = view_text(connection, sink.address.kind, sink.table_name) is not None
        holders = view_holders(connection, sink.address.kind, sink.table_name) if is_there else None
    if holders is None:
        return
    others = [names[0] for names in holders if not set(names) & set(sink.roles)]
    without = [role for role in sink.roles if not any(role in names for names in holders)]
    if others:
        yield f"the view has been granted to {', '.join(others)} beside the roles of the policy"
    if without:
        yield f"the view is no longer granted to {', '.join(without)}, as the policy says"

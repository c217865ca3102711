"""When the window of rows began and ended, as columns of the release.

All rows that leave together have the same two times, those of whole stretches of the stream's time: where windows were carried over, from the
beginning of the oldest to the end of the latest. A class that keeps its promises keeps them beside these columns too, for they divide no class.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.engine.broken_release import broken
from sfumato.engine.stream.forming import windows_of
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.rows import Rows

_INSTANT = pa.timestamp("us", "UTC")


def window_times(plan: StreamPlan, rows: Rows) -> dict[str, pa.Array]:
    """Return the columns by name; none where the policy asks for none."""
    window = plan.window
    if window is None or window.publish is None:
        return {}
    ends = windows_of(window, rows, rows.times)
    times = {window.publish.start: int(ends.min()) - window.length, window.publish.end: int(ends.max())}
    return {name: pa.array(np.full(len(rows), time), pa.int64()).cast(_INSTANT) for name, time in times.items() if name is not None}


def verify_times(plan: StreamPlan, public: pa.RecordBatch, rows: Rows) -> None:
    """Check that the times of a release are the same in all rows, and that each row lies between them."""
    window = plan.window
    if window is None or window.publish is None or not len(rows):
        return
    for name, is_start in ((window.publish.start, True), (window.publish.end, False)):
        if name is None:
            continue
        (time, *others) = np.unique(public.column(name).cast(pa.int64()).to_numpy(zero_copy_only=False)).tolist()
        within = (rows.times >= time) if is_start else (rows.times < time)
        if others or not within.all():
            raise broken(f"has in column {name} a time that is not that of its window", code="verify-kept")

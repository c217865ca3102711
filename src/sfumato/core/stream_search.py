"""Which way a search goes over a stream: window by window, cluster by cluster, or event by event."""

from __future__ import annotations

from typing import Any, Literal

Way = Literal["windows", "clusters", "events"]


def way_of(search: Any) -> Way:
    """Return how a search takes a stream; one that knows only tables is given a window as one.

    >>> way_of(object())
    'windows'
    """
    if hasattr(search, "cluster") or not hasattr(search, "start"):
        return "windows"
    return "events" if hasattr(search, "attribute_columns") else "clusters"

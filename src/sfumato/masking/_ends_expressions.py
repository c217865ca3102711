"""Text in SQL of which the first and the last characters stay: what ``CodePoints.ends`` does. A private part of masks of numbers that people have."""

from __future__ import annotations

from typing import Any

_SPECIAL = "\\$&"
_MOST_TIMES = 200


def can_be_written(character: str, *kept: int) -> bool:
    """Return whether engines agree on a mask character and on numbers of characters: some signs mean something where a text is replaced."""
    return character not in _SPECIAL and max(kept, default=0) <= _MOST_TIMES


def masked_ends(text: Any, counted: str, first_kept: int, last_kept: int, character: str) -> Any:
    """Return a text with a mask character for those of a bracket, but for the first and last of them where there are more; all others stay.

    ``counted`` is what stands within the bracket, such as ``0-9``.
    """
    from sfumato.databases.server_functions import first, last, length, replaced

    masked = replaced(text, f"[{counted}]", character)
    if not first_kept + last_kept:
        return masked
    whole = length(text)
    begins = whole - length(replaced(text, f"^(?:[^{counted}]*[{counted}]){{{first_kept}}}", "")) if first_kept else 0
    ends = whole - length(replaced(text, f"(?:[{counted}][^{counted}]*){{{last_kept}}}$", "")) if last_kept else 0
    between = first(last(masked, whole - begins), whole - begins - ends)
    total = whole - length(replaced(text, f"[{counted}]", ""))
    return (total > first_kept + last_kept).ifelse(first(text, begins) + between + last(text, ends), masked)

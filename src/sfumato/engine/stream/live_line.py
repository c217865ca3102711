"""The line in the terminal: how a stream is doing, as much of it as there is room for, the most important first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.engine.stream.lately import is_mostly_late, words_of_ahead

_MEASURES = {"delay.mean": ("delay", 6), "loss": ("loss", 4), "z": ("z", 4), "p_kanon": ("p_kanon", 5)}

_LARGE = 1_000


@dataclass(frozen=True)
class Told:
    """A few words of the line: of which view they are, and how early they are left out where there is no room, the largest first."""

    words: str
    view: str | None = None
    rank: int = 0


def told_of_view(name: str, accounts: Mapping[str, int], measured: Mapping[str, float]) -> list[Told]:
    """Return what is told of a view.

    >>> [each.words for each in told_of_view("", {"dead": 1200, "held": 3}, {"loss": 0.5})]
    ['dead letters 1,200', 'held 3', 'loss 0.5']
    """
    view = name or "release"
    found = []
    if is_mostly_late(measured):
        late = f"{measured['late_lately']:.0%} late, clock {words_of_ahead(measured['clock_ahead'])} ahead"
        found.append(Told(late, view, 1))
    dead, held = accounts.get("dead", 0), accounts.get("held", 0)
    if dead:
        found.append(Told(f"dead letters {dead:,}", view, 2))
    found.append(Told(f"held {held:,}", view, 3 if held else 5))
    found += [Told(f"{words} {short_number(measured[key])}", view, rank) for key, (words, rank) in _MEASURES.items() if key in measured]
    return found + ([Told(f"finest {measured['shares.0']:.0%}", view, 7)] if "shares.0" in measured else [])


def short_number(value: float) -> str:
    """Return a measure in few characters.

    >>> short_number(0.43917), short_number(5e4), short_number(12.0)
    ('0.4392', '50,000', '12')
    """
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.4g}"


def fitted_line(told: Sequence[Told], width: int | None = None) -> str:
    """Return the words as one line of so many characters at most.

    >>> told = [Told("120 records"), Told("held 7", "nurse", 3), Told("loss 0.25", "nurse", 4), Told("held 9", "clinic", 3)]
    >>> fitted_line(told), fitted_line(told, 45), fitted_line(told, 30), fitted_line(told, 8)
    ('120 records  nurse: held 7, loss 0.25  clinic: held 9', '120 records  nurse: held 7  clinic: held 9', '120 records  nurse: held 7', '120 reco')
    """
    if width is None:
        return _joined(told)
    kept: set[int] = set()
    for place in sorted(range(len(told)), key=lambda each: told[each].rank):
        wider = kept | {place}
        if len(_joined([told[each] for each in sorted(wider)])) > width:
            break
        kept = wider
    return _joined([told[each] for each in sorted(kept)] or told[:1])[:width]


def _joined(told: Sequence[Told]) -> str:
    by_view: dict[str, list[str]] = {}
    parts: list[tuple[str | None, str]] = []
    for each in told:
        if each.view is None or each.view not in by_view:
            parts.append((each.view, each.words))
        if each.view is not None:
            by_view.setdefault(each.view, []).append(each.words)
    return "  ".join(words if view is None else f"{view}: {', '.join(by_view[view])}" for view, words in parts)

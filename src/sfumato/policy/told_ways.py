"""What is told of one column in several ways at once.

Sums and means of one column, and values of it that are shown, make equations, of which it is worked out whether anything follows of few people. A
bracket, a condition, an extreme, a mode or values in another order make inequalities and choices with them, of which nobody can say in general what
follows. So of a column of which a group or the whole table tells something, whoever reads it is told in one way only, unless the policy says that the
inference is known: then what can be held against each other still is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.core.chains import is_keyed, taken_in
from sfumato.core.mask import NOTHING, Mask, Totals, Way
from sfumato.core.mistakes import Place, key_text
from sfumato.errors import Mistake

if TYPE_CHECKING:
    from sfumato.core.masked_column import MaskedColumn
    from sfumato.policy.lines import Lines
    from sfumato.policy.model import Policy

ACCEPTED = "inference"
_NAMES: dict[Way, str] = {
    "adding": "a total",
    "choosing": "one value or the middle of a group",
    "ordering": "the mean of neighbours",
    "moving": "its values in another order",
    "in part": "a part of each value",
    "asking": "for whom a condition on it holds",
}


@dataclass(frozen=True)
class _Telling:
    """How a column of a view tells something of other columns, or of itself; ``groups`` says of which rows together."""

    view: str
    column: str
    way: Way
    of: frozenset[str]
    groups: tuple[object, ...] = ()
    plain: bool = False

    @property
    def words(self) -> str:
        """What it tells, and where."""
        return f"{_NAMES[self.way]} (column {self.column}{f' of the view {self.view}' if self.view else ''})"

    @property
    def of_groups(self) -> bool:
        """Whether it is what a group tells, and not each row."""
        return self.way not in ("in part", "asking")


@dataclass(frozen=True)
class ReadView:
    """A view as somebody reads it: its policy, its masks, and where its keys stand."""

    policy: Policy
    masks: Mapping[str, MaskedColumn | None]
    lines: Lines


def told_in_several_ways(views: Mapping[str, ReadView], seen: Collection[str]) -> Iterator[tuple[str, Mistake]]:
    """Yield of which columns somebody who reads some views is told in several ways that nobody accepts, each with the view that is to say so."""
    tellings = [telling for name in seen for telling in _tellings(name, views[name])]
    shown = {column for name in seen for column in _kept(views[name])}
    for column in sorted({column for each in tellings if each.of_groups and not each.plain for column in each.of} - shown):
        pair = _incomparable([each for each in tellings if column in each.of])
        if pair is None or any(_accepts(views[each.view], each.column) for each in pair):
            continue
        one, other = pair
        path: Place = ("columns", one.column, "mask")
        words = f"of {column} it is told {one.words} beside {other.words}: what follows from both of few people cannot be worked out"
        hint = f"tell it in one way, let nobody read both, or accept: {ACCEPTED} in columns.{one.column}, if that is known"
        yield one.view, Mistake(key_text(path), words, "policy-told-twice", hint, views[one.view].lines.at(path))


def accepted_words(view: ReadView) -> list[str]:
    """Return what is told of columns in several ways, where the policy says that it is known."""
    tellings = list(_tellings("", view))
    columns = sorted({column for each in tellings if each.of_groups and not each.plain for column in each.of} - set(_kept(view)))
    pairs = [(column, _incomparable([each for each in tellings if column in each.of])) for column in columns]
    return [
        f"of {column} it is told {pair[0].words} beside {pair[1].words}: more may follow of few people than was looked for"
        for column, pair in pairs
        if pair is not None
    ]


def _accepts(view: ReadView, column: str) -> bool:
    return ACCEPTED in (*view.policy.columns[column].accept, *view.policy.accept)


def _incomparable(tellings: Sequence[_Telling]) -> tuple[_Telling, _Telling] | None:
    """Return the first two that cannot be held against each other, what a group tells before the other; None where there are none."""
    for one, other in combinations(tellings, 2):
        if (one.view, one.column) == (other.view, other.column) and "asking" not in (one.way, other.way):
            # what stands in one column is told of each row in one way
            continue
        first, second = (one, other) if one.of_groups and not one.plain else (other, one)
        if first.of_groups and not first.plain and not _comparable(first, second):
            return first, second
    return None


def _comparable(one: _Telling, other: _Telling) -> bool:
    """Return whether it is worked out what follows from both, of which the first is told of groups."""
    if not other.of_groups or "ordering" in (one.way, other.way):
        return False
    if "choosing" not in (one.way, other.way):
        return True
    # what is told of the same people is told of as many as each says
    return "moving" not in (one.way, other.way) and one.groups == other.groups and not other.plain


def _kept(view: ReadView) -> Iterator[str]:
    """Yield the columns that are published as they are, of which nothing is left to be learnt."""
    for name, column in view.policy.columns.items():
        if column.role in ("sensitive", "other") and column.mask is None:
            yield name


def _tellings(name: str, view: ReadView) -> Iterator[_Telling]:
    for column, entry in view.policy.columns.items():
        mask = view.masks.get(column)
        if mask is None:
            if entry.role == "quasi_identifier":
                yield _Telling(name, column, "in part", frozenset([column]))
            continue
        if mask.drops:
            continue
        if mask.when is not None:
            yield _Telling(name, column, "asking", mask.when.weighs)
        for steps in mask.branches:
            yield from _of_chain(name, column, steps, mask.when)


def _of_chain(view: str, column: str, steps: Sequence[Mask], when: object) -> Iterator[_Telling]:
    last = max((place for place, step in enumerate(steps) if isinstance(step, Totals)), default=None)
    if last is not None:
        step: object = steps[last]
        way: Way | None = getattr(step, "way", "ordering")
        groups = (tuple(sorted(getattr(step, "alike", ()))), tuple(sorted(getattr(step, "every", {}).items())), repr(when))
        if way is not None:
            yield _Telling(view, column, way, taken_in(steps[:last]) | {column}, groups, getattr(step, "plain", False))
    elif steps and _tells(steps):
        yield _Telling(view, column, "in part", taken_in(steps) | {column})


def _tells(steps: Sequence[Mask]) -> bool:
    """Return whether anything can be seen of what goes into a chain: the value, a part of it, or who has the same."""
    if all(step.component_name() == "keep" for step in steps) or any(step.card.reveals == NOTHING for step in steps):
        return False
    return all(step.card.deterministic for step in steps) or not is_keyed(steps)

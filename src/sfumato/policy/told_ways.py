"""What is told of one column in several ways at once.

Sums and means of one column, and values of it that are shown, make equations, of which it is worked out whether anything follows of few people. A
bracket, a condition, an extreme, a mode or values in another order make inequalities and choices with them, of which nobody can say in general what
follows. So of a column of which a group or the whole table tells something, whoever reads it is told in one way only, unless the policy says that the
inference is known: then what can be held against each other still is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from sfumato.core.mask import NOTHING, Mask, Totals, Way
from sfumato.core.masked_column import ALIKE, MaskedColumn
from sfumato.core.mistakes import Place, key_text
from sfumato.errors import Mistake

if TYPE_CHECKING:
    from sfumato.policy.lines import Lines
    from sfumato.policy.model import Policy

ACCEPTED = "inference"
_NAMES: dict[Way, str] = {
    "adding": "a total",
    "choosing": "one value or the middle of a group",
    "ordering": "the mean of neighbours",
    "moving": "its values in another order",
    "swapping": "some of its values in another order",
    "in part": "a part of each value",
    "some": "the values of some rows",
    "asking": "for whom a condition on it holds",
}
_OF_ROWS: frozenset[Way] = frozenset(["in part", "some", "asking"])
# a column under another name, be it that its type is another: pay, pay::int, "pay"::decimal(9, 2)
_COPY = re.compile(r'\s*"?(?P<name>[^"\s:()]+)"?\s*(?:::\s*[a-z]+(?:\s*\([0-9, ]+\))?)?\s*', re.IGNORECASE)


@dataclass(frozen=True)
class _Telling:
    """How a column of a view tells something of other columns, or of itself; ``groups`` says of which rows together, and of what was made of them.

    Rows for which a condition holds, and the others, are two branches; None says all rows.
    """

    view: str
    column: str
    way: Way
    of: frozenset[str]
    groups: tuple[object, ...] = ()
    plain: bool = False
    branch: int | None = None

    @property
    def words(self) -> str:
        """What it tells, and where."""
        return f"{_NAMES[self.way]} (column {self.column}{f' of the view {self.view}' if self.view else ''})"

    @property
    def of_groups(self) -> bool:
        """Whether it is what a group tells, and not each row."""
        return self.way not in _OF_ROWS


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
        first, second = (one, other) if one.of_groups and not one.plain else (other, one)
        if first.of_groups and not first.plain and not _comparable(first, second):
            return first, second
    return None


def _comparable(one: _Telling, other: _Telling) -> bool:
    """Return whether it is worked out what follows from both, of which the first is told of groups."""
    ways = {one.way, other.way}
    if (one.view, one.column) == (other.view, other.column) and one.branch != other.branch and other.branch is not None:
        # they are told of different rows
        return True
    if other.way == "some":
        return one.way == "adding"
    if not other.of_groups or ways & {"ordering", "swapping"}:
        return False
    if "choosing" in ways:
        # what is told of the same people is told of as many as each says
        return "moving" not in ways and one.groups == other.groups and not other.plain
    # totals of what was made of values in two ways tell what was changed
    return "moving" in ways or one.groups[-1] == other.groups[-1]


def _kept(view: ReadView) -> Iterator[str]:
    """Yield the columns that are published as they are, of which nothing is left to be learnt."""
    for name, column in view.policy.columns.items():
        if column.role in ("sensitive", "other") and column.mask is None:
            yield name


def _tellings(name: str, view: ReadView) -> Iterator[_Telling]:
    for column, entry in view.policy.columns.items():
        mask = view.masks.get(column)
        if mask is None:
            if entry.role == "quasi_identifier" and entry.mask is None:
                yield _Telling(name, column, "in part", frozenset([column]))
            continue
        if mask.drops:
            continue
        if mask.when is not None:
            yield _Telling(name, column, "asking", mask.when.weighs)
        for branch, steps in enumerate(mask.branches):
            done = [step for step in steps if step.component_name() != "keep"]
            yield from (replace(each, branch=branch) for each in _of_chain(name, column, done, mask.when))


def _of_chain(view: str, column: str, steps: Sequence[Mask], when: object) -> Iterator[_Telling]:
    """Yield what operations one after the other tell."""
    last = max((place for place, step in enumerate(steps) if isinstance(step, Totals)), default=None)
    if not steps:
        yield _Telling(view, column, "some", frozenset([column]))
        return
    if last is None:
        yield _Telling(view, column, "in part", _shown(steps, column))
        return
    before, total = _without_copy(steps[:last], column), steps[last]
    of, made = _shown(steps[: last + 1], column) if before is None else frozenset(before), [] if before is not None else list(steps[:last])
    groups = frozenset(getattr(total, "alike", ()))
    way: Way | None = getattr(total, "way", "ordering")
    if way is not None:
        same_rows = (groups, tuple(sorted(getattr(total, "every", {}).items())), repr(when))
        yield _Telling(view, column, way, of - groups if before is None else of, (*same_rows, repr(made)), getattr(total, "plain", False))
    read_before = frozenset(name for step in made for name in step.reads)
    # an expression may put anything into what is added up: whom a condition in it leaves out, or digits that nothing else reaches
    asked = read_before | (of if any(step.component_name() == "expression" for step in made) else frozenset())
    told = asked | groups | _shown(steps[last + 1 :], None)
    if told:
        yield _Telling(view, column, "in part", told)


def _without_copy(steps: Sequence[Mask], column: str) -> list[str] | None:
    """Return the one column that is added up as it is, its own or another of which it is a copy; None where something is made of it before."""
    if not steps:
        return [column]
    sql = getattr(steps[0], "sql", "") if len(steps) == 1 and steps[0].component_name() == "expression" else ""
    found = _COPY.fullmatch(str(sql))
    named = {name.lower(): name for name in (column, *steps[0].reads)}
    return [named[found["name"].lower()]] if found and found["name"].lower() in named else None


def _shown(steps: Sequence[Mask], column: str | None) -> frozenset[str]:
    """Return the columns of which anything can be seen behind operations: who has the same is something, and so is what chance has moved."""
    found = {column} if column is not None else set()
    for step in steps:
        if step.card.reveals == NOTHING or step.component_name() in ALIKE or (step.card.reversible and not step.card.deterministic):
            # nothing of what came before can be seen any more
            found = set()
        found |= {*step.reads}
    return frozenset(found)

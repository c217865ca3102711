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
    "kept": "its values, without all that tells whose they are",
    "asking": "for whom a condition on it holds",
}
_OF_ROWS: frozenset[Way] = frozenset(["in part", "some", "kept", "asking"])
_WIDE = "(?:int|integer|bigint|hugeint|double)"
# a column under another name, be it as a number, or a multiple of it: pay, "pay"::int, cast(pay as double), pay * 12
_COPY = re.compile(
    rf'\s*(?:cast\s*\(\s*"?(?P<cast>[^"\s:()*/]+)"?\s+as\s+{_WIDE}\s*\)|"?(?P<name>[^"\s:()*/]+)"?\s*(?:::\s*{_WIDE})?)'
    r"\s*(?:[*/]\s*[1-9][0-9]*(?:\.[0-9]+)?)?\s*",
    re.IGNORECASE,
)
# what makes coarser numbers of numbers, and nothing else
_COARSER = ("round_number", "top_bottom_code")


@dataclass(frozen=True)
class _Telling:
    """How a column of a view tells something of other columns, or of itself; ``groups`` says of which rows together, and of what was made of them.

    Rows for which the condition ``when`` holds, and the others, are two branches; None says all rows.
    """

    view: str
    column: str
    way: Way
    of: frozenset[str]
    groups: tuple[object, ...] = ()
    plain: bool = False
    branch: int | None = None
    when: str = ""

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
    for column, (one, other) in _pairs({name: views[name] for name in seen}, accepted=False):
        path: Place = ("columns", one.column, "mask")
        words = f"of {column} it is told {one.words} beside {other.words}: what follows from both of few people cannot be worked out"
        hint = f"tell it in one way, let nobody read both, or accept: {ACCEPTED} in columns.{one.column}, if that is known"
        yield one.view, Mistake(key_text(path), words, "policy-told-twice", hint, views[one.view].lines.at(path))


def accepted_words(view: ReadView) -> list[str]:
    """Return what is told of columns in several ways, where the policy says that it is known."""
    return [
        f"of {column} it is told {one.words} beside {other.words}: more may follow of few people than was looked for"
        for column, (one, other) in _pairs({"": view}, accepted=True)
    ]


def _pairs(views: Mapping[str, ReadView], accepted: bool) -> Iterator[tuple[str, tuple[_Telling, _Telling]]]:
    """Yield columns with the first two things that are told of each and cannot be held against each other; accepted ones too on request."""
    tellings = [telling for name, view in views.items() for telling in _tellings(name, view)]
    kept = {name: frozenset(_kept(view)) for name, view in views.items()}
    for column in sorted({column for each in tellings if each.of_groups and not each.plain for column in each.of}):
        told = [each for each in tellings if column in each.of]
        for one, other in ((one, other) for one in told for other in told if one is not other and one.of_groups and not one.plain):
            # of what is shown with all that this view shows of people nothing is left to be learnt, unless it moves with other columns
            if one.of == {column} and any(column in shown and kept[one.view] <= shown for shown in kept.values()):
                continue
            if not _comparable(one, other) and (accepted or not any(_accepts(views[each.view], each.column) for each in (one, other))):
                yield column, (one, other)
                break


def _accepts(view: ReadView, column: str) -> bool:
    return ACCEPTED in (*view.policy.columns[column].accept, *view.policy.accept)


def _comparable(one: _Telling, other: _Telling) -> bool:
    """Return whether it is worked out what follows from both, of which the first is told of groups."""
    ways = {one.way, other.way}
    if (one.view, one.when) == (other.view, other.when) and one.branch != other.branch and other.branch is not None:
        # they are told of different rows
        return True
    if other.way == "some":
        return one.way == "adding"
    if other.way == "kept" and one.view == other.view:
        return one.of == other.of
    if not other.of_groups or ways & {"ordering", "swapping"}:
        return False
    if "choosing" in ways:
        # what is told of the same people is told of as many as each says
        return "moving" not in ways and one.groups == other.groups and not other.plain
    # totals of what was made of values in two ways tell what was changed
    return "moving" in ways or one.groups[-1] == other.groups[-1]


def _kept(view: ReadView) -> Iterator[str]:
    """Yield the columns that are published as they are, of which nothing is left to be learnt; a mask that only keeps them is none."""
    for name, column in view.policy.columns.items():
        mask = view.masks.get(name)
        if (column.role in ("sensitive", "other") and column.mask is None) or (column.role != "quasi_identifier" and mask and not mask.changes):
            yield name


def _tellings(name: str, view: ReadView) -> Iterator[_Telling]:
    together: dict[str, set[str]] = {}
    for column, mask in view.masks.items():
        if mask is not None and mask.together is not None:
            together.setdefault(mask.together, set()).add(column)
    yield from (_Telling(name, column, "kept", frozenset([column])) for column in _kept(view))
    for column, entry in view.policy.columns.items():
        mask = view.masks.get(column)
        if mask is None or not mask.changes:
            if entry.role == "quasi_identifier" and (entry.mask is None or mask is not None):
                yield _Telling(name, column, "in part", frozenset([column]))
            continue
        if mask.drops:
            continue
        if mask.when is not None:
            yield _Telling(name, column, "asking", mask.when.weighs)
        # what moves as one is told of as one
        with_it = frozenset(together.get(mask.together or "", ()))
        for branch, steps in enumerate(mask.branches):
            done = [step for step in steps if step.component_name() != "keep"]
            for each in _of_chain(name, column, done, mask):
                yield replace(each, branch=branch, when=repr(mask.when), of=each.of | with_it if each.way == "moving" else each.of)


def _of_chain(view: str, column: str, steps: Sequence[Mask], mask: MaskedColumn) -> Iterator[_Telling]:
    """Yield what operations one after the other tell."""
    if not steps:
        yield _Telling(view, column, "some", frozenset([column]))
        return
    totals = [place for place, step in enumerate(steps) if isinstance(step, Totals)]
    if not totals:
        yield _Telling(view, column, "in part", _shown(steps, column))
        return
    last, total = totals[-1], steps[totals[-1]]
    copied = _copied(steps[:last], column, mask.on_invalid == "remove")
    made = [] if copied is not None else list(steps[:last])
    of, groups = frozenset([copied]) if copied is not None else _shown(steps[:last], column), frozenset(getattr(total, "alike", ()))
    way: Way | None = getattr(total, "way", "ordering")
    if way is not None:
        same_rows = (groups, tuple(sorted(getattr(total, "every", {}).items())), repr(mask.when))
        # what totals of totals tell nobody has worked out
        way = way if len(totals) == 1 else "ordering"
        yield _Telling(view, column, way, of, (*same_rows, repr(made)), getattr(total, "plain", False))
    # what is made of values before they are added up may tell anything: who is left out of it, or digits that nothing else reaches
    asked = of if (way is None and made) or any(step.component_name() not in _COARSER for step in made) else frozenset()
    told = asked | groups | _shown(steps[last + 1 :], None)
    if told:
        yield _Telling(view, column, "in part", told)


def _copied(steps: Sequence[Mask], column: str, removes: bool) -> str | None:
    """Return the one column that is added up as it is, its own or another of which it is a copy; None where something is made of it before.

    Where what is invalid is removed, a number that is none, or too large, would be seen to be missing.
    """
    if not steps:
        return column
    sql = getattr(steps[0], "sql", "") if len(steps) == 1 and steps[0].component_name() == "expression" else ""
    found = _COPY.fullmatch(str(sql))
    named = {name.lower(): name for name in (column, *steps[0].reads)}
    if found is None or (removes and (found["cast"] or "::" in sql)):
        return None
    return named.get((found["name"] or found["cast"]).lower())


def _shown(steps: Sequence[Mask], column: str | None) -> frozenset[str]:
    """Return the columns of which anything can be seen behind operations: who has the same is something, and so is who has nothing any more."""
    found = {column} if column is not None else set()
    for place, step in enumerate(steps):
        nothing = step.card.reveals == NOTHING or step.component_name() in ALIKE
        if nothing and (not place or step.component_name() in ("empty", "drop")):
            found = set()
        found |= {*step.reads}
    return frozenset(found)

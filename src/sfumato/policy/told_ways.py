"""What is told of one column in several ways at once.

Sums and means of one column, and values of it that are shown, make equations, of which it is worked out whether anything follows of few people. A
bracket, a condition, an extreme, a mode or values in another order make inequalities and choices with them, of which nobody can say in general what
follows. So of a column of which a group or the whole table tells something, whoever reads it is told in one way only, unless the policy says that the
inference is known: then what can be held against each other still is. And where two views show each row within different bounds, or one of them all
values, though not whose they are, each may be the only one that fits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.core.mask import NOTHING, Mask, Totals, Way
from sfumato.core.masked_column import ALIKE, MaskedColumn
from sfumato.core.mistakes import Place, key_text
from sfumato.errors import Mistake
from sfumato.policy.arithmetic import is_arithmetic

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
# what takes the place of values and is as long for all of them
_HIDING = ("hash", "tokenise", "random_number", "random_date", "random_text", "random_uuid", "fake", "choice")
_SEQUENCE = "tokens in the order of the rows"
_WIDE = "(?:int|integer|bigint|hugeint|double)"
# a column under another name, be it as a number, or a multiple of it: pay, "pay"::int, cast(pay as double), pay * 12
_COPY = re.compile(
    rf'\s*(?:cast\s*\(\s*"?(?P<cast>[^"\s:()*/]+)"?\s+as\s+{_WIDE}\s*\)|"?(?P<name>[^"\s:()*/]+)"?\s*(?:::\s*{_WIDE})?)'
    r"\s*(?:[*/]\s*[1-9][0-9]*(?:\.[0-9]+)?)?\s*",
    re.IGNORECASE,
)
# what makes coarser or other numbers of numbers, and asks nothing of them
_HARMLESS = ("round_number", "top_bottom_code", "generalise", "noise")


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
    within: frozenset[str] = frozenset()
    """What groups are made by, and what decides which rows are in them."""
    counted: bool = False
    """Whether promises count it, with all that other views show of it."""
    before: bool = False
    """Whether it is what is made of each value before it goes into a total."""
    bounds: str = ""
    """By what it says of each row more than who has the same, where no promise counts it."""
    pure: bool = False
    """Whether a total is of values as they are, and of all of them."""

    @property
    def words(self) -> str:
        """What it tells, and where."""
        said = "what is made of each value before that" if self.before else _NAMES[self.way]
        return f"{said} (column {self.column}{f' of the view {self.view}' if self.view else ''})"

    @property
    def is_hidden(self) -> bool:
        """Whether it says of each row no more than who has the same."""
        return self.way == "in part" and not self.bounds and not self.before and not self.counted

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
    read = {name: views[name] for name in seen}
    for column, (one, other) in _pairs(read, accepted=False):
        words = f"of {column} it is told {one.words} beside {other.words}{_lacking(one, other, read)}"
        words += ": what follows from both of few people cannot be worked out"
        otherwise = "let nobody read both"
        if other.before:
            otherwise = "add up columns as they are, or what arithmetic, round_number, top_bottom_code, generalise or noise makes of them"
        yield one.view, _mistake(views, one.view, one.column, words, f"tell it in one way, {otherwise}")
    for one_place, other_place in _in_sequence(read, accepted=False):
        words = f"has {_SEQUENCE}, and so has {_named(other_place)}: whoever reads both puts their rows beside each other, one by one"
        yield one_place[0], _mistake(views, *one_place, words, "order: random in one of them, let nobody read both")


def _mistake(views: Mapping[str, ReadView], view: str, column: str, words: str, hint: str) -> Mistake:
    path: Place = ("columns", column, "mask")
    accepted = f"{hint}, or accept: {ACCEPTED} in columns.{column}, if that is known"
    return Mistake(key_text(path), words, "policy-told-twice", accepted, views[view].lines.at(path))


def accepted_words(view: ReadView) -> list[str]:
    """Return what is told of columns in several ways, where the policy says that it is known."""
    return [_accepted(column, one, other) for column, (one, other) in _pairs({"": view}, accepted=True)]


def accepted_between(views: Mapping[str, ReadView], readers: Iterable[Collection[str]]) -> list[tuple[frozenset[str], str]]:
    """Return what readers of several views are told in several ways, where the policy says that it is known, with the views that tell it."""
    found: dict[str, frozenset[str]] = {}
    for seen in readers:
        read = {name: views[name] for name in seen if name in views}
        for column, (one, other) in _pairs(read, accepted=True):
            if one.view != other.view:
                found[_accepted(column, one, other)] = frozenset([one.view, other.view])
        for pair in _in_sequence(read, accepted=True):
            words = f"{' and '.join(map(_named, pair))} have {_SEQUENCE}: whoever reads both puts their rows beside each other, one by one"
            found[words] = frozenset(view for view, _ in pair)
    return [(seen, words) for words, seen in found.items()]


def _accepted(column: str, one: _Telling, other: _Telling) -> str:
    return f"of {column} it is told {one.words} beside {other.words}: more may follow of few people than was looked for"


def _named(place: tuple[str, str]) -> str:
    return f"column {place[1]} of the view {place[0]}"


def _in_sequence(views: Mapping[str, ReadView], accepted: bool) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield the first columns of two views that tell in which order the rows of the source are; beside promises they tell that of the release."""
    found: dict[str, str] = {}
    for name, view in views.items():
        for column, mask in view.masks.items():
            in_order = mask is not None and any(getattr(step, "order", None) == "sequence" for step in mask.operations)
            if in_order and not view.policy.promises and (accepted or not _accepts(view, column)):
                found.setdefault(name, column)
    if len(found) > 1:
        one, other, *_ = found.items()
        yield one, other


def _lacking(one: _Telling, other: _Telling, views: Mapping[str, ReadView]) -> str:
    """Return what the view of some values does not show as it is, and that of what is told of them does."""
    if other.way != "kept" or one.view == other.view:
        return ""
    missing = sorted(_readable(one.view, views[one.view]) - _alike(views[one.view], views[other.view]))
    return f", which does not show {', '.join(missing)} as {one.view} does" if missing else ""


def _readable(name: str, view: ReadView) -> frozenset[str]:
    """Return the columns of which a view shows more than who has the same."""
    return frozenset(column for each in _tellings(name, view) if not each.is_hidden for column in each.of)


def _alike(view: ReadView, other: ReadView) -> frozenset[str]:
    """Return the columns that a view shows as they are, or, where it is another, in the same words."""
    same = (
        name
        for name, mask in other.masks.items()
        if view is not other
        and mask is not None
        and repr(mask) == repr(view.masks.get(name))
        and all(step.card.deterministic for step in mask.operations)
    )
    return frozenset([*_kept(other), *same])


def _are_joined(view: ReadView, other: ReadView) -> bool:
    """Return whether both show by purpose who is who: rows are put beside each other by that anyway."""
    known = {name for name, column in view.policy.columns.items() if "singling_out" in column.accept} | {view.policy.subject}
    return bool(known & frozenset(_kept(view)) & frozenset(_kept(other)))


def _pairs(views: Mapping[str, ReadView], accepted: bool) -> Iterator[tuple[str, tuple[_Telling, _Telling]]]:
    """Yield columns with the first two things that are told of each and cannot be held against each other; accepted ones too on request."""
    tellings = [telling for name, view in views.items() for telling in _tellings(name, view)]
    kept = {name: frozenset(_kept(view)) for name, view in views.items()}
    alike = {(name, other): _alike(views[name], views[other]) for name in views for other in views}
    readable = {name: _readable(name, view) for name, view in views.items()}
    joined = {(name, other) for name, other in alike if _are_joined(views[name], views[other])}
    for column in sorted({column for each in tellings for column in each.of}):
        # what groups tell comes first, for that is what can be told otherwise
        told = sorted((each for each in tellings if column in each.of), key=lambda each: not each.of_groups)
        for one, other in ((one, other) for one in told for other in told if one is not other and not one.plain):
            is_shown = not one.of_groups and (one.of <= kept[one.view] or (one.view, other.view) in joined)
            shown = [(kept[name], alike[one.view, name]) for name in views]
            if is_shown or not _at_odds(one, other) or _follows(one, shown, readable[one.view]):
                continue
            if accepted or not any(_accepts(views[each.view], each.column) for each in (one, other)):
                yield column, (one, other)
                break


def _follows(one: _Telling, shown: Iterable[tuple[frozenset[str], frozenset[str]]], readable: frozenset[str]) -> bool:
    """Return whether what is told follows from what a view shows as it is: of groups, from their columns, and of rows from all that stands beside."""
    if one.pure and one.way in ("adding", "choosing", "moving"):
        return any(one.of | one.within <= kept for kept, _ in shown)
    return any(one.of <= kept and readable <= alike for kept, alike in shown)


def _at_odds(one: _Telling, other: _Telling) -> bool:
    """Return whether nobody can say what follows from both."""
    if one.of_groups:
        return not _comparable(one, other)
    if not one.bounds or one.view == other.view:
        return False
    return other.way == "kept" or (bool(other.bounds) and other.bounds != one.bounds)


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
                yield _Telling(name, column, "in part", frozenset([column]), counted=True)
            continue
        if mask.drops:
            continue
        if mask.when is not None:
            yield _Telling(name, column, "asking", mask.when.weighs, bounds=repr(mask.when))
        # what moves as one is told of as one
        with_it = frozenset(together.get(mask.together or "", ()))
        for branch, steps in enumerate(mask.branches):
            done = [step for step in steps if step.component_name() != "keep"]
            for each in _of_chain(name, column, done, mask):
                of = each.of | with_it if each.way == "moving" else each.of
                within = each.within | (mask.when.weighs if mask.when is not None else frozenset())
                bounds = each.bounds if entry.role != "quasi_identifier" else ""
                counted = entry.role == "quasi_identifier"
                yield replace(each, branch=branch, when=repr(mask.when), of=of, within=within, bounds=bounds, counted=counted)


def _of_chain(view: str, column: str, steps: Sequence[Mask], mask: MaskedColumn) -> Iterator[_Telling]:
    """Yield what operations one after the other tell."""
    if not steps:
        yield _Telling(view, column, "some", frozenset([column]), bounds=f"where {mask.when!r}")
        return
    totals = [place for place, step in enumerate(steps) if isinstance(step, Totals)]
    if not totals:
        hides = steps[0].component_name() in _HIDING and steps[0].card.keyed
        yield _Telling(view, column, "in part", _shown(steps, column), bounds="" if hides else repr(steps))
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
        pure = not made and last + 1 == len(steps) and mask.on_invalid != "remove"
        yield _Telling(view, column, way, of, (*same_rows, repr(made)), getattr(total, "plain", False), within=groups, pure=pure)
    # what is made of values before they are added up may tell anything: who is left out of it, or digits that nothing else reaches
    if (way is None and made) or not all(_is_harmless(step, column, mask.on_invalid == "remove") for step in made):
        yield _Telling(view, column, "in part", of, before=True, bounds=repr(steps))
    told = groups | _shown(steps[last + 1 :], None)
    if told:
        # who is in one group is seen by what they have in common
        yield _Telling(view, column, "in part", told, bounds=f"groups by {sorted(told)}")


def _is_harmless(step: Mask, column: str, removes: bool) -> bool:
    """Return whether what is made of values before they are added up asks nothing of them: no condition, no digits, no text."""
    if step.component_name() != "expression":
        return step.component_name() in _HARMLESS
    return is_arithmetic(str(getattr(step, "sql", "")), (column, *step.reads), may_fail=not removes)


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


def _is_of_others(step: Mask, column: str | None) -> bool:
    """Return whether something is made of other columns alone."""
    return step.component_name() == "expression" and column is not None and column.lower() not in str(getattr(step, "sql", "")).lower()


def _shown(steps: Sequence[Mask], column: str | None) -> frozenset[str]:
    """Return the columns of which anything can be seen behind operations: who has the same is something, and so is who has nothing any more."""
    found = {column} if column is not None else set()
    for place, step in enumerate(steps):
        nothing = step.card.reveals == NOTHING or step.component_name() in ALIKE or _is_of_others(step, column)
        if nothing and (not place or step.component_name() in ("empty", "drop")):
            found = set()
        found |= {*step.reads}
    return frozenset(found)

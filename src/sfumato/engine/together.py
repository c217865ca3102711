"""Views read together: what somebody learns who sees several of them, rows grouped by the published values of all.

A promise is made to readers of that view alone. Who sees several must not learn more than one of them would tell: the joint classes keep
all promises of one of these views, and what others promise about columns that it does not show. Which rows are whose is taken from the
private links, so a reader is thought to know it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Progress, Staged
from sfumato.core.quiet import Quiet
from sfumato.core.reading import Reading, read
from sfumato.core.record import PromiseResult, Together, people
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken
from sfumato.engine.plan import Plan, Plans
from sfumato.engine.verify import not_kept, observed, result_of
from sfumato.errors import PromiseError


@dataclass(frozen=True, eq=False)
class Seen:
    """A verified view: its plan, what was written, and the ladders by which its promises measure distances."""

    plan: Plan
    staged: Staged
    ladders: Mapping[str, Hierarchy]


def check_together(plans: Plans, seen: Mapping[str, Seen], original: Reading, progress: Progress) -> list[Together]:
    """Return what readers of several views learn; raise a PromiseError where it is more than one of these views would tell.

    Pairs of views that nobody reads together are measured too: readers may meet.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for reader, names in plans.readers.items():
        mine = tuple(name for name in seen if name in names)
        if len(mine) > 1:
            groups.setdefault(mine, []).append(reader)
    for pair in combinations(seen, 2):
        groups.setdefault(pair, [])
    progress.stage("reading views together")
    for name, finer in plans.derived_from.items():
        _check_derived(seen[name], seen[finer], original.rows)
    return [_together(names, readers, seen, original, plans) for names, readers in groups.items()]


def _check_derived(coarser: Seen, finer: Seen, rows: int) -> None:
    """Refuse a derived view unless each class of the finer one is within one of its own or left out whole, and it shows no other rows."""
    own, other = (_class_of_row(view, rows) for view in (coarser, finer))
    joint = TextClasses.of_codes([own, other], [int(own.max()) + 1, int(other.max()) + 1], rows)
    alone = TextClasses.of_codes([other], [int(other.max()) + 1], rows)
    if joint.number != alone.number or ((own >= 0) & (other < 0)).any():
        what = f"has classes that are not unions of those of the view {finer.plan.view}"
        raise broken(what, code="verify-derived", who=f"the view {coarser.plan.view}")


def _together(names: Sequence[str], readers: Sequence[str], seen: Mapping[str, Seen], original: Reading, plans: Plans) -> Together:
    views = [seen[name] for name in names]
    results = {}
    for view in views:
        # what a view shows itself, beside its own promises, is nothing that another one adds
        known = {each.plan.view: plans.known if each is view else plans.identifying for each in views}
        results[view.plan.view] = _measured(view, original, *_joint_classes(views, known, original.rows))
    # a view that promises nothing is no measure for what others promise
    promised = [name for name, (promises, _) in results.items() if promises]
    owed = {name: [*results[name][0], *_others(seen[name], views, results)] for name in promised}
    kept = [name for name in promised if all(result.holds for result in owed[name])]
    if readers and promised and not kept:
        raise _learns_more(views, readers, owed, plans)
    smallest = min(size for _, size in results.values())
    k = min((seen[name].plan.threshold for name in kept or promised or names), default=2)
    name = kept[0] if readers and kept else None
    return Together(
        views=list(names), readers=list(readers), smallest_class=people(smallest, k), keeps=name, promises=results[name][0] if name else []
    )


def _others(view: Seen, views: Sequence[Seen], results: Mapping[str, tuple[list[PromiseResult], int]]) -> list[PromiseResult]:
    """Return what other views promise about columns that this one does not show: it would not tell them, so neither may all together."""
    found = []
    for other in views:
        for promise, result in zip(other.plan.resolved.promises, results[other.plan.view][0], strict=True):
            if other is not view and set(promise.reads) - set(view.plan.published):
                found.append(result)
    return found


def _joint_classes(views: Sequence[Seen], known: Mapping[str, Set[str]], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the rows of the source that any view shows, and the class of each by what all of them show.

    ``known`` are, for each view, the columns by which people can be known: those that any view generalises or removes, or the whole policy would.
    """
    columns: list[NDArray[Any]] = []
    sizes = []
    for view in views:
        columns.append(_class_of_row(view, rows))
        sizes.append(int(columns[-1].max()) + 1)
        # by what one view generalises or removes people can be known: where another shows it, as it is or masked, that counts
        telling, masks = known[view.plan.view], view.plan.resolved.masks
        plain = [
            name
            for name in view.plan.published
            if name not in view.plan.quasi_identifiers and (name in telling or (name in masks and telling & set(masks[name].reads)))
        ]
        if plain:
            for column in read(view.staged.written, plain, {}, Quiet()).columns.values():
                codes = np.full(rows, -1, np.int64)
                codes[view.staged.link] = column.codes
                columns.append(codes)
                sizes.append(len(column.values))
    shown = np.flatnonzero(np.logical_or.reduce([column >= 0 for column in columns]))
    return shown, TextClasses.of_codes([column[shown] for column in columns], sizes, len(shown)).class_of


def _class_of_row(view: Seen, rows: int) -> NDArray[np.int32]:
    """Return the class of each row of the source in a view, by the text that was written; -1 where it does not show the row."""
    classes = np.full(rows, -1, np.int32)
    classes[view.staged.link] = view.staged.text_classes(Quiet()).class_of
    return classes


def _measured(view: Seen, original: Reading, rows: NDArray[np.int64], groups: NDArray[np.int32]) -> tuple[list[PromiseResult], int]:
    """Return the promises of a view, measured on joint classes, and how many people the smallest class has."""
    plan = observed(view.plan, original, rows, view.ladders)
    ones = np.ones(len(rows), np.int64)
    classes = Classes(int(groups.max(initial=-1)) + 1, groups, ones, plan.sensitive, plan.subject, plan.references, plan.ladders)
    return [result_of(promise, classes) for promise in view.plan.resolved.promises], int(classes.sizes.min())


def _learns_more(views: Sequence[Seen], readers: Sequence[str], results: Mapping[str, Sequence[PromiseResult]], plans: Plans) -> PromiseError:
    names = [view.plan.view for view in views]
    told = ", nor ".join(f"what {name} promises, {not_kept(promises)}" for name, promises in results.items())
    finest, *coarser = (view.plan.view for view in sorted(views, key=lambda view: -view.staged.text_classes(Quiet()).number))
    apart = [f"views.{name}" for name in coarser if name not in plans.derived_from]
    derive = f"derived_from: {finest} in {' and '.join(apart)}, or " if apart else ""
    return PromiseError(
        f"{', '.join(readers)} would learn more from {' and '.join(names)} together than from one of them: their joint classes do not keep {told}; "
        "nothing has been published",
        code="verify-together",
        hint=f"{derive}{_plainly(views, plans.identifying)}let nobody read all of them",
    )


def _plainly(views: Sequence[Seen], known: Set[str]) -> str:
    """Return what to do about columns by which people can be known and that a view shows as they are."""
    shown = [f"{name} in views.{view.plan.view}" for view in views for name in view.plan.published if name in known - {*view.plan.quasi_identifiers}]
    return f"generalise or remove {' and '.join(shown)}, or " if shown else ""

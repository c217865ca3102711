"""Views read together: what somebody learns who sees several of them, rows grouped by the published values of all.

A promise is made to readers of that view alone. Who sees several must not learn more than one of them would tell: the joint classes keep
the promises of all these views, but for classes that one of them shows alone, with all that the promising view shows. Which rows are whose
is taken from the private links, so a reader is thought to know it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Progress, Staged
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, Reading, read
from sfumato.core.record import PromiseResult, Together, people
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken
from sfumato.engine.plan import Plan, Plans
from sfumato.engine.verify import not_kept, observed, published_values, reference_of, result_of
from sfumato.errors import PromiseError


@dataclass(frozen=True, eq=False)
class Seen:
    """A verified view: its plan, what was written, and the ladders by which its promises measure distances."""

    plan: Plan
    staged: Staged
    ladders: Mapping[str, Hierarchy]

    @property
    def masked(self) -> set[str]:
        """The columns of promises that are masked."""
        return {name for name in self.plan.watched if name in self.plan.resolved.masks}


def check_together(plans: Plans, seen: Mapping[str, Seen], original: Reading, progress: Progress) -> list[Together]:
    """Return what readers of several views learn; raise a PromiseError where it is more than one of these views would tell.

    Pairs of views that nobody reads together are measured too: readers may meet.
    """
    if not original.rows:
        # of nobody there is nothing to be learnt, and no class whose size could be told
        return []
    groups: dict[tuple[str, ...], list[str]] = {}
    for reader, names in plans.readers.items():
        mine = tuple(name for name in seen if name in names)
        if len(mine) > 1:
            groups.setdefault(mine, []).append(reader)
    # who reads more than two views reads every two of them, and what they learn is measured with the others
    apart = [pair for pair in combinations(seen, 2) if not any({*pair} <= {*mine} for mine in groups)]
    groups |= {pair: [] for pair in apart}
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
    found = {view.plan.view: _measured(view, views, original, plans) for view in views}
    # a view that promises nothing is no measure for what others promise
    promised = [name for name, joint in found.items() if joint.promises]
    if readers and any(not found[name].keeps and found[name].told_by is None for name in promised):
        raise _learns_more(views, readers, found, plans)
    kept = [name for name in promised if found[name].keeps] or [joint.told_by for joint in found.values() if joint.told_by is not None]
    smallest = min(joint.smallest for joint in found.values())
    k = min((seen[name].plan.threshold for name in kept or promised or names), default=2)
    name = kept[0] if readers and kept else None
    return Together(
        views=list(names),
        readers=list(readers),
        smallest_class=people(smallest, k),
        keeps=name,
        promises=[result for result in found[name].promises if result.holds] if name else [],
    )


@dataclass(frozen=True, eq=False)
class _Joint:
    """What becomes of a view's promises where others are read beside it.

    ``told_by`` is a view that tells all this alone, so that no other adds anything to it; None where there is none.
    """

    promises: list[PromiseResult]
    smallest: int
    told_by: str | None

    @property
    def keeps(self) -> bool:
        return all(result.holds for result in self.promises)


def _measured(view: Seen, views: Sequence[Seen], original: Reading, plans: Plans) -> _Joint:
    """Measure the promises of a view, on the values before and after masks, where it is read together with others."""
    # what a view shows itself, beside its own promises, is nothing that another one adds
    told = {
        each.plan.view: _told(each, plans.known if each is view else plans.identifying, plans.known, original, _found_again(each, views))
        for each in views
    }
    shown = np.flatnonzero(np.logical_or.reduce([codes >= 0 for columns in told.values() for codes, _ in columns]))
    joint = _classes(shown, [column for columns in told.values() for column in columns])
    plan = observed(view.plan, original, shown, view.ladders)
    ones = np.ones(len(shown), np.int64)
    classes = Classes(int(joint.max(initial=-1)) + 1, joint, ones, plan.sensitive, plan.subject, plan.references, plan.ladders)
    measured = [(promise, classes) for promise in view.plan.resolved.promises]
    after = _published(view, classes, shown, original.rows)
    measured += [(promise, after) for promise in view.plan.resolved.promises if after is not None and set(promise.reads) & view.masked]
    broken_rows = np.zeros(len(shown), bool)
    for promise, seen in measured:
        broken_rows |= ~promise.holds(seen)[joint]
    # what a view leaves out it does not show, and so tells nothing of
    alone = {each.plan.view: _classes(shown, told[each.plan.view]) for each in views if _covers(each, view) and _shows(each, shown[broken_rows])}
    told_by = next((name for name, own in alone.items() if _is_alike(own[broken_rows], joint[broken_rows], own, joint)), None)
    return _Joint([result_of(promise, seen) for promise, seen in measured], int(classes.sizes.min()), told_by)


def originals_for(plan: Plan, known: Set[str]) -> list[str]:
    """Return the columns whose original values say what a view tells beside others, where its masks leave that to chance."""
    found = [name for column in _by_chance(plan, known) for name in (column, *_conditions(plan, column, known))]
    found += [name for name in plan.published if name in known and name in plan.resolved.masks and plan.resolved.masks[name].together is not None]
    return [name for name in dict.fromkeys(found) if name in plan.schema.names]


def _by_chance(plan: Plan, known: Set[str]) -> list[str]:
    """Return the masked columns that tell something of those by which people are known, but nobody can follow how."""
    masks = plan.resolved.masks
    beside = [name for name in plan.published if name in masks and name not in plan.quasi_identifiers]
    return [name for name in beside if not masks[name].is_plain_to_see and ((masks[name].moves and name in known) or _conditions(plan, name, known))]


def _conditions(plan: Plan, column: str, known: Set[str]) -> Sequence[str]:
    """Return the columns that a mask's condition looks at, where people are known by one of them: the branches may look different."""
    when = plan.resolved.masks[column].when
    return when.reads if when is not None and known & set(when.reads) else ()


def _found_again(view: Seen, views: Sequence[Seen]) -> set[str]:
    """Return the columns of a view that move together with one that is shown elsewhere too: who finds its value there has the whole row.

    Elsewhere is another one of some views, in whatever form but as noise, or a column of the same view that is made of it.
    """
    shown = {name for each in views if each is not view for name in each.plan.published if not _is_noise(each.plan.resolved.masks.get(name))}
    shown |= {name for each in views for mask in each.plan.resolved.masks.values() for name in mask.reads}
    sets: dict[str, set[str]] = {}
    for name, mask in view.plan.resolved.masks.items():
        if mask.together is not None and name in view.plan.published:
            sets.setdefault(mask.together, set()).add(name)
    return {name for names in sets.values() if names & shown for name in names}


def _told(view: Seen, known: Set[str], generalised: Set[str], original: Reading, found_again: Set[str]) -> list[tuple[NDArray[Any], int]]:
    """Return what a view tells of each row of the source by which people can be known, as codes, -1 where it does not show the row.

    That is its own classes, and those of the ``known`` columns that it shows as they are, or by a mask that anybody could follow; ``generalised``
    are those that some view generalises. Where chance moves their values, nobody can say how much is told: it is taken for all. So it is where they
    move together with others by which their row is ``found_again``.
    """
    rows = original.rows
    classes = _class_of_row(view, rows)
    found: list[tuple[NDArray[Any], int]] = [(classes, int(classes.max()) + 1)]
    masks = view.plan.resolved.masks
    plain = [
        name
        for name in view.plan.published
        if name not in view.plan.quasi_identifiers
        and (masks[name].is_plain_to_see and known & masks[name].tells_of if name in masks else name in known)
    ]
    if plain:
        for name, column in read(view.staged.written, plain, {}, Quiet()).columns.items():
            if name in view.plan.watched and name not in generalised and not _singles_out(column):
                # what a view makes a promise about is nothing by which people are known, though the whole policy removes it
                continue
            codes = np.full(rows, -1, np.int64)
            codes[view.staged.link] = column.codes
            found.append((codes, len(column.values)))
    shown = classes >= 0
    for name in _by_chance(view.plan, known):
        conditions = _conditions(view.plan, name, known)
        if conditions:
            found.append((np.where(shown, _holds(view.plan, name, original), -1), 2))
        if masks[name].moves and name in known:
            found.append((np.where(shown, original.columns[name].codes, -1), len(original.columns[name].values)))
    for name in sorted(known & found_again):
        found.append((np.where(shown, original.columns[name].codes, -1), len(original.columns[name].values)))
    return found


def _holds(plan: Plan, name: str, original: Reading) -> NDArray[np.int64]:
    """Return for which rows of the source the condition of a mask holds, 1 or 0."""
    when = plan.resolved.masks[name].when
    if when is None:
        raise AssertionError("a mask without a condition holds everywhere")
    columns = [original.columns[read] for read in dict.fromkeys(when.reads)]
    arrays = [column.values.take(pa.array(column.codes, mask=column.codes < 0)) for column in columns]
    return when.holds(pa.RecordBatch.from_arrays(arrays, names=list(dict.fromkeys(when.reads)))).astype(np.int64)


def _singles_out(column: CodedColumn) -> bool:
    counts = column.counts()[:-1]
    return int((counts == 1).sum()) * 2 > len(counts)


def _classes(shown: NDArray[np.int64], columns: Sequence[tuple[NDArray[Any], int]]) -> NDArray[np.int32]:
    """Return the class of each shown row by some columns."""
    return TextClasses.of_codes([codes[shown] for codes, _ in columns], [size for _, size in columns], len(shown)).class_of


def _covers(other: Seen, view: Seen) -> bool:
    """Return whether a view shows all that another one shows, as it is or in the classes that both have."""
    theirs, mine = other.plan, view.plan

    def is_shown(name: str) -> bool:
        if name not in theirs.published:
            return False
        if name in theirs.quasi_identifiers:
            return name in mine.quasi_identifiers
        mask = mine.resolved.masks.get(name)
        if _is_noise(mask) and name not in mine.watched:
            return True
        if name in theirs.resolved.masks:
            return mask is not None and mask.card.deterministic and mask.does_the_same(theirs.resolved.masks[name])
        return True

    return other is not view and all(map(is_shown, mine.published))


def _is_noise(mask: MaskedColumn | None) -> bool:
    """Return whether what a mask makes tells nobody anything of the value: pseudonyms under a key, or chance alone."""
    return mask is not None and not mask.is_plain_to_see and not mask.moves and mask.together is None and mask.when is None


def _shows(view: Seen, rows: NDArray[np.int64]) -> bool:
    """Return whether a view shows all of some rows of the source."""
    return bool(np.isin(rows, view.staged.link).all())


def _is_alike(own: NDArray[np.int32], joint: NDArray[np.int32], all_own: NDArray[np.int32], all_joint: NDArray[np.int32]) -> bool:
    """Return whether the joint classes of some rows are classes that one view has alone: they lie within them, and are no smaller."""
    return bool((np.bincount(all_own)[own] == np.bincount(all_joint)[joint]).all())


def _published(view: Seen, classes: Classes, shown: NDArray[np.int64], rows: int) -> Classes | None:
    """Return classes with what the view's masked columns become in place of what they were; None where it masks no column that is promised of."""
    found = published_values(view.plan, view.staged)
    if not found:
        return None
    sensitive, references = dict(classes.sensitive), dict(classes.references)
    for name, (codes, size, missing) in found.items():
        spread = np.full(rows, missing, np.int32)
        spread[view.staged.link] = codes
        sensitive[name] = spread[shown]
        references[name] = reference_of(sensitive[name], size, classes.subject)
    return replace(classes, sensitive=sensitive, references=references)


def _class_of_row(view: Seen, rows: int) -> NDArray[np.int32]:
    """Return the class of each row of the source in a view, by the text that was written; -1 where it does not show the row."""
    classes = np.full(rows, -1, np.int32)
    classes[view.staged.link] = view.staged.text_classes(Quiet()).class_of
    return classes


def _learns_more(views: Sequence[Seen], readers: Sequence[str], found: Mapping[str, _Joint], plans: Plans) -> PromiseError:
    names = [view.plan.view for view in views]
    broken = {name: joint.promises for name, joint in found.items() if not joint.keeps and joint.told_by is None}
    told = ", nor ".join(f"what {name} promises, {not_kept(promises)}" for name, promises in broken.items())
    finest, *coarser = (view.plan.view for view in sorted(views, key=lambda view: -view.staged.text_classes(Quiet()).number))
    apart = [f"views.{name}" for name in coarser if name not in plans.derived_from]
    derive = f"derived_from: {finest} in {' and '.join(apart)}, or " if apart else ""
    return PromiseError(
        f"{', '.join(readers)} would learn more from {' and '.join(names)} together than from one of them: their joint classes do not keep {told}; "
        "nothing has been published",
        code="verify-together",
        hint=f"{derive}{_plainly(views, plans.identifying)}let nobody read all of them",
    )


def _is_told(plan: Plan, name: str) -> bool:
    """Return whether a published column tells of its own values, as it is or as anybody could follow: not a constant, nor a pseudonym."""
    mask = plan.resolved.masks.get(name)
    followed = mask is None or (not mask.says_nothing and (mask.is_plain_to_see or mask.moves or mask.when is not None))
    return followed and name not in plan.quasi_identifiers


def _plainly(views: Sequence[Seen], known: Set[str]) -> str:
    """Return what to do about columns by which people can be known and that a view shows as they are."""
    shown = [f"{name} in views.{view.plan.view}" for view in views for name in view.plan.published if name in known and _is_told(view.plan, name)]
    return f"generalise or remove {' and '.join(shown)}, or " if shown else ""

"""Closing: what becomes of rows that leave together: a window that is over, clusters that a search lets go, or records that leave at once.

A window in which the promises cannot be kept, or of which a mask may tell nothing, is not published: it is carried over or left out, as the policy
says. What is published is put into an order by chance, and verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import ValueType
from sfumato.core.publication import Publication
from sfumato.core.row_groups import permuted
from sfumato.core.stream import Clusters, Points, StreamProblem
from sfumato.engine.shown_values import MaskedView
from sfumato.engine.singling_out import ENOUGH_TO_JUDGE
from sfumato.engine.stream.boxes import Written, written
from sfumato.engine.stream.dead_letters import DeadLetter, Unfit
from sfumato.engine.stream.first_release import Handed, refuse_singling_out
from sfumato.engine.stream.masking import mask_window, removed_of
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.release import StreamRelease
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.scales import Placed, Scale, learnt
from sfumato.engine.stream.searching import cluster
from sfumato.engine.stream.sensitive import Coded, kinds_of, of_window
from sfumato.engine.stream.verify import Promised, holds_on_published, verify
from sfumato.engine.stream.window_times import verify_times, window_times
from sfumato.engine.verify import reference_of
from sfumato.engine.wide_masks_again import WideMasksAgain
from sfumato.errors import PromiseError


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the first rows have taught a session: the scales of quasi-identifiers, and the types of sensitive columns that are compared by order."""

    scales: Mapping[str, Scale] = field(default_factory=dict)
    kinds: Mapping[str, ValueType] = field(default_factory=dict)
    looked: bool = False
    """Whether the first release has been looked at for columns that single people out."""


@dataclass(frozen=True, eq=False)
class Closed:
    """What became of rows: a release, rows that go on waiting, records left out and records set aside; and what was learnt."""

    learnt: Learnt
    release: StreamRelease | None = None
    carried: Rows | None = None
    suppressed: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    dead: Sequence[DeadLetter] = ()
    spans: Sequence[NDArray[np.float64]] = ()


def learn(plan: StreamPlan, rows: Rows, known: Learnt) -> Learnt:
    """Return what a session knows of its columns; of the first rows it learns what it does not."""
    if known.scales or not plan.plan.quasi_identifiers:
        return known
    scales = {name: learnt(plan.plan, name, rows.made(name), plan.way == "windows") for name in plan.plan.quasi_identifiers}
    return replace(known, scales=scales, kinds=kinds_of(plan.plan, rows))


def close_window(plan: StreamPlan, rows: Rows, known: Learnt, last: bool = False) -> Closed:
    """Publish a window, or say what becomes of its rows instead; ``last`` says that no other one comes."""
    known = learn(plan, rows, known)
    unfit, left_out = Unfit(len(rows)), np.zeros(len(rows), bool)
    placed, known = place(plan, rows, known, unfit, left_out)
    coded = of_window(plan.plan, rows, known.kinds, unfit)
    waiting = np.zeros(len(rows), bool)
    while True:
        # what masks refuse of some rows can change what they make of others
        kept = unfit.fits & ~left_out & ~waiting
        found = _looked_at(plan, rows, kept, placed, coded, known, unfit, last)
        if not isinstance(found, np.ndarray):
            break
        waiting |= found
    dead = unfit.letters(rows.numbers, rows.columns(plan.needed))
    waiting = waiting | kept if found is None else waiting
    carries = plan.window is not None and plan.window.on_small == "carry"
    suppressed = left_out & unfit.fits | (np.zeros(len(rows), bool) if carries else waiting & unfit.fits)
    carried = rows.where(waiting & unfit.fits & ~left_out) if carries else None
    release, spans = (None, ()) if found is None else found
    if release is not None:
        known = replace(known, looked=True)
    return Closed(known, release, carried if carried is not None and len(carried) else None, rows.numbers[suppressed], dead, spans)


_Published = tuple[StreamRelease, Sequence[NDArray[np.float64]]]


def _looked_at(
    plan: StreamPlan, rows: Rows, kept: NDArray[np.bool_], placed: Sequence[Placed], coded: Coded, known: Learnt, unfit: Unfit, last: bool
) -> _Published | NDArray[np.bool_] | None:
    """Return what an attempt comes to: none of a few rows in which values occur once as they do in any few, and more windows follow."""
    try:
        return _attempt(plan, rows, kept, placed, coded, known, unfit)
    except PromiseError as error:
        if error.code != "singling-out" or last or len(rows) >= ENOUGH_TO_JUDGE:
            raise
        return None


def _attempt(
    plan: StreamPlan, rows: Rows, kept: NDArray[np.bool_], placed: Sequence[Placed], coded: Coded, known: Learnt, unfit: Unfit
) -> _Published | NDArray[np.bool_] | None:
    """Return a release of some rows; rows that must not be in it, where there are such; None where none of them can be published."""
    if not kept.any() or len(np.unique(rows.people[kept])) < _fewest(plan):
        return None
    part, places = rows.where(kept), np.flatnonzero(kept)
    wrong = Unfit(len(part))
    made, few = mask_window(plan, part, wrong)
    if few.any() or not wrong.fits.all():
        for letter, number in zip(wrong.letters(np.arange(len(part))), np.flatnonzero(~wrong.fits), strict=True):
            unfit.add(np.arange(len(rows)) == places[number], letter.code, letter.column)
        found = np.zeros(len(rows), bool)
        found[places[few | ~wrong.fits]] = True
        return found
    clusters, boxes = None, []
    if placed:
        taken = [replace(each, places=each.places[kept], unknown=each.unknown[kept]) for each in placed]
        points = points_of(part, taken, {name: codes[kept] for name, codes in coded.codes.items()})
        clusters = cluster(plan.plan, points, problem_of(plan, taken, coded))
        if clusters is None:
            return None
        boxes = written(plan.plan, taken, clusters)
    return release_of(plan, part, clusters, boxes, made, _promised(plan, part, coded, kept), known)


def _fewest(plan: StreamPlan) -> int:
    """Return of how few people anything may be published: those of the largest k that is promised; two where values are mixed or added up."""
    return plan.plan.threshold if plan.resolved.promises or plan.wide else 1


def release_of(
    plan: StreamPlan,
    rows: Rows,
    clusters: Clusters | None,
    boxes: Sequence[Written],
    made: Mapping[str, pa.Array],
    promised: Promised,
    known: Learnt,
    whole: bool = True,
    among: Rows | None = None,
) -> _Published | None:
    """Put rows together as they are published, in an order by chance, and verify them; None where what masks made of them breaks a promise.

    Of the first of them, among those that wait for others too, columns that single people out are looked for.
    """
    order = permuted(len(rows))
    if clusters is not None and clusters.numbers is not rows.numbers and not np.array_equal(clusters.numbers, rows.numbers):
        raise AssertionError("a search decides of the rows that it was given, in their order")
    of_cluster = np.zeros(len(rows), np.int32) if clusters is None else clusters.cluster_of
    shuffled, of_cluster = rows.taken(order), of_cluster[order]
    columns: dict[str, pa.Array] = {}
    by_column = {each.publication.column: each for each in boxes}
    for name in plan.plan.published:
        if name in by_column:
            shown = zip(plan.plan.shown_as(name), by_column[name].columns, strict=True)
            columns |= {title: column.take(pa.array(of_cluster)) for title, column in shown}
        elif name in made:
            columns[name] = made[name].take(pa.array(order))
        else:
            columns[name] = shuffled.made(name)
    public = pa.RecordBatch.from_pydict(columns | window_times(plan, shuffled))
    publications = [each.publication for each in boxes]
    promised = replace(promised, codes={name: codes[order] for name, codes in promised.codes.items()})
    if whole and not holds_on_published(plan, public, shuffled, of_cluster):
        return None
    verify_times(plan, public, shuffled)
    verify(plan, public, shuffled, publications, promised, whole, {each.publication.column for each in boxes if each.shows_means})
    if not _totals_hold(plan, public, rows, order, publications):
        return None
    if not known.looked:
        refuse_singling_out(plan, public, shuffled, among)
    identities = np.full(len(rows), -1, np.int64) if clusters is None else clusters.identities[of_cluster]
    references = promised.references if clusters is None or whole else clusters.references
    return StreamRelease(public, shuffled.numbers.copy(), identities, references, removed_of(plan, public, shuffled)), [
        each.spans[of_cluster] for each in boxes
    ]


def _totals_hold(plan: StreamPlan, public: pa.RecordBatch, rows: Rows, order: NDArray[np.int64], publications: Sequence[Publication]) -> bool:
    """Do masks of groups and windows a second time; return whether what their totals tell together is of enough people."""
    if not plan.wide:
        return True
    masks = plan.mask_plan(publications)
    again = WideMasksAgain([(plan.plan.view, masks)], plan.resolved.subject)
    if not again.needed:
        return True
    again.add(rows.columns(again.needed))
    ends = frozenset(each.column for each in publications if each.hierarchy.ordered)
    # in the order in which the masks had them: of people who are alike in a number the first come into the smaller group
    handed = Handed(public.take(pa.array(np.argsort(order))), np.arange(len(rows), dtype=np.int64))
    try:
        again.check([MaskedView(plan.plan.view, masks, handed, ends)], {})
    except PromiseError as error:
        if error.code != "aggregate-difference":
            raise
        return False
    return True


def place(plan: StreamPlan, rows: Rows, known: Learnt, unfit: Unfit, left_out: NDArray[np.bool_]) -> tuple[list[Placed], Learnt]:
    """Return where rows stand in each quasi-identifier; those with unknown values are set aside, left out or generalised, as the policy says."""
    placed, scales = [], dict(known.scales)
    for name in plan.plan.quasi_identifiers:
        each = scales[name].placed(rows.made(name))
        scales[name] = each.scale
        if each.unknown.any() and each.scale.on_unknown == "error":
            unfit.add(each.unknown, "value-outside-hierarchy" if each.ladder is not None else "value-type", name)
        elif each.scale.on_unknown == "suppress":
            left_out |= each.unknown
        placed.append(each)
    return placed, replace(known, scales=scales)


def points_of(rows: Rows, placed: Sequence[Placed], codes: Mapping[str, NDArray[np.int32]]) -> Points:
    """Return rows as searches over clusters see them."""
    coordinates = np.stack([each.places for each in placed], axis=1)
    return Points(rows.numbers, coordinates, rows.people, codes)


def problem_of(plan: StreamPlan, placed: Sequence[Placed], coded: Coded) -> StreamProblem:
    """Return what a search is asked."""
    columns, names = plan.resolved.policy.columns, plan.plan.quasi_identifiers
    ranges = np.array([[bound if np.isfinite(bound) else np.nan for bound in each.scale.bounds] for each in placed])
    weights = [columns[name].weight for name in names]
    return StreamProblem(names, [each.ladder for each in placed], plan.plan.promises, weights, ranges, coded.ladders)


def _promised(plan: StreamPlan, rows: Rows, coded: Coded, kept: NDArray[np.bool_]) -> Promised:
    """Return what promises are measured with in a window: how often values occur in it is counted anew."""
    codes = {name: found[kept] for name, found in coded.codes.items()}
    people = np.unique(rows.people, return_inverse=True)[1].astype(np.int64) if plan.subject is not None else None
    references = {name: reference_of(found, coded.sizes[name], people) for name, found in codes.items()}
    return Promised(codes, references, coded.ladders)

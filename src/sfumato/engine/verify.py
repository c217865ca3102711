"""Verify: what was written, held against the source and the promises, before anybody can see it.

The release is read back as text and grouped by it; the source is read anew. By the private link every published value must cover its
original and every kept value equal it. Nothing of the search is used but the promises' arithmetic.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import places
from sfumato.core.canonical import as_text
from sfumato.core.classes import Classes
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import ClassPlan, MaskPlan, Progress, Promise, Staged
from sfumato.core.publication import Publication
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, Reading, read
from sfumato.core.record import PromiseResult
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken, broken_by_mask
from sfumato.engine.count import Counted
from sfumato.engine.covered import Extents, Shown, covered, levels_of
from sfumato.engine.masked_values import check_masked, check_perturbed, measured_columns, perturbed_columns
from sfumato.engine.masks_again import MasksAgain, masked_group
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_sensitive, of_published
from sfumato.engine.wide_masks_again import WideMasksAgain
from sfumato.errors import PromiseError


@dataclass(frozen=True, eq=False)
class Verified:
    """What was found: the verdicts, the classes of the written text, and what each column's published values stand for."""

    promises: list[PromiseResult]
    classes: Classes
    columns: list[Extents]
    fingerprints: dict[str, str]


def read_again(parts: Sequence[tuple[Plan, MaskPlan]], further: Sequence[str], rows: int, progress: Progress) -> tuple[Reading, WideMasksAgain]:
    """Read the source anew, once for all views: what is generalised or protected, and further columns, as codes, what each keeps as fingerprints.

    What masks of groups and whole tables look at is returned beside it.
    """
    progress.stage("re-reading", rows)
    plan = parts[0][0]
    subject = plan.resolved.subject
    printed = {_kept_group(masks): masks.kept for _, masks in parts}
    coded = dict.fromkeys([name for each, _ in parts for name in [*each.quasi_identifiers, *each.watched, *perturbed_columns(each)]] + [*further])
    printed |= {_original_group(name): [name] for each, _ in parts for name in measured_columns(each)}
    masked = [(each.view, masks) for each, masks in parts]
    again, wide = MasksAgain(masked), WideMasksAgain(masked, subject)

    def beside(batch: pa.RecordBatch) -> None:
        again.add(batch)
        wide.add(batch)

    needed = list(dict.fromkeys([*again.needed, *wide.needed]))
    reading = read(plan.source, list(coded), printed, progress, beside if needed else None, needed, subject)
    reading.prints.update(again.prints())
    return reading, wide


def verify(
    plan: Plan,
    counted: Counted,
    masks: MaskPlan,
    staged: Staged,
    suppressed: int,
    levels: Sequence[int] | None,
    original: Reading,
    progress: Progress,
) -> Verified:
    """Re-measure everything on the staged release; raise a PromiseError at the first thing that is not as it must be."""
    progress.stage("verifying", staged.rows)
    written = staged.reading(progress)
    progress.stage("measuring")
    _reconcile(counted, original, written, staged, suppressed)
    link = staged.link
    if masks.kept and not np.array_equal(written.prints["kept"], original.prints[_kept_group(masks)][link]):
        raise broken("holds a kept value that differs from its original", code="verify-kept")
    if masks.repeatable and not np.array_equal(written.prints["masked"], original.prints[masked_group(plan.view)][link]):
        raise broken_by_mask("", [masks.masks[name] for name in masks.repeatable])
    classes = _classes(plan, original, staged, counted.frequencies.ladders, progress)
    found = staged.text_classes(progress)
    # the source rows in the order of the written classes: what follows is checked class by class
    members = link[found.order]
    sizes = np.diff(np.append(found.starts, len(members)))
    columns = [
        covered(publication, _shown(plan, publication, original, written, members, found), sizes, level, len(members) < original.rows)
        for publication, level in zip(masks.publications, levels_of(masks, levels), strict=True)
    ]
    results = [result_of(promise, classes) for promise in plan.resolved.promises]
    if not all(result.holds for result in results):
        raise broken(f"does not keep {not_kept(results)}", code="verify-promise")
    results += results_on_published(plan, staged, classes)
    originals = {name: original.prints[_original_group(name)][link] for name in measured_columns(plan)}
    check_masked(plan, masks, staged, originals, classes.subject)
    check_perturbed(plan, staged, original.columns)
    return Verified(results, classes, columns, _fingerprints(original, written))


def _original_group(column: str) -> str:
    return f"original\0{column}"


def _kept_group(masks: MaskPlan) -> str:
    return "\0".join(("kept", *masks.kept))


def _reconcile(counted: Counted, original: Reading, written: Reading, staged: Staged, suppressed: int) -> None:
    """Rows in are rows out and rows suppressed, and no row went out twice."""
    if original.rows != counted.rows:
        raise broken("has another number of rows than when it was first read", code="verify-rows", who="the source")
    if written.rows != staged.rows or written.rows + suppressed != original.rows:
        raise broken("has lost or gained rows", code="verify-rows")
    seen = np.zeros(original.rows, bool)
    seen[staged.link] = True
    if int(seen.sum()) != len(staged.link):
        raise broken("holds a row of the source twice", code="verify-rows")


def _classes(plan: Plan, original: Reading, staged: Staged, ladders: Mapping[str, Hierarchy], progress: Progress) -> Classes:
    """Group the written text, with the sensitive values and the people of the rows' originals."""
    return plan.store.classes(staged, observed(plan, original, staged.link, ladders), progress)


def observed(plan: Plan, original: Reading, rows: NDArray[np.int64], ladders: Mapping[str, Hierarchy]) -> ClassPlan:
    """Return the sensitive values and the people of some rows of the source, and how often each value occurs in all of it."""
    sensitive, references = {}, {}
    people: NDArray[np.int32] | None = None
    if original.people is not None:
        # by sorting: not the way in which people were told apart for the search
        people = np.unique(original.people, return_inverse=True)[1].astype(np.int32)
    for name in plan.watched:
        column = original.columns[name]
        encoding = encode_sensitive(plan, name, column.values, ladders)
        # null is -1: it picks the last entry
        codes = np.append(encoding.codes, encoding.null_code).astype(np.int32)[column.codes]
        sensitive[name] = codes[rows]
        references[name] = reference_of(codes, encoding.size, people)
    return ClassPlan(sensitive, None if people is None else people[rows].astype(np.int64), references, ladders)


def reference_of(codes: NDArray[np.int32], size: int, people: NDArray[np.int32] | NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return how many people have each value, each once for a value; rows where nothing says whose they are."""
    if people is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    pairs = codes.astype(np.int64) * (int(people.max(initial=0)) + 1) + people
    _, firsts = np.unique(pairs, return_index=True)
    return np.bincount(codes[firsts], minlength=size).astype(np.int64)


def _shown(plan: Plan, publication: Publication, original: Reading, written: Reading, members: NDArray[np.int64], classes: TextClasses) -> Shown:
    """Return what the classes show in a column, and their members' originals.

    All rows of a class have the same text, and what a text covers is an interval: its smallest and its largest original decide.
    """
    policy = plan.resolved.policy.columns[publication.column]
    column = original.columns[publication.column]
    encoding = encode(publication.hierarchy, plan.as_counted(publication.column, column.values), policy.missing)
    leaves = np.append(encoding.codes, encoding.null_code)[column.codes[members]]
    smallest = np.minimum.reduceat(leaves, classes.starts).astype(np.int64)
    largest = np.maximum.reduceat(leaves, classes.starts).astype(np.int64)
    distinct, places = _distinct(publication, [written.columns[name] for name in publication.columns], classes.order[classes.starts])
    return Shown(distinct, places, smallest, largest, leaves)


def _distinct(publication: Publication, columns: list[CodedColumn], rows: NDArray[np.int64]) -> tuple[list[pa.Array], NDArray[np.int64]]:
    """Return the distinct texts of one or two columns, null among them, and which of them some rows have."""
    texts = [pa.concat_arrays([publication.as_text(column.values), pa.array([None], pa.string())]) for column in columns]
    codes = [np.where(column.codes[rows] < 0, len(column.values), column.codes[rows]).astype(np.int64) for column in columns]
    if len(columns) == 1:
        return texts, codes[0]
    pairs, places = np.unique(codes[0] * len(texts[1]) + codes[1], return_inverse=True)
    first, second = np.divmod(pairs, len(texts[1]))
    return [texts[0].take(first), texts[1].take(second)], places


def results_on_published(plan: Plan, staged: Staged, classes: Classes) -> list[PromiseResult]:
    """Measure promises about masked columns on the values that were written, too; raise an error where they do not hold there."""
    names = published_values(plan, staged)
    if not names:
        return []
    sensitive, references = dict(classes.sensitive), dict(classes.references)
    for name, (codes, size, _) in names.items():
        sensitive[name], references[name] = codes, reference_of(codes, size, classes.subject)
    seen = replace(classes, sensitive=sensitive, references=references)
    found = [result_of(promise, seen) for promise in plan.resolved.promises if set(promise.reads) & set(names)]
    if not all(result.holds for result in found):
        raise PromiseError(
            f"what the masked columns {', '.join(names)} become does not keep {not_kept(found)}; nothing has been published",
            code="mask-promise",
            hint="another mask, none, or a smaller promise: it must hold of the values before and after",
        )
    return [result.model_copy(update={"settings": result.settings | {"on": "published values"}}) for result in found]


def published_values(plan: Plan, staged: Staged) -> dict[str, tuple[NDArray[np.int32], int, int]]:
    """Return what the masked columns of promises became: a code of each written row, how many codes there are, and the one of a missing value."""
    names = [name for name in plan.watched if name in plan.resolved.masks and name not in plan.quasi_identifiers]
    found = {}
    for name, column in read(staged.written, names, {}, Quiet()).columns.items() if names else ():
        encoding = of_published(name, column.values)
        codes = np.append(encoding.codes, encoding.null_code).astype(np.int32)[column.codes]
        found[name] = (codes, encoding.size, encoding.null_code)
    return found


def not_kept(results: Sequence[PromiseResult]) -> str:
    """Return the promises that do not hold, in words."""
    return ", ".join(f"{result.promise} (asked {result.asked:g}, measured {result.measured:g})" for result in results if not result.holds)


def result_of(promise: Promise, classes: Classes) -> PromiseResult:
    """Measure a promise on classes."""
    return PromiseResult(
        promise=promise.component_name(),
        settings=promise.model_dump(mode="json"),
        asked=promise.asked,
        # beyond twelve digits a sum is what its order makes of it
        measured=float(f"{promise.measure(classes):.12g}"),
        holds=bool(promise.holds(classes).all()),
    )


def _fingerprints(original: Reading, written: Reading) -> dict[str, str]:
    """Return HMACs of source and release under the installation's key: a plain hash of a small table could be guessed."""
    return {name: fingerprint_of(reading) for name, reading in (("source", original), ("release", written))}


def fingerprint_of(reading: Reading) -> str:
    """Return an HMAC of what was read, in its order, under the installation's key."""
    digest = hmac.new(places.installation_key(), digestmod=hashlib.sha256)
    for name, column in reading.columns.items():
        digest.update(name.encode())
        digest.update("\0".join(as_text(column.values).to_pylist()).encode())
        digest.update(np.ascontiguousarray(column.codes).data)
    for prints in [*reading.prints.values(), *([] if reading.people is None else [reading.people])]:
        digest.update(np.ascontiguousarray(prints).data)
    return digest.hexdigest()

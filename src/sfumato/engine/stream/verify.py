"""Verify: every release of a stream, held against the records and the promises before it is handed out.

Rows are grouped anew by the published text, people are counted anew, what each text covers is read from the text, kept values are compared, masks
that can be done again are. Nothing of the search is used but the promises' arithmetic and, where clusters outlive their records, the reference that
they were tested against.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.classes import Classes
from sfumato.core.encoding import encode, typed_values
from sfumato.core.hierarchy import ROOT, Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.kernels.fingerprint import value_prints
from sfumato.core.publication import IN_TWO_COLUMNS, Publication, interval_columns
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken, broken_by_mask
from sfumato.engine.sensitive import of_published
from sfumato.engine.stream.masking import repeated
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.rows import Rows
from sfumato.engine.verify import reference_of, result_of

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MANY_DIGITS = r"[0-9.]{17}"


@dataclass(frozen=True, eq=False)
class Promised:
    """What promises are measured with: the codes of the published rows' sensitive values, the references, and ladders of some columns."""

    codes: Mapping[str, NDArray[np.int32]]
    references: Mapping[str, NDArray[np.int64]]
    ladders: Mapping[str, Hierarchy]


def verify(
    plan: StreamPlan,
    public: pa.RecordBatch,
    rows: Rows,
    publications: Sequence[Publication],
    promised: Promised,
    whole: bool,
    means: Set[str] = frozenset(),
) -> None:
    """Hold a release against the rows that it publishes, in the same order; raise a PromiseError where anything is not as it must be.

    ``whole`` says that classes hold all that they ever will: a class that is used again is measured over all its rows by the search alone, and here
    are only the last of them. The columns in ``means`` may show a mean of a class in place of an interval.
    """
    if public.num_rows != len(rows) or not _all_different(rows.numbers):
        raise broken("has lost or gained rows", code="verify-rows")
    _kept(plan, public, rows)
    _masked(plan, public, rows)
    if not publications:
        return
    columns = [public.column(name).dictionary_encode() for each in publications for name in each.columns]
    codes = [pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False) for column in columns]
    classes = TextClasses.of_codes(codes, [len(column.dictionary) for column in columns], len(rows))
    for publication in publications:
        _covers(plan, publication, [public.column(name) for name in publication.columns], rows, classes, publication.column in means)
    if whole:
        _promises(plan, rows, promised, classes)


def _all_different(numbers: NDArray[np.int64]) -> bool:
    # what leaves as it came is in order
    return bool((numbers[1:] > numbers[:-1]).all()) or len(np.unique(numbers)) == len(numbers)


def _kept(plan: StreamPlan, public: pa.RecordBatch, rows: Rows) -> None:
    for name in plan.plan.kept:
        if name not in plan.event_columns and not np.array_equal(value_prints(public.column(name)), value_prints(rows.came(name))):
            raise broken(f"holds in column {name} a kept value that differs from its original", code="verify-kept")


def _masked(plan: StreamPlan, public: pa.RecordBatch, rows: Rows) -> None:
    quasi = set(plan.plan.quasi_identifiers)
    for name in plan.narrow:
        if name in quasi or name not in plan.plan.published or not plan.masks[name].repeatable:
            continue
        if not np.array_equal(value_prints(public.column(name)), value_prints(repeated(plan, name, rows))):
            raise broken_by_mask(f"in column {name} ", [plan.masks[name]])


def _promises(plan: StreamPlan, rows: Rows, promised: Promised, classes: TextClasses) -> None:
    """Count people and values in the classes of the text."""
    seen = Classes(
        number=classes.number,
        class_of=classes.class_of,
        counts=np.ones(len(rows), np.int64),
        sensitive=promised.codes,
        subject=rows.people if plan.subject is not None else None,
        references=promised.references,
        ladders=promised.ladders,
    )
    refuse_broken(plan.plan.promises, seen)


def refuse_broken(promises: Sequence[Promise], classes: Classes) -> None:
    """Raise an error where classes do not keep a promise."""
    results = [result_of(promise, classes) for promise in promises]
    wrong = [result for result in results if not result.holds]
    if wrong:
        named = ", ".join(f"{result.promise} (asked {result.asked:g}, measured {result.measured:g})" for result in wrong)
        raise broken(f"does not keep {named}", code="verify-promise")


def holds_on_published(plan: StreamPlan, public: pa.RecordBatch, rows: Rows, class_of: NDArray[np.int32]) -> bool:
    """Return whether promises about masked columns hold of what these became, also where chance had a part in it."""
    masked = [name for name in plan.plan.watched if name in plan.masks and name not in plan.plan.quasi_identifiers]
    if not masked:
        return True
    codes, references = {}, {}
    people = np.unique(rows.people, return_inverse=True)[1].astype(np.int64) if plan.subject is not None else None
    for name in masked:
        encoding = of_published(name, public.column(name))
        codes[name] = encoding.codes
        references[name] = reference_of(encoding.codes, encoding.size, people)
    seen = Classes(int(class_of.max(initial=-1)) + 1, class_of, np.ones(len(rows), np.int64), codes, people, references)
    about = [promise for promise in plan.plan.resolved.promises if promise.reads and set(promise.reads) <= set(masked) and not promise.scales]
    return all(bool(promise.holds(seen).all()) for promise in about)


def _covers(plan: StreamPlan, publication: Publication, shown: Sequence[pa.Array], rows: Rows, classes: TextClasses, means: bool) -> None:
    """Check that what a class shows covers the originals of all its rows: all have the same text, so the smallest and the largest decide.

    A mean covers nobody, and lies between both.
    """
    firsts = classes.order[classes.starts]
    texts = [canonical.render(column.take(pa.array(firsts))) for column in shown]
    values, hierarchy = rows.made(publication.column), publication.hierarchy
    missing = plan.resolved.policy.columns[publication.column].missing
    if hierarchy.ordered and not publication.least:
        places = _positions(values, hierarchy.kind, missing)
        low, high, root = _read_line(publication, texts, hierarchy.kind)
        if hierarchy.kind == "decimal" and not means and any(map(_are_rounded, texts)):
            raise broken(f"publishes in column {publication.column} a number that is not the one that stands there", code="verify-covers")
    else:
        coded = values.dictionary_encode()
        encoding = encode(hierarchy, coded.dictionary, missing)
        leaves = np.append(encoding.codes, encoding.null_code)[pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)]
        places = np.where(leaves < hierarchy.size, leaves, np.nan).astype(np.float64)
        first, last = publication.read(*texts)
        root = (last >= hierarchy.size) & (first != last)
        alone = (first >= hierarchy.size) & (first == last)
        if (first < 0).any():
            raise broken(f"publishes in column {publication.column} a value that means nothing", code="verify-covers")
        low, high = (np.where(root | alone, np.nan, side) for side in (first, last))
    there = values.is_valid().to_numpy(zero_copy_only=False) & ~_stand_for_nothing(values, missing)
    strange = np.logical_or.reduceat((there & np.isnan(places))[classes.order], classes.starts)
    ordered = places[classes.order]
    unknown = np.isnan(ordered)
    least, most = (at.reduceat(np.where(unknown, filler, ordered), classes.starts) for at, filler in ((np.minimum, np.inf), (np.maximum, -np.inf)))
    some, every = np.logical_or.reduceat(unknown, classes.starts), np.logical_and.reduceat(unknown, classes.starts)
    with np.errstate(invalid="ignore"):
        inside = np.where(every, np.isnan(low) & ~strange, (low <= least) & (most <= high) & ~some)
        if means:
            inside |= (low == high) & (least <= low) & (low <= most) & ~some
    if not (root | inside).all():
        raise broken(f"publishes in column {publication.column} a value that does not cover its original", code="verify-covers")


def _are_rounded(texts: pa.Array) -> bool:
    """Return whether an end of an interval has more digits than tell the number that it is read as: nobody has written these.

    >>> _are_rounded(pa.array(["[0.5, 52.100000000000001]"])), _are_rounded(pa.array(["[0.5, 52.100000000000000]", "*"]))
    (True, False)
    """
    many = texts.filter(pc.match_substring_regex(texts, _MANY_DIGITS))
    ends = {end for text in many.to_pylist() for end in _NUMBER.findall(text)}
    return any(Decimal(end) != Decimal(repr(float(end))) for end in ends)


def _stand_for_nothing(values: pa.Array, missing: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts stand for a missing value."""
    if not missing:
        return np.zeros(len(values), bool)
    found: NDArray[np.bool_] = pc.is_in(canonical.as_text(values), value_set=pa.array(list(missing), pa.string())).to_numpy(zero_copy_only=False)
    return found


def _positions(values: pa.Array, kind: ValueType, missing: Sequence[str]) -> NDArray[np.float64]:
    """Return where values stand on their line; NaN where there is none."""
    if missing:
        values = pc.if_else(pc.is_in(canonical.as_text(values), value_set=pa.array(list(missing), pa.string())), pa.scalar(None, values.type), values)
    return canonical.positions(typed_values(values, kind))


def _read_line(
    publication: Publication, texts: Sequence[pa.Array], kind: ValueType
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return between which places published texts lie, NaN where they stand for a missing value, and which stand for anything."""
    if publication.style == "typed_bounds":
        # a missing bound stands for anything: there is no text for it in the column's type
        low, high = (canonical.positions(canonical.parse(text, kind)) for text in texts)
        return low, high, np.isnan(low) & np.isnan(high)
    first, last = texts if publication.style in IN_TWO_COLUMNS else interval_columns(texts[0])
    root = pc.fill_null(pc.equal(texts[0], ROOT), False).to_numpy(zero_copy_only=False)
    # both at once: of few texts each call costs more than what it does
    low, high = np.split(canonical.positions(_ends(pa.concat_arrays([first, last]), kind)), 2)
    return low, high, root


def _ends(texts: pa.Array, kind: ValueType) -> pa.Array:
    """Return ends of intervals as values; the mean of whole numbers may be no whole one."""
    found = canonical.parse(texts, kind)
    odd = kind == "integer" and found.null_count > texts.null_count and pc.any(pc.and_(found.is_null(), pc.not_equal(texts, ROOT))).as_py()
    return canonical.parse(texts, "decimal") if odd else found

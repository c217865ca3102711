"""Record: what a run may tell its readers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.elsewhere import FrequenciesElsewhere
from sfumato.core.frequencies import Frequencies
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.mask_effect import Effect
from sfumato.core.recoding import Recoding
from sfumato.core.record import PromiseResult, Recoded, Rows, RunRecord, people
from sfumato.engine.count import Counted
from sfumato.engine.interval_ends import telling_columns, tight_columns
from sfumato.engine.mask_effects import mask_notes
from sfumato.engine.plan import Plan
from sfumato.engine.translated import Translated
from sfumato.engine.verify import Verified
from sfumato.errors import first_few
from sfumato.measures.class_sizes import class_sizes
from sfumato.measures.information_loss import information_loss
from sfumato.measures.reidentification import distinction, reidentification, separation
from sfumato.policy.identity import policy_hash
from sfumato.policy.lint import SAYS_LITTLE
from sfumato.policy.seed import FOR_TESTS
from sfumato.policy.told_ways import accepted_words
from sfumato.sinks._in_place import NOTE as IN_PLACE
from sfumato.sinks._in_place import InPlaceSink


def make_record(
    plan: Plan,
    counted: Counted,
    recoding: Recoding,
    verified: Verified,
    suppressed: int,
    timings: dict[str, float],
    effects: Mapping[str, Effect],
) -> RunRecord:
    """Put together what was promised, measured and lost; ``effects`` are those of masks at the writing."""
    effects = {**counted.effects, **effects}
    k = plan.threshold
    out = counted.rows - suppressed
    hidden = any(0 < number < k for number in (suppressed, counted.refused_rows, *counted.outside.values()))
    names = plan.quasi_identifiers
    return RunRecord(
        version=version("sfumato"),
        status="published",
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        policy=policy_hash(plan.resolved.policy),
        rows=Rows(in_=f"< {out + k}" if 0 < suppressed < k else counted.rows, out=out, suppressed=people(suppressed, k)),
        promises=[_coarse(result) if hidden and result.promise == "t_closeness" else result for result in verified.promises],
        measures=_measures(plan, counted, recoding, verified, suppressed, hidden, k),
        algorithm=plan.resolved.policy.algorithm.name,
        suppression_limit=plan.resolved.policy.suppression_limit,
        recoding=Recoded(
            kind=recoding.kind,
            boxes=recoding.number if recoding.kind == "boxes" and names else None,
            levels=dict(zip(names, recoding.levels, strict=True)) if recoding.levels is not None else None,
        ),
        columns=_columns(plan, counted, k, effects),
        timings=dict(timings),
        files=[str(place) for place in plan.sink.places()],
        release_columns=plan.released,
        fingerprints=verified.fingerprints,
        notes=[*_notes(plan, counted, recoding), *mask_notes(plan, effects)],
    )


def _coarse(result: PromiseResult) -> PromiseResult:
    """Return a distance rounded upwards: its many digits would tell which values a few suppressed rows had."""
    return result.model_copy(update={"measured": min(result.asked, math.ceil(result.measured * 100) / 100)})


def _measures(
    plan: Plan, counted: Counted, recoding: Recoding, verified: Verified, suppressed: int, hidden: bool, k: int
) -> dict[str, dict[str, Any]]:
    if 0 < suppressed < k:
        suppressed = 0
    before = _before(counted, recoding, hidden)
    weights = [plan.resolved.policy.columns[name].weight for name in plan.quasi_identifiers]
    sizes_before = class_sizes(before.rows, k, numbers=before.numbers)
    for name in ("smallest_class", "median_class", "largest_class"):
        sizes_before[name] = people(sizes_before[name], k)
    nothing_lost = [(name, np.full(1, 1 / max(1, leaves)), np.zeros(1), np.ones(1, np.int64), leaves) for name, _, _, _, leaves in verified.columns]
    after = verified.classes.sizes
    risks = {"before": (before.people, before.numbers), "after": (after, np.ones(len(after), np.int64))}
    told = {
        when: {
            "risk": _told(
                reidentification(sizes, numbers) | {"separation": separation(sizes, numbers), "distinction": distinction(sizes, numbers)},
                int((sizes * numbers).sum()),
                k,
            )
        }
        for when, (sizes, numbers) in risks.items()
    }
    return {
        "before": sizes_before | information_loss(nothing_lost, weights) | told["before"],
        "after": class_sizes(verified.classes.rows, k, suppressed) | information_loss(verified.columns, weights, suppressed) | told["after"],
    }


@dataclass(frozen=True, eq=False)
class _Before:
    """The combinations of the table as it was: how many rows and people those of each kind have, and how many are of that kind."""

    rows: NDArray[np.int64]
    people: NDArray[np.int64]
    numbers: NDArray[np.int64]


def _before(counted: Counted, recoding: Recoding, hidden: bool) -> _Before:
    """Return the sizes before; a few rows that were left out must not be countable from what is said of the table then, where ``hidden``."""
    frequencies = counted.frequencies
    if isinstance(frequencies, FrequenciesElsewhere):
        left_out = frequencies.combination_rows[recoding.suppressed] if hidden else np.empty(0, np.int64)
        sizes, places = np.unique(np.append(frequencies.sizes, left_out), return_inverse=True)
        numbers = np.bincount(places, np.append(frequencies.numbers, np.full(len(left_out), -1)), minlength=len(sizes)).astype(np.int64)
        there = numbers > 0
        return _Before(sizes[there], sizes[there], numbers[there])
    combination = _alike(frequencies, counted)
    rows = np.where(recoding.suppressed, 0, frequencies.combination_rows) if hidden else frequencies.combination_rows
    rows = np.bincount(combination, rows).astype(np.int64)
    people = frequencies.classes(np.where(recoding.suppressed, np.int32(-1), combination) if hidden else combination).sizes
    rows, people = rows[rows > 0], people[people > 0]
    return _Before(rows, people, np.ones(len(rows), np.int64))


def _alike(frequencies: Frequencies, counted: Counted) -> NDArray[np.int32]:
    """Return which combinations are the same: in a derived view those of another view's classes were counted apart."""
    names = list(counted.hierarchies)
    if not names or counted.every_combination.shape[1] == len(names):
        return np.arange(len(frequencies.combinations), dtype=np.int32)
    sizes = [encoding.size for encoding in counted.count_plan.quasi_identifiers[: len(names)]]
    return group_columns(list(frequencies.combinations.T), sizes)[0]


def _told(risk: dict[str, Any], everybody: int, k: int) -> dict[str, Any]:
    """Return the risks as they may be told: nothing that stands for 1 to k - 1 people."""
    least = f"< {_cut(k, max(1, everybody), ROUND_CEILING)}"

    def share(part: float) -> float | str:
        return least if 0 < round(part * everybody) < k else part

    return {
        "highest_risk": f"> {_cut(1, k, ROUND_FLOOR)}" if risk["highest_risk"] > 1 / k else risk["highest_risk"],
        "average_risk": risk["average_risk"],
        "unique": share(risk["unique"]),
        "at_risk": {threshold: share(part) for threshold, part in risk["at_risk"].items()},
        "separation": risk["separation"],
        "distinction": risk["distinction"],
    }


def _cut(part: int, whole: int, towards: str) -> str:
    """Return a fraction with three digits, rounded so that what is said to be above or below it is so."""
    return f"{float(Context(prec=3, rounding=towards).divide(Decimal(part), Decimal(whole))):g}"


def _columns(plan: Plan, counted: Counted, k: int, effects: Mapping[str, Effect]) -> dict[str, Any]:
    told = {}
    for name, column in plan.resolved.policy.columns.items():
        entry: dict[str, Any] = {"role": column.role}
        if name in counted.hierarchies:
            entry["outside_hierarchy"] = people(counted.outside[name], k)
            entry["levels"] = counted.hierarchies[name].height + 1
            entry["type"] = counted.hierarchies[name].kind
            entry["ordered"] = counted.hierarchies[name].ordered
        if name in plan.resolved.masks:
            entry["mask"] = plan.resolved.masks[name].in_words(values=False)
            entry["reveals"] = plan.resolved.masks[name].card.reveals
        if name in effects and effects[name].may_remove:
            entry["removed"] = people(effects[name].removed, k)
        told[name] = entry
    return told


def _read_otherwise(plan: Plan, counted: Counted) -> Iterator[str]:
    """Yield what was read in another way than its values suggest."""
    for name, kind in counted.nearly.items():
        yield f"column {name} was read as text, because some of its values are not of type {kind}; list them under missing if they are none"
    for name, form in counted.other_forms.items():
        yield f"column {name} was read as text, and most of its values look like {form}; if they are dates or numbers: formats: {{{name}: '{form}'}}"
    if counted.strangers and plan.resolved.subject is not None:
        yield (
            f"some rows have a subject that is not of type {plan.resolved.subject.kind}: they count as one person, "
            "whom nobody knows and who may be one of the others; mend them, or declare type: text"
        )
    for name in plan.source.misfits if isinstance(plan.source, Translated) else ():
        yield f"some values of column {name} do not fit its format and stayed as they were"


def _is_root(counted: Counted, recoding: Recoding, place: int, name: str) -> bool:
    """Return whether boxes show nothing but the root of a tree that has more to show."""
    hierarchy = counted.hierarchies[name]
    if recoding.levels is not None or hierarchy.ordered or hierarchy.height < 2 or not recoding.number:
        return False
    lows, highs = recoding.lows[:, place].astype(np.int64), recoding.highs[:, place].astype(np.int64)
    return bool(pc.all(pc.equal(hierarchy.labels(lows, highs), hierarchy.root)).as_py())


def _nothing_left(plan: Plan, counted: Counted, name: str) -> str:
    few = math.ceil(plan.threshold / max(1, counted.rows) * 10_000) / 10_000
    return (
        f"column {name} says nothing any more; if a few rows lie far from all others, suppression_limit: {few:g} lets them be left out, "
        f"and level: {{maximum: {counted.hierarchies[name].height - 1}}} keeps it from the root"
    )


def _notes(plan: Plan, counted: Counted, recoding: Recoding) -> list[str]:
    notes = [FOR_TESTS] if plan.resolved.policy.seed is not None else []
    notes += [] if counted.rows else ["the source has no rows: an empty table was published"]
    notes += plan.told
    notes += accepted_words(plan.as_read)
    if not plan.resolved.promises:
        notes.append("nothing was promised: columns are removed, masked or kept, and nobody is protected beyond that")
    if isinstance(plan.sink, InPlaceSink):
        notes.append(IN_PLACE)
    if plan.unnamed:
        notes.append(f"columns that the policy does not name were removed: {first_few(plan.unnamed)}")
    names = plan.quasi_identifiers
    tight = tight_columns(plan, counted, recoding)
    if tight:
        notes.append(f"bounds are tight: an interval shows the true smallest and largest value of its class ({', '.join(tight)})")
    telling = telling_columns(plan, counted, recoding)
    if telling:
        others = ", those of suppressed rows included" if counted.refused_rows or recoding.suppressed.any() else ""
        notes.append(f"intervals are named after values of the table as read{others} ({', '.join(telling)})")
    notes += _read_otherwise(plan, counted)
    notes += [_nothing_left(plan, counted, name) for place, name in enumerate(names) if _is_root(counted, recoding, place, name)]
    if counted.singling_out:
        named = ", ".join(counted.singling_out)
        notes.append(
            f"most values of these columns occur once, and they are published as they are, so that each alone may single people out: {named}"
        )
    for promise in plan.resolved.promises:
        if getattr(promise, "kind", None) == "distinct":
            notes += [f"column {name}: {SAYS_LITTLE}" for name in promise.reads if name in counted.singling_out]
    notes += [
        f"column {name}: {number} of its values differ from others only in case, accents or spaces: promises tell them apart, readers may not"
        for name, number in counted.alike.items()
    ]
    if counted.people_alike:
        whose = plan.resolved.policy.subject
        notes.append(
            f"subject {whose}: {counted.people_alike} of its values differ from others only in case, accents or spaces, and count as several people: "
            f"where they are one, bring them together first, in a database by a view (SELECT lower(trim({whose})) AS {whose})"
        )
    masked = [name for name in names if name in plan.resolved.masks]
    if masked:
        notes.append(f"what is lost is measured from what the masks made of {', '.join(masked)}: what these took away is not in it")
    for name in plan.masked:
        notes += [f"column {name}: {words}" for words in plan.resolved.masks[name].warnings]
    chance = [name for name in plan.masked if not plan.resolved.masks[name].card.deterministic]
    if chance:
        notes.append(f"what chance makes of a value is not compared with its original: {', '.join(chance)}")
    return notes

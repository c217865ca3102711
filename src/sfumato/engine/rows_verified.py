"""The promises, measured on what rows become when they are put into classes that were searched on another table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.reading import Reading
from sfumato.core.text_classes import TextClasses
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_sensitive
from sfumato.engine.singling_out import singling_out


def holding_rows(
    plan: Plan, ladders: Mapping[str, Hierarchy], reading: Reading, found: TextClasses, given: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], str]:
    """Return the rows whose class keeps every promise, and in words the promises that some class does not keep.

    ``found`` are the classes of the rows that are ``given`` out, by their text. What is known of the whole table, where a promise compares
    with it, is that of the rows read here.
    """
    singling_out(plan, _Occurrences(plan))
    classes = _classes(plan, ladders, reading, found, np.flatnonzero(given))
    holds = np.ones(found.number, bool)
    broken = []
    for promise in plan.resolved.promises:
        kept = promise.holds(classes)
        if not kept.all():
            broken.append(f"{promise.component_name()} (asked {promise.asked:g}, measured {promise.measure(classes):g})")
        holds &= kept
    rows = given.copy()
    rows[given] = holds[found.class_of]
    return rows, ", ".join(broken)


def _classes(plan: Plan, ladders: Mapping[str, Hierarchy], reading: Reading, found: TextClasses, rows: NDArray[np.int64]) -> Classes:
    people = np.unique(reading.prints["subject"], return_inverse=True)[1].astype(np.int64) if "subject" in reading.prints else None
    sensitive, references = {}, {}
    for name in plan.watched:
        column = reading.columns[name]
        encoding = encode_sensitive(plan, name, column.values, ladders)
        codes = np.append(encoding.codes, encoding.null_code).astype(np.int32)[column.codes]
        sensitive[name] = codes[rows]
        references[name] = _reference(codes, encoding.size, people)
    subjects = None if people is None else people[rows]
    return Classes(found.number, found.class_of, np.ones(len(rows), np.int64), sensitive, subjects, references, ladders)


def _reference(codes: NDArray[np.int32], size: int, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
    if people is not None:
        _, firsts = np.unique(np.stack([codes, people]), axis=1, return_index=True)
        codes = codes[firsts]
    return np.bincount(codes, minlength=size).astype(np.int64)


class _Occurrences:
    """How often values of a column occur among the rows given, as a store would say it."""

    def __init__(self, plan: Plan) -> None:
        self._source = plan.source

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them occur once."""
        rows = pa.Table.from_batches(self._source.batches([column])).column(column).drop_null()
        counts = pc.value_counts(rows).field("counts").to_numpy(zero_copy_only=False)
        return len(counts), int((counts == 1).sum())

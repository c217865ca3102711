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
from sfumato.core.row_groups import people_of
from sfumato.core.text_classes import TextClasses
from sfumato.engine.plan import Plan
from sfumato.engine.singling_out import singling_out
from sfumato.engine.verify import not_kept, observed, result_of


def holding_rows(
    plan: Plan, ladders: Mapping[str, Hierarchy], reading: Reading, found: TextClasses, given: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], str]:
    """Return the rows whose class keeps every promise, and in words the promises that some class does not keep.

    ``found`` are the classes of the rows that are ``given`` out, by their text. What is known of the whole table, where a promise compares
    with it, is that of the rows read here.
    """
    singling_out(plan, _Occurrences(plan))
    about = observed(plan, reading, np.flatnonzero(given), ladders)
    ones = np.ones(len(found.class_of), np.int64)
    classes = Classes(found.number, found.class_of, ones, about.sensitive, about.subject, about.references, about.ladders)
    holds = np.ones(found.number, bool)
    for promise in plan.resolved.promises:
        holds &= promise.holds(classes)
    rows = given.copy()
    rows[given] = holds[found.class_of]
    return rows, not_kept([result_of(promise, classes) for promise in plan.resolved.promises])


class _Occurrences:
    """How often values of a column occur among the rows given, as a store would say it."""

    def __init__(self, plan: Plan) -> None:
        self._source = plan.source
        self._subject = plan.resolved.subject

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one person alone has."""
        names = [column] if self._subject is None else list(dict.fromkeys([column, self._subject.name]))
        (rows,) = pa.Table.from_batches(self._source.batches(names)).combine_chunks().to_batches()
        known = rows.filter(rows.column(column).is_valid())
        persons = pa.table({"value": known.column(column), "person": people_of(known, self._subject)})
        counts = pc.value_counts(persons.group_by(["value", "person"]).aggregate([]).column("value")).field("counts").to_numpy(zero_copy_only=False)
        return len(counts), int((counts == 1).sum())

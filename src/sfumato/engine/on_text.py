"""The promises, measured on the text of a release alone: nobody but its readers is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.interfaces import Dictionary
from sfumato.core.record import PromiseResult
from sfumato.core.text_classes import TextClasses
from sfumato.engine.count import sensitive_ladders
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_sensitive
from sfumato.engine.verify import reference_of, result_of


def looked_at(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the columns of a release that make its classes, and those beside them that promises look at and that are as they were."""
    texts = [shown for name in plan.quasi_identifiers for shown in plan.shown_as(name)]
    return texts, [name for name in plan.watched if name not in plan.resolved.masks]


def results_on_text(plan: Plan, shown: pa.Table, rows: NDArray[np.int64]) -> list[PromiseResult]:
    """Measure promises on rows of a release, each of which stands for so many; those about columns that are masked cannot be measured.

    ``shown`` has the columns that are looked at. People are rows here: whose they are is not published.
    """
    texts, watched = looked_at(plan)
    promises = [promise for promise in plan.resolved.promises if set(promise.reads) <= set(watched)]
    if not promises or not texts or not len(rows):
        return []
    coded = {name: shown.column(name).combine_chunks().dictionary_encode() for name in (*texts, *watched)}
    places = {name: column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) for name, column in coded.items()}
    classes = TextClasses.of_codes([places[name] for name in texts], [len(coded[name].dictionary) for name in texts], len(rows))
    ladders = sensitive_ladders(plan, lambda name: Dictionary(coded[name].dictionary, np.ones(len(coded[name].dictionary), np.int64), 0))
    sensitive, references = {}, {}
    for name in watched:
        encoding = encode_sensitive(plan, name, coded[name].dictionary, ladders)
        sensitive[name] = np.append(encoding.codes, encoding.null_code).astype(np.int32)[places[name]]
        references[name] = reference_of(np.repeat(sensitive[name], rows), encoding.size, None)
    seen = Classes(classes.number, classes.class_of, rows, sensitive, None, references, ladders)
    return [result_of(promise, seen) for promise in promises]

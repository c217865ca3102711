"""Labels of intervals of whole numbers: each number is looked up in a table, not compared. A private part of ``generalise``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Truths = NDArray[np.bool_]
Texts = Callable[[Whole], pa.Array]

_SMALL = 1 << 16


def even_labels(numbers: Whole, valid: Truths, width: int, ends: tuple[int | None, int | None], texts: Texts, half_open: bool = False) -> pa.Array:
    """Return the interval of each number among those of one width, which begin at the lower end, or at 0; null beyond the ends."""
    low, high = ends
    valid = _between(numbers, valid, low, high)
    if not valid.any():
        return pa.nulls(len(numbers), pa.string())
    places = (numbers - low if low else numbers) // width
    first, last = (int(end) for end in _range(places, valid))
    if last - first < max(_SMALL, len(numbers)):
        distinct, places = np.arange(first, last + 1), places - first
    else:
        distinct, places = np.unique(places, return_inverse=True)
    starts = distinct * width + (low or 0)
    stops = starts + width - 1
    stops = stops if high is None else np.minimum(stops, high)
    labels = half_open_labels(starts, stops, high, texts) if half_open else interval_labels(starts, stops, texts)
    return _taken(labels, places, valid)


def cut_labels(numbers: Whole, valid: Truths, starts: Whole, ends: tuple[int | None, int | None], labels: pa.Array) -> pa.Array:
    """Return the label of each number's interval, which begin where ``starts`` says; null beyond the ends."""
    valid = _between(numbers, valid, *ends)
    if not valid.any():
        return pa.nulls(len(numbers), pa.string())
    first, last = _range(numbers, valid)
    if last - first < max(_SMALL, len(numbers)):
        table = np.searchsorted(starts, np.arange(first, last + 1), side="right") - 1
        return _taken(labels, table[np.clip(numbers, first, last) - first], valid)
    return _taken(labels, np.searchsorted(starts, numbers, side="right") - 1, valid)


def interval_labels(starts: Whole, stops: Whole, texts: Texts) -> pa.Array:
    """Return how closed intervals are written; one of a single number is that number."""
    written = pc.binary_join_element_wise("[", texts(starts), ", ", texts(stops), "]", "")
    return pc.if_else(pa.array(starts == stops), texts(starts), written)


def half_open_labels(starts: Whole, stops: Whole, high: int | None, texts: Texts) -> pa.Array:
    """Return how intervals are written that reach to the next one, whatever the decimals between them; the one that ends with all is closed."""
    last = stops == high if high is not None else np.zeros(len(stops), bool)
    reaching = pc.binary_join_element_wise("[", texts(starts), ", ", texts(stops + 1), ")", "")
    return pc.if_else(pa.array(last), interval_labels(starts, stops, texts), reaching)


def _between(numbers: Whole, valid: Truths, low: int | None, high: int | None) -> Truths:
    valid = valid if low is None else valid & (numbers >= low)
    return valid if high is None else valid & (numbers <= high)


def _range(numbers: Whole, valid: Truths) -> tuple[int, int]:
    known = numbers if valid.all() else numbers[valid]
    return int(known.min()), int(known.max())


def _taken(labels: pa.Array, places: Whole, valid: Truths) -> pa.Array:
    if valid.all():
        return labels.take(pa.array(places))
    return labels.take(pa.array(np.where(valid, places, 0), mask=~valid))

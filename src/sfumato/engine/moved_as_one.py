"""Columns that were to move together, as they were written: what stands in a row must stand together in a row of the same group of the source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import MaskPlan, Source
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.mask import Together
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.quiet import Quiet
from sfumato.core.reading import read
from sfumato.engine.broken_release import broken

_Prints = NDArray[np.uint64]


def check_moved_together(masks: MaskPlan, rows: pa.RecordBatch, written: Source) -> None:
    """Refuse a release in which columns that move together were torn apart, or show rows that no row of the source has.

    ``rows`` are those of the source, in the order of the release.
    """
    for names in _sets(masks):
        first = masks.masks[names[0]]
        if not isinstance(first, MaskedColumn) or not isinstance(first.steps[0], Together):
            raise AssertionError("a set of columns without a mask that moves them")
        held = first.when.holds(rows) if first.when is not None else np.ones(rows.num_rows, bool)
        groups, number = first.steps[0].groups(rows.filter(pa.array(held)))
        # who is alone in a group has no value, in any of the columns
        several = np.bincount(groups, minlength=number)[groups] > 1
        before = fingerprints([masks.as_read_back(name, rows.column(name)) for name in names], rows.num_rows)[held][several]
        after = read(written, [], {"moved": names}, Quiet()).prints["moved"][held][several]
        if not _is_dealt(groups[several], before, after, first.card.uniqueness == "lossy"):
            raise broken("tears columns apart that were to move together", code="verify-mask")


def _sets(masks: MaskPlan) -> list[list[str]]:
    """Return the columns that move together, set by set."""
    found: dict[str, list[str]] = {}
    for name, mask in masks.masks.items():
        if isinstance(mask, MaskedColumn) and mask.together is not None:
            found.setdefault(mask.together, []).append(name)
    return list(found.values())


def _is_dealt(groups: NDArray[np.int32], before: _Prints, after: _Prints, repeats: bool) -> bool:
    """Return whether each group shows its own rows, each once unless some may be shown several times and others not at all."""
    had, shows = (np.stack([groups.astype(np.uint64), prints], axis=1) for prints in (before, after))
    if repeats:
        known = {tuple(pair) for pair in np.unique(had, axis=0).tolist()}
        return all(tuple(pair) in known for pair in np.unique(shows, axis=0).tolist())
    return all(np.array_equal(one, other) for one, other in zip(_sorted(had), _sorted(shows), strict=True))


def _sorted(pairs: _Prints) -> tuple[_Prints, _Prints]:
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return pairs[order, 0], pairs[order, 1]

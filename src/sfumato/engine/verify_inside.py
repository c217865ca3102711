"""Verify a release inside its database: what it shows, and what the source's cells became, grouped there and compared here.

A table has no order, so rows are compared as multisets: for every combination of what is shown, as many rows with the same fingerprints of what is
kept must be in the release as the cells have that were put there. The texts are read anew, and the cells' own values must lie in what they cover.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import places
from sfumato.core.canonical import as_text
from sfumato.core.classes import Classes
from sfumato.core.encoding import encode
from sfumato.core.examined import Cells, Examined
from sfumato.core.interfaces import MaskPlan
from sfumato.core.kernels.fingerprint import fingerprints
from sfumato.core.publication import Publication
from sfumato.core.text_classes import TextClasses
from sfumato.engine.broken_release import broken
from sfumato.engine.count import Counted
from sfumato.engine.covered import Extents, Shown, covered, levels_of
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_sensitive
from sfumato.engine.verify import Verified, not_kept, reference_of, result_of


def verify_inside(
    plan: Plan, counted: Counted, masks: MaskPlan, labels: Sequence[pa.Array], examined: Examined, suppressed: int, levels: Sequence[int] | None
) -> Verified:
    """Re-measure everything on what was found; raise a PromiseError at the first thing that is not as it must be.

    ``labels`` are the texts that were decided for each class, one array a published column.
    """
    if int(examined.rows.sum()) + suppressed != counted.rows:
        raise broken("has lost or gained rows", code="verify-rows")
    number = sum(len(publication.columns) for publication in masks.publications)
    shown = [column.combine_chunks() for column in examined.shown.columns]
    watched = dict(zip(examined.shown.column_names[number:], shown[number:], strict=True))
    written = _Written(shown[:number])
    decided = written.classes_of(labels)
    of_cell = np.append(decided, -1)[examined.class_of]
    if (of_cell[examined.class_of >= 0] < 0).any():
        raise broken("does not show what was decided", code="verify-width")
    _same_rows(examined, written.class_of, watched, of_cell)
    published = np.flatnonzero(of_cell >= 0)
    sizes = np.bincount(written.class_of, examined.rows, minlength=written.number).astype(np.int64)
    columns: list[Extents] = []
    first = 0
    for publication, level in zip(masks.publications, levels_of(masks, levels), strict=True):
        texts = written.texts[first : first + len(publication.columns)]
        first += len(publication.columns)
        seen = _shown(plan, publication, examined.cells, texts, of_cell[published], published)
        columns.append(covered(publication, seen, sizes, level, suppressed > 0))
    classes = _classes(plan, counted, examined, written, watched)
    results = [result_of(promise, classes) for promise in plan.resolved.promises]
    if not all(result.holds for result in results):
        raise broken(f"does not keep {not_kept(results)}", code="verify-promise")
    return Verified(results, classes, columns, _fingerprints(examined))


class _Written:
    """The classes of what was written, by its text."""

    def __init__(self, columns: Sequence[pa.Array]) -> None:
        self.texts, self.class_of = _distinct(columns)
        self.number = len(self.texts[0])

    def classes_of(self, labels: Sequence[pa.Array]) -> NDArray[np.int64]:
        """Return for each row of texts the class that shows the same, -1 where none does."""
        joined, class_of = _distinct([pa.concat_arrays([as_text(one), as_text(other)]) for one, other in zip(self.texts, labels, strict=True)])
        known = np.full(len(joined[0]), -1, np.int64)
        known[class_of[: self.number]] = np.arange(self.number)
        return known[class_of[self.number :]]


def _places(column: pa.DictionaryArray) -> NDArray[np.int64]:
    indices: NDArray[np.int64] = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return indices


def _same_rows(examined: Examined, class_of: NDArray[np.int64], watched: dict[str, pa.Array], of_cell: NDArray[np.int64]) -> None:
    """Hold the rows of each class and watched values against those of the cells that were put there."""
    published = np.flatnonzero(of_cell >= 0)
    columns = [np.concatenate([class_of, of_cell[published]])]
    sizes = [int(columns[0].max(initial=0)) + 1]
    for name, column in watched.items():
        values, codes = examined.cells.columns[name]
        joined = pa.concat_arrays([as_text(column), as_text(values)]).dictionary_encode()
        told = _places(joined)
        columns.append(np.concatenate([told[: len(column)], np.append(told[len(column) :], -1)[codes[published]]]))
        sizes.append(len(joined.dictionary))
    found = TextClasses.of_codes(columns, sizes, len(columns[0]))
    here, there = found.class_of[: len(class_of)], found.class_of[len(class_of) :]
    rows = np.bincount(here, examined.rows, minlength=found.number), np.bincount(there, examined.cells.rows[published], minlength=found.number)
    if not np.array_equal(*rows):
        raise broken("holds a row where it does not belong, or not at all", code="verify-rows")
    prints = np.zeros((2, found.number), np.uint64)
    # sums of 64 bits that go round, on both sides alike
    np.add.at(prints[0], here, examined.prints)
    np.add.at(prints[1], there, examined.cells.prints[published])
    if not np.array_equal(prints[0], prints[1]):
        raise broken("holds a kept value that differs from its original", code="verify-kept")


def _shown(
    plan: Plan, publication: Publication, cells: Cells, texts: Sequence[pa.Array], class_of: NDArray[np.int64], published: NDArray[np.int64]
) -> Shown:
    """Return what the classes show in a column, and the values of their cells."""
    values, codes = cells.columns[publication.column]
    policy = plan.resolved.policy.columns[publication.column]
    encoding = encode(publication.hierarchy, plan.as_counted(publication.column, values), policy.missing)
    leaves = np.append(encoding.codes, encoding.null_code).astype(np.int32)[codes[published]]
    number = len(texts[0])
    smallest, largest = np.full(number, np.iinfo(np.int32).max, np.int64), np.full(number, -1, np.int64)
    np.minimum.at(smallest, class_of, leaves)
    np.maximum.at(largest, class_of, leaves)
    return Shown(*_distinct(texts), smallest, largest, leaves)


def _distinct(texts: Sequence[pa.Array]) -> tuple[list[pa.Array], NDArray[np.int64]]:
    """Return the distinct rows of one or two columns of text, and which of them each row is."""
    coded = [as_text(column).dictionary_encode() for column in texts]
    found = TextClasses.of_codes([_places(column) for column in coded], [len(column.dictionary) for column in coded], len(texts[0]))
    firsts = pa.array(found.order[found.starts])
    return [column.take(firsts) for column in texts], found.class_of.astype(np.int64)


def _classes(plan: Plan, counted: Counted, examined: Examined, written: _Written, watched: dict[str, pa.Array]) -> Classes:
    """Return the classes of the text, with the sensitive values beside it, and how often each value occurs in the whole source."""
    ladders = counted.frequencies.ladders
    sensitive, references = {}, {}
    for name in plan.watched:
        values, codes = examined.cells.columns[name]
        # one list of values for both: a code means the same in the release and in the source
        joined = pa.concat_arrays([values, watched[name]]).dictionary_encode()
        encoding = encode_sensitive(plan, name, joined.dictionary, ladders)
        every = np.append(encoding.codes, encoding.null_code).astype(np.int32)
        told = _places(joined)
        sensitive[name] = every[told[len(values) :]]
        of_cells = every[np.append(told[: len(values)], -1)[codes]]
        references[name] = reference_of(np.repeat(of_cells, examined.cells.rows), encoding.size, None)
    return Classes(written.number, written.class_of.astype(np.int32), examined.rows, sensitive, None, references, ladders)


def _fingerprints(examined: Examined) -> dict[str, str]:
    """Return HMACs of source and release under the installation's key, the same in any order of the rows."""
    source = [as_text(values).take(pa.array(codes, mask=codes < 0)) for values, codes in examined.cells.columns.values()]
    release = [as_text(column.combine_chunks()) for column in examined.shown.columns]
    return {
        "source": _fingerprint(source, examined.cells.rows, examined.cells.prints),
        "release": _fingerprint(release, examined.rows, examined.prints),
    }


def _fingerprint(columns: list[pa.Array], rows: NDArray[np.int64], prints: NDArray[np.uint64]) -> str:
    entries = np.stack([fingerprints(columns, len(rows)), rows.astype(np.uint64), prints], axis=1)
    ordered = np.ascontiguousarray(entries[np.lexsort(entries.T)])
    return hmac.new(places.installation_key(), ordered.tobytes(), hashlib.sha256).hexdigest()

"""Publication: how the generalised values of one column are written, and what a written value covers when it is read back.

Writing starts from intervals of leaf codes; reading starts from the text alone, so that verification sees what a reader will see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy, interval_ends, interval_text
from sfumato.core.ranges import UNBOUNDED, RangeType, every_network, network_text, range_ends, range_texts
from sfumato.core.recoding import Recoding

Style = Literal["interval", "bounds", "typed_bounds", "range", "set", "label"]
IN_TWO_COLUMNS: tuple[Style, ...] = ("bounds", "typed_bounds")
"""The styles that write a column as two."""

ALONG_A_LINE: tuple[Style, ...] = ("interval", "bounds", "typed_bounds", "range")
"""The styles that write values between two others; a range may also be a network of addresses."""

RANGE_TYPE = b"sfumato_range"
"""What says in the metadata of a field as which type of range a database has it."""

GENERALISED = b"sfumato_generalised"
"""What marks the field of a generalised column."""

UNREADABLE = -1
_DOUBTFUL = re.compile(r'[,{}"]|^\s|\s$')


@dataclass(frozen=True, eq=False)
class Publication:
    """One quasi-identifier as it is published: as one column, or with the styles of bounds as two; ``origin`` is its type in the source."""

    column: str
    hierarchy: Hierarchy
    style: Style | None = None
    least: int = 0
    origin: pa.DataType | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the published columns."""
        return published_names(self.column, self.style)

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The published columns as they are written: text, or with typed bounds in the column's own type."""
        kind = self._type if self.style == "typed_bounds" else pa.string()
        about = {GENERALISED: b""} | ({RANGE_TYPE: self.range_type.encode()} if self.style == "range" else {})
        return tuple(pa.field(name, pa.dictionary(pa.int32(), kind), metadata=about) for name in self.columns)

    @cached_property
    def range_type(self) -> RangeType:
        """The type of PostgreSQL that holds the ranges of the column."""
        kind = self.hierarchy.kind
        if kind == "integer":
            # of a range of whole numbers the server keeps the number behind its last one
            widest = self._whole_numbers(np.iinfo(np.int32).max - 1), self._whole_numbers(np.iinfo(np.int64).max - 1)
            return "int4range" if self._is_narrow and widest[0] else "int8range" if widest[1] else "numrange"
        if kind == "timestamp":
            return "tsrange" if self._is_without_zone else "tstzrange"
        return "daterange" if kind == "date" else "cidr" if kind == "ip" else "numrange"

    def typed(self, texts: pa.Array) -> pa.Array:
        """Return what ``texts`` gives in the type in which it is written."""
        if self.style != "typed_bounds":
            return texts
        values = self._parsed(texts).cast(self._type)
        return canonical.as_held(values) if self._is_short_fraction else values

    def as_text(self, values: pa.Array) -> pa.Array:
        """Return what was read back of a published column as ``texts`` writes it."""
        if self.style == "typed_bounds":
            typed = self._parsed(values) if pa.types.is_string(values.type) or pa.types.is_timestamp(values.type) else values
            typed = canonical.as_meant(typed) if self._is_short_fraction and pa.types.is_floating(typed.type) else typed
            return canonical.render(typed.cast(self._ends.type))
        texts = canonical.as_text(values)
        if self.style == "range" and self.range_type == "cidr":
            # addresses within addresses may be written in two ways
            return pa.array([None if text is None else network_text(text) for text in texts.to_pylist()], pa.string())
        return texts

    def render(self, recoding: Recoding, place: int) -> tuple[pa.DictionaryArray, ...]:
        """Return what each class publishes, one array a published column; ``place`` is the column's place in the recoding."""
        span = self.hierarchy.size + 2
        keys = recoding.lows[:, place].astype(np.int64) * span + recoding.highs[:, place]
        distinct, index = np.unique(keys, return_inverse=True)
        lows, highs = np.divmod(distinct, span)
        level = recoding.levels[place] if recoding.levels is not None else None
        parts = self.texts(lows, highs, level)
        return tuple(pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), part) for part in parts)

    def ranks(self, recoding: Recoding, place: int) -> NDArray[np.int64]:
        """Return for each class where its published value stands among all of them: by what the text alone covers, then by the text."""
        arrays = self.render(recoding, place)
        distinct = [array.dictionary for array in arrays]
        lows, highs = self.read(*distinct)
        texts = [np.array(["" if text is None else text for text in part.to_pylist()], object) for part in distinct]
        _, codes = np.unique(np.array(["\0".join(parts) for parts in zip(*texts, strict=True)], object), return_inverse=True)
        _, ranks = np.unique(np.stack([lows, highs, codes.reshape(-1)], axis=1), axis=0, return_inverse=True)
        ranked: NDArray[np.int64] = ranks.reshape(-1)[arrays[0].indices.to_numpy()]
        return ranked

    def texts(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int | None = None) -> tuple[pa.Array, ...]:
        """Return how intervals of codes are written, one array a published column; of nodes of a level, as that level calls them."""
        if level:
            labels = self._level_labels(lows, highs, level)
        else:
            labels = self._least_labels(lows, highs) if self.least else self.hierarchy.labels(lows, highs)
        return self._styled(lows, highs, level, labels)

    def read(self, *texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the interval of leaf codes that each written value covers, -1 where the text means nothing."""
        if self.hierarchy.ordered:
            return self._with_special(texts[0], *self._between(*self.ends(*texts)))
        return self._read_one(texts[0])

    def ends(self, *texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the two ends of what ordered columns publish, in their canonical form; a single value is both."""
        if self.style in IN_TWO_COLUMNS:
            return texts[0], texts[1]
        return range_ends(self.range_type, texts[0]) if self.style == "range" else interval_columns(texts[0])

    def intervals(self, *texts: pa.Array) -> pa.Array:
        """Return what is written as values and closed intervals, whatever the style; labels and sets as they are."""
        if self.style not in (*IN_TWO_COLUMNS, "range"):
            return texts[0]
        if not self.hierarchy.ordered:
            return pc.replace_substring_regex(texts[0], r"^([^:]*)/32$|^(.*)/128$", r"\1\2")
        first, last = self.ends(*texts)
        return pc.if_else(pc.equal(first, last), first, pc.binary_join_element_wise("[", first, ", ", last, "]", ""))

    @property
    def whole(self) -> str | None:
        """What stands for any value and for none; None where that is a missing value."""
        if self.style == "typed_bounds":
            return None
        if self.style != "range":
            return ROOT
        return UNBOUNDED if self.hierarchy.ordered else every_network(self.hierarchy.leaves)

    def extents(self, *texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return for each written value the share of all leaves it stands for, and how much of the column's range it spans.

        The first is that of the loss measure (one leaf of n is 1/n), the second the normalised certainty penalty (one leaf is 0).
        """
        lows, highs = self.read(*texts)
        hierarchy = self.hierarchy
        special = highs >= hierarchy.size
        whole = special & (lows != highs) | (lows == hierarchy.outside)
        number = max(1, hierarchy.size)
        share = np.where(whole, 1.0, np.where(special, 1 / number, (highs - lows + 1) / number))
        if hierarchy.ordered:
            return share, np.where(whole, 1.0, np.where(special, 0.0, self._spans(lows, highs, texts)))
        return share, np.where(whole, 1.0, np.where(highs == lows, 0.0, share))

    def _spans(self, lows: NDArray[np.int64], highs: NDArray[np.int64], texts: Sequence[pa.Array]) -> NDArray[np.float64]:
        positions = self.hierarchy.positions
        if len(positions) < 2:
            return np.zeros(len(lows))
        with np.errstate(over="ignore", invalid="ignore"):
            width = positions[-1] - positions[0]
        if not 0 < width < np.inf:
            # numbers too large or too close for their distance to be told: leaves are counted instead
            return np.asarray((highs - lows) / (len(positions) - 1), np.float64)
        low, high = (canonical.positions(self._parsed(end)) for end in self.ends(*texts))
        inner = positions[np.clip(highs, 0, len(positions) - 1)] - positions[np.clip(lows, 0, len(positions) - 1)]
        written = np.where(np.isnan(high - low), inner, high - low)
        shares: NDArray[np.float64] = np.minimum(1.0, written / width)
        return shares

    def _level_labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int) -> pa.Array:
        """Return the labels of nodes of one level of a full-domain recoding."""
        names = self.hierarchy.levels[level - 1].labels
        nodes = np.searchsorted(self.hierarchy.levels[level - 1].starts, lows, side="right") - 1
        return pa.array(
            [
                names[node] if high < self.hierarchy.size else self.hierarchy.label(low, high)
                for node, low, high in zip(nodes.tolist(), lows.tolist(), highs.tolist(), strict=True)
            ],
            pa.string(),
        )

    def _least_labels(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> pa.Array:
        """Return the labels of boxes in a column with a least level: never one of a lower level."""
        hierarchy, texts = self.hierarchy, []
        starts = hierarchy.levels[self.least - 1].starts
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            first, last = (int(np.searchsorted(starts, end, side="right") - 1) for end in (low, high))
            if high >= hierarchy.size:
                texts.append(hierarchy.label(low, high))
            elif first == last:
                texts.append(hierarchy.node_label(self.least, first))
            elif hierarchy.ordered:
                ends = [interval_ends(label) or (label, label) for label in (hierarchy.node_label(self.least, node) for node in (first, last))]
                texts.append(interval_text(ends[0][0], ends[1][1]))
            else:
                texts.append(hierarchy.node_label(*hierarchy.lowest_level(low, high)))
        return pa.array(texts, pa.string())

    def _styled(self, lows: NDArray[np.int64], highs: NDArray[np.int64], level: int | None, labels: pa.Array) -> tuple[pa.Array, ...]:
        if self.style == "range":
            return (self._ranges(labels),)
        if self.style in IN_TWO_COLUMNS:
            whole = pc.equal(labels, ROOT) if self.style == "typed_bounds" else False
            first, last = interval_columns(pc.if_else(whole, pa.scalar(None, pa.string()), labels))
            return (first, last) if self.style == "bounds" else (self.as_text(first), self.as_text(last))
        if self.style != "set" or self.hierarchy.ordered:
            return (labels,)
        sets = [
            label if label is None or high >= self.hierarchy.size else self._set_text(*self._node(low, high, level))
            for label, low, high in zip(labels.to_pylist(), lows.tolist(), highs.tolist(), strict=True)
        ]
        return (pa.array(sets, pa.string()),)

    def _ranges(self, labels: pa.Array) -> pa.Array:
        """Return labels as PostgreSQL writes their ranges or networks."""
        if not self.hierarchy.ordered:
            return pa.array([self._network(text) for text in labels.to_pylist()], pa.string())
        whole = pc.equal(labels, ROOT)
        known = pc.if_else(whole, pa.scalar(None, pa.string()), labels)
        return pc.if_else(whole, UNBOUNDED, range_texts(self.range_type, *interval_columns(known)))

    def _network(self, label: str | None) -> str | None:
        return self.whole if label == ROOT else None if label is None else network_text(label)

    def _node(self, low: int, high: int, level: int | None) -> tuple[int, int]:
        number, node = (level, -1) if level else self.hierarchy.lowest_level(low, high)
        if number < self.least:
            number, node = self.least, -1
        firsts, lasts = self.hierarchy.nodes(number)
        if node < 0:
            node = int(np.searchsorted(firsts, low, side="right") - 1)
        return int(firsts[node]), int(lasts[node])

    def _set_text(self, low: int, high: int) -> str:
        if low == high:
            return str(self.hierarchy.leaves[low].as_py())
        return "{" + ", ".join(map(_in_set, self.hierarchy.leaves[low : high + 1].to_pylist())) + "}"

    def _read_one(self, texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        pairs = [self._labels.get(text, (UNREADABLE, UNREADABLE)) for text in texts.to_pylist()]
        lows, highs = np.array(pairs, np.int64).reshape(-1, 2).T
        return self._with_special(texts, lows, highs)

    def _with_special(self, texts: pa.Array, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Put in what null and the root cover."""
        null = texts.is_null().to_numpy(zero_copy_only=False)
        if self.whole is None:
            return np.where(null, 0, lows), np.where(null, self.hierarchy.outside, highs)
        root = pc.fill_null(pc.equal(texts, self.whole), False).to_numpy(zero_copy_only=False)
        lows = np.where(null, self.hierarchy.missing, np.where(root, 0, lows))
        highs = np.where(null, self.hierarchy.missing, np.where(root, self.hierarchy.outside, highs))
        return lows, highs

    def _between(self, first: pa.Array, last: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the leaves from one end to the other."""
        ends = (self._parsed(end) for end in (first, last))
        positions, low, high = canonical.compared(self.hierarchy.values, *ends)
        lows = np.searchsorted(positions, low, side="left")
        highs = np.searchsorted(positions, high, side="right") - 1
        broken = np.isnan(low) | np.isnan(high) | (highs < lows)
        return np.where(broken, UNREADABLE, lows), np.where(broken, UNREADABLE, highs)

    @cached_property
    def _labels(self) -> dict[str | None, tuple[int, int]]:
        """What each label of the tree covers; where a node is called like one of its own descendants, the wider."""
        known: dict[str | None, tuple[int, int]] = {}
        for number in range(self.hierarchy.height + 1):
            firsts, lasts = self.hierarchy.nodes(number)
            for node, (low, high) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
                label = self.hierarchy.node_label(number, node)
                if self.style == "set":
                    known[self._set_text(low, high)] = (low, high)
                known[self._network(label) if self.style == "range" else label] = (low, high)
        return known

    def _parsed(self, texts: pa.Array) -> pa.Array:
        """Return ends of intervals as values; a binary fraction may have more digits before the point than others have."""
        if self.style in ("typed_bounds", "range") and pa.types.is_floating(self.hierarchy.values.type):
            return pc.cast(texts, pa.float64())
        return canonical.parse(texts, self.hierarchy.kind)

    @cached_property
    def _ends(self) -> pa.Array:
        """Every end that an interval of the column can have: the leaves, and the ends of nodes of levels."""
        labels = [label for level in self.hierarchy.levels for label in level.labels if label != ROOT]
        first, last = interval_columns(pa.array(labels, pa.string()))
        return self._parsed(pa.concat_arrays([self.hierarchy.leaves, first, last]))

    @cached_property
    def _type(self) -> pa.DataType:
        """The type of typed bounds: as narrow as that of the source where all ends fit into it."""
        kind = self._ends.type
        if pa.types.is_integer(kind):
            return pa.int32() if self._is_narrow and self._whole_numbers(np.iinfo(np.int32).max) else pa.int64()
        return pa.timestamp("us") if pa.types.is_timestamp(kind) and self._is_without_zone else kind

    def _whole_numbers(self, largest: int) -> bool:
        """Return whether all ends are at most some number, and not less than it is below nothing."""
        ends = pc.min_max(self._ends).as_py()
        return ends["min"] is None or (ends["min"] >= -largest and ends["max"] <= largest)

    @property
    def _is_narrow(self) -> bool:
        return self.origin is not None and self.origin in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32())

    @property
    def _is_short_fraction(self) -> bool:
        """Whether values are held in four bytes, and compared as such numbers with ends in eight."""
        return self.origin is not None and pa.types.is_float32(self.origin) and bool(pa.types.is_float64(self._ends.type))

    @property
    def _is_without_zone(self) -> bool:
        return self.origin is not None and pa.types.is_timestamp(self.origin) and self.origin.tz is None


def published_names(column: str, style: Style | None) -> tuple[str, ...]:
    """Return the names of the columns as which a quasi-identifier is published.

    >>> published_names("age", "bounds"), published_names("age", None)
    (('age_from', 'age_to'), ('age',))
    """
    return (f"{column}_from", f"{column}_to") if style in IN_TWO_COLUMNS else (column,)


def labels_of(recoding: Recoding, publications: Sequence[Publication]) -> dict[str, pa.Array]:
    """Return what each class shows in each published column."""
    return {
        name: array.dictionary_decode()
        for place, publication in enumerate(publications)
        for name, array in zip(publication.columns, publication.render(recoding, place), strict=True)
    }


def written_labels(recoding: Recoding, publications: Sequence[Publication]) -> dict[str, pa.Array]:
    """Return what each class shows in each published column, in the type in which it is written."""
    labels = labels_of(recoding, publications)
    return {name: publication.typed(labels[name]) for publication in publications for name in publication.columns}


def in_published_order(recoding: Recoding, publications: Sequence[Publication]) -> Recoding:
    """Return the recoding with its classes numbered by what they publish, and those that publish the same as one.

    A class's own leaves could tell more than its labels do: which of the values below a node it holds, or that a value was unknown.
    """
    if not publications:
        return recoding
    ranks = [publication.ranks(recoding, place) for place, publication in enumerate(publications)]
    order = np.lexsort(tuple(reversed(ranks)))
    changed = np.zeros(recoding.number, bool)
    changed[:1] = True
    for rank in ranks:
        changed[1:] |= rank[order][1:] != rank[order][:-1]
    numbers = np.empty(recoding.number, np.int32)
    numbers[order] = np.cumsum(changed) - 1
    firsts = np.flatnonzero(changed)
    lows = np.minimum.reduceat(recoding.lows[order], firsts, axis=0)
    highs = np.maximum.reduceat(recoding.highs[order], firsts, axis=0)
    return recoding.renumbered(numbers, lows, highs)


def _in_set(text: str) -> str:
    """Return a value as it stands in a set: in quotes where it could be taken for several.

    >>> _in_set("flu"), _in_set("cold, common")
    ('flu', '"cold, common"')
    """
    return json.dumps(text, ensure_ascii=False) if _DOUBTFUL.search(text) or not text else text


def interval_columns(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the two ends of written intervals; a single value is both."""
    inner = pc.extract_regex(texts, r"^\[(?P<low>.*), (?P<high>.*)\]$")
    low, high = (pc.struct_field(inner, part) for part in (0, 1))
    return pc.coalesce(low, texts), pc.coalesce(high, texts)

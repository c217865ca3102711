"""Blocks of JSON lines as columns of known kinds, one strict pass: a bad line is poison, the good ones go on at full speed.

A compiled pass reads the lines that are plain, and leaves every other to ``json_records.record``, which alone says what is wrong with one.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.decoded import Decoded, Poison, UnreadableError
from sfumato.core.json_records import Kind, NotARecordError, arrow_type, column, field_of, objects_of, record
from sfumato.core.kernels import json_scan as kernel
from sfumato.core.kernels.pieces import MARGIN, gather
from sfumato.core.meant_name import meant

Unnamed = Literal["refuse", "remove"]
"""What becomes of a record that has fields which nobody named: it is poison, or these fields are left out."""

# the line end behind the last byte, and room to read eight bytes at a time
_MARGIN = 2 * MARGIN
_USES: dict[Kind | None, int] = {
    None: kernel.NOTHING,
    "text": kernel.TEXT,
    "list": kernel.LIST,
    "integer": kernel.INTEGER,
    "long": kernel.INTEGER,
    "number": kernel.NUMBER,
    "boolean": kernel.BOOLEAN,
}
# a number that must be read with care has so many bytes, with its name
_FEWEST_BYTES = 4


def decoded(block: bytes, kinds: Mapping[str, Kind | None], separator: str, unnamed: Unnamed, beginning: bool = False) -> Decoded:
    r"""Return the records of a block of whole lines; a field of kind None is named, but not wanted.

    A number in a column of text is its text; otherwise a value of another kind than its column makes the record poison. ``beginning`` says that
    the block begins a file, which may have a byte order mark.

    >>> found = decoded(b'{"a": {"b": 1}}\n\n{"a": {"b": "x"}}\n{"a": {"b": 2}, "c": 3}\n{"a": null}', {"a.b": "integer"}, ".", "refuse")
    >>> found.rows.to_pylist(), found.places.tolist(), found.records
    ([{'a.b': 1}, {'a.b': None}], [0, 3], 4)
    >>> [(each.place, each.code, each.start, each.length) for each in found.poison]
    [(1, 'json-type', 17, 17), (2, 'json-field-unnamed', 35, 23)]
    """
    mark = len(BOM_UTF8) if beginning and block.startswith(BOM_UTF8) else 0
    scanned = _Scanned(block, mark, _tree(tuple(kinds.items()), separator), separator, unnamed)
    rows, places = scanned.rows(), scanned.places
    if not len(scanned.unsure):
        return Decoded(rows, places, scanned.records)
    slow = _one_by_one(block, scanned.unsure, kinds, separator, unnamed)
    if len(slow.places):
        places = np.concatenate([places, slow.places])
        order = np.argsort(places, kind="stable")
        rows, places = pa.concat_batches([rows, slow.rows]).take(pa.array(order)), places[order]
    return replace(slow, rows=rows, places=places, records=scanned.records)


@dataclass(frozen=True, eq=False)
class _Tree:
    """Names as a tree: each object is a node, and each field in it; see ``json_scan.scan``. ``wanted`` has the columns that are read."""

    fields: tuple[NDArray[Any], ...]
    uses: NDArray[np.int64]
    slots: NDArray[np.int64]
    wanted: Sequence[tuple[int, str, Kind]]

    def number(self, *uses: int) -> int:
        """Return how many columns are wanted as any of these."""
        return int(np.isin(self.uses, uses).sum())


@lru_cache(maxsize=64)
def _tree(kinds: tuple[tuple[str, Kind | None], ...], separator: str) -> _Tree:
    names, parents, columns, flat = [b""], [-1], [-1], [False]
    nodes: dict[tuple[int, str], int] = {}

    def node(parent: int, step: str, is_flat: bool = False) -> int:
        if (parent, step) not in nodes:
            nodes[parent, step] = len(names)
            names.append(step.encode() + b'"')
            parents.append(parent)
            columns.append(-1)
            flat.append(is_flat)
        return nodes[parent, step]

    for place, (name, _) in enumerate(kinds):
        inner, steps = kernel.ROOT, name.split(separator)
        for step in steps:
            inner = node(inner, step)
        columns[inner] = place
        if len(steps) > 1:
            # "a.b" may be written as one name
            columns[node(kernel.ROOT, name, is_flat=True)] = place
    uses = np.array([_USES[kind] for _, kind in kinds], np.int64)
    slots = np.zeros(len(uses), np.int64)
    for alike in ((kernel.TEXT, kernel.LIST), (kernel.INTEGER, kernel.BOOLEAN), (kernel.NUMBER,)):
        mine = np.isin(uses, alike)
        slots[mine] = np.arange(mine.sum())
    lengths = np.array([len(name) for name in names], np.int64)
    text = np.frombuffer(b"".join(names) + bytes(_MARGIN), np.uint8).copy()
    fields = (text, lengths.cumsum() - lengths, lengths, np.array(parents, np.int64), np.array(columns, np.int64), np.array(flat))
    return _Tree(fields, uses, slots, [(place, name, kind) for place, (name, kind) in enumerate(kinds) if kind is not None])


class _Scanned:
    """What the compiled pass makes of a block."""

    def __init__(self, block: bytes, begin: int, tree: _Tree, separator: str, unnamed: Unnamed) -> None:
        self._tree = tree
        size, lines = len(block), block.count(b"\n") + 1
        self._data = np.empty(2 * (size + _MARGIN), np.uint8)
        self._data[:begin] = ord(" ")
        self._data[begin:size] = np.frombuffer(block, np.uint8, offset=begin) if begin < size else 0
        self._data[size : size + _MARGIN] = ord("\n")
        texts, numbers = tree.number(kernel.TEXT, kernel.LIST), tree.number(kernel.NUMBER)
        self._starts, self._lengths = np.empty((texts, lines), np.int64), np.empty((texts, lines), np.int32)
        self._wholes = np.empty((tree.number(kernel.INTEGER, kernel.BOOLEAN), lines), np.int64)
        self._fractions = np.empty((numbers, lines), np.float64)
        self._valid = np.empty((len(tree.uses), lines), np.uint8)
        places, unsure, state = np.empty(lines, np.int64), np.empty((3, lines), np.int64), np.zeros(4, np.int64)
        careful = np.empty((4, min(lines * (texts + numbers), size // _FEWEST_BYTES) + 1), np.int64)
        kernel.scan(
            self._data,
            size,
            size + _MARGIN,
            separator.encode()[0],
            unnamed == "refuse",
            *tree.fields,
            tree.uses,
            tree.slots,
            self._starts,
            self._lengths,
            self._wholes,
            self._fractions,
            self._valid,
            places,
            unsure,
            careful,
            state,
        )
        self._number, self.records = int(state[kernel.ROWS]), int(state[kernel.RECORDS])
        self.places = places[: self._number]
        self.unsure = [
            (place, max(start, begin), start + length - max(start, begin)) for place, start, length in unsure[:, : state[kernel.UNSURE]].T.tolist()
        ]
        self._read_carefully(careful[:, : state[kernel.CAREFUL]])

    def rows(self) -> pa.RecordBatch:
        """Return the lines that are sure."""
        arrays = [self._array(place, kind) for place, _, kind in self._tree.wanted]
        if not arrays:
            # a batch of no columns has its number of rows all the same
            return pa.record_batch([pa.nulls(self._number)], names=[""]).select([])
        return pa.record_batch(arrays, schema=_schema(self._tree.wanted))

    def _array(self, place: int, kind: Kind) -> pa.Array:
        slot, number = self._tree.slots[place], self._number
        there = self._valid[place, :number]
        missing = number - int(np.count_nonzero(there))
        valid = pa.py_buffer(np.packbits(there, bitorder="little")) if missing else None
        if kind in ("text", "list"):
            lengths = self._lengths[slot, :number]
            offsets = np.zeros(number + 1, np.int32)
            np.cumsum(np.maximum(lengths, 0) if missing else lengths, out=offsets[1:])
            text = np.empty(int(offsets[-1]) + MARGIN, np.uint8)
            gather(self._data, self._starts[slot, :number], lengths, offsets, text)
            return pa.StringArray.from_buffers(number, pa.py_buffer(offsets), pa.py_buffer(text), valid, missing)
        content: NDArray[Any]
        if kind == "number":
            content = self._fractions[slot, :number]
        else:
            content = self._wholes[slot, :number]
            if kind == "boolean":
                # what is missing there was never written
                content = np.packbits((content != 0) & (there != 0), bitorder="little")
        return pa.Array.from_buffers(arrow_type(kind), number, [valid, pa.py_buffer(content)], missing)

    def _read_carefully(self, careful: NDArray[np.int64]) -> None:
        """Read the numbers that have many digits or an exponent."""
        columns, rows, starts, lengths = careful
        for place, kind in ((place, kind) for place, _, kind in self._tree.wanted if kind in ("text", "number")):
            mine = np.flatnonzero(columns == place) if len(columns) else columns
            if not len(mine):
                continue
            slot = self._tree.slots[place]
            written = [self._data[start : start + length].tobytes() for start, length in zip(starts[mine], lengths[mine], strict=True)]
            if kind == "number":
                self._fractions[slot, rows[mine]] = pc.cast(pa.array(written, pa.string()), pa.float64()).to_numpy()
            else:
                # as the slow reader writes numbers
                self._write(slot, rows[mine], [repr(float(text)).encode() for text in written])

    def _write(self, slot: int, rows: NDArray[np.int64], texts: list[bytes]) -> None:
        """Put other texts in the place of some of a column."""
        lengths = np.array([len(text) for text in texts], np.int64)
        self._starts[slot, rows] = len(self._data) + lengths.cumsum() - lengths
        self._lengths[slot, rows] = lengths
        self._data = np.concatenate([self._data, np.frombuffer(b"".join(texts) + bytes(_MARGIN), np.uint8)])


def _schema(wanted: Sequence[tuple[int, str, Kind]]) -> pa.Schema:
    return pa.schema([field_of(name, kind) for _, name, kind in wanted])


def _one_by_one(block: bytes, lines: Sequence[tuple[int, int, int]], kinds: Mapping[str, Kind | None], separator: str, unnamed: Unnamed) -> Decoded:
    """Return the rows of lines that are to be read slowly, and those that are none."""
    objects = objects_of(kinds, separator)
    good, remains = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    places, remains_of, poison = list[int](), list[int](), list[Poison]()
    for place, start, length in lines:
        try:
            good.append(_fields(block[start : start + length], kinds, objects, separator, unnamed))
            places.append(place)
        except UnreadableError as error:
            poison.append(Poison(place, error.code, start, length, error.column))
            if error.remains is not None:
                remains.append(error.remains)
                remains_of.append(place)
    read = [_batch(fields, kinds) for fields in (good, remains)]
    return Decoded(read[0], np.array(places, np.int64), len(lines), poison, read[1], np.array(remains_of, np.int64))


def _batch(records: Sequence[Mapping[str, Any]], kinds: Mapping[str, Kind | None]) -> pa.RecordBatch:
    """Return the fields of records as columns of their kinds."""
    wanted = [(place, name, kind) for place, (name, kind) in enumerate(kinds.items()) if kind is not None]
    if not wanted:
        return pa.record_batch([pa.nulls(len(records))], names=[""]).select([])
    return pa.record_batch([column([fields.get(name) for fields in records], kind) for _, name, kind in wanted], schema=_schema(wanted))


def _fields(line: bytes, kinds: Mapping[str, Kind | None], objects: set[str], separator: str, unnamed: Unnamed) -> dict[str, Any]:
    """Return the fields of a line; raise an UnreadableError where it is no record of these kinds."""
    try:
        fields = record(line, separator)
    except UnicodeDecodeError:
        raise UnreadableError(code="file-encoding") from None
    except NotARecordError:
        raise UnreadableError(code="json-line") from None
    # a null in the place of an object is no field
    others = [name for name, value in fields.items() if name not in kinds and not (value is None and name in objects)]
    wrong = [name for name, kind in kinds.items() if not _fits(fields.get(name), kind)]
    remains = {name: fields[name] for name in kinds if name in fields and name not in wrong}
    if others and unnamed == "refuse":
        column = meant(tuple(name for name in kinds if name not in fields), tuple(others))
        raise UnreadableError(code="json-field-unnamed", column=column, remains=remains)
    if wrong:
        raise UnreadableError(code="json-type", column=wrong[0], remains=remains)
    return fields


def _fits(value: Any, kind: Kind | None) -> bool:
    if value is None or kind in (None, "list"):
        return True
    if kind == "text":
        return not isinstance(value, list)
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return _is_finite(value) if kind == "number" else kind != "boolean" and -(1 << 63) <= value < 1 << 63
    return kind == "number" and isinstance(value, float)


def _is_finite(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True

"""Cells that are too many to be read, as a table of codes in the database: coded, counted and cut there, and read fragment by fragment.

Values are known by their keys. So the dictionaries are read, and what comes back are numbers: the code of each key. A level of cuts is one statement
that counts and one that makes the table anew; nothing is updated, which would cost most databases more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.elsewhere import LEFT_OUT, Cut, Fragment, Piece, Projection
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import CountPlan, Dictionary, Encoding
from sfumato.databases.bench import Bench
from sfumato.databases.inside import KEY, PRINT, ROWS, listed
from sfumato.databases.table import TableColumn
from sfumato.errors import UnreachableError

_FRAGMENT = "sfumato_fragment"


@dataclass(frozen=True, eq=False)
class KeyedDictionary:
    """The values of a column, with the keys by which the database knows them; the last of these is that of a missing value, where there is one."""

    dictionary: Dictionary
    keys: pa.Array

    def codes(self, encoding: Encoding) -> NDArray[np.int32]:
        """Return the code of each key."""
        return np.append(encoding.codes, np.int32(encoding.null_code)).astype(np.int32)[: len(self.keys)]

    def reference(self, encoding: Encoding) -> NDArray[np.int64]:
        """Return how many rows have each code."""
        codes, counts = np.append(encoding.codes, encoding.null_code), np.append(self.dictionary.counts, self.dictionary.nulls)
        return np.bincount(codes, counts, minlength=encoding.size).astype(np.int64)


def dictionary_of(bench: Bench, cells: str, place: int, column: TableColumn) -> KeyedDictionary:
    """Let the database group the values of a column."""
    name = f"c{place}"
    grouped = f"SELECT {bench.value_key(place, name)} AS k, {name} AS v, {ROWS} FROM {cells}"
    # values with one key are one value: any of them will do
    query = f"SELECT k, {bench.value(place, 'v')}, {bench.whole(f'SUM({ROWS})')} FROM ({grouped}) g GROUP BY k, v"
    kinds = [bench.key, column, _number(ROWS)]
    read = pa.Table.from_batches(bench.ask(query, kinds), pa.schema([(each.name, each.kind) for each in kinds]))
    keys, values, rows = (part.combine_chunks() for part in read.columns)
    if len(keys.unique()) < len(keys):
        raise UnreachableError("two values have one key by chance; nothing has been published", code="database-keys", hint="run again")
    there = values.is_valid()
    ordered = pa.concat_arrays([keys.filter(there), keys.filter(values.is_null())])
    counts = rows.to_numpy(zero_copy_only=False)
    known = there.to_numpy(zero_copy_only=False)
    return KeyedDictionary(Dictionary(values.filter(there), counts[known].astype(np.int64), int(counts[~known].sum())), ordered)


def decided_cells(bench: Bench, cells: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
    """Read all cells, some at a time: their rows, prints and values, and last the class that was decided, missing where they are left out."""
    values = [bench.value(place, f"c.c{place}") for place in range(len(columns))]
    chosen = listed([f"c.{ROWS}", f"c.{PRINT}", *values, "d.class"])
    kinds = [_number(ROWS), TableColumn(PRINT, "text", pa.string()), *columns, TableColumn("sfumato_class", "int", pa.int32())]
    return bench.ask(f"SELECT {chosen} FROM {cells} c LEFT JOIN {bench.decided_classes()} d ON d.{KEY} = c.{KEY}", kinds, large=True)


class Fragments:
    """The table of codes of some cells; at first all are one fragment, number 0."""

    def __init__(
        self,
        bench: Bench,
        cells: str,
        columns: Sequence[str],
        plan: CountPlan,
        dictionaries: Mapping[str, KeyedDictionary],
        decided: Callable[[pa.Array, NDArray[np.int32]], None],
    ) -> None:
        self._bench, self._decided = bench, decided
        self._width = len(plan.quasi_identifiers)
        self._sensitive = [encoding.called for encoding in plan.sensitive]
        self.references = {each.called: dictionaries[each.column].reference(each) for each in plan.sensitive}
        self._next = 1
        self._codes = [f"x{place}" for place in range(self._width + len(self._sensitive))]
        self._table = self._coded(cells, columns, plan, dictionaries)
        encodings = [*plan.quasi_identifiers, *plan.sensitive]
        # values that share a code make several cells of one entry
        self._are_entries = all(_tells_apart(dictionaries[each.column].codes(each)) for each in encodings)

    def _coded(self, cells: str, columns: Sequence[str], plan: CountPlan, dictionaries: Mapping[str, KeyedDictionary]) -> str:
        """Let the database replace the values of all cells by codes; what is refused has no place here."""
        encodings = [*plan.quasi_identifiers, *plan.sensitive]
        joined, chosen, brought = [f"{cells} c"], [], {}
        for place, name in enumerate(columns):
            own = {number: each for number, each in enumerate(encodings) if each.column == name}
            if not own:
                continue
            known = dictionaries[name]
            table = pa.table({"k": known.keys} | {f"x{number}": pa.array(known.codes(each)) for number, each in own.items()})
            brought[place] = self._bench.bring(table)
            joined.append(f"{brought[place]} d{place} ON d{place}.k = {self._bench.value_key(place, f'c.c{place}')}")
            chosen += [(number, f"d{place}.x{number}") for number in own]
        codes = [f"{expression} AS x{number}" for number, expression in sorted(chosen)]
        of = dict(chosen)
        refused = [
            f"{of[number]} <> {plan.refused[each.column]}" for number, each in enumerate(plan.quasi_identifiers) if each.column in plan.refused
        ]
        where = f" WHERE {' AND '.join(refused)}" if refused else ""
        made = self._bench.keep(f"SELECT c.{KEY}, c.{ROWS}, {listed(codes)}, 0 AS {_FRAGMENT} FROM {' JOIN '.join(joined)}{where}")
        for table in brought.values():
            self._bench.forget(table)
        return made

    @property
    def _entries(self) -> str:
        """Return what queries count as entries: cells, or where several are one entry these, made of them."""
        if self._are_entries:
            return self._table
        names = listed([_FRAGMENT, *self._codes])
        return f"(SELECT {names}, {self._sum} AS {ROWS} FROM {self._table} GROUP BY {names})"

    @property
    def _sum(self) -> str:
        return self._bench.whole(f"SUM({ROWS})")

    @property
    def rows(self) -> int:
        """How many rows were not refused."""
        return sum(each.rows for each in self.fragments())

    def fragments(self) -> list[Fragment]:
        """Ask for the ends of all columns at once."""
        ends = [f"{end}(x{place})" for end in ("MIN", "MAX") for place in range(self._width)]
        query = f"SELECT {listed([_FRAGMENT, self._sum, 'COUNT(*)', *ends])} FROM {self._entries} e WHERE {_FRAGMENT} >= 0 GROUP BY {_FRAGMENT}"
        found = self._asked(query, 3 + len(ends))
        return sorted(
            (Fragment(int(line[0]), int(line[1]), int(line[2]), line[3 : 3 + self._width], line[3 + self._width :]) for line in found),
            key=lambda each: each.number,
        )

    def projections(self, places: Mapping[int, int]) -> Iterator[Projection]:
        """Group each fragment by one of its columns, and by what is sensitive."""
        wanted = pa.table({"f": pa.array(list(places), pa.int32()), "p": pa.array(list(places.values()), pa.int32())})
        table = self._bench.bring(wanted)
        sensitive = self._codes[self._width :]
        chosen = f"CASE w.p {' '.join(f'WHEN {place} THEN e.x{place}' for place in sorted(set(places.values())))} END AS code"
        inner = f"SELECT {listed([f'e.{_FRAGMENT} AS f', chosen, *(f'e.{name}' for name in sensitive), f'e.{ROWS}'])}"
        names = listed(["f", "code", *sensitive])
        query = (
            f"SELECT {names}, {self._sum}, COUNT(*) FROM ({inner} FROM {self._entries} e JOIN {table} w ON w.f = e.{_FRAGMENT}) p "
            f"GROUP BY {names} ORDER BY f"
        )
        # all fragments come one after another; what is held is one of them
        lines: list[NDArray[np.int64]] = []
        for batch in self._bench.ask(query, [_number(f"n{place}") for place in range(4 + len(sensitive))], large=True):
            read = np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1)
            for part in np.split(read, np.flatnonzero(np.diff(read[:, 0])) + 1) if len(read) else ():
                if lines and lines[-1][0, 0] != part[0, 0]:
                    yield self._projection(np.concatenate(lines))
                    lines = []
                lines.append(part)
        if lines:
            yield self._projection(np.concatenate(lines))
        self._bench.forget(table)

    def _projection(self, lines: NDArray[np.int64]) -> Projection:
        codes, combination = np.unique(lines[:, 1], return_inverse=True)
        sensitive = {name: lines[:, 2 + place].astype(np.int32) for place, name in enumerate(self._sensitive)}
        found = Frequencies(
            codes[:, None].astype(np.int32), combination.astype(np.int32), lines[:, -2].astype(np.int64), sensitive, None, self.references
        )
        return Projection(int(lines[0, 0]), found, lines[:, -1].astype(np.int64))

    def everybody(self) -> Frequencies:
        """Group by what is sensitive alone."""
        sensitive = self._codes[self._width :]
        names = listed(sensitive)
        grouped = f" GROUP BY {names}" if sensitive else ""
        query = f"SELECT {listed([*sensitive, self._sum])} FROM {self._table} e WHERE {_FRAGMENT} >= 0{grouped}"
        lines = self._asked(query, len(sensitive) + 1)
        values = {name: lines[:, place].astype(np.int32) for place, name in enumerate(self._sensitive)}
        return Frequencies(np.zeros((1, self._width), np.int32), np.zeros(len(lines), np.int32), lines[:, -1], values, None, self.references)

    def cut(self, cuts: Sequence[Cut], left_out: bool = False) -> None:
        """Make the table anew, with other numbers where fragments are cut."""
        lines = []
        for cut in cuts:
            for number, intervals in enumerate(cut.parts):
                fragment = (LEFT_OUT if number else cut.fragment) if left_out else self._next + number
                lines += [(cut.fragment, cut.place, low, high, fragment) for low, high in intervals]
            self._next += 0 if left_out else len(cut.parts)
        moves = self._bench.bring(pa.table({name: pa.array(line, pa.int32()) for name, line in zip("fpabn", zip(*lines, strict=True), strict=True)}))
        places = sorted({cut.place for cut in cuts})
        code = f"CASE m.p {' '.join(f'WHEN {place} THEN e.x{place}' for place in places)} END"
        kept = listed([f"e.{name}" for name in (KEY, ROWS, *self._codes)])
        joined = f"{self._table} e LEFT JOIN {moves} m ON m.f = e.{_FRAGMENT} AND {code} BETWEEN m.a AND m.b"
        made = self._bench.keep(f"SELECT {kept}, COALESCE(m.n, e.{_FRAGMENT}) AS {_FRAGMENT} FROM {joined}")
        for old in (self._table, moves):
            self._bench.forget(old)
        self._table = made

    def pieces(self, in_pieces: Sequence[int]) -> Iterator[Piece]:
        """Read the table in the order of its fragments."""
        columns = [self._bench.key, _number(ROWS), _number(_FRAGMENT), *(_number(name) for name in self._codes)]
        names = listed([KEY, ROWS, _FRAGMENT, *self._codes])
        whole = set(in_pieces)
        held: list[pa.RecordBatch] = []
        for batch in self._bench.ask(f"SELECT {names} FROM {self._table} e WHERE {_FRAGMENT} >= 0 ORDER BY {_FRAGMENT}", columns, large=True):
            numbers = batch.column(2).to_numpy(zero_copy_only=False)
            ends = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for begin, end in pairwise(ends):
                if begin == end:
                    continue
                part = batch.slice(begin, end - begin)
                if held and held[0].column(2)[0] != part.column(2)[0]:
                    yield self._piece(held)
                    held = []
                held.append(part)
                if int(numbers[begin]) in whole:
                    yield self._piece(held)
                    held = []
        if held:
            yield self._piece(held)

    def _piece(self, batches: Sequence[pa.RecordBatch]) -> Piece:
        read = pa.Table.from_batches(batches).combine_chunks()
        codes = [read.column(3 + place).to_numpy().astype(np.int32) for place in range(len(self._codes))]
        sensitive = dict(zip(self._sensitive, codes[self._width :], strict=True))
        keys = read.column(0).combine_chunks()
        return Piece(
            int(read.column(2)[0].as_py()), keys, read.column(1).to_numpy().astype(np.int64), np.stack(codes[: self._width], axis=1), sensitive
        )

    def decide(self, keys: pa.Array, class_of: NDArray[np.int32]) -> None:
        """Hand over the classes of some cells."""
        self._decided(keys, class_of)

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Group the combinations by how many rows they have."""
        names = listed(self._codes[: self._width])
        inner = f"SELECT {self._sum} AS n FROM {self._table} e GROUP BY {names}"
        lines = self._asked(f"SELECT n, COUNT(*) FROM ({inner}) s GROUP BY n", 2)
        return lines[:, 0], lines[:, 1]

    def suppressed(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Read what is left out."""
        names = listed(self._codes[: self._width])
        lines = self._asked(f"SELECT {names}, {self._sum} FROM {self._table} e WHERE {_FRAGMENT} = {LEFT_OUT} GROUP BY {names}", self._width + 1)
        return lines[:, :-1].astype(np.int32), lines[:, -1]

    def close(self) -> None:
        """Drop the table."""
        self._bench.forget(self._table)

    def _asked(self, query: str, number: int) -> NDArray[np.int64]:
        """Return whole numbers, one line a row."""
        batches = self._bench.ask(query, [_number(f"n{place}") for place in range(number)])
        lines = [np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1) for batch in batches]
        return np.concatenate(lines).astype(np.int64) if lines else np.empty((0, number), np.int64)


def _tells_apart(codes: NDArray[np.int32]) -> bool:
    return len(np.unique(codes)) == len(codes)


def _number(name: str) -> TableColumn:
    return TableColumn(name, "bigint", pa.int64())

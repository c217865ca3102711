"""Work inside MySQL and MariaDB. The copy is a table of the private database, of an engine that keeps no log; all else is temporary.

The copy is made by one statement, which sees the table in one state; statements that follow would see what others have written since, and read only
the copy. Keys are the beginnings of SHA-256 hashes: these servers group by one short value faster than by many columns, and their rules of when texts
are equal do not matter then. All rows of such a group have the same values, and the server tells those of any of them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.databases.inside import FIRST, KEY, LAST, NUMBER, PRINT, ROWS, Computed, Decided, Layout, limited, listed
from sfumato.databases.left_copy import beginning_of, new_name, owned_by, sealed, unsealed
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_halves import Halves
from sfumato.databases.mysql_types import (
    LONGEST_ROW,
    exact,
    is_enumeration,
    is_plain_text,
    is_short,
    is_whole,
    longest,
    may_repeat,
    quoted,
    quoted_name,
    selected,
)
from sfumato.databases.table import TableColumn, TableName
from sfumato.databases.unpublishable import refuse_unpublishable

_DIGITS = 24
_ASCII = f"CHAR({_DIGITS}) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
_KEY = f"{KEY} {_ASCII}"
_MEMORY = 128 << 20
# what a processor keeps close: with eight times as much sorting took twice as long
_SORTING = 8 << 20
_SETTINGS = (
    # reads what was written before the statement began, and locks nothing
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    f"SET SESSION tmp_table_size = {_MEMORY}, max_heap_table_size = {_MEMORY}, sort_buffer_size = {_SORTING}",
)
_LARGE = 500_000
"""From how many rows on a second session is worth its while."""
_WITHOUT_ASCII = {"ucs2", "utf16", "utf16le", "utf32", "swe7"}
_SHORT = 255
_VARCHAR = f"varchar({_SHORT})"
_CHARACTER = 4
_OVERHEAD = 64
_FEW = 64
_PLACE = "sfumato_place"
_DRAWN, _FACTOR, _LEFT_OUT, _TAKEN = 30, 34, 15, (1 << 32) - 1
"""How many bits a server draws, how many ours have, how many of the lowest of their product are left out, and which of the others are taken."""


class MysqlInside:
    """A table of MySQL or MariaDB that is worked on where it is."""

    def __init__(self, connection: MysqlConnection, layout: Layout, target: TableName) -> None:
        self._connection, self._layout, self._target = connection, layout, target
        names = [column.name for column in (*layout.counted, *layout.copied)]
        connection.refuse_names(names)
        self._classes, self._labels = (connection.staged_name(target) for _ in range(2))
        # a table that was dropped and made again has its old name
        source = f"{connection.identity(layout.table)} {connection.made_at(layout.table)}"
        placed = connection.placed(target)
        self._owned = owned_by(connection.user, placed.schema)
        self._beginning = beginning_of(source, layout.identity, placed, self._owned)
        self._rows = TableName(new_name(self._beginning), self._labels.schema)
        self._counted = {column.name: f"c{place}" for place, column in enumerate(layout.counted)}
        self._kept = {column.name: self._counted.get(column.name, f"k{place}") for place, column in enumerate(layout.copied)}
        self._mixed = _is_mixed(connection.collations(layout.table), bool(layout.computed))
        # both are nobody's, so that nobody can write values that are taken for two of them, or for a missing one
        self._between, self._missing = secrets.token_hex(5), secrets.token_hex(8)
        self._halves, self._number = Halves(connection, _SETTINGS), 0
        self.unfinished: str | None = None
        for setting in _SETTINGS:
            connection.do(setting)

    @property
    def copy(self) -> TableName:
        """The private copy."""
        return self._rows

    def take_up(self) -> bool:
        """Go on with what a run that was killed has copied, unless its server was started anew since: its engine keeps no log.

        Of one that was killed while it copied a part is there, beside which nothing is written: ``unfinished`` says where.
        """
        for left in self._connection.left_behind(self._beginning):
            comment = self._connection.comment_of(left)
            if unsealed(left, comment) == self._whole(left):
                self._rows = left
                return True
            self.unfinished = self.unfinished if comment else left.schema
            # it may be another installation's, which can go on with it
            self._connection.leave(left)
        return False

    def _whole(self, table: TableName) -> str:
        """Count a copy; return what is written beside one of which all rows have come."""
        self._number = self._connection.rows_of(table)
        return f"{self._number} rows, server started {self._connection.started}"

    def take(self) -> None:
        """Copy the columns, with the key of each row's cell and a number by chance, by which the release is ordered."""
        # those of a table too that was dropped since, or made anew
        for left in self._connection.left_behind(self._owned):
            self._connection.give_up(left)
        self._connection.reserve(self._rows, [])
        names = {column.name: column for column in (*self._layout.counted, *self._layout.copied)}
        copied = [f"{_copied(names[name])} AS {short}" for name, short in (self._counted | self._kept).items()]
        key = self._digest([self._part(column, quoted_name(column.name)) for column in self._layout.counted])
        chosen = listed([f"{key} AS {KEY}", f"{_by_chance()} AS {_PLACE}", *copied])
        select = f"SELECT {chosen} FROM {quoted(self._connection.placed(self._layout.table))}"
        if self._layout.numbered:
            select = f"SELECT i.*, ROW_NUMBER() OVER (PARTITION BY i.{KEY} ORDER BY i.{_PLACE}) AS {NUMBER} FROM ({select}) i"
        made = f"CREATE TABLE {quoted(self._rows)} ({_KEY}, {_PLACE} INT UNSIGNED NOT NULL) {self._connection.unlogged}"
        self._connection.do(f"{made} {select}", reading=self._layout.table)
        # it may have waited for somebody who altered the table
        self._connection.refuse_other_types(self._layout.table, [*self._layout.counted, *self._layout.copied])
        refuse_unpublishable(self._connection, "mysql", quoted(self._rows), self._layout, self._kept)
        self._connection.do(f"ALTER TABLE {quoted(self._rows)} COMMENT = '{sealed(self._rows, self._whole(self._rows))}'")

    def cells(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """Group the copy by its keys."""
        values = [selected(column, self._counted[column.name]) for column in self._layout.counted]
        printed = self._print(self._layout.prints(lambda name: self._kept[name]))
        chosen, table = listed([KEY, "COUNT(*)", printed, *values]), self._layout.beside(quoted(self._rows))

        def query(condition: str) -> str:
            return f"SELECT {chosen} FROM {table} WHERE {condition} GROUP BY {KEY}{limited(most)}"

        return self._select(query, _half_of(KEY), [_text(KEY), _rows(), _text(PRINT), *self._layout.counted])

    def _select(self, query: Callable[[str], str], half: str, columns: Sequence[TableColumn]) -> Iterator[pa.RecordBatch]:
        """Return what a query gives, by two sessions where that is faster: where there are many rows, and both can see all that it needs."""
        if self._layout.pads is not None or self._number < _LARGE:
            return self._connection.select(query("TRUE"), columns)
        return self._halves.select(query, half, columns)

    def occurrences(self, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column."""
        return self._occurring(self._rows, column, self._kept[column.name], self._people)

    @property
    def _people(self) -> str:
        """Return how many people rows are, as far as one or several matters: rows where nothing says whose they are."""
        subject = self._layout.subject
        if subject is None:
            return "COUNT(*)"
        whose = self._part(subject, self._kept[subject.name])
        # an empty text is nobody, as a missing one is (``core.whose``); to the server one of spaces may be equal to it
        person = self._digest([whose if is_whole(subject) else f"IF(LENGTH({whose}) = 0, NULL, {whose})"])
        return f"IF(MIN({person}) = MAX({person}), 1, 2)"

    def _occurring(self, table: TableName, column: TableColumn, name: str, people: str = "COUNT(*)") -> tuple[int, int]:
        apart = self._apart(column, name)

        def query(condition: str) -> str:
            grouped = f"SELECT {people} AS n FROM {quoted(table)} WHERE {name} IS NOT NULL AND {condition} GROUP BY {apart}"
            return f"SELECT COUNT(*), CAST(COALESCE(SUM(n = 1), 0) AS SIGNED) FROM ({grouped}) s"

        counts = pa.Table.from_batches(self._select(query, _half_of(apart), [_rows(), TableColumn("once", "bigint", pa.int64())]))
        distinct, once = (int(pc.sum(part, min_count=0).as_py()) for part in counts.columns)
        return distinct, once

    def decide(self, classes: Decided, labels: pa.RecordBatch) -> None:
        """Load both tables."""
        widths = [_width(column) for column in labels.columns[1:]]
        texts = [f"t{place} varchar({width})" if width <= _SHORT else f"t{place} longtext" for place, width in enumerate(widths)]
        for table, decided, columns, width in (
            (self._classes, classes, [_KEY, "class INT NOT NULL", *self._stretch], _DIGITS),
            (self._labels, Decided.of(labels), ["class INT NOT NULL PRIMARY KEY", *texts], _CHARACTER * sum(widths)),
        ):
            # what fits is found fastest in memory, where every text takes as much room as the longest
            fits = decided.rows * (width + _OVERHEAD) <= _MEMORY and max(widths, default=0) <= _SHORT
            made = f"CREATE TEMPORARY TABLE {quoted(table)} ({listed(columns)}) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            self._connection.do(f"{made}{' ENGINE = MEMORY' if fits else ''}")
            for batch in decided.batches():
                self._connection.load(table, batch)
            self._connection.loaded(table)

    # --- a bench for cells that are too many to be read: temporary tables, in an engine that keeps no log ---

    @property
    def key(self) -> TableColumn:
        """How keys are read."""
        return _text(KEY)

    def decided_classes(self) -> str:
        """The table of what was decided."""
        return quoted(self._classes)

    def kept_cells(self) -> str:
        """Group the copy by its keys, and keep what comes of it."""
        values = [f"{name} AS c{place}" for place, name in enumerate(self._counted.values())]
        printed = self._print(self._layout.prints(lambda name: self._kept[name]))
        chosen = listed([KEY, f"COUNT(*) AS {ROWS}", f"{printed} AS {PRINT}", *values])
        return self.keep(f"SELECT {chosen} FROM {self._layout.beside(quoted(self._rows))} GROUP BY {KEY}", _KEY)

    def value(self, place: int, name: str) -> str:
        """Return a value as it is read."""
        return selected(self._layout.counted[place], name)

    def value_key(self, place: int, name: str) -> str:
        """Hash a value as those of rows are hashed."""
        return f"CONVERT({self._digest([self._part(self._layout.counted[place], name)])} USING ascii) COLLATE ascii_bin"

    def whole(self, expression: str) -> str:
        """Return a sum, which is a decimal, as a whole number."""
        return f"CAST({expression} AS SIGNED)"

    def keep(self, query: str, columns: str = "") -> str:
        """Make a temporary table."""
        table = quoted(self._connection.staged_name(self._target))
        self._connection.do(f"CREATE TEMPORARY TABLE {table} {f'({columns}) ' if columns else ''}{self._connection.unlogged} {query}")
        return table

    def bring(self, table: pa.Table) -> str:
        """Load a table, in which keys are found by an index."""
        name = self._connection.staged_name(self._target)
        columns = [f"{field.name} {f'{_ASCII}, PRIMARY KEY ({field.name})' if pa.types.is_string(field.type) else 'INT'}" for field in table.schema]
        self._connection.do(f"CREATE TEMPORARY TABLE {quoted(name)} ({listed(columns)}) {self._connection.unlogged}")
        for batch in table.to_batches():
            self._connection.load(name, batch)
        self._connection.loaded(name)
        return quoted(name)

    def forget(self, table: str) -> None:
        """Drop a table."""
        self._connection.do(f"DROP TEMPORARY TABLE {table}")

    def ask(self, query: str, columns: Sequence[TableColumn], large: bool = False) -> Iterator[pa.RecordBatch]:
        """Read what a query gives, some rows at a time."""
        del large
        return self._connection.select(query, columns)

    @property
    def _stretch(self) -> list[str]:
        """Return what the table of classes has beside, and by what its lines are found."""
        if not self._layout.numbered:
            return [f"PRIMARY KEY ({KEY})"]
        return [f"{FIRST} BIGINT NOT NULL", f"{LAST} BIGINT NOT NULL", f"PRIMARY KEY ({KEY}, {FIRST})"]

    def stage(self, target: TableName, columns: Sequence[tuple[str, int | None]]) -> TableName:
        """Join the rows with the decision, in the order that chance has given them; the server sorts them as long as they are narrow."""
        staged = self._connection.staged_name(target)
        self._connection.reserve(staged, [name for name, _ in columns])
        sources = {each.column.name: each.sql(self._of_copy) for each in self._layout.computed}
        made = {name: sources.get(name) or self._of_copy(name) for name, text in columns if text is None}
        aliases = {name: _alias(name, place) for place, (name, _) in enumerate(columns)}
        chosen = listed(f"{made[name] if text is None else f'l.t{text}'} AS {quoted_name(aliases[name])}" for name, text in columns)
        joined = self._layout.beside(f"{self._published} JOIN {quoted(self._labels)} l ON l.class = c.class")
        types = listed(f"{quoted_name(aliases[name])} {kind}" for name, kind in self._types(made).items())
        create = f"CREATE TABLE {quoted(staged)} {f'({types}) ' if types else ''}DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        self._connection.do(f"{create} SELECT STRAIGHT_JOIN {chosen} FROM {joined} ORDER BY r.{_PLACE}")
        renamed = listed(f"RENAME COLUMN {quoted_name(alias)} TO {quoted_name(name)}" for name, alias in aliases.items() if name != alias)
        if renamed:
            self._connection.do(f"ALTER TABLE {quoted(staged)} {renamed}")
        return staged

    def _types(self, made: Mapping[str, str]) -> dict[str, str]:
        """Return the types of texts that are published and have none of the source: what is computed, and what enumerations list.

        Those of enumerations would tell all that they list, in whatever rows. Short texts have a length, as long as a row has room for all of them,
        so that they can be indexed.
        """
        listing = [column for column in self._layout.copied if column.name in made and is_enumeration(column)]
        computed = [each.column.name for each in self._layout.computed if each.column.name in made]
        short = {column.name for column in listing if column.called.startswith("enum") or len(column.called) <= _SHORT}
        short |= self._short(computed, made)
        room = LONGEST_ROW - longest(column.called for column in self._layout.copied) - len(self._layout.counted) * longest([_VARCHAR])
        names = [column.name for column in listing] + computed
        lengths = [name for name in names if name in short][: max(0, room) // longest([_VARCHAR])]
        return {name: _VARCHAR if name in lengths else "longtext" for name in names}

    def _short(self, names: Sequence[str], made: Mapping[str, str]) -> set[str]:
        """Return those of some columns whose published texts are all short."""
        if not names:
            return set()
        asked = listed(f"COALESCE(MAX(CHAR_LENGTH({made[name]})), 0)" for name in names)
        columns = [TableColumn(name, "bigint", pa.int64()) for name in names]
        (found,) = self._connection.select(f"SELECT {asked} FROM {self._layout.beside(self._published)}", columns)
        lengths = {name: longest_of[0].as_py() for name, longest_of in zip(names, found.columns, strict=True)}
        # where statements are only printed nobody knows
        return {name for name, length in lengths.items() if length is not None and length <= _SHORT}

    def shown(self, staged: TableName, texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Group what is staged by a hash of its own text."""
        watched = self._layout.watched
        names = [quoted_name(name) for name in texts]
        key = self._digest([*names, *(self._part(column, quoted_name(column.name)) for column in watched)])
        printed = self._print([(column, quoted_name(column.name)) for column in self._layout.released])
        chosen = listed([*names, *(selected(column) for column in watched), "COUNT(*)", printed])

        def query(condition: str) -> str:
            return f"SELECT {chosen} FROM {quoted(staged)} WHERE {condition} GROUP BY {key}"

        # a sum that is made faster than the key, and the same where the key is
        half = _half_of(f"CONCAT_WS('', {listed(names)})") if names else "TRUE"
        return self._select(query, half, [*(_text(name) for name in texts), *watched, _rows(), _text(PRINT)])

    def pairs(self, computed: Computed) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by what a column is made of, and by what it becomes."""
        read = {column.name: column for column in self._layout.copied}
        inputs = [(read[name], self._of_copy(name)) for name in computed.reads]
        values = [*inputs, (computed.column, computed.sql(self._of_copy))]
        key = self._digest([self._part(column, expression) for column, expression in values])
        joined = self._layout.beside(self._published)
        shown = [selected(column, expression) for column, expression in values]
        query = f"SELECT {listed([*shown, 'COUNT(*)'])} FROM {joined} GROUP BY {key}"
        return self._connection.select(query, [*(column for column, _ in values), _rows()])

    @property
    def _published(self) -> str:
        return f"{quoted(self._rows)} r JOIN {quoted(self._classes)} c ON c.{KEY} = r.{KEY}{self._layout.dealt('r', 'c')}"

    def dealt(self) -> Iterator[pa.RecordBatch]:
        """Group what is published of the copy by cells and classes."""
        printed = self._print(self._layout.prints(self._of_copy))
        joined = self._layout.beside(self._published)
        query = f"SELECT r.{KEY}, c.class, COUNT(*), {printed} FROM {joined} GROUP BY r.{KEY}, c.class"
        return self._connection.select(query, [_text(KEY), _rows(), _rows(), _text(PRINT)])

    def _of_copy(self, name: str) -> str:
        return f"r.{self._kept[name]}"

    def values(self, staged: TableName, column: TableColumn) -> tuple[int, int]:
        """Count the values of a column of the release."""
        return self._occurring(staged, column, quoted_name(column.name))

    def fewest(self, staged: TableName, texts: Sequence[str], column: TableColumn) -> int:
        """Group what is staged by its text and by a value, and then by its text alone."""
        key, value = self._digest([quoted_name(name) for name in texts]), self._part(column, quoted_name(column.name))
        each = f"SELECT {key} AS {KEY}, MAX({value} IS NULL) AS missing, COUNT(*) AS n FROM {quoted(staged)} GROUP BY {KEY}, {_told(value)}"
        summed = f"SELECT SUM(IF(missing, n, 1)) AS n FROM ({each}) e GROUP BY {KEY}"
        (batch,) = self._connection.select(f"SELECT CAST(COALESCE(MIN(n), 0) AS SIGNED) FROM ({summed}) s", [_rows()])
        return int(batch.column(0)[0].as_py())

    def publish(self, staged: TableName, target: TableName) -> None:
        """Rename what is staged; what is temporary goes with the session."""
        self._connection.publish(staged, target)
        self._connection.commit()
        self.close()

    def close(self) -> None:
        """Remove what was staged and not published."""
        self._connection.__exit__(None, None, None)

    def _print(self, columns: Sequence[tuple[TableColumn, str]]) -> str:
        """Return the sum of fingerprints, which is the same in any order of the rows."""
        if not columns:
            return "'0'"
        texts = self._texts([self._part(column, name) for column, name in columns])
        # a missing value has a sum that no text has
        each = f"IFNULL(CRC32({texts[0]}), {1 << 32})" if len(texts) == 1 else f"CRC32({_joined(texts)})"
        return f"CAST(SUM({each}) AS CHAR)"

    def _digest(self, parts: Sequence[str]) -> str:
        """Return the key of some values: what stands between them, and for a missing one, nobody can have written; of none a constant."""
        texts = listed([f"IFNULL({text}, '{self._missing}')" for text in self._texts(parts)] or ["''"])
        return _told(f"CONCAT_WS('{self._between}', {texts})")

    def _texts(self, parts: Sequence[str]) -> list[str]:
        return [f"CAST({part} AS CHAR CHARACTER SET utf8mb4)" if self._mixed else part for part in parts]

    def _apart(self, column: TableColumn, name: str) -> str:
        """Return what values of a column are grouped by: themselves where they are short, which is faster than any digest."""
        if is_whole(column):
            return name
        return f"CAST({name} AS BINARY)" if is_short(column, _FEW) else _told(self._part(column, name))

    def _part(self, column: TableColumn, name: str) -> str:
        if is_whole(column) or is_plain_text(column):
            return name
        # types of a server's own would take any text for one of theirs
        return f"CONCAT({exact(column, name)})"


def _copied(column: TableColumn) -> str:
    """Return a column of the source as it is copied: as text in its own collation, where no copy could have its type."""
    return f"CONCAT({quoted_name(column.name)})" if may_repeat(column) else quoted_name(column.name)


def _is_mixed(collations: Collection[str], is_computed: bool) -> bool:
    """Say whether texts cannot be written one after the other as they are, for the collations of a table.

    The server does so with those of ``utf8mb4`` and of one other that begins with ASCII; what is computed is of a third kind, and ``utf8mb4_bin`` is
    the only one of its kind that stands beside labels.

    >>> _is_mixed(["utf8mb4_general_ci", "utf8mb4_bin", "latin1_bin"], is_computed=False), _is_mixed(["utf8mb4_nopad_bin"], is_computed=False)
    (False, True)
    """
    own = {name for name in collations if name.startswith("utf8mb4_")}
    others = set(collations) - own
    without_ascii = any(name.partition("_")[0] in _WITHOUT_ASCII for name in others)
    return len(others) > (0 if is_computed else 1) or without_ascii or any(name.endswith("_bin") for name in own - {"utf8mb4_bin"})


def _by_chance() -> str:
    """Return what rows are ordered by: the middle of the product of a number that the server draws with one of ours.

    What a server draws follows from what it drew before, and the order of such numbers would tell of that. It takes a fourteenth of the time of a
    sum over the digits of what is drawn.
    """
    factor = 1 << _FACTOR - 1 | secrets.randbits(_FACTOR - 1) | 1
    return f"(CAST(RAND() * {1 << _DRAWN} AS UNSIGNED) * {factor} >> {_LEFT_OUT}) & {_TAKEN}"


def _alias(name: str, place: int) -> str:
    """Return what a query calls a column: the server leaves out blanks at the beginning of such a name, which it keeps in that of a column."""
    return name if ord(name[0]) > ord(" ") else f"sfumato_column_{place}"


def _half_of(value: str) -> str:
    """Return a condition that a half of all values meets."""
    return f"CRC32({value}) % 2 = 0"


def _joined(texts: Sequence[str]) -> str:
    """Return some texts as one, the same in every run: behind their lengths, so that no two rows of them are written alike."""
    lengths = [f"IFNULL(LENGTH({text}), '-')" for text in texts]
    return f"CONCAT_WS(',', {listed([*lengths, *texts])})"


def _told(value: str) -> str:
    """Return what tells a value from others, as bytes: texts are compared by the rules of a language, which takes the server three times as long."""
    return f"CAST(LEFT(SHA2({value}, 256), {_DIGITS}) AS BINARY({_DIGITS}))"


def _width(texts: pa.Array) -> int:
    """Return how long the longest text is: where rows are grouped in memory, every text takes as much room as the longest may."""
    return pc.max(pc.utf8_length(texts)).as_py() or 1


def _rows() -> TableColumn:
    return TableColumn(ROWS, "bigint", pa.int64())


def _text(name: str) -> TableColumn:
    return TableColumn(name, "longtext", pa.string())

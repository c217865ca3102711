"""A table of a dump, read back: the script is taken apart again, by other means than those by which it was put together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import time
from itertools import islice
from typing import IO, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import PrivateAttr

from sfumato.core.compression import Compression, buffered, compression_of, opened
from sfumato.core.files import state_of
from sfumato.core.interfaces import Scan
from sfumato.core.ranges import RangeType
from sfumato.core.settings import Settings
from sfumato.databases.dump_script import Dialect
from sfumato.errors import DataError

_LINES = 1 << 15
_QUOTES = {"postgresql": '"', "mysql": "`"}
_KINDS = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "tinyint": pa.int8(),
    "tinyint unsigned": pa.uint8(),
    "smallint unsigned": pa.uint16(),
    "int unsigned": pa.uint32(),
    "bigint unsigned": pa.uint64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "datetime(6)": pa.timestamp("us"),
    **dict.fromkeys(("text", "longtext", *get_args(RangeType)), pa.string()),
}
_NUMBER = re.compile(r"(?:numeric|decimal)\((\d+)(?:, (\d+))?\)")
_COPIED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "Z": "\x1a"}
# a text in quotes, or anything else up to the next comma
_VALUE = re.compile(r"'((?:[^'\\]|\\.)*)'|([^,']+)", re.DOTALL)


class Dumped(Settings):
    """One table of a dump as a source; the first where none is named."""

    path: str
    table: str | None = None
    dialect: Dialect = "postgresql"
    compression: Compression = "infer"

    _kinds: Mapping[str, pa.DataType] = PrivateAttr({})

    def remember(self, kinds: Mapping[str, pa.DataType]) -> Dumped:
        """Return the source that reads columns as types which the script says less of, such as instants that have lost their zone."""
        source = self.model_copy()
        source._kinds = kinds
        return source

    def describe(self) -> pa.Schema:
        """Return the columns, as the script makes them."""
        with opened(self.path, compression_of(self.path, self.compression)) as content:
            return self._found(buffered(content))[1]

    def state(self) -> str:
        """Return a token that changes when the file does."""
        return state_of(self.path)

    def about(self) -> int | None:
        """Return nothing: nobody has counted."""
        return None

    def scan(self) -> Scan | None:
        """Return nothing."""
        return None

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        del coded
        with opened(self.path, compression_of(self.path, self.compression)) as content:
            file = buffered(content)
            table, schema = self._found(file)
            wanted = pa.schema([schema.field(name) for name in columns])
            read = _copied_rows if self.dialect == "postgresql" else _inserted_rows
            lines, number = read(file, self._quote, table, schema.names), 0
            while rows := list(islice(lines, _LINES)):
                number += len(rows)
                held = dict(zip(schema.names, zip(*rows, strict=True), strict=True))
                yield pa.RecordBatch.from_arrays([_typed(held[field.name], field) for field in wanted], schema=wanted)
            if not number:
                yield pa.RecordBatch.from_pylist([], wanted)

    @property
    def _quote(self) -> str:
        return _QUOTES[self.dialect]

    def _found(self, file: IO[bytes]) -> tuple[str, pa.Schema]:
        """Go to the table, and return its name and its columns; the rows follow."""
        for statement in _statements(file, self._quote):
            name, end = _name_at(statement, len("CREATE TABLE "), self._quote) if statement.startswith("CREATE TABLE ") else (None, 0)
            if name is not None and self.table in (None, name):
                fields = [(column, self._kinds.get(column) or _kind(kind)) for column, kind in _columns(statement, end, self._quote)]
                return name, pa.schema(fields)
        raise _damaged(self.table or "")


def _statements(file: IO[bytes], quote: str) -> Iterator[str]:
    """Yield statements of a script, each whole; rows that are copied are passed over."""
    waiting = ""
    for line in file:
        text = line.decode()
        if not waiting and (text.startswith(("--", "\\", "(")) or text == "\n"):
            continue
        waiting += text
        if waiting.count(quote) % 2 == 0 and waiting.endswith((";\n", " VALUES\n")):
            yield waiting
            if waiting.startswith("COPY "):
                _pass_rows(file)
            waiting = ""


def _pass_rows(file: IO[bytes]) -> None:
    for line in file:
        if line == b"\\.\n":
            return


def _name_at(statement: str, place: int, quote: str) -> tuple[str | None, int]:
    """Return the quoted name at a place, and where it ends."""
    found = re.compile(f"{quote}((?:[^{quote}]|{quote}{quote})*){quote}").match(statement, place)
    return (found[1].replace(quote * 2, quote), found.end()) if found else (None, place)


def _columns(statement: str, place: int, quote: str) -> Iterator[tuple[str, str]]:
    """Yield the columns of a table and their types, from behind its name on."""
    place += len(" (\n    ")
    kind = re.compile(r" ([a-z0-9 ]+(?:\([0-9, ]+\))?)(,\n    |\n\))")
    while True:
        name, place = _name_at(statement, place, quote)
        found = kind.match(statement, place)
        if name is None or found is None:
            raise _damaged("")
        yield name, found[1]
        place = found.end()
        if found[2] == "\n)":
            return


def _kind(called: str) -> pa.DataType:
    number = _NUMBER.fullmatch(called)
    if number is None and called not in _KINDS:
        raise _damaged("")
    return pa.decimal128(int(number[1]), int(number[2] or 0)) if number else _KINDS[called]


def _copied_rows(file: IO[bytes], quote: str, table: str, names: Sequence[str]) -> Iterator[list[str | None]]:
    """Yield the rows behind the ``COPY`` of a table."""
    waiting = ""
    for line in file:
        waiting += line.decode()
        if waiting.count(quote) % 2 == 0 and waiting.endswith(";\n"):
            break
    _check_head(waiting, "COPY ", quote, table, names)
    for line in file:
        if line == b"\\.\n":
            return
        fields = line[:-1].decode().split("\t")
        if len(fields) != len(names):
            break
        yield [None if field == "\\N" else _COPIED.sub(_meant, field) if "\\" in field else field for field in fields]
    raise _damaged(table)


def _inserted_rows(file: IO[bytes], quote: str, table: str, names: Sequence[str]) -> Iterator[list[str | None]]:
    """Yield the rows of the ``INSERT`` statements that follow."""
    waiting, within = "", False
    for line in file:
        if not within:
            waiting += line.decode()
            if waiting == "\n":
                return
            if waiting.count(quote) % 2 == 0 and waiting.endswith(" VALUES\n"):
                _check_head(waiting, "INSERT INTO ", quote, table, names)
                waiting, within = "", True
            continue
        if line[:1] != b"(" or line[-3:] not in (b"),\n", b");\n"):
            raise _damaged(table)
        within = line.endswith(b"),\n")
        fields: list[str | None] = [
            None if plain == "NULL" else plain or (_COPIED.sub(_meant, text) if "\\" in text else text)
            for text, plain in _VALUE.findall(line[1:-3].decode())
        ]
        if len(fields) != len(names):
            raise _damaged(table)
        yield fields
    if waiting or within:
        raise _damaged(table)


def _check_head(statement: str, word: str, quote: str, table: str, names: Sequence[str]) -> None:
    """Refuse rows that are not those of a table, or of other columns."""
    found, place = _name_at(statement, len(word), quote)
    heads = []
    place += len(" (")
    while place < len(statement):
        name, place = _name_at(statement, place, quote)
        if name is None:
            break
        heads.append(name)
        place += len(", ")
    if not statement.startswith(word) or found != table or heads != list(names):
        raise _damaged(table)


def _meant(found: re.Match[str]) -> str:
    return _MEANT.get(found[1], found[1])


def _typed(values: Sequence[str | None], field: pa.Field) -> pa.Array:
    """Return texts in the type of their column."""
    text, kind = pa.array(values, pa.string()), field.type
    special: dict[str, Callable[[], pa.Array]] = {
        "bool": lambda: pc.equal(text, "1"),
        "time64[us]": lambda: pa.array([None if value is None else time.fromisoformat(value) for value in values], kind),
        "timestamp[us, tz=UTC]": lambda: pc.binary_join_element_wise(text, "Z", "").cast(kind),
    }
    try:
        made = special.get(str(kind), lambda: text.cast(kind))()
    except (pa.ArrowInvalid, ValueError):
        raise _damaged(field.name) from None
    return made


def _damaged(name: str) -> DataError:
    return DataError(f"the dump does not hold {name or 'its table'} as it was written", code="dump-damaged", hint="make the dump again")

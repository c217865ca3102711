"""Blocks of JSON lines, read by Arrow's parser where it is as strict as ours: most files, many times faster.

Arrow's parser makes numbers of what is none and rounds what is too large, takes several objects from a line, and guesses instants. A block in
which any of this could be so is not read here: then it is read line by line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

import pyarrow as pa

from sfumato.core.json_records import Kind, arrow_type

_BYTES = 16 << 20
_DIGITS = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else ord(" ") for byte in range(256))
_LONG = re.compile(rb"(?<![0-9.])[0-9]{16}")
_DEEPEST = 200
_NULL_ALONE = re.compile(rb"\}\s*null")
_MARK = b"\xef\xbb\xbf"


def blocks(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of some whole lines at a time, and the number of the first of them."""
    number, first = 1, True
    while block := file.read(_BYTES):
        block += file.readline()
        yield number, block.removeprefix(_MARK) if first else block
        number, first = number + block.count(b"\n"), False


def shape_of(block: bytes, separator: str) -> dict[str, Kind | None] | None:
    """Return the fields of a block by their paths and the kind of their values, None where all are null; None where Arrow must not read it.

    >>> shape_of(b'{"a": {"b": 1}, "c": null}', ".")
    {'a.b': 'integer', 'c': None}
    """
    table = _parsed(block, None)
    if table is None:
        return None
    found: dict[str, Kind | None] = {}
    return found if _flatten(table.schema, "", separator, found) else None


def columns_of(block: bytes, kinds: Mapping[str, Kind], separator: str) -> list[pa.Array] | None:
    """Return some fields of a block as columns; None where Arrow must not read it."""
    schema = _nested({name: arrow_type(kind) for name, kind in kinds.items()}, separator)
    table = _parsed(block, schema)
    return None if table is None else [_taken(table, name.split(separator)) for name in kinds]


def _parsed(block: bytes, schema: pa.Schema | None) -> pa.Table | None:
    from pyarrow import json

    lines = [line for line in map(bytes.strip, block.split(b"\n")) if line]
    if not lines or b"NaN" in block or b"Inf" in block:
        return None
    # what has sixteen digits may be an integer that a binary fraction cannot hold
    if b"0" * 16 in block.translate(_DIGITS) and _LONG.search(block):
        return None
    # a null that is no value of a field would crash the parser, and so would very deep values
    if not all(line.startswith(b"{") and line.endswith(b"}") for line in lines) or _NULL_ALONE.search(block):
        return None
    if any(line.count(b"[") + line.count(b"{") > _DEEPEST for line in lines):
        return None
    try:
        block.decode()
        table = json.read_json(
            io.BytesIO(block),
            read_options=json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    # one object a line, or it is no file of JSON lines
    return table if table.num_rows == len(lines) else None


def _flatten(fields: Any, prefix: str, separator: str, found: dict[str, Kind | None]) -> bool:
    """Put down the fields and those within them; return whether every name can be a step of a path."""
    for field in fields:
        kind = _kind(field.type)
        if separator in field.name or kind == "unknown":
            return False
        if kind == "object":
            inner = [field.type.field(place) for place in range(field.type.num_fields)]
            # of an object that is empty everywhere nobody can tell null from nothing
            if not inner or not _flatten(inner, prefix + field.name + separator, separator, found):
                return False
        else:
            found[prefix + field.name] = kind
    return True


def _kind(data_type: pa.DataType) -> Any:
    if pa.types.is_null(data_type):
        return None
    if pa.types.is_struct(data_type):
        return "object"
    if pa.types.is_string(data_type) or pa.types.is_temporal(data_type):
        return "text"
    kinds = {pa.int64(): "integer", pa.float64(): "number", pa.bool_(): "boolean"}
    return "list" if pa.types.is_list(data_type) else kinds.get(data_type, "unknown")


def _nested(types: Mapping[str, pa.DataType], separator: str) -> pa.Schema:
    """Return the schema of objects in which some paths lead to values of some types."""
    tree: dict[str, Any] = {}
    for name, data_type in types.items():
        *above, last = name.split(separator)
        inner = tree
        for step in above:
            inner = inner.setdefault(step, {})
        inner[last] = data_type
    return pa.schema(_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[pa.Field]:
    return [pa.field(name, pa.struct(_fields(inner)) if isinstance(inner, dict) else inner) for name, inner in tree.items()]


def _taken(table: pa.Table, steps: list[str]) -> pa.Array:
    import pyarrow.compute as pc

    column = table.column(steps[0])
    for step in steps[1:]:
        column = pc.struct_field(column, step)
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

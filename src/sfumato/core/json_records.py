"""JSON objects as flat records: nested fields by their path, ``{"geo": {"dest": "US"}}`` as ``geo.dest``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from sfumato.core.nested_types import lists

Kind = Literal["integer", "long", "number", "boolean", "text", "list"]

_TYPES: dict[Kind, pa.DataType] = {
    "integer": pa.int64(),
    "long": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "list": pa.string(),
}
_LARGEST = 1 << 63
_LONG = 1 << 53


class NotARecordError(ValueError):
    """A line that is no object of JSON, or names one field twice."""


def record(line: bytes, separator: str) -> dict[str, Any]:
    """Return the fields of one line by their paths; raise NotARecordError, or UnicodeDecodeError.

    >>> record(b'{"a": {"b": 1, "c": null}, "d": [2]}', ".")
    {'a.b': 1, 'a.c': None, 'd': [2]}
    """
    text = line.decode()
    try:
        value = document(text)
        if not isinstance(value, dict):
            raise NotARecordError
        found: dict[str, Any] = {}
        _flatten(value, "", separator, found)
    except RecursionError:
        raise NotARecordError from None
    except ValueError as error:
        raise NotARecordError from error
    return found


def document(text: str) -> Any:
    """Return a value of JSON; raise a ValueError or a RecursionError where it is none, names a field twice, or holds what is no text or number."""
    value = _DECODER.decode(text)
    if "\\u" in text:
        # half a character is no text
        json.dumps(value, ensure_ascii=False).encode()
    return value


def document_as_written(text: str) -> Any:
    """Return a value of JSON as ``document`` does, with numbers that would be written in another way as they are written.

    >>> json_text(document_as_written('{"a": 1E5, "b": 1.50}')), json_text(document('{"a": 1E5, "b": 1.50}'))
    ('{"a":1E5,"b":1.50}', '{"a":100000.0,"b":1.5}')
    """
    value = _WRITTEN_DECODER.decode(text)
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    return value


def scalar_as_written(text: str) -> bool | int | float | WrittenNumber | None:
    """Return the number or the truth value that a text is in JSON, written in the same way; None where it is none.

    >>> scalar_as_written("5"), scalar_as_written("1.50"), scalar_as_written("NaN"), scalar_as_written(" 5"), scalar_as_written("[5]")
    (5, WrittenNumber(text='1.50'), None, None, None)
    """
    try:
        value = document_as_written(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, int | float | WrittenNumber) and json_text(value) == text else None


def _flatten(value: Mapping[str, Any], prefix: str, separator: str, found: dict[str, Any]) -> None:
    for key, inner in value.items():
        path = prefix + key
        if isinstance(inner, dict):
            _flatten(inner, path + separator, separator, found)
        elif path in found:
            # "a.b" beside {"a": {"b": ...}}
            raise NotARecordError
        else:
            found[path] = inner


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotARecordError
    return found


def _no_number(name: str) -> float:
    del name
    raise NotARecordError


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotARecordError
    return number


@dataclass(frozen=True)
class WrittenNumber:
    """A finite number that a binary fraction would write in another way, or that it is not."""

    text: str


def _as_written(text: str) -> float | WrittenNumber:
    number = _finite(text)
    return number if repr(number) == text else WrittenNumber(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
_WRITTEN_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_as_written)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Shape:
    """The fields of many records in the order in which they were met, and the kinds of values that each has."""

    def __init__(self, known: Mapping[str, Kind]) -> None:
        self._kinds: dict[str, set[Kind]] = {path: {kind} for path, kind in known.items()}

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take note of one record."""
        self.add_kinds({path: None if value is None else _kind(value) for path, value in fields.items()})

    def add_kinds(self, kinds: Mapping[str, Kind | None]) -> None:
        """Take note of the kinds of one record, or of many; None is that of null."""
        for path, kind in kinds.items():
            known = self._kinds.setdefault(path, set())
            if kind is not None:
                known.add(kind)

    def kinds(self, separator: str, stray_lists: bool = False) -> dict[str, Kind]:
        """Return one kind a field: that of all its values, and text where they differ. A null in place of an object is no field.

        Where some values are lists and others are not the field is one of lists; with ``stray_lists`` it is one of the others.

        >>> shape = Shape({})
        >>> shape.add({"town": "Ulm"})
        >>> shape.add({"town": ["Ulm"]})
        >>> shape.kinds("."), shape.kinds(".", stray_lists=True)
        ({'town': 'list'}, {'town': 'text'})
        """
        objects = objects_of(self._kinds, separator)
        found = {path: kinds for path, kinds in self._kinds.items() if kinds or path not in objects}
        return {path: _joint((kinds - {"list"} if stray_lists else None) or kinds) for path, kinds in found.items()}


def objects_of(paths: Iterable[str], separator: str) -> set[str]:
    """Return the paths of the objects in which fields lie.

    >>> sorted(objects_of(["a.b.c", "d"], "."))
    ['a', 'a.b']
    """
    steps = (path.split(separator) for path in paths)
    return {separator.join(path[:number]) for path in steps for number in range(1, len(path))}


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        # a long one beside fractions would be rounded
        return "text" if not -_LARGEST <= value < _LARGEST else "long" if abs(value) > _LONG else "integer"
    if isinstance(value, float):
        return "number"
    return "text" if isinstance(value, str) else "list"


def _joint(kinds: set[Kind]) -> Kind:
    if "list" in kinds:
        return "list"
    if kinds and kinds <= {"integer", "long"}:
        return "integer"
    if len(kinds) == 1:
        return next(iter(kinds))
    return "number" if kinds == {"integer", "number"} else "text"


def kind_of(data_type: pa.DataType) -> Kind:
    """Return the kind that values of an Arrow type have when they are written as JSON."""
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    if pa.types.is_boolean(data_type):
        return "boolean"
    if pa.types.is_integer(data_type):
        return "integer"
    return "number" if pa.types.is_floating(data_type) else "text"


def arrow_type(kind: Kind) -> pa.DataType:
    """Return the type of a column of a kind."""
    return _TYPES[kind]


def field_of(name: str, kind: Kind) -> pa.Field:
    """Return the field of a column of a kind."""
    return lists(name) if kind == "list" else pa.field(name, _TYPES[kind])


def column(values: list[Any], kind: Kind) -> pa.Array:
    """Return the values of one field as a column; of a mixed field as text."""
    if kind == "text":
        values = [None if value is None else _text(value) for value in values]
    elif kind == "list":
        values = [None if value is None else json_text(value) for value in values]
    elif kind == "number":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, arrow_type(kind))


def json_text(value: Any) -> str:
    """Return a value as JSON, in the one form in which lists are held as text; raise a ValueError for a number that is not finite.

    >>> json_text([{"a": 1}, "ö"])
    '[{"a":1},"ö"]'
    """
    try:
        return _ENCODER.encode(value)
    except TypeError:
        # a number that is kept as it was written, which is rare
        return _written(value)


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join([f"{_ENCODER.encode(name)}:{_written(inner)}" for name, inner in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_written(inner) for inner in value]) + "]"
    return value.text if isinstance(value, WrittenNumber) else _ENCODER.encode(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def templates(names: Sequence[str], separator: str) -> list[str]:
    r"""Return what stands before each value of a record, and after the last one, so that paths become nested objects again.

    >>> templates(["a.b", "a.c", "d"], ".")
    ['{"a":{"b":', ',"c":', '},"d":', '}\n']
    """
    parts, opened = [], list[str]()
    for place, name in enumerate(names):
        *folders, leaf = name.split(separator) if nests(name, names, separator) else [name]
        common = 0
        while common < min(len(opened), len(folders)) and opened[common] == folders[common]:
            common += 1
        before = "}" * (len(opened) - common) + ("," if place else "{")
        before += "".join(f"{json.dumps(folder, ensure_ascii=False)}:{{" for folder in folders[common:])
        parts.append(before + f"{json.dumps(leaf, ensure_ascii=False)}:")
        opened = folders
    return [*parts, "}" * len(opened) + ("}\n" if names else "{}\n")]


def grouped(names: Sequence[str], separator: str) -> list[str]:
    """Return the names with those of one nested object beside each other, otherwise in their order: an object is written once."""
    tree: dict[str, Any] = {}
    for name in names:
        steps = name.split(separator) if nests(name, names, separator) else [name]
        inner = tree
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = name
    return list(_leaves(tree))


def _leaves(tree: Mapping[str, Any]) -> Iterator[str]:
    for inner in tree.values():
        if isinstance(inner, dict):
            yield from _leaves(inner)
        else:
            yield inner


def nests(name: str, names: Sequence[str], separator: str) -> bool:
    """Return whether a name can be written as a path: none of its beginnings is a field itself."""
    steps = name.split(separator)
    beginnings = {separator.join(steps[:number]) for number in range(1, len(steps))}
    return all(steps) and not beginnings & set(names)

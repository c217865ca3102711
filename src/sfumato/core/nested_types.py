"""Columns whose values are lists, structures or maps: they are worked on as text in JSON, and their types are remembered beside it.

A source describes such a column as text and says in the metadata of its field what it was, so that a sink that knows types can give it back. A
column that nobody can read as text is described too: where it is removed nothing is asked of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.errors import DataError

ELEMENT = "[*]"
"""How a path says every element."""

READ_LISTS = "give them the role identifier, which removes them, or say lists: text in the source, and mask them with nested"
"""What is tried where lists of JSON lines are refused."""

_NESTED = b"sfumato.nested"
_UNREADABLE = b"sfumato.unreadable"
_LISTS = b"sfumato.lists"
_DEEPEST = 50


def described(field: pa.Field) -> pa.Field:
    """Return a field of nested values as text that remembers its type, or why it cannot be read; any other field as it is.

    >>> nested_type(described(pa.field("tags", pa.list_(pa.large_string()))))
    ListType(list<item: string>)
    """
    why = _why_unreadable(field.type, 0)
    if why is not None:
        return unreadable(field.name, why)
    if not pa.types.is_nested(field.type):
        return field
    kind = pa.schema([pa.field("", plain_type(field.type))])
    return pa.field(field.name, pa.string(), metadata={_NESTED: kind.serialize().to_pybytes()})


def unreadable(name: str, why: str) -> pa.Field:
    """Return the field of a column that nobody can read as text."""
    return pa.field(name, pa.string(), metadata={_UNREADABLE: why.encode()})


def lists(name: str, are_read: bool = True) -> pa.Field:
    """Return the field of a column of JSON lines whose values are lists of anything; ``are_read`` says whether the policy reads them as text in JSON.

    >>> holds_lists(lists("tags")), holds_lists(pa.field("tags", pa.string())), nested_type(lists("tags"))
    (True, False, None)
    """
    return pa.field(name, pa.string(), metadata={_LISTS: b"read" if are_read else b"refused"})


def holds_lists(field: pa.Field) -> bool:
    """Return whether the values of a column are lists of JSON lines, of which nothing says what they hold."""
    return _LISTS in (field.metadata or {})


def are_lists_read(field: pa.Field) -> bool:
    """Return whether the policy reads such lists as text in JSON."""
    return (field.metadata or {}).get(_LISTS) != b"refused"


def nested_type(field: pa.Field) -> pa.DataType | None:
    """Return the type that a column of text in JSON was read from; None where it is another column."""
    stored = (field.metadata or {}).get(_NESTED)
    return None if stored is None else pa.ipc.read_schema(pa.py_buffer(stored)).field(0).type


def is_readable(field: pa.Field) -> bool:
    """Return whether the values of a column can be read as text."""
    return _UNREADABLE not in (field.metadata or {})


def refuse_unreadable(schema: pa.Schema, columns: Sequence[str], name: str) -> None:
    """Refuse columns whose values cannot be read as text, where somebody asks for them."""
    wrong = [(column, schema.field(column).metadata[_UNREADABLE].decode()) for column in columns if not is_readable(schema.field(column))]
    if wrong:
        raise DataError(
            f"{name} has columns that cannot be read: {', '.join(f'{column} ({why})' for column, why in wrong)}",
            code="column-nested",
            hint="give them the role identifier, which removes them, or decode them into columns of text, numbers, dates or instants",
        )


@dataclass(frozen=True)
class Leaf:
    """Where documents of a type have single values, of which type these are, and whether there must be one: a map has no key that is missing."""

    path: str
    kind: pa.DataType
    is_key: bool = False


def leaves_of(kind: pa.DataType, path: str = "$") -> Iterator[Leaf]:
    """Yield the places of all single values that documents of a type have.

    >>> [leaf.path for leaf in leaves_of(pa.struct([("a", pa.list_(pa.int8())), ("b c", pa.string())]))]
    ['$.a[*]', '$["b c"]']
    """
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaves_of(field.type, path + _step(field.name))
    elif pa.types.is_map(kind):
        # keys are values too: they may be names of people
        yield from (Leaf(leaf.path, leaf.kind, is_key=True) for leaf in leaves_of(kind.key_type, path + f"{ELEMENT}.key"))
        yield from leaves_of(kind.item_type, path + f"{ELEMENT}.value")
    elif is_list(kind):
        yield from leaves_of(kind.value_type, path + ELEMENT)
    else:
        yield Leaf(path, kind)


def is_list(kind: pa.DataType) -> bool:
    """Return whether values of a type are lists; maps are not meant."""
    views = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or views)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type as it is given back: dictionaries as what they hold, text as plain text, views as plain lists; any value may be missing."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type), kind.list_size)
    if pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(plain_type(kind.value_type))
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_null(kind) or pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return pa.string()
    return pa.float32() if pa.types.is_float16(kind) else kind


def _step(name: str) -> str:
    return f".{name}" if name and not set(name) & set('.[]" ') else f'["{name}"]'


def _why_unreadable(kind: pa.DataType, depth: int) -> str | None:
    """Return why values of a type cannot be read as text; None where they can."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.BaseExtensionType) or pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind):
        return "values of an unusual type"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return "bytes"
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return "lengths of time"
    if not pa.types.is_nested(kind):
        return None
    if depth == _DEEPEST:
        return f"nested deeper than {_DEEPEST}"
    if pa.types.is_struct(kind) and not kind.num_fields:
        return "structures without fields"
    if pa.types.is_struct(kind) and max(Counter(field.name for field in kind).values(), default=1) > 1:
        return "structures with two fields of one name"
    if pa.types.is_struct(kind) and any('"' in field.name for field in kind):
        return "structures whose fields have quotes in their names"
    return next((why for place in range(kind.num_fields) if (why := _why_unreadable(kind.field(place).type, depth + 1)) is not None), None)

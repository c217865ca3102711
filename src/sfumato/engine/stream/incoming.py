"""Incoming: records of any form as columns of the stream's schema; those that do not fit it are set aside.

The schema is that of the first records, or it was declared. Later records must fit it: a value of another type is taken where it can be read as one
of the column's, and otherwise its record is a dead letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.canonical import ValueType
from sfumato.core.column_types import refuse_same_names
from sfumato.core.meant_name import meant
from sfumato.core.nested_types import described, holds_lists, nested_type
from sfumato.core.nested_values import as_json
from sfumato.engine.frames import as_table
from sfumato.engine.stream.dead_letters import Unfit
from sfumato.engine.stream.exact_casts import FAILURES, cast, days_of, instants_of, is_number, text_of_number, texts_of
from sfumato.engine.stream.families import Family, is_known_zone, midnight, says_nothing, type_family
from sfumato.errors import DataError, UsageError
from sfumato.policy.model import Column, Policy

_DECLARED: dict[ValueType, pa.DataType] = {"integer": pa.int64(), "decimal": pa.float64()}
_MAY_SAY_NOTHING = ("fraction", "decimal", "instant")
_TEXTS = (pa.large_string(), pa.string_view())


@dataclass(frozen=True, eq=False)
class Taken:
    """Columns as they were given, all of the same number of rows; ``loose`` where each record names its own columns.

    ``unreadable`` are, by column, rows whose value has no place in the column, ``strange`` the rows that name a column nobody knows, by the
    column of the policy that was probably meant.
    """

    columns: Mapping[str, pa.Array]
    rows: int
    loose: bool = False
    unreadable: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    strange: Mapping[str | None, NDArray[np.bool_]] = field(default_factory=dict)
    mixed: frozenset[str] = frozenset()
    """The columns whose values are of several types."""
    lists: Mapping[str, pa.Field] = field(default_factory=dict)
    """The columns whose values are lists of JSON lines, as fields that say so."""


def take(data: Any, policy: Policy, schema: pa.Schema | None = None) -> Taken:
    """Return records as columns: an Arrow batch or table, a data frame of pandas or polars, or a list of mappings."""
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        if not all(isinstance(record, Mapping) for record in data):
            raise UsageError("records in a list are mappings", code="data-kind", hint="[{'age': 34, ...}, ...], or an Arrow table")
        return _of_mappings(data, policy, schema)
    if not isinstance(data, pa.Table):
        data = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else as_table(data)
    try:
        # before anything is made of it: what is damaged may point anywhere, and text be none
        data.validate(full=True)
    except pa.ArrowInvalid:
        raise UsageError("the Arrow data that came is damaged", code="data-kind", hint="its validate(full=True) says what is wrong") from None
    refuse_same_names(data.column_names, "what came", "rename them: a policy speaks of columns by name")
    columns = {name: _plain(column.combine_chunks()) for name, column in zip(data.column_names, data.columns, strict=True)}
    return Taken(columns, data.num_rows, lists={one.name: one for one in data.schema if holds_lists(one)})


def schema_of(taken: Taken, policy: Policy) -> pa.Schema:
    """Return the schema of a stream from its first records.

    Where records name their own columns it has all columns of the policy, and one that nobody has named yet is of the type that the policy says.
    """
    if not taken.loose:
        kinds = {name: _kind_of(column.type, policy.columns.get(name)) for name, column in taken.columns.items()}
        return pa.schema([taken.lists.get(name) or described(pa.field(name, kind)) for name, kind in kinds.items()])
    fields = []
    for name, column in policy.columns.items():
        found = taken.columns.get(name)
        declared = _DECLARED.get(column.type or "text", pa.string())
        kind = _declared(found.type, column) if found is not None and not pa.types.is_null(found.type) else declared
        if pa.types.is_decimal(kind):
            # how many digits the first numbers have says nothing of those that follow
            kind = pa.int64() if column.type == "integer" else pa.float64()
        if name in taken.mixed and not column.missing and column.on_unknown == "error" and name not in policy.formats:
            # what is of the type that the policy says is right, and the others are to be set aside
            kind = declared
        fields.append(described(pa.field(name, kind)))
    return pa.schema(fields)


def _kind_of(kind: pa.DataType, column: Column | None) -> pa.DataType:
    """Return the type of a column of Arrow; of one that has nothing in it yet as the policy says it, and any value is text."""
    if pa.types.is_null(kind) and column is not None:
        return _DECLARED.get(column.type or "text", pa.string())
    return _declared(kind, column)


def _declared(kind: pa.DataType, column: Column | None) -> pa.DataType:
    """Return the type of a column as the policy says it: what the first values are says nothing of those that follow."""
    declared = None if column is None else column.type
    is_time = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    if declared is None or not (is_time or is_number(kind) or pa.types.is_boolean(kind)):
        return kind
    if declared == "decimal":
        return kind if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else pa.float64()
    if declared == "integer":
        return kind if pa.types.is_integer(kind) or pa.types.is_decimal(kind) else pa.int64()
    return kind if is_time and declared in ("date", "timestamp") else pa.string()


def fitted(taken: Taken, schema: pa.Schema, policy: Policy, unfit: Unfit) -> dict[str, pa.Array]:
    """Return the columns in the types of the schema; set records aside that do not fit."""
    if policy.unnamed == "refuse":
        for name, rows in taken.strange.items():
            unfit.add(rows, "columns-differ", name)
    if not taken.loose:
        differs = {*taken.columns} ^ {*schema.names} if policy.unnamed == "refuse" else {*schema.names} - {*taken.columns}
        if differs:
            # nobody can tell which records are right
            absent = tuple(name for name in policy.columns if name in differs and name not in taken.columns)
            unfit.add(np.ones(taken.rows, bool), "columns-differ", meant(absent, tuple(name for name in taken.columns if name not in schema.names)))
    for name, rows in taken.unreadable.items():
        unfit.add(rows, "value-type", name)
    found = {}
    for one in schema:
        column = taken.columns.get(one.name)
        column = pa.nulls(taken.rows, one.type) if column is None else column
        found[one.name], wrong = _as_field(column, one, _type_of(one.name, policy))
        unfit.add(wrong, "value-type", one.name)
    return found


def _type_of(name: str, policy: Policy) -> ValueType | None:
    column = policy.columns.get(name)
    return column.type if column is not None else None


def _as_declared(values: pa.Array, declared: ValueType | None) -> pa.Array:
    """Return days as instants, and instants at midnight as days, where they are declared so: as other records have them, in text."""
    if declared == "date" and pa.types.is_timestamp(values.type):
        return days_of(values)
    return instants_of(values) if declared == "timestamp" and pa.types.is_date(values.type) else values


def _as_field(values: pa.Array, one: pa.Field, declared: ValueType | None) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return values as those of a field, and which of them cannot be."""
    nobody = np.zeros(len(values), bool)
    if nested_type(one) is not None and pa.types.is_nested(values.type):
        return _as_documents(values, one.name)
    if values.type == one.type:
        return values, nobody
    if pa.types.is_nested(values.type) or pa.types.is_nested(one.type):
        return pa.nulls(len(values), one.type), values.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(values.type) and not pa.types.is_floating(one.type):
        # what is no number says nothing, as a missing value among whole numbers does that pandas has made fractions of
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    made = cast(_as_declared(values, declared) if pa.types.is_string(one.type) else values, one.type)
    return made, values.is_valid().to_numpy(zero_copy_only=False) & made.is_null().to_numpy(zero_copy_only=False)


def _as_documents(values: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return lists and structures as text in JSON, and which have none; halves are looked at apart until the culprits are alone."""
    try:
        return as_json(values, name), np.zeros(len(values), bool)
    except DataError:
        if len(values) == 1:
            return pa.nulls(1, pa.string()), np.ones(1, bool)
    middle = len(values) // 2
    first, second = _as_documents(values[:middle], name), _as_documents(values[middle:], name)
    return pa.concat_arrays([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _plain(values: Any) -> pa.Array:
    """Return a column without a dictionary, and text and decimals in the one type that all of them have here."""
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, values.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal32(values.type) or pa.types.is_decimal64(values.type):
        # Arrow can do little with them
        return values.cast(pa.decimal128(values.type.precision, values.type.scale))
    if pa.types.is_timestamp(values.type) and not is_known_zone(values.type.tz):
        # an instant is the same in every zone
        return values.cast(pa.timestamp(values.type.unit, tz="UTC"))
    return values.cast(pa.string()) if values.type in _TEXTS else values


def _of_mappings(records: Sequence[Mapping[str, Any]], policy: Policy, schema: pa.Schema | None) -> Taken:
    known = list(policy.columns)
    strange = _strange(records, policy.columns)
    columns, unreadable, mixed = {}, {}, set()
    for name in known:
        if schema is not None and name not in schema.names:
            continue
        values = [record.get(name) for record in records]
        columns[name], wrong = _of_values(values, None if schema is None else schema.field(name), policy.columns[name].type)
        if pa.types.is_string(columns[name].type) and not {*map(type, values)} <= {str, type(None)}:
            mixed.add(name)
        if wrong.any():
            unreadable[name] = wrong
    return Taken(columns, len(records), True, unreadable, strange, frozenset(mixed))


def _strange(records: Sequence[Mapping[str, Any]], known: Mapping[str, Any]) -> dict[str | None, NDArray[np.bool_]]:
    """Return which records name a column nobody knows, by the column that was probably meant."""
    found: dict[str | None, NDArray[np.bool_]] = {}
    for place, record in enumerate(records):
        others = tuple(str(name) for name in record if name not in known)
        if others:
            absent = tuple(name for name in known if name not in record)
            found.setdefault(meant(absent, others), np.zeros(len(records), bool))[place] = True
    return found


def _of_values(values: Sequence[Any], one: pa.Field | None, declared: ValueType | None) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return Python's values as a column, and which of them have no place in it.

    Values of one family are what Arrow makes of them; of several each is its own text, whatever stands beside it.
    """
    nobody = np.zeros(len(values), bool)
    if one is not None and nested_type(one) is not None:
        return _texts(values, [None if value is None else _document(value) for value in values])
    values, families = _told(values, one)
    if one is None and families == {"day", "instant"}:
        values = [midnight(value) if type_family(type(value)) == "day" else value for value in values]
        families = {"instant"}
    try:
        if not _are_one(families, one):
            raise ValueError
        # what is no number says nothing
        made = pa.array(values, one.type if one is not None and _decides(one.type, families) else None, from_pandas=True)
        if pa.types.is_floating(made.type):
            # zero has one sign
            made = pc.add(made, pa.scalar(0.0, made.type))
        if pa.types.is_time(made.type):
            # beside other values each time is its text
            raise ValueError
        return made if one is None and pa.types.is_nested(made.type) else _plain(made), nobody
    except FAILURES:
        values = _without_nothing(values)
        return _texts(values, [_text(value, declared) for value in values])


def _told(values: Sequence[Any], one: pa.Field | None) -> tuple[Sequence[Any], set[Family]]:
    """Return values as those that they say, and the families that they are of. What is no time says nothing, nor what is no number beside others."""
    kinds = set(map(type, values))
    families = {type_family(kind) for kind in kinds} - {"nothing"}
    if any(issubclass(kind, np.integer) or (issubclass(kind, np.floating) and not issubclass(kind, float)) for kind in kinds):
        # Arrow takes large numbers without a sign for negative ones where it makes fractions of them
        values = [_meant(value) if isinstance(value, np.floating) else int(value) if isinstance(value, np.integer) else value for value in values]
    are_fractions = families <= {"whole", "fraction"} and (one is None or pa.types.is_floating(one.type))
    if not are_fractions and not families.isdisjoint(_MAY_SAY_NOTHING):
        values = _without_nothing(values)
    return values, families


def _without_nothing(values: Sequence[Any]) -> list[Any]:
    return [None if type_family(type(value)) in _MAY_SAY_NOTHING and says_nothing(value) else value for value in values]


def _meant(value: np.floating[Any]) -> float:
    """Return the number that a fraction of few bytes means, as in a column of such ones: itself where it is whole, else the shortest."""
    wide = float(value)
    return wide if wide.is_integer() else float(str(value))


def _are_one(families: set[Family], one: pa.Field | None) -> bool:
    """Return whether Arrow makes of all values what it would make of each."""
    if families == {"whole", "fraction"}:
        # where it cannot tell them exactly as fractions it says so
        return one is None or pa.types.is_floating(one.type)
    # of decimals it makes others by their neighbours, or rounds them, and of bytes text
    told_alone = {"decimal", "other"} if one is not None and pa.types.is_string(one.type) else {"decimal"}
    return len(families) <= 1 and (one is None or families.isdisjoint(told_alone))


def _decides(kind: pa.DataType, families: set[Family]) -> bool:
    """Return whether a schema that is known makes of values what they are: 1 is text where texts are, but a fraction is no whole number."""
    if pa.types.is_integer(kind) or pa.types.is_float64(kind):
        return families <= {"whole", "fraction"} and (pa.types.is_float64(kind) or "fraction" not in families)
    # of times Arrow would cut off what is finer, and take numbers for them
    return not (pa.types.is_string(kind) or pa.types.is_boolean(kind) or is_number(kind) or pa.types.is_temporal(kind))


def _texts(values: Sequence[Any], texts: list[str | None]) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return texts, and which values have none."""
    wrong = np.array([text is None and value is not None for text, value in zip(texts, values, strict=True)], bool)
    return pa.array(texts, pa.string()), wrong


def _document(value: Any) -> str | None:
    """Return a list or mapping as text in JSON, as other columns of documents are read; None where it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _is_encoded(text) else None


def _is_encoded(text: str) -> bool:
    """Return whether a text can be written down at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any, declared: ValueType | None) -> str | None:
    """Return a single value as text; None for what is no single value. A day and an instant are one another's in a column that is declared so."""
    family = type_family(type(value))
    if family == "text":
        # half a pair of surrogates is no character
        return str(value) if value.isascii() or _is_encoded(value) else None
    if family == "nothing" or isinstance(value, Mapping | Sequence | set):
        return None
    try:
        if family in ("whole", "decimal"):
            return text_of_number(int(value) if family == "whole" else value)
        made = pa.array([midnight(value) if family == "day" and declared == "timestamp" else value])
        found: str | None = (days_of(made) if family == "instant" and declared == "date" else texts_of(made)).to_pylist()[0]
    except FAILURES:
        return None
    return found

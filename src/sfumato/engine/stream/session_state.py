"""The state of a session as bytes: what is needed to go on elsewhere as if nothing had happened.

A head in JSON, parts behind it, and a fingerprint over all, so that half a file is not taken for a whole one. It holds records that wait: whoever has
it has them.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.hierarchy import Hierarchy, Level
from sfumato.engine.stream.rows import Rows
from sfumato.engine.stream.scales import Scale
from sfumato.errors import DataError
from sfumato.registry import find

VERSION = 3
_MAGIC = b"sfumato session\n"
_DIGEST = 32
_HINT = "begin a new session, or take the state that belongs to this policy"


def written(head: Mapping[str, Any], parts: Mapping[str, bytes]) -> bytes:
    """Return a head and parts as bytes."""
    text = json.dumps({**head, "version": VERSION, "parts": {name: len(part) for name, part in parts.items()}}).encode()
    body = _MAGIC + struct.pack("<Q", len(text)) + text + b"".join(parts.values())
    return body + hashlib.sha256(body).digest()


def read(state: bytes, policy: str, view: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the head and the parts of a state; refuse one that is damaged, of another version, or of another policy or view."""
    if not isinstance(state, bytes) or not state.startswith(_MAGIC):
        raise _refused("is no state of a session")
    body, digest = state[:-_DIGEST], state[-_DIGEST:]
    if len(state) < len(_MAGIC) + 8 + _DIGEST or hashlib.sha256(body).digest() != digest:
        raise _refused("is damaged: it is not whole, or not as it was written")
    start = len(_MAGIC) + 8
    (size,) = struct.unpack("<Q", body[len(_MAGIC) : start])
    head = json.loads(body[start : start + size])
    if head["version"] != VERSION:
        raise _refused(
            f"is of version {head['version']}, and this is version {VERSION}", "begin a new session, or the version of sfumato that wrote it"
        )
    if head["policy"] != policy or head["view"] != view:
        raise _refused(f"is of another {'policy' if head['policy'] != policy else 'view'}")
    parts, place = {}, start + size
    for name, length in head["parts"].items():
        parts[name] = body[place : place + length]
        place += length
    return head, parts


def names_as_bytes(names: Mapping[int, Any]) -> bytes:
    """Return the names of people, which may be numbers, days or instants, with their type.

    >>> from decimal import Decimal
    >>> names_of_bytes(names_as_bytes({7: Decimal("7.00")})), names_of_bytes(names_as_bytes({}))
    ({7: Decimal('7.00')}, {})
    """
    if not names:
        return b""
    batch = pa.RecordBatch.from_pydict({"person": pa.array(names.keys(), pa.int64()), "name": pa.array(list(names.values()))})
    return _as_bytes(batch)


def names_of_bytes(data: bytes) -> dict[int, Any]:
    """Return the names of people that were made bytes of."""
    if not data:
        return {}
    batch = pa.ipc.open_stream(data).read_next_batch()
    return dict(zip(batch.column("person").to_pylist(), batch.column("name").to_pylist(), strict=True))


def rows_as_bytes(rows: Rows | None) -> bytes:
    """Return rows as an Arrow stream; nothing for none."""
    if rows is None:
        return b""
    return _as_bytes(rows.batch)


def rows_of_bytes(data: bytes) -> Rows | None:
    """Return the rows of an Arrow stream."""
    if not data:
        return None
    (batch,) = pa.ipc.open_stream(data)
    return Rows(batch)


def schema_as_text(schema: pa.Schema | None) -> str | None:
    """Return a schema as text."""
    return None if schema is None else bytes(schema.serialize()).hex()


def schema_of_text(text: str | None) -> pa.Schema | None:
    """Return the schema of a text."""
    return None if text is None else pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))


def scale_as_json(scale: Scale) -> dict[str, Any]:
    """Return a scale in plain values."""
    builder: Any = scale.builder
    return {
        "name": scale.name,
        "kind": scale.kind,
        "missing": list(scale.missing),
        "on_unknown": scale.on_unknown,
        "ladder": None if scale.ladder is None else _ladder_as_json(scale.ladder),
        "builder": None if builder is None else {builder.component_name(): builder.model_dump(mode="json")},
        "bounds": [repr(bound) for bound in scale.bounds],
        "digits": scale.digits,
    }


def scale_of_json(told: Mapping[str, Any], written_down: Hierarchy | None) -> Scale:
    """Return the scale of plain values; a ladder that the policy has written down is the policy's."""
    builder = None
    for name, settings in (told["builder"] or {}).items():
        builder = find("hierarchies", name).model_validate(settings)
    ladder = None if told["ladder"] is None else written_down or _ladder_of_json(told["ladder"])
    low, high = (float(bound) for bound in told["bounds"])
    return Scale(told["name"], told["kind"], tuple(told["missing"]), told["on_unknown"], ladder, builder, (low, high), told["digits"])


def _ladder_as_json(ladder: Hierarchy) -> dict[str, Any]:
    batch = pa.RecordBatch.from_arrays([ladder.values], names=["values"])
    return {
        "column": ladder.column,
        "ordered": ladder.ordered,
        "kind": ladder.kind,
        "values": rows_as_bytes(Rows(batch)).hex(),
        "levels": [[level.starts.tolist(), list(level.labels)] for level in ladder.levels],
        "tells_values": ladder.tells_values,
    }


def _ladder_of_json(told: Mapping[str, Any]) -> Hierarchy:
    rows = rows_of_bytes(bytes.fromhex(told["values"]))
    if rows is None:
        raise _refused("is damaged: a hierarchy is not whole")
    levels = tuple(Level(np.array(starts, np.int32), tuple(labels)) for starts, labels in told["levels"])
    return Hierarchy(told["column"], told["ordered"], told["kind"], rows.batch.column(0), levels, told["tells_values"])


def _refused(what: str, hint: str = _HINT) -> DataError:
    return DataError(f"what was given to be restored {what}", code="stream-state", hint=hint)


def _as_bytes(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())

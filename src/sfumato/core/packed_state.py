"""States as bytes: named arrays and a few plain values, with a name, a version and a digest before them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

_DIGEST = 32


def packed(name: str, version: int, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a state as bytes.

    >>> state = packed("letters", 2, {"last": "c"}, {"counts": np.array([3, 1])})
    >>> values, arrays = unpacked(state, "letters", 2)
    >>> values["last"], arrays["counts"].tolist()
    ('c', [3, 1])
    """
    shapes = {key: [array.dtype.str, list(array.shape)] for key, array in arrays.items()}
    words = json.dumps({"name": name, "version": version, "values": dict(values), "arrays": shapes}).encode()
    rest = b"".join([len(words).to_bytes(8), words, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())])
    return hashlib.sha256(rest).digest() + rest


def unpacked(state: bytes, name: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a state holds. One of another version, of something else, or that is not whole is refused.

    >>> unpacked(packed("letters", 1, {}, {}), "letters", 2)
    Traceback (most recent call last):
    sfumato.errors.DataError: a state of letters has version 1, and this program reads version 2 [stream-state]
      try: end the stream with the version that began it, or begin it anew with an empty state folder
    """
    rest = state[_DIGEST:]
    if hashlib.sha256(rest).digest() != state[:_DIGEST]:
        raise _refused(f"a state of {name} is not whole", "go on from an earlier one, or begin the stream anew with an empty state folder")
    length = int.from_bytes(rest[:8])
    words = json.loads(rest[8 : 8 + length])
    if words["name"] != name:
        raise _refused(f"a state of {name} was asked for, and this is one of {words['name']}", "give each view of a stream its own state")
    if words["version"] != version:
        hint = "end the stream with the version that began it, or begin it anew with an empty state folder"
        raise _refused(f"a state of {name} has version {words['version']}, and this program reads version {version}", hint)
    arrays, place = {}, 8 + length
    for key, (kind, shape) in words["arrays"].items():
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        arrays[key] = np.frombuffer(rest[place : place + size], kind).reshape(shape).copy()
        place += size
    return words["values"], arrays


def _refused(what: str, hint: str) -> DataError:
    return DataError(what, code="stream-state", hint=hint)

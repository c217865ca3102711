"""The formats of files, by the endings of their names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from sfumato.core.compression import plain_name

FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".csv": ("delimited", {}),
    ".tsv": ("delimited", {"delimiter": "\t"}),
    ".txt": ("delimited", {}),
    ".parquet": ("parquet", {}),
    ".jsonl": ("json_lines", {}),
    ".ndjson": ("json_lines", {}),
    ".arrow": ("arrow", {}),
    ".feather": ("arrow", {}),
    ".arrows": ("arrow", {}),
    ".xlsx": ("excel", {}),
}

ENDINGS = ", ".join(FORMATS)
"""All endings, as messages list them."""

_READ_ALONE = (".arrows",)


def format_of(path: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the format of a file by the ending of its name, one that says how it is compressed left aside; None where it says none.

    >>> format_of("a.jsonl.gz"), format_of("a.xyz")
    (('json_lines', {}), None)
    """
    return FORMATS.get(PurePath(plain_name(path)).suffix.lower())


def is_read_alone(path: str) -> bool:
    """Return whether the ending of a name is one of files that are read and not written: what is written of Arrow are files, and no streams.

    >>> is_read_alone("a.arrows"), is_read_alone("a.arrow")
    (True, False)
    """
    return PurePath(path).suffix.lower() in _READ_ALONE


def is_of(path: str, name: str) -> bool:
    """Return whether a file has an ending of a format.

    >>> is_of("a.ndjson.zst", "json_lines"), is_of("a.csv", "parquet")
    (True, False)
    """
    known = format_of(path)
    return known is not None and known[0] == name

"""The first bytes of a file that say what it is, where its name or the policy says something else."""

from __future__ import annotations

import codecs
from pathlib import Path

from sfumato.core.files import file_errors, to_utf8

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_ARCHIVE = b"PK\x03\x04"
# the mark of UTF-32 begins with that of UTF-16
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def seems_to_be(path: str, encodings: bool = True) -> tuple[str, str] | None:
    """Return what the first bytes of a file show it to be, and what to say in the source; None where they show nothing.

    ``encodings`` says whether the source takes text in others than UTF-8.
    """
    with file_errors(path), Path(path).open("rb") as file:
        beginning = file.read(8)
    for mark, compression in _COMPRESSED.items():
        if beginning.startswith(mark):
            return f"compressed with {compression}", f"say compression: {compression} in the source"
    if beginning.startswith(_ARCHIVE):
        return "a zip archive, or a workbook of Excel", "unpack it first; a workbook is read by its ending, .xlsx"
    for mark, encoding in _MARKS.items():
        if beginning.startswith(mark):
            say = f"say encoding: {encoding} in the source (--encoding {encoding} of assess)"
            return f"{encoding.upper()} text, as its byte order mark says", say if encodings else f"convert it first: {to_utf8(path, encoding)}"
    return None

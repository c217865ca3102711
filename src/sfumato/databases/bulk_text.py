r"""Rows as text in bulk: fields with tabs between them, ``\N`` for a missing value, a backslash before what would end a field or a line.

PostgreSQL (``COPY``) and MySQL and MariaDB (``LOAD DATA``) read this form, all of them without asking how it is written.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# the backslash first: it stands before the others
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
MISSING = "\\N"


def bulk_text(batch: pa.RecordBatch) -> bytes:
    r"""Return the lines of some rows.

    >>> bulk_text(pa.RecordBatch.from_pydict({"name": ["Ann\tB", None, ""], "ok": [True, False, None]}))
    b'Ann\\tB\t1\n\\N\t0\n\t\\N\n'
    """
    if not batch.num_rows:
        return b""
    lines = pc.binary_join_element_wise(*(_field(column) for column in batch.columns), "\t")
    content = pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(lines)], pa.int64()), lines), "\n")
    return bytes(content[0].as_buffer()) + b"\n"


def _field(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        coded = _field(column.dictionary)
        return pc.fill_null(coded.take(column.indices), MISSING)
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_timestamp(kind):
        # what has a zone is an instant: its text is that of UTC, and the session's zone is UTC too
        column = column.cast(pa.timestamp("us", tz="UTC" if kind.tz else None)).cast(pa.timestamp("us"))
    text = column.cast(pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        for character, escaped in _ESCAPES:
            text = pc.replace_substring(text, character, escaped)
    return pc.fill_null(text, MISSING)

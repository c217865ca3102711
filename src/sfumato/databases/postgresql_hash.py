"""One number of 64 bits for the values of a row of PostgreSQL: each is hashed with the hash of those before it as seed.

Functions for one type each are called, which is faster than to make a row of the values and hash that. They say nothing of a missing value, so a row
that has one is hashed by a second expression, in which something stands for it.

The server's own functions for whole numbers of 64 bits and for times first fold them to 32 bits, where 1 and 2^32 are the same under any seed: of
such numbers both halves are hashed, and of such times all bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sfumato.databases.postgresql_types import is_text
from sfumato.databases.table import TableColumn

_TYPED = {
    pa.int16(): (("{0}", "hashint2extended"),),
    pa.int32(): (("{0}", "hashint4extended"),),
    pa.int64(): (("({0} >> 32)", "hashint8extended"), ("({0} & 4294967295)", "hashint8extended")),
    pa.float32(): (("{0}", "hashfloat4extended"),),
    pa.float64(): (("{0}", "hashfloat8extended"),),
    pa.timestamp("us"): (("encode(timestamp_send({0}), 'hex')", "hashtextextended"),),
    pa.timestamp("us", tz="UTC"): (("encode(timestamptz_send({0}), 'hex')", "hashtextextended"),),
    pa.time64("us"): (("encode(time_send({0}), 'hex')", "hashtextextended"),),
}
"""What is hashed of a value of each type, and by which function; values of other types are hashed as a row of one."""
_ROW = "hash_record_extended(ROW({0}), {1})"


def chained(values: Sequence[tuple[TableColumn, str]], seed: str, missing: str) -> str:
    """Return the hash of values, each an expression that is bytewise where it is text; ``missing`` stands for a text that is not there.

    >>> chained([(TableColumn("a", "text", pa.string()), "a")], "7::bigint", "?")
    "coalesce(hashtextextended(a, 7::bigint), hashtextextended(coalesce(a, '?'), 7::bigint))"
    >>> chained([], "7::bigint", "?")
    '7::bigint'
    """
    texts = [expression for column, expression in values if is_text(column)]
    parts = [part for column, expression in values if not is_text(column) for part in _parts(column, expression)]
    hashed = seed
    for expression, function in [*parts, *((text, "hashtextextended") for text in texts)]:
        hashed = f"{function}({expression}, {hashed})" if function else _ROW.format(expression, hashed)
    return f"coalesce({hashed}, {_with_missing([part for part, _ in parts], texts, seed, missing)})" if values else seed


def _parts(column: TableColumn, expression: str) -> list[tuple[str, str | None]]:
    """Return what is hashed of a value that is no text, and by which function."""
    known = _TYPED.get(column.kind)
    return [(part.format(expression), function) for part, function in known] if known else [(expression, None)]


def _with_missing(parts: Sequence[str], texts: Sequence[str], seed: str, missing: str) -> str:
    """Return the hash of a row in which some value is missing: a row of others says so itself."""
    hashed = _ROW.format(", ".join(parts), seed) if parts else seed
    for text in texts:
        hashed = f"hashtextextended(coalesce({text}, '{missing}'), {hashed})"
    return hashed

"""One number of 64 bits for the values of a row of PostgreSQL: each is hashed with the hash of those before it as seed.

Functions for one type each are called, which is faster than to make a row of the values and hash that. They say nothing of a missing value, so a row
that has one is hashed by a second expression, in which something stands for it.

The server's own functions for whole numbers of 64 bits and for times first fold them to 32 bits, where 1 and 2^32 are the same under any seed: of
such numbers both halves are hashed, and of such times all bytes. Those for fractions return their seed where the value is 0, so that 0 beside 5 would
be 5 beside 0: each gets the seed with other bits turned over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

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
"""What is hashed of a value of each type, and by which function; values of other types are hashed as one row."""
_FRACTIONS = ("hashfloat4extended", "hashfloat8extended")


def chained(values: Sequence[tuple[TableColumn, str]], seed: str, missing: str) -> str:
    """Return the hash of values, each an expression that is bytewise where it is text; ``missing`` stands for a text that is not there.

    >>> chained([(TableColumn("a", "text", pa.string()), "a")], "7::bigint", "?")
    "coalesce(hashtextextended(a, 7::bigint), hashtextextended(coalesce(a, '?'), 7::bigint))"
    >>> chained([(TableColumn("a", "date", pa.date32()), "a")], "7::bigint", "?")
    '(hash_record_extended(ROW(a), 7::bigint) # 7::bigint)'
    >>> chained([], "7::bigint", "?")
    '7::bigint'
    """
    texts = [expression for column, expression in values if is_text(column)]
    others = [(column, expression) for column, expression in values if not is_text(column)]
    rest = [expression for column, expression in others if column.kind not in _TYPED]
    parts = [(part.format(expression), function) for column, expression in others for part, function in _TYPED.get(column.kind, ())]
    # a row first: of one whose values are missing the hash is 0, which everybody knows, so that the seed is added
    hashed, fractions = f"({_row(rest, seed)} # {seed})" if rest else seed, count(1)
    for expression, function in [*parts, *((text, "hashtextextended") for text in texts)]:
        hashed = f"{function}({expression}, {_turned(hashed, next(fractions)) if function in _FRACTIONS else hashed})"
    return f"coalesce({hashed}, {_with_missing([*rest, *(part for part, _ in parts)], texts, seed, missing)})" if parts or texts else hashed


def _turned(seed: str, fraction: int) -> str:
    """Return a seed of which some bits are turned over, for the first fraction of a row, the second, ...: n zeros one after the other turn over n."""
    return f"{seed} # {fraction ^ (fraction - 1)}"


def _row(values: Sequence[str], seed: str) -> str:
    """Return the hash of a row of values."""
    return f"hash_record_extended(ROW({', '.join(values)}), {seed})"


def _with_missing(others: Sequence[str], texts: Sequence[str], seed: str, missing: str) -> str:
    """Return the hash of a row in which some value is missing: a row of others says so itself. A number first tells it from rows that lack none."""
    hashed = _row(["0", *others], seed) if others else seed
    for text in texts:
        hashed = f"hashtextextended(coalesce({text}, '{missing}'), {hashed})"
    return hashed

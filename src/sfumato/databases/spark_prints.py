"""Keys and fingerprints that Spark computes: 64 bits of some values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.databases.inside import PRINT, ROWS


def fingerprint(seed: int, columns: Sequence[Any]) -> Any:
    """Return a hash of some columns, by their names or as expressions. Spark leaves missing values out of one, so each is told before its value."""
    from pyspark.sql import functions

    found = [functions.col(each) if isinstance(each, str) else each for each in columns]
    parts = [part for each in found for part in (each.isNull(), each)]
    return functions.xxhash64(functions.lit(seed), *parts)


def printed(names: Sequence[str]) -> Any:
    """Return the sum of the fingerprints of some columns, the same in any order of the rows; as text, which holds any number."""
    from pyspark.sql import functions

    if not names:
        return functions.max(functions.lit("0")).alias(PRINT)
    total = functions.sum(fingerprint(0, names).cast("decimal(38,0)"))
    return functions.coalesce(total.cast("string"), functions.lit("0")).alias(PRINT)


def counted() -> Any:
    """Return the number of rows."""
    from pyspark.sql import functions

    return functions.count(functions.lit(1)).alias(ROWS)

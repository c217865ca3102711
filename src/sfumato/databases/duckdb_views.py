"""Which tables a view of DuckDB reads, by way of other views and of macros too: those of the plan of a query, before anything of it is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def tables_beneath(cursor: Any, name: str) -> set[str]:
    """Return the tables that are read under a quoted name, each as DuckDB writes it with its schema; of a table that is itself."""
    cursor.execute("SET explain_output = 'all'")
    try:
        plans = dict(cursor.execute(f"EXPLAIN (FORMAT json) SELECT * FROM {name}").fetchall())
    finally:
        cursor.execute("RESET explain_output")
    return set(_tables(json.loads(plans["logical_plan"])))


def _tables(steps: list[dict[str, Any]]) -> Iterator[str]:
    for step in steps:
        told = step.get("extra_info", {})
        if "Table" in told:
            # a name with several lines is a list of them here
            yield told["Table"] if isinstance(told["Table"], str) else "\n".join(told["Table"])
        yield from _tables(step.get("children", []))

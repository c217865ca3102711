"""What a plan of PostgreSQL does to the order of a table: a join may hand its rows on as they come, or bring those of one key together.

A hash join takes the rows of one side, one after the other, and looks for each in a table made of the other side. They come in their order as long as
that table fits into memory; where it does not, rows of both sides go into several files by a hash of their keys, and come from one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_ROW = 64
"""The bytes that a row of a hash table takes beside its values."""
_HANDS_ON = {"Gather", "Hash Join", "Nested Loop", "Result", "Subquery Scan"}
"""What hands the rows of its first input on as they come; several processes take turns, whatever is in a row."""


def keeps_order(plan: Mapping[str, Any], table: str, memory: int) -> bool:
    """Say whether the rows of a table come in its order, to which all is joined that is in hash tables of so many bytes.

    >>> scan = {"Node Type": "Seq Scan", "Relation Name": "rows"}
    >>> table = {"Node Type": "Hash", "Parent Relationship": "Inner", "Plan Rows": 10, "Plan Width": 8}
    >>> joined = {"Node Type": "Hash Join", "Plans": [{**scan, "Parent Relationship": "Outer"}, table]}
    >>> [keeps_order(joined, name, memory) for name, memory in (("rows", 1000), ("rows", 100), ("others", 1000))]
    [True, False, False]
    """
    if any(node["Plan Rows"] * (node["Plan Width"] + _ROW) > memory for node in _nodes(plan) if node["Node Type"] == "Hash"):
        return False
    node = plan
    while node["Node Type"] in _HANDS_ON:
        first = [each for each in node.get("Plans", []) if each["Parent Relationship"] in ("Outer", "Subquery")]
        if len(first) != 1:
            return False
        node = first[0]
    return bool(node["Node Type"] == "Seq Scan" and node["Relation Name"] == table)


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)

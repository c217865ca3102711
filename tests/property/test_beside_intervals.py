"""Totals and extremes beside intervals: what a reader can conclude of fewer than k people, worked out by trying, whatever the tables.

Whoever has rows of their own is one person here. Of any fewer than k people what they have together must stay open by a tenth of the interval of one.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

OTHER: dict[str, Any] = {"role": "other"}
NARROW = 0.1


def published(values: list[int], wards: list[str], mask: dict[str, Any], sizes: list[int]) -> tuple[dict[str, Any], list[tuple[int, int]]] | None:
    """Return what is told of each ward, and the interval in which each person is shown to be; None where nothing is published."""
    table = pa.table({"who": [f"p{number}" for number in range(len(values))], "ward": wards, "pay": values})
    views = {"told": {"columns": {"pay": {**OTHER, "mask": mask, "on_invalid": "remove"}}}}
    views |= {f"by_{size}": {"columns": {"pay": {**OTHER, "mask": {"generalise": {"size": size}}}}} for size in sizes}
    policy = {"accept": "inference", "columns": {"who": OTHER, "ward": OTHER, "pay": OTHER}, "views": views, "readers": {"reader": list(views)}}
    try:
        releases = sfumato.run(policy, table)
    except PromiseError:
        return None
    rows = {name: {row["who"]: row for row in release.table.to_pylist()} for name, release in releases.items()}
    told = {row["ward"]: row["pay"] for row in rows["told"].values() if row["pay"] is not None}
    shown = [[rows[f"by_{size}"][who]["pay"].strip("[]").split(", ") for size in sizes] for who in table["who"].to_pylist()]
    return told, [(max(int(low) for low, _ in each), min(int(high) for _, high in each)) for each in shown]


def tables(seed: int) -> Any:
    """Yield tables of few people, some of them with values at the ends of intervals, and most of them with many alike."""
    chance = np.random.default_rng(seed)
    for _ in range(16):
        number = int(chance.integers(4, 10))
        drawn = [0, 1, 39, 40, 41, 79, 80, 118, 119, *chance.integers(0, 200, 4).tolist()]
        values = chance.choice(chance.choice(drawn, int(chance.integers(1, 7))), number).tolist()
        wards = sorted(chance.choice(["A", "B"], number, p=[0.7, 0.3]).tolist())
        yield values, wards, [[40], [40], [40, 30], [50]][int(chance.integers(4))], int(chance.integers(2, 4))


def is_open(total: int, few: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Return whether enough is open of what few people have together, where they and others have a total."""
    least, most = (sum(ends) for ends in zip(*others, strict=True)) if others else (0, 0)
    low = max(sum(low for low, _ in few), total - most)
    high = min(sum(high for _, high in few), total - least)
    return high - low >= NARROW * max(high - low for low, high in few)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("function", ["sum", "average"])
def test_no_total_tells_what_fewer_than_k_people_have(seed: int, function: str) -> None:
    made = 0
    for values, wards, sizes, k in tables(seed):
        found = published(values, wards, {"aggregate": {"function": function, "by": ["ward"], "k": k, "dominance": 0.9, "decimals": 0}}, sizes)
        if found is None:
            continue
        for ward in found[0]:
            members = [number for number, each in enumerate(wards) if each == ward]
            total = sum(values[number] for number in members)
            for some in (some for few in range(1, k) for some in combinations(members, few)):
                few, others = [found[1][number] for number in some], [found[1][number] for number in members if number not in some]
                assert is_open(total, few, others), (values, wards, sizes, k)
                made += 1
    assert made, "nothing was published that could tell anything"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("function", ["max", "min"])
def test_no_extreme_tells_what_somebody_has(seed: int, function: str) -> None:
    made = 0
    for values, wards, sizes, k in tables(seed):
        found = published(values, wards, {"aggregate": {"function": function, "by": ["ward"], "k": k}}, sizes)
        for ward, told in found[0].items() if found is not None else ():
            members = [found[1][number] for number, each in enumerate(wards) if each == ward]
            if function == "min":
                told, members = -told, [(-high, -low) for low, high in members]
            for place, (low, high) in enumerate(members):
                others = members[:place] + members[place + 1 :]
                above, reach = sum(one > told for one, _ in others), sum(one >= told for _, one in others)
                may = [value for value in range(low, high + 1) if above + (value > told) < k <= reach + (value >= told)]
                assert max(may) - min(may) >= NARROW * (high - low), (values, wards, sizes, k)
                made += 1
    assert made, "nothing was published that could tell anything"

"""Sessions of streams: records a second of processor time through everything that a push does, verification included, not through kernels alone.

``make benchmark-sessions`` prints the table. ``--profile`` says where the time of one way goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from clusters import BRANCHES, NAMES, TREES, records
from events import five_levels

import sfumato

SECRET = bytes(32)


def of_events(number: int) -> pa.Table:
    """Return events with paths of five parts, as texts and whole numbers."""
    events = five_levels(number)
    return pa.table(
        {"user": pa.array(events.people), "at": pa.array(1_700_000_000_000_000 + events.times, pa.timestamp("us")), "item": events.attributes}
    )


def of_people(number: int) -> pa.Table:
    """Return records with eight quasi-identifiers and an illness."""
    points = records(number)
    columns = {"person": pa.array(points.people)}
    for place, name in enumerate(NAMES):
        values = points.coordinates[:, place].astype(np.int64)
        columns[name] = pa.array(values) if place < 2 else pa.array([str(leaf) for leaf in range(TREES[place - 2].size)]).take(pa.array(values))
    illness = pa.array([f"illness {code}" for code in range(14)]).take(pa.array(points.sensitive["illness"]))
    return pa.table(columns | {"illness": illness})


def z_anonymity(**further: Any) -> dict[str, Any]:
    """Return a policy over events."""
    columns = {"user": {"role": "identifier"}, "at": {"role": "identifier", "type": "timestamp"}, "item": {"role": "other"}}
    return {"subject": "user", "columns": columns, "algorithm": {"z_anonymity": {"z": 20, "time": "at", "path": "item", **further}}}


def clusters(**further: Any) -> dict[str, Any]:
    """Return a policy over people, with the trees written down."""
    trees = {
        name: {"role": "quasi_identifier", "type": "text", "hierarchy": {"taxonomy": {"tree": _tree(*branches)}}}
        for name, branches in zip(NAMES[2:], BRANCHES, strict=True)
    }
    numbers = {name: {"role": "quasi_identifier", "type": "integer"} for name in NAMES[:2]}
    columns = {"person": {"role": "identifier"}, **numbers, **trees, "illness": {"role": "sensitive"}}
    return {"subject": "person", "columns": columns, "promises": [{"k_anonymity": {"k": 10}}], **further}


def _tree(size: int, width: int) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for leaf in range(size):
        groups.setdefault(f"g{leaf // width}", []).append(str(leaf))
    return {"any": list(groups), **groups}


def rate(policy: dict[str, Any], table: pa.Table, batch: int, passes: int = 3) -> float:
    """Return records a second of processor time, the best of several passes."""
    best = 0.0
    for _ in range(passes):
        session = sfumato.stream(policy, secret=SECRET)
        batches = table.to_batches(max_chunksize=batch)
        session.push(batches[0])
        started = time.process_time()
        for each in batches[1:]:
            session.push(each)
        if session.accounts.dead:
            raise AssertionError("records that do not fit cost something else")
        best = max(best, (len(table) - batch) / (time.process_time() - started))
    return best


WAYS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[int], pa.Table], int]] = {
    "z-anonymity, five levels, batches of 1,000": (z_anonymity, of_events, 1000),
    "z-anonymity, five levels, batches of 5,000": (z_anonymity, of_events, 5000),
    "z-anonymity with noise of a quarter": (lambda: z_anonymity(noise={"diffmax": 0.25}), of_events, 1000),
    "windows of 1,000, mondrian": (lambda: clusters(window={"count": 1000}), of_people, 5000),
    "windows of 10,000, mondrian": (lambda: clusters(window={"count": 10_000}), of_people, 5000),
    "castle, delta 10,000": (lambda: clusters(algorithm={"castle": {"delta": 10_000}}), of_people, 5000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--only", default="", help="ways whose name holds this")
    parser.add_argument("--profile", action="store_true", help="say where the time goes")
    told = parser.parse_args()
    print("| what | records a second of processor time |\n|---|---|")
    for name, (policy, table, batch) in WAYS.items():
        if told.only not in name:
            continue
        made = table(told.records)
        if told.profile:
            with cProfile.Profile(time.process_time) as profile:
                rate(policy(), made, batch, passes=2)
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)
        print(f"| {name} | {rate(policy(), made, batch):,.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""JSON lines in, five masks, JSON lines out: records per second of processor time, and where the time goes.

``make benchmark-stream-json`` prints the table. Records of about 250 bytes with 12 fields, in batches of 5,000, the best of several passes; goal:
300,000. The speed of the parts is also given for what stands beside them: Arrow's parser, and Python's own encoder one record at a time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from sfumato.core.json_blocks import columns_of
from sfumato.core.json_lines import json_lines
from sfumato.core.json_records import Kind
from sfumato.core.json_stream import decoded
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.masking import _polars_hash
from sfumato.registry import find

GOAL = 300_000
BATCH = 5_000
PASSES = 5
KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})
KINDS: dict[str, Kind | None] = {
    "event": "integer",
    "patient": "text",
    "name": "text",
    "email": "text",
    "zip": "text",
    "age": "integer",
    "sex": "text",
    "ward.name": "text",
    "ward.bed": "integer",
    "diagnosis": "text",
    "glucose": "number",
    "at": "text",
}
MASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "patient": ("hash", {"key": "main"}),
    "zip": ("character_mask", {"keep_first": 2}),
    "age": ("generalise", {"size": 10}),
    "email": ("email_mask", {}),
    "glucose": ("noise", {"amount": 0.5}),
}


def records(number: int) -> list[dict[str, Any]]:
    """Return records of a hospital; nearly every patient occurs once in a batch, so that no mask profits from repetition."""
    chance = np.random.default_rng(2026)
    people = chance.integers(0, 1_000_000, number).tolist()
    return [
        {
            "event": 10_000_000 + place,
            "patient": f"patient-{person:08}",
            "name": f"Given{person % 997} Family{person % 9973}",
            "email": f"given.family{person}@mail{person % 97}.example.org",
            "zip": f"{person * 7919 % 100_000:05}",
            "age": person % 100,
            "sex": "mfd"[person % 3],
            "ward": {"name": f"ward {person % 20}", "bed": person % 40},
            "diagnosis": f"E{person % 90}.{person % 10}",
            "glucose": round(person % 3001 / 100, 2),
            "at": f"2026-11-{1 + place % 28:02}T{place % 24:02}:{place % 60:02}:07Z",
        }
        for place, person in enumerate(people)
    ]


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--records", type=int, default=200_000)
    lines = [json.dumps(fields, ensure_ascii=False) for fields in records(arguments.parse_args().records)]
    blocks = [("\n".join(lines[start : start + BATCH]) + "\n").encode() for start in range(0, len(lines), BATCH)]
    print(f"{len(lines):,} records of {sum(map(len, blocks)) / len(lines):.0f} bytes, {len(KINDS)} fields, batches of {BATCH:,}\n")
    print("| | records a second of processor time | goal | reading | masking | writing |\n|---|---|---|---|---|---|")
    for name, there in (("with polars-hash", _polars_hash.is_there), ("without polars-hash", lambda: False)):
        with patch.object(_polars_hash, "is_there", there):
            _print(name, len(lines), _whole(blocks))
    batches = [decoded(block, KINDS, ".", "refuse").rows for block in blocks]
    names, wanted = list(KINDS), {name: kind for name, kind in KINDS.items() if kind is not None}
    parts: Sequence[tuple[str, Callable[[], object]]] = [
        ("reading", lambda: [decoded(block, KINDS, ".", "refuse") for block in blocks]),
        ("reading by Arrow's parser, with the checks it needs", lambda: [columns_of(block, wanted, ".") for block in blocks]),
        ("writing", lambda: [json_lines(batch, names, ".") for batch in batches]),
        ("writing by Python's encoder", lambda: [_by_python(batch) for batch in batches]),
    ]
    print("\n| part | records a second of processor time |\n|---|---|")
    for name, work in parts:
        print(f"| {name} | {len(lines) / min(_seconds(work) for _ in range(PASSES)):,.0f} |", flush=True)


def _whole(blocks: Sequence[bytes]) -> Mapping[str, float]:
    """Return the processor time of each part in the best pass."""
    masks = {column: MaskedColumn(column, [find("masking", name)(**settings)]) for column, (name, settings) in MASKS.items()}
    passes = [_pass(blocks[:2] if warming else blocks, masks) for warming in (True, *[False] * PASSES)]
    return min(passes[1:], key=lambda times: sum(times.values()))


def _pass(blocks: Sequence[bytes], masks: Mapping[str, MaskedColumn]) -> dict[str, float]:
    times = dict.fromkeys(("reading", "masking", "writing"), 0.0)
    for block in blocks:
        begun = time.process_time()
        rows = decoded(block, KINDS, ".", "refuse").rows
        read = time.process_time()
        masked = rows
        for column, mask in masks.items():
            made = mask.made(rows, MaskContext(column, keys=KEYS, people=5))
            masked = masked.set_column(masked.schema.get_field_index(column), column, made.values)
        done = time.process_time()
        json_lines(masked, list(KINDS), ".")
        written = time.process_time()
        for part, taken in zip(times, (read - begun, done - read, written - done), strict=True):
            times[part] += taken
    return times


def _print(name: str, number: int, times: Mapping[str, float]) -> None:
    total = sum(times.values())
    shares = " | ".join(f"{taken / total:.0%}" for taken in times.values())
    print(f"| {name} | {number / total:,.0f} | {GOAL:,} | {shares} |", flush=True)


def _by_python(batch: pa.RecordBatch) -> bytes:
    return "".join([json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist()]).encode()


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return max(1e-9, time.process_time() - begun)


if __name__ == "__main__":
    main()

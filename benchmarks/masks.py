"""Masks: rows per second of processor time, a million rows each, the best of several passes; and what is asked of each.

``make benchmark-masks`` prints the table. Distinct values unless it is said otherwise: with many rows of few values the engine masks each value once.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.masking import _polars_hash
from sfumato.registry import find

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})
PASSES = 3
TOKENS, AT_ONCE = 10_000_000, 500_000


def columns(rows: int) -> dict[str, pa.Array]:
    """Return the columns that are masked."""
    chance = np.random.default_rng(2026)
    numbers = chance.integers(10**15, 10**16, rows)
    return {
        "digits": pa.array(numbers.astype(str)),
        "names": pa.array([f"person {number}" for number in range(rows)]),
        "codes": pa.array([f"P{number:08}" for number in range(rows)]),
        "few": pa.array(np.array([f"person {number}" for number in range(2000)])[chance.integers(0, 2000, rows)]),
        "mail": pa.array([f"person.{number}@mail{number % 97}.example.org" for number in range(rows)]),
        "notes": pa.array([_note(number) for number in range(rows)]),
        "ages": pa.array(chance.integers(0, 100, rows)),
        "pay": pa.array(chance.normal(3000, 500, rows)),
    }


def _note(number: int) -> str:
    """Return a note of about 100 characters; one in twenty holds a date, a telephone number or an e-mail address."""
    letters = "".join(chr(97 + number // 26**place % 26) for place in range(4))
    found = ["seen 2020-01-17", "call +49 421 123456", "write to ada@example.org"][number % 3] if number % 20 == 0 else "no fever, no cough"
    return f"case {letters}: admitted with acute pain, given 500 mg twice daily, pressure 120/80, pulse 72; {found}"


PLAIN = "hash, keyed, without polars-hash"
# what is asked of an operation, in millions of rows a second of processor time; None where nothing is
GOALS: list[tuple[str, str, dict[str, Any], str, float | None]] = [
    ("hash, keyed", "hash", {"key": "main"}, "names", 2.0),
    (PLAIN, "hash", {"key": "main"}, "names", 0.7),
    ("hash, keyed, 2,000 values", "hash", {"key": "main"}, "few", None),
    ("format-preserving, 16 digits", "format_preserving_encrypt", {"key": "main"}, "digits", 1.0),
    ("last four", "character_mask", {"keep_last": 4}, "digits", 8.0),
    ("regular expression", "regex_replace", {"pattern": "@.*$", "replacement": "@example.com"}, "mail", 1.0),
    ("bucket labels", "generalise", {"size": 10}, "ages", 50.0),
    ("fake names", "fake", {"kind": "name"}, "names", 1.0),
    ("shuffle, numbers", "shuffle", {}, "pay", 20.0),
    ("shuffle, texts of up to 12 bytes", "shuffle", {}, "codes", 20.0),
    ("shuffle, longer texts", "shuffle", {}, "names", 20.0),
    ("noise", "noise", {"amount": 100.0}, "pay", None),
    ("e-mail", "email_mask", {}, "mail", None),
    ("encrypt", "encrypt", {"key": "main"}, "names", None),
    ("deterministic encrypt", "deterministic_encrypt", {"key": "main"}, "names", None),
    ("microaggregate, k = 5", "microaggregate", {"k": 5}, "pay", None),
    ("average", "aggregate", {"function": "average"}, "pay", None),
    ("redact, nothing but e-mail addresses", "redact", {}, "mail", None),
    ("redact, notes of 100 characters", "redact", {}, "notes", 0.5),
]


def main() -> None:
    """Print one line an operation."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    rows = arguments.parse_args().rows
    given = columns(rows)
    print("| operation | million rows a second of processor time | asked |\n|---|---|---|")
    for name, operation, settings, column, goal in GOALS:
        with patch.object(_polars_hash, "is_there", (lambda: False) if name == PLAIN else _polars_hash.is_there):
            best = _best(operation, settings, given[column])
        print(f"| {name} | {rows / best / 1e6:.2f} | {goal if goal is not None else '–'} |", flush=True)
    print(f"| tokenise, {TOKENS:,} values into a new vault | {TOKENS / seconds(_all_tokens) / 1e6:.2f} | – |")


def _all_tokens() -> None:
    """Give ten million values a token each; raise where two of them are the same."""
    with tempfile.TemporaryDirectory() as folder:
        mask = find("masking", "tokenise")(vault=f"{folder}/large.vault", namespace="large")
        made = []
        for start in range(0, TOKENS, AT_ONCE):
            values = pa.array(np.arange(start, start + AT_ONCE)).cast(pa.string())
            made.append(mask.apply(pa.RecordBatch.from_arrays([values], names=["value"]), MaskContext("value")).cast(pa.int64()).to_numpy())
    if len(np.unique(np.concatenate(made))) < TOKENS:
        raise SystemExit("two values have one token")


def _best(operation: str, settings: dict[str, Any], values: pa.Array) -> float:
    """Return the processor time of the best of some passes."""
    mask = MaskedColumn("value", [find("masking", operation)(**settings)])
    batch = pa.RecordBatch.from_arrays([values], names=["value"])
    context = MaskContext("value", keys=KEYS, people=5)
    mask.apply(batch.slice(0, 10_000), context)
    return min(seconds(lambda: mask.apply(batch, context)) for _ in range(PASSES))


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time that some work takes."""
    started = time.process_time()
    work()
    return max(1e-9, time.process_time() - started)


if __name__ == "__main__":
    main()

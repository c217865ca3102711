"""Fifty times SIGKILL at random moments while a stream takes a million records; then everything is checked.

Run: .venv/bin/python benchmarks/stream_kills.py [records] [kills]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.stream_kills import check, killed_stream


def main(records: int = 1_000_000, kills: int = 50) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        ended = killed_stream(Path(folder), records, kills, random.Random(17))
        check(Path(folder), records)
        print(
            f"{records:,} records, {kills} kills: {dict(ended)}, {time.perf_counter() - began:.0f} s; every record once in every view, promises hold"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""The demonstration that ``make demo-stream`` runs: measurements that come one after the other, and four views of them, in ``demo/stream``."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path

from shown import say, shown

from sfumato.cli.stream import check, run
from sfumato.engine.stream.running import Running, run_stream
from sfumato.registry import find

EXAMPLES = Path(__file__).parent
DEMO = Path("demo/stream")
SEED, ROWS, SECONDS = 2026, 6_000, 4.0


def main() -> None:
    """Let measurements come while a stream follows them, end it where they end, and say where everything is."""
    shutil.rmtree(DEMO, ignore_errors=True)
    (DEMO / "release").mkdir(parents=True)
    shutil.copyfile(EXAMPLES / "stream" / "hospital.yaml", DEMO / "hospital.yaml")
    lines = list(find("generators", "hospital")().csv(ROWS, SEED))
    say(f"{ROWS} measurements come within {SECONDS:.0f} seconds to {DEMO / 'measurements.csv'}, policy in {DEMO / 'hospital.yaml'}\n")
    coming = threading.Thread(target=come, args=("".join(lines),))
    (DEMO / "measurements.csv").touch()
    coming.start()
    while coming.is_alive():
        # each time it goes on where it was
        run_stream(DEMO / "hospital.yaml", Running(once=True, at_end="keep"))
    coming.join()
    run(DEMO / "hospital.yaml", once=True, at_end="flush", on_stop="keep", metrics=None, format="text")
    say("\nloss is how much of the detail of quasi-identifiers was given up, from 0 (none) to 1 (all);\n")
    say("delay is how many measurements came after one until it was decided what leaves of it.\n")
    for name in ("doctor", "nurse", "administration", "research"):
        with (DEMO / "release" / f"{name}.csv").open(encoding="utf-8") as file:
            say(f"\n{DEMO / 'release' / name}.csv\n{''.join(file.readline() for _ in range(4))}")
    say("\nsfumato stream check holds what was released against the measurements once more:\n\n")
    check(DEMO / "hospital.yaml", "text")
    program = Path(sys.executable).parent / "sfumato"
    say(f"\nNow look at {program} stream status {DEMO / 'hospital.yaml'}, or at the page that stream report makes.\n")


def come(text: str) -> None:
    """Write bit by bit, as others do: now and then half a line."""
    pieces = 40
    with (DEMO / "measurements.csv").open("a", encoding="utf-8", newline="") as file:
        for piece in range(pieces):
            file.write(text[len(text) * piece // pieces : len(text) * (piece + 1) // pieces])
            file.flush()
            time.sleep(SECONDS / pieces)


if __name__ == "__main__":
    shown(main)

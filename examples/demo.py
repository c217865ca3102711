"""The demonstration that ``make demo`` runs: two generated tables, two policies, two releases, all in the folder ``demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from shown import say, shown

from sfumato.cli.run import run
from sfumato.registry import find

EXAMPLES = Path(__file__).parent
DEMO = Path("demo")
SEED = 2026
TABLES = {"hospital": 2_000, "census": 30_000}


def main() -> None:
    """Generate, anonymise, and say where everything is."""
    lay_out()
    for name, rows in TABLES.items():
        generate(name, rows)
        say(f"{name}: {rows} rows in {DEMO / name}.csv, policy in {DEMO / name}.yaml\n")
        run(DEMO / f"{name}.yaml", "text")
        say("\n")
    say(f"Now change a policy and run it again, for example: {Path(sys.executable).parent / 'sfumato'} run {DEMO / 'census.yaml'}\n")


def lay_out() -> None:
    """Put policies and hierarchies beside their data, so that they can be changed and run again; what was changed stays."""
    for original in sorted([*EXAMPLES.rglob("*.yaml"), *EXAMPLES.rglob("*.txt")]):
        copy = DEMO / original.relative_to(EXAMPLES)
        if copy.exists() and copy.read_bytes() != original.read_bytes():
            say(f"{copy} was changed and is kept; remove it to get the first one back\n")
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original, copy)


def generate(name: str, rows: int) -> None:
    """Write a generated table beside its policy."""
    with (DEMO / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.writelines(find("generators", name)().csv(rows, SEED))


if __name__ == "__main__":
    shown(main)

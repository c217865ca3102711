"""The demonstration that ``make demo`` runs: two generated tables, two policies, two releases, all in the folder ``demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import sfumato
from sfumato.cli.run import summary
from sfumato.core.kernels import is_warm
from sfumato.engine.publish import record_path
from sfumato.errors import SfumatoError
from sfumato.registry import find

EXAMPLES = Path(__file__).parent
DEMO = Path("demo")
SEED = 2026
TABLES = {"hospital": 2_000, "census": 30_000}


def main() -> None:
    """Generate, anonymise, and say where everything is."""
    if not is_warm():
        say("compiling for this machine; this happens once and takes some seconds\n")
    # the policies lie beside their data, so that they can be changed and run again
    shutil.copytree(EXAMPLES, DEMO, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name, rows in TABLES.items():
        generate(name, rows)
        say(f"{name}: {rows} rows in {DEMO / name}.csv, policy in {DEMO / name}.yaml\n")
        record = sfumato.run(DEMO / f"{name}.yaml").record
        say(summary(record, record_path(record.files[0])) + "\n")
    say(f"Now change a policy and run it again, for example: {Path(sys.executable).parent / 'sfumato'} run {DEMO / 'census.yaml'}\n")


def generate(name: str, rows: int) -> None:
    """Write a generated table beside its policy."""
    with (DEMO / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        file.writelines(find("generators", name)().csv(rows, SEED))


def say(text: str) -> None:
    """Print at once, also where the output is a pipe."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except SfumatoError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        sys.exit(error.status)

"""How fast the road is: one command, one table, everything side by side in one run.

``make benchmark`` or ``python benchmarks/road.py [--rows 1000000] [--large 10000000]``. Rates are rows per CPU-second of the whole process
and its threads, because machines are shared; memory is the largest resident size of the process. Data are generated once into
``benchmarks/data``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE / "data"
EXAMPLES = HERE.parent / "examples"

# eight quasi-identifiers: two ordered, one code, five categories
COLUMNS = """
  person_id: {role: identifier}
  age: {role: quasi_identifier}
  hours_per_week: {role: quasi_identifier}
  sex: {role: quasi_identifier}
  race: {role: quasi_identifier}
  marital_status: {role: quasi_identifier, hierarchy: {taxonomy: {path: EXAMPLES/census/marital_status.txt}}}
  education: {role: quasi_identifier, hierarchy: {taxonomy: {path: EXAMPLES/census/education.txt}}}
  native_country: {role: quasi_identifier, hierarchy: {taxonomy: {path: EXAMPLES/census/country.txt}}}
  zip: {role: quasi_identifier, hierarchy: {prefix: {}}}
  workclass: {role: other}
  occupation: {role: sensitive}
  income: {role: sensitive}
"""
FURTHER = {
    "k": "",
    "k, l distinct": "  - l_diversity: {column: occupation, l: 3}\n",
    "k, l entropy": "  - l_diversity: {column: occupation, l: 3, kind: entropy}\n",
    "k, t": "  - t_closeness: {column: occupation, t: 0.3}\n",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--large", type=int, default=10_000_000, help="0 leaves the large run out")
    asked = arguments.parse_args()
    DATA.mkdir(exist_ok=True)
    line("what", "rows", "CPU s", "rows/CPU-s", "wall s", "MiB")
    starts()
    data = census(asked.rows)
    bare_duckdb(data, asked.rows)
    searches(data, asked.rows)
    for algorithm in ("mondrian", "datafly"):
        road(data, asked.rows, algorithm)
    if asked.large:
        road(census(asked.large), asked.large, "mondrian")


def line(*cells: object) -> None:
    print("".join(f"{cell:<44}" if place == 0 else f"{cell:>13}" for place, cell in enumerate(cells)), flush=True)


def census(rows: int) -> Path:
    path = DATA / f"census-{rows}.csv"
    if not path.exists():
        subprocess.run(
            [sys.executable, "-m", "sfumato", "generate", "census", "--rows", str(rows), "--seed", "1", "-o", str(path)], check=True, stdout=2
        )
    return path


def policy(data: Path, algorithm: str = "mondrian", further: str = "") -> str:
    limit = "suppression_limit: 0.05\n" if algorithm == "datafly" else ""
    columns = COLUMNS.replace("EXAMPLES", str(EXAMPLES))
    return (
        f"source: {data}\ncolumns:{columns}promises:\n  - k_anonymity: {{k: 10}}\n{further}algorithm: {algorithm}\n{limit}sink: {data}.release.csv\n"
    )


def measured(arguments: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, float]:
    """Run a command; return its CPU seconds, its wall seconds and its largest resident size in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {arguments}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024


def starts() -> None:
    """The help, and a small run with kernels to compile and with compiled ones."""
    command = [sys.executable, "-m", "sfumato"]
    cpu, wall, memory = measured([*command, "--help"])
    line("sfumato --help", "", f"{cpu:.2f}", "", f"{wall:.2f}", f"{memory:.0f}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.yaml"
        path.write_text(policy(census(1000)))
        for name in ("a small run, kernels cold", "a small run, kernels cached"):
            cpu, wall, memory = measured([*command, "run", str(path)], {"SFUMATO_KERNELS": folder + "/kernels"})
            line(name, 1000, f"{cpu:.2f}", "", f"{wall:.2f}", f"{memory:.0f}")


def bare_duckdb(data: Path, rows: int) -> None:
    """What reading and writing the same file costs when nothing is done to it."""
    query = f"COPY (SELECT * FROM read_csv('{data}', all_varchar=true)) TO '{data}.copy.csv'"
    cpu, wall, memory = measured([sys.executable, "-c", f'import duckdb; duckdb.sql("{query}")'])
    line("bare DuckDB, CSV to CSV", rows, f"{cpu:.2f}", f"{rows / cpu:,.0f}", f"{wall:.2f}", f"{memory:.0f}")


def searches(data: Path, rows: int) -> None:
    """Only ``search()``, on counted frequencies; the best of three."""
    from sfumato.core.quiet import Quiet
    from sfumato.core.workplace import Workplace
    from sfumato.engine import run as engine

    for name, further in FURTHER.items():
        with tempfile.TemporaryDirectory() as folder, Workplace() as workplace:
            path = Path(folder) / "policy.yaml"
            path.write_text(policy(data, further=further))
            plans = engine.make_plans(path)
            plan = plans.views[""]
            attached = plan.store.attach(plan.source, engine._attach_plan(plans), workplace, Quiet())
            counted = engine.count(plan, attached)
            problem = engine.problem_of(plan, counted)
            best = min(timed(lambda plan=plan, problem=problem, counted=counted: engine._search(plan, problem, counted, Quiet())) for _ in range(3))
        line(f"search(), mondrian, {name}", rows, f"{best:.2f}", f"{rows / best:,.0f}", "", "")


def timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def road(data: Path, rows: int, algorithm: str) -> None:
    """The whole command, verification and record included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.yaml"
        path.write_text(policy(data, algorithm))
        cpu, wall, memory = measured([sys.executable, "-m", "sfumato", "run", str(path)])
    line(f"sfumato run, {algorithm}, CSV to CSV", rows, f"{cpu:.2f}", f"{rows / cpu:,.0f}", f"{wall:.2f}", f"{memory:.0f}")
    record = json.loads(Path(f"{data}.release.csv.record.json").read_text())
    print("  " + ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in record["timings"].items()))


if __name__ == "__main__":
    main()

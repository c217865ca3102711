"""How long the work inside a database takes beside the bare copy of the same columns: one run, one table, both servers.

``python benchmarks/inside.py [--rows 10000000] [--servers postgresql mariadb]``. The servers are those of ``make services``. The table has eight
quasi-identifiers, a sensitive column and a note; memory is the largest resident size of our process, which is a new one for every server. Beside the
seconds stand those that the processors worked for the server, of which others who use the machine take nothing away.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from services.catalogue import SERVERS  # noqa: E402 - beside the package, not in it
from services.processes import Process  # noqa: E402
from services.running import leave, start  # noqa: E402
from sfumato.databases.table import TableName  # noqa: E402
from tests.servers import connect  # noqa: E402

SEED = 7
NAMES = ("age", "hours", "sex", "race", "status", "education", "country", "work", "income", "note")
# what getrusage tells of a process begins with the size of the one that started it, which has made the rows
RUN = """
import json, pathlib, sys, time
import sfumato
policy = json.load(sys.stdin)
began, done = time.perf_counter(), time.process_time()
record = sfumato.run(policy).record
print(json.dumps({"seconds": time.perf_counter() - began, "processor": time.process_time() - done,
                  "megabytes": int(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024,
                  "loss": record.measures["after"]["loss"], "stages": record.timings}))
"""


def main() -> None:
    """Print a line for each time on each server."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--times", type=int, default=2)
    arguments.add_argument("--servers", nargs="+", default=["postgresql", "mariadb"])
    arguments.add_argument("--url", help="a server of your own instead, with its password; its processes are found by --pid")
    arguments.add_argument("--pid", type=int, default=0)
    given = arguments.parse_args()
    print("| server | rows | bare copy, s (processor) | release, s (processor) | times (processor) | our process, MB | load | stages |")
    print("|---|---|---|---|---|---|---|---|")
    ourselves = Process.of(os.getpid())
    for name in [urlsplit(given.url).scheme] if given.url else given.servers:
        url, process = (given.url, given.pid) if given.url else _started(name, ourselves)
        worked = partial(_worked, process)
        _load(url, given.rows)
        for _ in range(given.times):
            before = _timed(partial(_bare, url), worked)
            told = {}
            release = _timed(lambda: told.update(_released(url)), worked)  # noqa: B023 - called at once
            _ask(url, "DROP TABLE benchmark_copy")
            after = _timed(partial(_bare, url), worked)
            bare = min(before, after)
            seconds = told["seconds"]
            stages = ", ".join(f"{stage} {part:.1f}" for stage, part in told["stages"].items())
            times = f"{seconds / bare[0]:.1f} ({(release[1] + told['processor']) / bare[1]:.1f})"
            shown = f"{bare[0]:.1f} ({bare[1]:.1f}) | {seconds:.1f} ({release[1]:.1f} + {told['processor']:.1f}) | {times}"
            print(f"| {name} | {given.rows:,} | {shown} | {told['megabytes']:.0f} | {os.getloadavg()[1]:.1f} | {stages} |", flush=True)
            _ask(url, "DROP TABLE benchmark_release", "DROP TABLE benchmark_copy")
        _ask(url, "DROP TABLE benchmark_people")
    if ourselves is not None:
        leave(ourselves)


def _started(name: str, user: Process | None) -> tuple[str, int]:
    """Start a server of the tests, and return where and which process it is."""
    server = start(SERVERS[name], user=user)
    return server.url, server.process.pid


def _load(url: str, rows: int) -> None:
    """Make the table with the types that somebody would give it, a million rows at a time."""
    from sfumato.sinks.sql import Sql

    chance, table = np.random.default_rng(SEED), TableName("benchmark_people")
    _ask(
        url,
        "DROP TABLE IF EXISTS benchmark_people",
        f"CREATE TABLE benchmark_people (age INTEGER, {', '.join(f'{n} VARCHAR(40)' for n in NAMES[1:])})",
    )
    with Sql(**_component(url, "benchmark_people")).connected() as connection:
        place = connection.placed(table)
        for start_of in range(0, rows, 1_000_000):
            connection.load(place, _people(chance, min(1_000_000, rows - start_of)))
            connection.loaded(place)
        connection.commit()


def _people(chance: np.random.Generator, rows: int) -> pa.RecordBatch:
    profiles = np.random.default_rng(SEED).integers(0, [24, 2, 5, 7, 16, 41, 9], (400, 7))
    chosen = profiles[chance.zipf(1.4, rows) % len(profiles)]
    texts = [pa.array([f"{name} {number}" for number in range(50)]) for name in ("hours", "sex", "race", "status", "education", "country", "work")]
    columns = [pa.array(chance.integers(17, 91, rows), pa.int32())]
    columns += [text.take(pa.array(chosen[:, place])) for place, text in enumerate(texts)]
    columns += [pa.array(["low", "high"]).take(pa.array((chance.random(rows) < 0.25).astype(np.int64)))]
    columns += [pa.array([f"note {number}" for number in range(1000)]).take(pa.array(chance.integers(0, 1000, rows)))]
    return pa.RecordBatch.from_arrays(columns, names=list(NAMES))


def _component(url: str, table: str) -> dict[str, Any]:
    parts = urlsplit(url)
    os.environ["SFUMATO_BENCHMARK_PASSWORD"] = parts.password or ""
    plain = parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}").geturl()
    return {"url": plain, "table": table, "password": {"environment": "SFUMATO_BENCHMARK_PASSWORD"}}


def _ask(url: str, *statements: str) -> None:
    with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)


def _bare(url: str) -> None:
    """Let the server copy the columns."""
    _ask(url, f"CREATE TABLE benchmark_copy AS SELECT {', '.join(NAMES)} FROM benchmark_people")


def _timed(doing: Callable[[], None], worked: Callable[[], float]) -> tuple[float, float]:
    """Return how long something takes, and how long processors work for the server meanwhile."""
    began, done = time.perf_counter(), worked()
    doing()
    seconds = time.perf_counter() - began
    # a process of the server that is just ending is in nobody's count
    time.sleep(1)
    return seconds, worked() - done


def _worked(server: int) -> float:
    """Return the seconds that processors have worked for a server: its process, those that it has started, and those of them that have ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            told = path.read_text().rpartition(")")[2].split()
            is_server = path.parent.name == str(server)
            ticks += sum(map(int, told[11:15] if is_server else told[11:13])) if is_server or told[1] == str(server) else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _released(url: str) -> dict[str, Any]:
    columns: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in NAMES[:-2]}
    policy = {
        "source": {"sql": _component(url, "benchmark_people")},
        "columns": {**columns, "income": {"role": "sensitive"}, "note": {"role": "other"}},
        "promises": [{"k_anonymity": {"k": 10}}, {"l_diversity": {"column": "income", "l": 2}}],
        "suppression_limit": 0.05,
        "sink": {"sql": _component(url, "benchmark_release")},
    }
    done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(policy), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()

"""How long the work inside a database takes beside the bare copy of the same columns: one run, one table, both servers.

``python benchmarks/inside.py [--rows 10000000] [--servers postgresql mariadb]``. The servers are those of ``make services``. The table has eight
quasi-identifiers, a sensitive column and a note; memory is the largest resident size of our process, which is a new one for every server.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import closing
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
RUN = """
import json, resource, sys, time
import sfumato
policy = json.load(sys.stdin)
began = time.perf_counter()
record = sfumato.run(policy).record
print(json.dumps({"seconds": time.perf_counter() - began, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                  "loss": record.measures["after"]["loss"], "stages": record.timings}))
"""


def main() -> None:
    """Print one line a server."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--servers", nargs="+", default=["postgresql", "mariadb"])
    given = arguments.parse_args()
    print("| server | rows | bare copy, s | release, s | times | our process, MB | stages |\n|---|---|---|---|---|---|---|")
    ourselves = Process.of(os.getpid())
    for name in given.servers:
        url = start(SERVERS[name], user=ourselves).url
        _load(url, given.rows)
        bare = min(_bare(url) for _ in range(2))
        told = _released(url)
        stages = ", ".join(f"{stage} {seconds:.0f}" for stage, seconds in told["stages"].items())
        times, memory = f"{told['seconds'] / bare:.1f}", f"{told['megabytes']:.0f}"
        print(f"| {name} | {given.rows:,} | {bare:.1f} | {told['seconds']:.1f} | {times} | {memory} | {stages} |", flush=True)
        _ask(url, "DROP TABLE benchmark_people", "DROP TABLE benchmark_release")
    if ourselves is not None:
        leave(ourselves)


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


def _bare(url: str) -> float:
    """Return how long the server takes to copy the columns."""
    began = time.perf_counter()
    _ask(url, f"CREATE TABLE benchmark_copy AS SELECT {', '.join(NAMES)} FROM benchmark_people")
    seconds = time.perf_counter() - began
    _ask(url, "DROP TABLE benchmark_copy")
    return seconds


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

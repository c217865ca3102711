"""How long masks alone take inside a database, beside the same masks done in our process: one table, four masks, both servers.

``python benchmarks/masks_inside.py [--rows 1000000] [--servers postgresql mariadb]``. The policy generalises nothing: a keyed hash of addresses, of
which no two are alike, a character mask of 100,000 names, a shortened town of 1,000, and a constant; two columns are kept. Whether the server may
have the key decides where the work is done. Seconds and memory are as in ``inside.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from inside import RUN, SEED, _ask, _component, _timed, _worked

from services.catalogue import SERVERS
from services.processes import Process
from services.running import leave, start
from sfumato.databases.table import TableName

KEY = "SFUMATO_BENCHMARK_KEY"


def main() -> None:
    """Print a line for each way and time on each server."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--times", type=int, default=2)
    arguments.add_argument("--servers", nargs="+", default=["postgresql", "mariadb"])
    given = arguments.parse_args()
    os.environ[KEY] = "k1:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
    print("| server | where | rows | release, s | processor: server + ours, s | our process, MB | load | stages |")
    print("|---|---|---|---|---|---|---|---|")
    ourselves = Process.of(os.getpid())
    for name in given.servers:
        server = start(SERVERS[name], user=ourselves)
        _load(server.url, given.rows)
        for where in ("inside", "here") * given.times:
            told: dict[str, Any] = {}
            _, worked = _timed(lambda: told.update(_released(server.url, where)), partial(_worked, server.process.pid))  # noqa: B023 - called at once
            stages = ", ".join(f"{stage} {part:.1f}" for stage, part in told["stages"].items())
            shown = f"{told['seconds']:.1f} | {worked:.1f} + {told['processor']:.1f} | {told['megabytes']:.0f} | {os.getloadavg()[0]:.1f}"
            print(f"| {name} | {where} | {given.rows:,} | {shown} | {stages} |", flush=True)
        _ask(server.url, "DROP TABLE benchmark_masked", "DROP TABLE benchmark_release")
    if ourselves is not None:
        leave(ourselves)


def _load(url: str, rows: int) -> None:
    chance, table = np.random.default_rng(SEED), TableName("benchmark_masked")
    texts = ", ".join(f"{name} VARCHAR(60)" for name in ("mail", "person", "town", "note", "ward"))
    _ask(url, "DROP TABLE IF EXISTS benchmark_masked", f"CREATE TABLE benchmark_masked (age INTEGER, {texts})")
    from sfumato.sinks.sql import Sql

    with Sql(**_component(url, "benchmark_masked")).connected() as connection:
        place = connection.placed(table)
        for begin in range(0, rows, 1_000_000):
            connection.load(place, _people(chance, begin, min(1_000_000, rows - begin)))
            connection.loaded(place)
        connection.commit()


def _people(chance: np.random.Generator, begin: int, rows: int) -> pa.RecordBatch:
    def drawn(name: str, number: int) -> pa.Array:
        return pa.array([f"{name} {place}" for place in range(number)]).take(pa.array(chance.integers(0, number, rows)))

    mails = pa.array([f"person{number}@example.org" for number in range(begin, begin + rows)])
    columns = [mails, drawn("person", 100_000), drawn("town", 1000), drawn("note", 1000), drawn("ward", 20)]
    return pa.RecordBatch.from_arrays(
        [pa.array(chance.integers(17, 91, rows), pa.int32()), *columns], names=["age", "mail", "person", "town", "note", "ward"]
    )


def _released(url: str, where: str) -> dict[str, Any]:
    parts = urlsplit(url)
    servers = {"servers": [f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"]} if where == "inside" else {}
    policy = {
        "name": "benchmark",
        "source": {"sql": _component(url, "benchmark_masked")},
        "columns": {
            "mail": {"role": "identifier", "mask": {"hash": {"key": "main"}}},
            "person": {"role": "identifier", "mask": {"character_mask": {"keep_first": 1}}},
            "town": {"role": "other", "mask": {"shorten": {"length": 6}}},
            "note": {"role": "other", "mask": {"constant": {"value": "hidden"}}},
            "ward": {"role": "other"},
            "age": {"role": "other"},
        },
        "keys": {"main": {"environment": KEY, **servers}},
        "sink": {"sql": _component(url, "benchmark_release")},
    }
    done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(policy), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


if __name__ == "__main__":
    main()

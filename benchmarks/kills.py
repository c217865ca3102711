"""Kill runs with SIGKILL at random moments, a hundred times each, and check what everybody can see then and after the next run.

``python benchmarks/kills.py [--times 100] [--servers postgresql mariadb] [--trials copy "in place" retention]``. The servers are those of
``make services``. The first invariant that does not hold ends it with a traceback.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from services.catalogue import SERVERS
from services.processes import Process
from services.running import leave, start
from tests.databases.kills import TRIALS, killed
from tests.servers import ask


def main() -> None:
    """Print one line a server and trial."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=secrets.randbits(32))
    arguments.add_argument("--servers", nargs="+", default=["postgresql", "mariadb"])
    arguments.add_argument("--trials", nargs="+", default=[trial.name for trial in TRIALS])
    given = arguments.parse_args()
    print(f"seed {given.seed}\n")
    print("| server | trial | killed | ended before | begun and not finished | broken | seconds |\n|---|---|---|---|---|---|---|")
    ourselves = Process.of(os.getpid())
    for server in given.servers:
        address = start(SERVERS[server], user=ourselves).url
        for kind in (each for each in TRIALS if each.name in given.trials):
            database = f"kills_{secrets.token_hex(6)}"
            ask(address, f"CREATE DATABASE {database}")
            trial = kind(urlsplit(address)._replace(path=f"/{database}").geturl())
            try:
                found = killed(trial, given.times, random.Random(given.seed))
            finally:
                trial.close()
                ask(address, f"DROP DATABASE {database}{' WITH (FORCE)' if server.startswith('postgresql') else ''}")
            told = f"{found.kills} | {found.too_late} | {found.begun} | 0 | {found.seconds:.0f}"
            print(f"| {server} | {kind.name} | {told} |", flush=True)
    if ourselves is not None:
        leave(ourselves)


if __name__ == "__main__":
    main()

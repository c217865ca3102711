"""``python -m services start [names] | stop [names] | status``: the servers of the tests, by hand."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from services import spark
from services.catalogue import SERVERS
from services.running import StartError, start, stop
from services.server import Server, UnavailableError
from services.state import STATE, read


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says, and return the exit status."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    known = [*SERVERS, spark.NAME]
    unknown = [name for name in getattr(asked, "names", ()) if name not in known]
    if unknown:
        parser.error(f"there is no server {unknown[0]}; there are {', '.join(known)}")
    try:
        if asked.command == "start":
            return _start(asked.names)
        return _stop(asked.names) if asked.command == "stop" else _status()
    except KeyboardInterrupt:
        return 130
    except OSError as failed:
        print(f"the servers cannot be reached: {failed}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m services", description="Databases for the tests, on loopback ports, in temporary folders.")
    commands = parser.add_subparsers(dest="command", required=True)
    beginning = commands.add_parser("start", help="start servers: those named, or all but mysql that can be had")
    beginning.add_argument("names", nargs="*", metavar="name", help=", ".join([*SERVERS, spark.NAME]))
    ending = commands.add_parser("stop", help="end servers and remove their data: those named, or all")
    ending.add_argument("names", nargs="*", metavar="name", help=", ".join(SERVERS))
    commands.add_parser("status", help="tell which run")
    return parser


def _start(names: Sequence[str]) -> int:
    """Start them; one that cannot be had is a failure only if it was asked for by name."""
    failed = 0
    for name in names or [name for name, server in SERVERS.items() if server.by_default]:
        try:
            print(spark.found() if name == spark.NAME else _started(SERVERS[name]), flush=True)
        except UnavailableError as missing:
            print(missing, file=sys.stderr)
            failed |= bool(names)
        except StartError as broken:
            print(broken, file=sys.stderr)
            failed = 1
    return int(failed)


def _started(server: Server) -> str:
    begin = time.monotonic()
    running = start(server)
    return f"{server.name}: {running.shown_url}, process {running.process.pid}, {time.monotonic() - begin:.1f} s"


def _stop(names: Sequence[str]) -> int:
    for server in stop(names or None):
        print(f"{server.name}: ended")
    return 0


def _status() -> int:
    """Tell of every server whether it runs; the passwords stay in the state file."""
    known = read(STATE)
    for name in SERVERS:
        if name not in known:
            print(f"{name}: not started")
        elif known[name].alive:
            print(f"{name}: {known[name].shown_url}, process {known[name].process.pid}, log {known[name].log}")
        else:
            print(f"{name}: died, see {known[name].log}")
    try:
        print(f"{spark.NAME}: {spark.found()}")
    except UnavailableError as missing:
        print(f"{spark.NAME}: {missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

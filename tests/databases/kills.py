"""Runs that are killed at any moment, and what must hold then: the tests do it a few times, ``benchmarks/kills.py`` a hundred.

A trial prepares a table, lets a process begin to work on it, ends that with SIGKILL after a random time, looks at what everybody can see, and lets
the next run do its work. Every invariant that does not hold is an assertion with its name.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import secrets
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection as Pipe
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import sfumato
from sfumato.databases.masked_table import MaskedTable
from sfumato.databases.mysql_types import quoted
from sfumato.databases.table import TableName
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError
from sfumato.registry import find
from tests.servers import ask, component

ROWS, OLD = 200, 10
TOWNS = ("Bremen", "Ulm", "Essen", "Kiel")
NOW = datetime(2026, 12, 31, tzinfo=UTC)
SECRET = "a_long_secret"
_BUSY = 75


@dataclass
class Found:
    """How trials ended: at which moment they were killed, and what was there then."""

    kills: int = 0
    too_late: int = 0
    begun: int = 0
    seconds: float = 0.0


class Trial(ABC):
    """One way of working on a table."""

    name: str

    def __init__(self, url: str) -> None:
        self.url = url
        # on MySQL and MariaDB what runs make is in one database, also what those of other tests leave that are killed at this moment
        self.mark = secrets.token_hex(3)

    @property
    def is_mysql(self) -> bool:
        """Whether the server is MySQL or MariaDB."""
        return not self.url.startswith("postgresql")

    @abstractmethod
    def prepare(self) -> dict[str, Any]:
        """Make the tables, and return the policy."""

    def work(self) -> Callable[[dict[str, Any]], Any]:
        """Return what is killed."""
        return _run

    @abstractmethod
    def look(self) -> bool:
        """Check what everybody can see after a kill; return whether anything had been begun that is not finished."""

    @abstractmethod
    def done(self) -> None:
        """Check what is there after the next run."""

    def left_over(self) -> list[str]:
        """Return what runs of this trial have made and not removed."""
        names = ("sfumato", "masking", "retained")
        if self.is_mysql:
            of = urlsplit(self.url).path[1:]
            first, second = (hashlib.sha256(f"{of}.{table}".encode()).hexdigest()[:16] for table in ("patients", "visits"))
            view = hashlib.sha256(quoted(TableName("people_view", of)).encode()).hexdigest()[:16]
            copy = f"sfumato_copy_%_{self.mark[:4]}____"
            names = (f"sfumato_{self.mark}", copy, f"masking_{first}", f"retained_{second}", f"sfumato_view_{view}")
        likes = " OR ".join(f"table_name LIKE '{name}%'" for name in names)
        rows = ask(self.url, f"SELECT table_name FROM information_schema.tables WHERE {likes}")
        return [str(name) for (name,) in rows if name != "sfumato_ledger"]

    def close(self) -> None:  # noqa: B027 - most have nothing of the kind
        """Remove what lives longer than the database."""


class Copy(Trial):
    """A release that takes the place of an older table, made inside the database."""

    name = "copy"

    def prepare(self) -> dict[str, Any]:
        """Make people, and an older release of ten rows."""
        if not _there(self.url, "people"):
            ask(self.url, "CREATE TABLE people (age INTEGER, town VARCHAR(20), illness VARCHAR(20))")
            rows = (f"({20 + n % 50}, '{TOWNS[n % 4]}', 'i{n % 3}')" for n in range(ROWS))
            ask(self.url, f"INSERT INTO people VALUES {', '.join(rows)}")
        ask(self.url, "DROP TABLE IF EXISTS released", "CREATE TABLE released (age VARCHAR(20), town VARCHAR(20), illness VARCHAR(20))")
        ask(self.url, "INSERT INTO released VALUES " + ", ".join(["('old', 'old', 'old')"] * OLD))
        return {
            "source": {"sql": component(self.url, "people")},
            "sink": {"sql": component(self.url, "released")},
            "columns": {"age": {"role": "quasi_identifier"}, "town": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}},
            "promises": [{"k_anonymity": {"k": 5}}],
        }

    def look(self) -> bool:
        """The old table is there, or the new one, whole."""
        rows = _count(self.url, "released")
        assert rows in (OLD, ROWS), "a table is half published"
        assert _count(self.url, "released WHERE age = 'old'") in (0, OLD) if rows == OLD else _count(self.url, "released WHERE age = 'old'") == 0
        return rows == OLD

    def done(self) -> None:
        """The new table is there."""
        assert _count(self.url, "released") == ROWS, "a row is lost or doubled"
        smallest = ask(self.url, "SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM released GROUP BY age, town) c")
        assert int(smallest[0][0]) >= 5, "a promise is broken"


class InPlace(Trial):
    """A table that is masked where it is, with chance, and somebody who may read it."""

    name = "in place"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._reader = f"reader_{urlsplit(url).path[-8:]}"
        parts = urlsplit(url)
        self._address = parts._replace(netloc=f"{self._reader}:{SECRET}@{parts.hostname}:{parts.port}").geturl()
        if self.is_mysql:
            ask(url, f"CREATE USER {self._reader} IDENTIFIED BY '{SECRET}'", f"GRANT SELECT ON {parts.path[1:]}.* TO {self._reader}")
        else:
            ask(url, f"CREATE ROLE {self._reader} LOGIN PASSWORD '{SECRET}'")
        self._half: dict[int, int] = {}

    def prepare(self) -> dict[str, Any]:
        """Make patients whose ages are below a hundred; masked ones are above."""
        ask(self.url, "DROP TABLE IF EXISTS patients")
        ask(self.url, "CREATE TABLE patients (id INTEGER PRIMARY KEY, name VARCHAR(20), town VARCHAR(20), age INTEGER, illness VARCHAR(20))")
        rows = (f"({n}, 'name {n}', '{TOWNS[n % 4]}', {20 + n % 50}, 'i{n % 3}')" for n in range(ROWS))
        ask(self.url, f"INSERT INTO patients VALUES {', '.join(rows)}")
        if not self.is_mysql:
            ask(self.url, f"GRANT SELECT ON patients TO {self._reader}")
        self._half = {}
        return {
            "source": {"sql": component(self.url, "patients")},
            "sink": {"sql": component(self.url, "patients") | {"in_place": True, "chunk": 2}},
            "columns": {
                "id": {"role": "other", "accept": "singling_out"},
                "name": {"role": "identifier"},
                "town": {"role": "quasi_identifier"},
                "age": {"role": "other", "mask": {"random_number": {"minimum": 1000, "maximum": 10**8}}, "accept": "singling_out"},
                "illness": {"role": "sensitive"},
            },
            "promises": [{"k_anonymity": {"k": 5}}],
        }

    def look(self) -> bool:
        """The reader sees all rows as they were, or all masked, or nothing."""
        seen = []
        with suppress(Exception):
            seen = ask(self._address, "SELECT id, name, age FROM patients")
        assert len(seen) in (0, ROWS), "a row is lost or doubled"
        assert len({(name is None, age >= 1000) for _, name, age in seen}) < 2, "a table is seen half masked"
        with find("sources", "sql")(**component(self.url, "patients")).connected() as connection:
            masked = MaskedTable(
                connection, "mysql" if self.is_mysql else "postgresql", find("sources", "sql")(**component(self.url, "patients")).table_name
            )
            open_ = connection.identity(masked.places.ledger) is not None
            table = str(masked.places.table if open_ else masked.original)
        rows = ask(self.url, f"SELECT id, age FROM {table}")
        assert len({number for number, _ in rows}) == len(rows) == ROWS, "a row is lost or doubled"
        # what chance has made must not be made again
        self._half = {number: age for number, age in rows if age >= 1000} if open_ else {}
        return open_

    def done(self) -> None:
        """All rows are masked, each once, and the reader sees them."""
        rows = ask(self._address, "SELECT id, name, age, illness FROM patients")
        assert sorted(number for number, *_ in rows) == list(range(ROWS)), "a row is lost or doubled"
        assert all(name is None and age >= 1000 and illness == f"i{number % 3}" for number, name, age, illness in rows), "a row is not masked"
        assert all(age == self._half[number] for number, _, age, _ in rows if number in self._half), "a row is masked twice"

    def close(self) -> None:
        """Remove the reader."""
        ask(self.url, *([f"DROP USER {self._reader}"] if self.is_mysql else [f"DROP OWNED BY {self._reader}", f"DROP ROLE {self._reader}"]))


class Retention(Trial):
    """Rows that are archived and deleted; every second time in batches of one transaction."""

    name = "retention"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._number = 0

    def prepare(self) -> dict[str, Any]:
        """Make visits of four months."""
        self._number += 1
        ask(self.url, *(f"DROP TABLE IF EXISTS {name}" for name in ("visits", "archive", "sfumato_ledger")))
        ask(self.url, "CREATE TABLE visits (id INTEGER PRIMARY KEY, seen DATE, age INTEGER, town VARCHAR(20), illness VARCHAR(20))")
        rows = (f"({n}, '2026-{n % 4 + 1:02}-{n % 28 + 1:02}', {20 + n % 40}, '{TOWNS[n % 3]}', 'i{n % 4}')" for n in range(ROWS))
        ask(self.url, f"INSERT INTO visits VALUES {', '.join(rows)}")
        return {
            "source": {"sql": component(self.url, "visits")},
            "sink": {"sql": component(self.url, "archive")},
            "columns": {
                "id": {"role": "identifier"},
                "seen": {"role": "identifier"},
                "age": {"role": "quasi_identifier"},
                "town": {"role": "quasi_identifier"},
                "illness": {"role": "sensitive"},
            },
            "promises": [{"k_anonymity": {"k": 5}}],
            "retention": {"column": "seen", "older_than": "60d", "chunk": 10_000 if self._together else 9},
        }

    @property
    def _together(self) -> bool:
        return self._number % 2 == 0

    def work(self) -> Callable[[dict[str, Any]], Any]:
        """Return what is killed."""
        return _retain

    def look(self) -> bool:
        """A batch is in the archive whole or not at all, and what is not there is in the source; in one transaction never in both."""
        archived = dict(ask(self.url, "SELECT sfumato_batch, COUNT(*) FROM archive GROUP BY sfumato_batch")) if _there(self.url, "archive") else {}
        month = "EXTRACT(MONTH FROM seen)"
        left = {int(each): many for each, many in ask(self.url, f"SELECT {month}, COUNT(*) FROM visits GROUP BY {month}")}
        for number in range(1, 5):
            there, here = archived.get(f"2026-{number:02}", 0), left.get(number, 0)
            assert there in (0, ROWS // 4), "a batch is half archived"
            assert there or here == ROWS // 4, "a row is lost"
            assert not (self._together and there and here), "a row is in the source and in the archive"
        return bool(left)

    def done(self) -> None:
        """All rows are archived, once, and none is left."""
        assert _count(self.url, "visits") == 0, "a row is not deleted"
        found = ask(self.url, "SELECT sfumato_batch, COUNT(*) FROM archive GROUP BY sfumato_batch ORDER BY 1")
        assert [tuple(row) for row in found] == [(f"2026-{number:02}", ROWS // 4) for number in range(1, 5)], "a row is lost or doubled"
        assert ask(self.url, "SELECT state FROM sfumato_ledger GROUP BY state") == [("deleted",)], "a ledger is open"


class LiveView(Trial):
    """A view that takes the place of an older one."""

    name = "live view"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.role = f"reader_{secrets.token_hex(4)}"
        ask(url, f"CREATE ROLE {self.role}")

    def prepare(self) -> dict[str, Any]:
        """Make people, and an older view that shows them otherwise."""
        Copy(self.url).prepare()
        _run(self._policy("old"))
        return self._policy("new")

    def _policy(self, words: str) -> dict[str, Any]:
        return {
            "source": {"sql": component(self.url, "people")},
            "sink": {"live_view": {**component(self.url, "people_view"), "roles": [self.role]}},
            "columns": {
                "age": {"role": "identifier"},
                "town": {"role": "other"},
                "illness": {"role": "other", "mask": {"constant": {"value": words}}},
            },
        }

    def look(self) -> bool:
        """The old view is there, or the new one."""
        assert _count(self.url, "people_view") == ROWS, "rows are lost or doubled"
        ((words,),) = ask(self.url, "SELECT DISTINCT illness FROM people_view")
        assert words in ("old", "new"), "a value is not masked"
        return bool(words == "old")

    def done(self) -> None:
        """The new view is there."""
        assert not self.look(), "the old view is there"

    def close(self) -> None:
        """Remove the role."""
        ask(self.url, "DROP VIEW IF EXISTS people_view", f"DROP ROLE {self.role}")


@contextmanager
def marked(mark: str) -> Iterator[None]:
    """Let all names that are made by chance have a mark, by which a trial knows those of its own; short ones a short mark, for the rest is chance."""
    drawn = secrets.token_hex

    def made(number: int = 32) -> str:
        beginning = mark[:number]
        return beginning + drawn(number)[len(beginning) :]

    with mock.patch.object(secrets, "token_hex", made):
        yield


TRIALS = (Copy, InPlace, Retention, LiveView)


def killed(trial: Trial, times: int, chance: random.Random) -> Found:
    """Kill a trial so often, at random moments of what a run takes, and check everything after each; runs that ended before do not count."""
    found, began = Found(), time.perf_counter()
    # the first one waits for the process that is forked
    whole = min(_lasting(trial) for _ in range(2))
    trial.done()
    while found.kills < times:
        policy = trial.prepare()
        process, start = _begun(trial, policy)
        process.join(max(0.0, chance.uniform(0, whole) - (time.perf_counter() - start)))
        if process.exitcode == 0:
            # on a machine that was busy before most moments would come too late
            whole = min(whole, time.perf_counter() - start)
        if process.is_alive() and process.pid is not None:
            # it may have ended of itself since it was looked at
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        process.join()
        found.kills += process.exitcode == -signal.SIGKILL
        found.too_late += process.exitcode == 0
        assert process.exitcode in (0, _BUSY, -signal.SIGKILL), "a run failed of itself"
        found.begun += trial.look()
        _after(trial, policy)
        trial.done()
        left = trial.left_over()
        assert left == [], f"{len(left)} tables are left over"
    found.seconds = time.perf_counter() - began
    return found


def endings(*trials: tuple[Any, ...]) -> Iterator[int | None]:
    """Run each of these policies, some with data, and kill it at moments that are spread over what the first takes, which nobody kills.

    Yields the exit status of each that is killed, or would have been: it is 0 where the run was done before.
    """
    whole = finish(*trials[0])
    for number, arguments in enumerate(trials[1:]):
        process, start = _alone(_run, arguments)
        process.join(max(0.0, whole * (number + 0.5) / (len(trials) - 1) - (time.perf_counter() - start)))
        process.kill()
        process.join()
        assert process.exitcode in (0, _BUSY, -signal.SIGKILL), "a run failed of itself"
        yield process.exitcode


def finish(*arguments: Any) -> float:
    """Run a policy, again as long as the server is still at work for a run that was killed; return the seconds that it took."""
    for _ in range(50):
        process, start = _alone(_run, arguments)
        process.join()
        if process.exitcode != _BUSY:
            break
        time.sleep(0.1)
    assert process.exitcode == 0, "a run that nobody has killed failed"
    return time.perf_counter() - start


def _after(trial: Trial, policy: dict[str, Any]) -> None:
    """Let the next run do its work, at once."""
    for _ in range(5):
        process, _ = _begun(trial, policy)
        process.join()
        if process.exitcode != _BUSY:
            break
    assert process.exitcode == 0, "the next run failed"


def _lasting(trial: Trial) -> float:
    """Return how long a run takes that nobody ends."""
    policy = trial.prepare()
    process, start = _begun(trial, policy)
    process.join()
    assert process.exitcode == 0, "a run that nobody has killed failed"
    return time.perf_counter() - start


def _begun(trial: Trial, policy: dict[str, Any]) -> tuple[Any, float]:
    """Begin a run in a process of its own, and return it when it is about to begin."""
    return _alone(trial.work(), (policy,), trial.mark)


def _warm() -> Any:
    """Return what makes processes that need not import anything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.databases.warmed"])
    return context


def _alone(work: Callable[..., Any], arguments: tuple[Any, ...], mark: str = "") -> tuple[Any, float]:
    context = _warm()
    ours, theirs = context.Pipe()
    # the process that is forked has the environment of when it was made
    process = context.Process(target=_work, args=(theirs, work, arguments, dict(os.environ), mark))
    process.start()
    theirs.close()
    with suppress(EOFError):
        ours.recv()
    return process, time.perf_counter()


def _work(pipe: Pipe, work: Callable[..., Any], arguments: tuple[Any, ...], environment: dict[str, str], mark: str) -> None:
    os.environ.update(environment)
    with marked(mark):
        pipe.send(None)
        try:
            work(*arguments)
        except SfumatoError as error:
            # other tests work on the same server, and the session of the killed run may still be ending: whoever is told so tries again
            if error.code in ("database-locked", "database-busy"):
                os._exit(_BUSY)
            raise


def _run(policy: dict[str, Any], data: Any = None) -> None:
    sfumato.run(policy, data)


def _retain(policy: dict[str, Any]) -> None:
    retain(policy, NOW)


def _count(url: str, query: str) -> int:
    return int(ask(url, f"SELECT COUNT(*) FROM {query}")[0][0])


def _there(url: str, table: str) -> bool:
    schema = "'public'" if url.startswith("postgresql") else "DATABASE()"
    return bool(_count(url, f"information_schema.tables WHERE table_name = '{table}' AND table_schema = {schema}"))

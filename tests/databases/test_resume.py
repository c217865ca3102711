"""A run that is killed leaves its private copy, by which another goes on: with the rows as they were, and nobody else to read it meanwhile."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.table import TableName
from sfumato.errors import UsageError
from tests.databases.test_inside import TABLE, policy, stored
from tests.servers import ask, component, connect, staging

# the process ends when the copy or the release is there, as if somebody had killed it
KILLED = """
import json, os, signal, sys
import sfumato
from sfumato.stores import _inside
class Killed:
    def __init__(self, place, *others):
        print(getattr(place, "inside", place)._rows.name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
setattr(_inside, sys.argv[1], Killed)
sfumato.run(json.load(sys.stdin))
"""
COPIED, STAGED = "InsideTable", "InsideRelease"
# other tests work on the same server
_STAGED = "SELECT table_name FROM information_schema.tables WHERE LEFT(table_schema, 15) = 'sfumato_staging' AND table_name LIKE '{copy}%'"
LEFT = {"postgresql": "SELECT tablename FROM pg_tables WHERE starts_with(tablename, '{copy}')", "mariadb": _STAGED, "mysql": _STAGED}


@pytest.fixture(params=list(LEFT))
def server(request: pytest.FixtureRequest) -> tuple[str, str]:
    return str(request.getfixturevalue(f"{request.param}_url")), LEFT[request.param]


def killed(url: str, moment: str = COPIED, **more: Any) -> tuple[dict[str, Any], str]:
    """Let a run of a policy be killed as soon as it has its copy or its release, and return the policy and the name of the copy."""
    stored(url, TABLE, "people")
    given = policy(url, **more)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment], input=json.dumps(given), text=True, env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return given, done.stdout.strip()


def shown(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("moment", [COPIED, STAGED])
def test_a_killed_run_goes_on_with_the_rows_as_they_were(server: tuple[str, str], moment: str) -> None:
    url, left = server
    stored(url, TABLE, "people")
    before: Any = sfumato.run(policy(url))
    given, copy = killed(url, moment)
    assert ask(url, left.format(copy=copy))
    ask(url, "DELETE FROM people WHERE age < 50", "INSERT INTO people VALUES (99, 'w99', 'i99', 'late')")

    resumed: Any = sfumato.run(given, resume=True)

    assert shown(resumed.table) == shown(before.table)
    assert any("what has changed in the source since then is not in it" in note for note in resumed.record.notes)
    assert not any("since then" in note for note in before.record.notes)
    assert not ask(url, left.format(copy=copy))


@pytest.mark.parametrize("moment", [COPIED, STAGED])
def test_the_next_run_removes_what_is_not_taken_up(server: tuple[str, str], moment: str) -> None:
    url, left = server
    given, copy = killed(url, moment)
    sfumato.run(given)

    assert not ask(url, left.format(copy=copy))


def test_the_next_run_removes_what_was_copied_of_a_table_that_was_made_anew(server: tuple[str, str]) -> None:
    url, left = server
    given, copy = killed(url)
    ask(url, "DROP TABLE people")
    stored(url, TABLE, "people")
    sfumato.run(given)

    assert not ask(url, left.format(copy=copy))


def test_a_run_does_not_wait_for_others_who_stage(mariadb_url: str) -> None:
    stored(mariadb_url, TABLE, "people")
    mine, others = (f"sfumato_{secrets.token_hex(8)}" for _ in range(2))
    begun = threading.Event()

    def stage() -> None:
        with closing(connect(mariadb_url)) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT GET_LOCK('sfumato:{others}', 0)")
            begun.set()
            # whoever makes a table keeps those waiting meanwhile who would make its database
            cursor.execute(f"CREATE TABLE {staging(mariadb_url)}.{others} AS SELECT SLEEP(3)")
            cursor.execute(f"DROP TABLE {staging(mariadb_url)}.{others}")

    with ThreadPoolExecutor() as pool, connected(parsed(component(mariadb_url, "people")["url"]), urlsplit(mariadb_url).password) as connection:
        doing = pool.submit(stage)
        begun.wait(20)
        time.sleep(0.5)
        connection.do("SET lock_wait_timeout = 1")
        connection.private_name(mine, TableName("people"))
        assert not doing.done()


def test_a_run_of_other_columns_takes_up_nothing(server: tuple[str, str]) -> None:
    url, left = server
    given, copy = killed(url)
    with pytest.raises(UsageError) as caught:
        sfumato.run({**given, "columns": {**given["columns"], "note": {"role": "identifier"}}}, resume=True)

    assert str(caught.value).startswith(
        "there is nothing to resume: no run of this installation that was killed has left a copy of people with these columns [resume-nothing]"
    )
    assert ask(url, left.format(copy=copy))
    sfumato.run(given, resume=True)


# the process ends when the server has made the copy, and nothing is written beside it yet
HALF = """
import json, os, signal, sys
import sfumato
from sfumato.databases import mysql_inside
mysql_inside.refuse_unpublishable = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sfumato.run(json.load(sys.stdin))
"""


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_what_a_run_has_left_that_was_killed_while_it_copied_is_told_and_removed(request: pytest.FixtureRequest, name: str) -> None:
    url = request.getfixturevalue(f"{name}_url")
    table = f"people_{secrets.token_hex(4)}"
    stored(url, TABLE, table)
    given = policy(url) | {"source": {"sql": component(url, table)}}
    before = set(ask(url, LEFT[name].format(copy="sfumato_copy")))
    subprocess.run([sys.executable, "-c", HALF], input=json.dumps(given), text=True, env=os.environ, capture_output=True, check=False)
    ((copy,),) = set(ask(url, LEFT[name].format(copy="sfumato_copy"))) - before
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"
    told = f"of which all rows had come; what had come of one is in {staging(url)}, and the next run removes it"
    assert str(caught.value).split(" [")[0].endswith(told)
    sfumato.run(given)
    assert not ask(url, LEFT[name].format(copy=copy))


def test_another_installation_takes_nothing_up_and_leaves_the_copy(server: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, left = server
    given, copy = killed(url)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("SFUMATO_HOME", str(tmp_path))
        with pytest.raises(UsageError) as caught:
            sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"
    assert ask(url, left.format(copy=copy))
    sfumato.run(given, resume=True)
    assert not ask(url, left.format(copy=copy))


def test_what_fails_leaves_no_copy(server: tuple[str, str]) -> None:
    url, left = server
    given, copy = killed(url)
    with pytest.raises(sfumato.errors.PromiseError):
        sfumato.run({**given, "promises": [{"k_anonymity": {"k": 601}}, given["promises"][1]]}, resume=True)

    assert not ask(url, left.format(copy=copy))


def test_nothing_can_be_resumed_outside_of_databases() -> None:
    with pytest.raises(UsageError) as caught:
        sfumato.run(
            {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}, pa.table({"age": [1, 1]}), resume=True
        )

    assert caught.value.code == "resume-nothing"


@pytest.mark.parametrize("moment", [COPIED, STAGED])
def test_nobody_else_may_read_a_copy_or_what_is_made_of_it(postgresql_url: str, moment: str) -> None:
    ask(postgresql_url, "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    try:
        given, copy = killed(postgresql_url, moment)
    finally:
        ask(postgresql_url, "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC")
    granted = "SELECT relname FROM pg_class, aclexplode(relacl) a WHERE starts_with(relname, 'sfumato_') AND a.grantee <> relowner"

    assert ask(postgresql_url, LEFT["postgresql"].format(copy=copy))
    assert not ask(postgresql_url, granted)
    sfumato.run(given, resume=True)

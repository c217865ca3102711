"""Tables that others empty and fill again, replace and give rights to while a run goes on: a release has all rows, and no right comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from psycopg.errors import LockNotAvailable

import sfumato
from sfumato.databases.postgresql import PostgresqlConnection
from sfumato.databases.postgresql_inside import PostgresqlInside
from sfumato.errors import DataError, SfumatoError
from sfumato.sources.sql import Sql
from tests.servers import ask, component, connect

ROWS = 60
COLUMNS = {"age": {"role": "quasi_identifier"}, "ward": {"role": "sensitive"}}
FILLED = f"SELECT n % 7, 'w' || n % 3 FROM generate_series(1, {ROWS}) n"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def meanwhile(url: str, doing: Callable[[], Any]) -> Iterator[list[Any]]:
    """Let something be done while the block holds a lock for which it has to wait; yield where its outcome will be."""
    done: list[Any] = []

    def caught() -> None:
        try:
            done.append(doing())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            done.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    awaited(url)
    yield done
    thread.join()


def awaited(url: str) -> None:
    """Return when somebody waits for a lock."""
    deadline = time.monotonic() + 30
    while ask(url, WAITING)[0][0] == 0:
        assert time.monotonic() < deadline, "nobody waits"
        time.sleep(0.05)


def policy(url: str, source: str, **more: Any) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, source)},
        "columns": COLUMNS,
        "promises": [{"k_anonymity": {"k": 3}}],
        "sink": {"sql": component(url, "emptied_release")},
        **more,
    }


@pytest.fixture
def url(postgresql_url: str) -> str:
    ask(
        postgresql_url,
        "DROP TABLE IF EXISTS emptied_release, emptied_other, emptied, parted CASCADE",
        f"CREATE TABLE emptied AS {FILLED.replace('n % 7', 'n % 7 AS age').replace('% 3', '% 3 AS ward')}",
        "CREATE TABLE parted (age int, ward text) PARTITION BY LIST (ward)",
        "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN ('w0')",
        "CREATE TABLE parted_1 PARTITION OF parted DEFAULT",
        f"INSERT INTO parted {FILLED}",
        "CREATE TABLE emptied_other AS SELECT * FROM emptied",
    )
    return postgresql_url


@contextmanager
def emptied(url: str, table: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a table be emptied and filled again, in one transaction that is under way when something takes its rows and ends when that waits."""
    take, ending = kind.take, []  # type: ignore[attr-defined]

    def taking(*given: Any) -> Any:
        if not ending:
            other = connect(url)
            for statement in ("BEGIN", f"CREATE TEMPORARY TABLE kept AS SELECT * FROM {table}", f"TRUNCATE {table}"):
                other.execute(statement)
            other.execute(f"INSERT INTO {table} SELECT * FROM kept")
            ending.append(threading.Thread(target=ended, args=(other,)))
            ending[0].start()
        return take(*given)

    def ended(other: Any) -> None:
        with closing(other):
            awaited(url)
            other.execute("COMMIT")

    with monkeypatch.context() as patched:
        patched.setattr(kind, "take", taking)
        yield
    ending[0].join()


@pytest.mark.parametrize(
    ("source", "table", "columns", "kind"),
    [
        ("emptied", "emptied", COLUMNS, PostgresqlInside),
        ("parted", "parted_1", COLUMNS, PostgresqlInside),
        ("emptied", "emptied", {"age": {"role": "quasi_identifier"}, "ward": {"role": "other", "mask": {"shuffle": {}}}}, Sql),
        ("emptied", "emptied", {"age": {"role": "other"}, "ward": {"role": "other", "mask": {"constant": {"value": "x"}}}}, PostgresqlInside),
    ],
    ids=["inside", "partition", "here", "masks"],
)
def test_a_table_that_is_emptied_and_filled_again_has_all_its_rows(
    url: str, source: str, table: str, columns: Any, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = policy(url, source, columns=columns)
    if "quasi" not in str(columns):
        del given["promises"]
    with emptied(url, table, kind, monkeypatch):
        release: Any = sfumato.run(given)

    assert release.record.rows.out == ROWS


@pytest.mark.parametrize("kind", [PostgresqlInside, Sql], ids=["inside", "here"])
def test_a_view_has_all_rows_of_a_table_beside_one_that_cannot_be_locked(url: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(
        url,
        "DROP MATERIALIZED VIEW IF EXISTS steady CASCADE",
        "CREATE MATERIALIZED VIEW steady AS SELECT DISTINCT age, 'seen' AS mark FROM emptied",
        "CREATE VIEW both_of AS SELECT age, ward FROM emptied JOIN steady USING (age)",
    )
    given = policy(url, "both_of")
    if kind is Sql:
        given["columns"] = {"age": {"role": "quasi_identifier"}, "ward": {"role": "other", "mask": {"shuffle": {}}}}
    with emptied(url, "emptied", kind, monkeypatch):
        release: Any = sfumato.run(given)

    assert release.record.rows.out == ROWS


def test_a_table_that_is_made_anew_while_it_is_waited_for_has_all_its_rows(url: str) -> None:
    with closing(connect(url)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE emptied IN ACCESS EXCLUSIVE MODE")
        with meanwhile(url, lambda: sfumato.run(policy(url, "emptied"))) as done:
            for statement in ("ALTER TABLE emptied RENAME TO emptied_before", "CREATE TABLE emptied AS SELECT * FROM emptied_before"):
                other.execute(statement)
            other.execute("DROP TABLE emptied_before")
            other.execute("COMMIT")

    assert getattr(getattr(done[0], "record", None), "rows", None) is not None, done
    assert done[0].record.rows.out == ROWS


def test_who_may_read_every_column_by_itself_has_a_release_inside(url: str) -> None:
    role = f"reader_{threading.get_native_id()}"
    parts = urlsplit(url)
    ask(
        url,
        f"CREATE ROLE {role} LOGIN PASSWORD '{parts.password}'",
        f"GRANT SELECT (age, ward) ON emptied TO {role}",
        f"GRANT CREATE, USAGE ON SCHEMA public TO {role}",
    )
    own = parts._replace(netloc=f"{role}:{parts.password}@{parts.hostname}:{parts.port}").geturl()
    try:
        release: Any = sfumato.run(policy(own, "emptied"))
        assert release.record.rows.out == ROWS
    finally:
        ask(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_all_tables_of_a_policy_are_seen_in_one_state(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(url, "DROP SCHEMA IF EXISTS emptied_masked CASCADE", "CREATE SCHEMA emptied_masked")
    source = {name: told for name, told in component(url, "").items() if name != "table"}
    columns = {"age": {"role": "other"}, "ward": {"role": "identifier"}}
    tables = {name: {"columns": columns} for name in ("emptied", "emptied_other")}
    looked, one_state = threading.Event(), PostgresqlConnection.one_state

    def looking(self: PostgresqlConnection, names: Any) -> None:
        one_state(self, names)
        if not looked.is_set():
            looked.set()
            # whoever would empty a table that is going to be read has to wait
            with pytest.raises(LockNotAvailable):
                ask(url, "SET lock_timeout = '200ms'", "TRUNCATE emptied_other")

    monkeypatch.setattr(PostgresqlConnection, "one_state", looking)
    sfumato.run({"source": {"sql": source}, "tables": tables, "sink": {"sql": {**source, "schema": "emptied_masked"}}})

    assert looked.is_set()
    assert [ask(url, f"SELECT count(*) FROM emptied_masked.{name}")[0][0] for name in tables] == [ROWS, ROWS]


def test_a_right_that_is_taken_while_a_release_waits_does_not_come_back(url: str) -> None:
    role = f"mallory_{threading.get_native_id()}"
    sfumato.run(policy(url, "emptied"))
    ask(url, f"CREATE ROLE {role}", f"GRANT SELECT ON emptied_release TO {role}")
    try:
        with closing(connect(url)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM emptied_release")
            with meanwhile(url, lambda: sfumato.run(policy(url, "emptied"))) as done:
                ask(url, f"REVOKE SELECT ON emptied_release FROM {role}")
                reader.execute("ROLLBACK")

        assert done[0].record.rows.out == ROWS
        assert ask(url, f"SELECT has_table_privilege('{role}', 'emptied_release', 'SELECT')") == [(False,)]
    finally:
        ask(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_right_that_is_just_being_taken_is_told_as_somebody_elses_work(url: str) -> None:
    role = f"trudy_{threading.get_native_id()}"
    sfumato.run(policy(url, "emptied"))
    ask(url, f"CREATE ROLE {role}", f"GRANT SELECT ON emptied_release TO {role}")
    try:
        with closing(connect(url)) as other:
            other.execute("BEGIN")
            other.execute(f"REVOKE SELECT ON emptied_release FROM {role}")
            with meanwhile(url, lambda: sfumato.run(policy(url, "emptied"))) as done:
                other.execute("COMMIT")

        assert isinstance(done[0], SfumatoError), done
        assert done[0].code == "database-locked"
        assert ask(url, f"SELECT has_table_privilege('{role}', 'emptied_release', 'SELECT')") == [(False,)]
    finally:
        ask(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_what_is_made_on_the_old_table_while_a_release_waits_is_not_lost(url: str) -> None:
    sfumato.run(policy(url, "emptied"))
    with closing(connect(url)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM emptied_release")
        with meanwhile(url, lambda: sfumato.run(policy(url, "emptied"))) as done:
            reader.execute("COMMENT ON TABLE emptied_release IS 'of mine'")
            reader.execute("COMMIT")

    assert isinstance(done[0], DataError)
    assert done[0].code == "database-changed"
    assert ask(url, "SELECT obj_description('emptied_release'::regclass)") == [("of mine",)]


@pytest.mark.parametrize("is_there", [True, False])
def test_runs_that_end_at_once_take_their_turns(url: str, is_there: bool) -> None:
    if is_there:
        sfumato.run(policy(url, "emptied"))
    done: list[Any] = []

    def run() -> None:
        try:
            release: Any = sfumato.run(policy(url, "emptied"))
            done.append(release.record.rows.out)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            done.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == [ROWS] * 3
    assert ask(url, "SELECT count(*) FROM emptied_release") == [(ROWS,)]


@pytest.mark.parametrize(
    "made",
    [
        ["CREATE MATERIALIZED VIEW seen AS SELECT * FROM emptied"],
        ["CREATE VIEW seen AS SELECT * FROM emptied"],
        ["CREATE MATERIALIZED VIEW seen_first AS SELECT * FROM emptied", "CREATE VIEW seen AS SELECT * FROM seen_first"],
    ],
    ids=["materialised", "view", "view of a materialised one"],
)
def test_what_cannot_be_held_is_read_as_it_comes(url: str, made: list[str]) -> None:
    ask(url, "DROP VIEW IF EXISTS seen" if "CREATE VIEW seen" in made[-1] else "DROP MATERIALIZED VIEW IF EXISTS seen", *made)
    release: Any = sfumato.run(policy(url, "seen"))
    kept: Any = sfumato.run({**policy(url, "seen"), "sink": None})

    assert release.record.rows.out == kept.record.rows.out == ROWS
    ask(url, "DROP VIEW seen" if "CREATE VIEW seen" in made[-1] else "DROP MATERIALIZED VIEW seen", "DROP MATERIALIZED VIEW IF EXISTS seen_first")


def test_who_may_read_some_columns_reads_them(url: str) -> None:
    role = f"clerk_{threading.get_native_id()}"
    ask(
        url,
        f"CREATE ROLE {role} LOGIN PASSWORD 'few'",
        "ALTER TABLE emptied ADD COLUMN secret text",
        f"GRANT SELECT (age, ward) ON emptied TO {role}",
    )
    parts = urlsplit(url)
    own = parts._replace(netloc=f"{role}:few@{parts.hostname}:{parts.port}").geturl()
    try:
        given = {**policy(own, "emptied"), "sink": None}
        given["columns"] = {**COLUMNS, "secret": {"role": "identifier"}}
        with pytest.raises(SfumatoError) as caught:
            sfumato.run(given)
        assert caught.value.code == "columns-differ"
        assert sfumato.run({**given, "columns": COLUMNS}).record.rows.out
    finally:
        ask(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_table_that_somebody_holds_is_not_waited_for_for_ever(url: str) -> None:
    sfumato.run(policy(url, "emptied"))
    ask(url, "CREATE INDEX lowered ON emptied_release (lower(ward))")
    with closing(connect(url)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE emptied_release IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SfumatoError) as caught:
            sfumato.run(policy(url, "emptied"))

    assert caught.value.code == "database-locked"

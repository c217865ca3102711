"""The log of a PostgreSQL server, which others read than those who may read a table: no value of a release that was refused is in it."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from services.state import STATE, read
from sfumato.engine.retain import retain
from sfumato.errors import DataError, SfumatoError
from tests.servers import ask, component

WORDS = (
    "CREATE TABLE words AS SELECT n AS id, 20 + n % 2 AS age, '{canary} ' || n % 3 AS word, date '2026-01-05' AS day FROM generate_series(1, 24) n"
)
RELEASE = "CREATE TABLE release (age text, word text)"
NOW = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)


@pytest.fixture(params=["postgresql", "postgresql18"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def canary(url: str, request: pytest.FixtureRequest) -> str:
    """A word that no log has yet, in a table."""
    word = f"Canary {secrets.token_hex(6)}"
    ask(url, "DROP TABLE IF EXISTS words, release, known CASCADE", WORDS.format(canary=word), "ALTER TABLE words ADD PRIMARY KEY (id)")
    return word


@pytest.fixture
def log(url: str, request: pytest.FixtureRequest) -> Callable[[], str]:
    running = read(STATE).get("postgresql18" if "postgresql18" in request.node.name else "postgresql")
    if running is None:
        pytest.skip("the log of a server that somebody else started cannot be read; run: make services")
    return lambda: running.log.read_text(errors="replace")


def policy(url: str, **changes: Any) -> dict[str, Any]:
    columns = {"id": {"role": "identifier"}, "day": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "word": {"role": "sensitive"}}
    given = {"source": {"sql": component(url, "words")}, "sink": {"sql": component(url, "release")}, "columns": columns}
    return {**given, "promises": [{"k_anonymity": {"k": 3}}], **changes}


@pytest.mark.parametrize(
    "made",
    [
        "CREATE UNIQUE INDEX ON release (word)",
        "CREATE UNIQUE INDEX ON release (lower(word))",
        "CREATE UNIQUE INDEX ON release (word) WHERE word <> 'other'",
        "CREATE UNIQUE INDEX ON release (nullif(word, 'other'), age) NULLS NOT DISTINCT",
        "ALTER TABLE release ADD UNIQUE NULLS NOT DISTINCT (word) DEFERRABLE INITIALLY DEFERRED",
        "ALTER TABLE release ADD EXCLUDE USING btree (word WITH =)",
        "ALTER TABLE release ADD FOREIGN KEY (word) REFERENCES known",
        "CREATE INDEX ON release ((word::integer))",
    ],
)
def test_what_a_table_that_is_replaced_does_not_take_is_in_no_log(url: str, canary: str, log: Callable[[], str], made: str) -> None:
    ask(url, RELEASE, "CREATE TABLE known (word text PRIMARY KEY)", made)
    with pytest.raises(DataError) as caught:
        sfumato.run(policy(url))

    assert caught.value.code == "database-value"
    assert "SQLSTATE 2" in str(caught.value)
    assert canary not in log()
    assert canary.lower() not in log()
    assert ask(url, "SELECT count(*)::integer FROM release") == [(0,)]


def test_no_second_process_that_would_write_to_the_log_looks_at_rows(url: str, canary: str, log: Callable[[], str]) -> None:
    """What one process catches of another is in the log all the same."""
    seen = "IF (SELECT leader_pid IS NOT NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()) THEN RAISE EXCEPTION '%', word; END IF;"
    body = f"BEGIN {seen} PERFORM pg_sleep(0.001); RETURN 1; END"
    ask(url, f"CREATE OR REPLACE FUNCTION looked(word text) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ {body} $$")
    ask(url, "INSERT INTO words SELECT n, 20, word || repeat(' ', 200), day FROM words, generate_series(100, 700) n WHERE id = 1")
    ask(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET min_parallel_table_scan_size = 0", RELEASE, "CREATE INDEX ON release (looked(word))")
    try:
        sfumato.run(policy(url))
    finally:
        ask(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} RESET min_parallel_table_scan_size", "DROP FUNCTION looked(text) CASCADE")

    assert canary not in log()


@pytest.mark.parametrize("check", ["CHECK (name IS NOT NULL OR id < 3)", "CHECK (word <> 'none')"])
def test_what_a_table_that_is_masked_in_place_does_not_take_is_in_no_log(url: str, canary: str, log: Callable[[], str], check: str) -> None:
    ask(url, "ALTER TABLE words ADD COLUMN name text", f"UPDATE words SET name = '{canary} of ' || id", f"ALTER TABLE words ADD {check}")
    columns = {"id": {"role": "other", "accept": "singling_out"}, "name": {"role": "identifier"}, "age": {"role": "other"}, "day": {"role": "other"}}
    columns["word"] = {"role": "other", "mask": {"constant": {"value": "none"}}} if "none" in check else {"role": "other"}
    told = log().count(canary)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(url, columns=columns, promises=[]) | {"sink": {"sql": component(url, "words") | {"in_place": True}}})

    assert caught.value.code == "in-place-misfit"
    assert log().count(canary) == told == 0


def test_what_an_archive_does_not_take_is_in_no_log(url: str, canary: str, log: Callable[[], str]) -> None:
    given = policy(url, retention={"column": "day", "older_than": "30d"})
    ask(url, "DROP TABLE IF EXISTS sfumato_ledger")
    retain(given, NOW)
    ask(url, "DELETE FROM release", "ALTER TABLE release ADD UNIQUE (word)", "DROP TABLE words, sfumato_ledger", WORDS.format(canary=canary))
    ask(url, "ALTER TABLE words ADD PRIMARY KEY (id)")
    with pytest.raises(SfumatoError) as caught:
        retain(given, NOW)

    assert caught.value.code == "database-value"
    assert canary not in log()


@pytest.mark.parametrize("many", [False, True])
def test_what_a_view_cannot_compute_is_in_no_log(url: str, canary: str, log: Callable[[], str], many: bool) -> None:
    """Also where several processes would read a large table beneath it."""
    if many:
        ask(url, "INSERT INTO words SELECT n, 20, word || repeat(' ', 200), day FROM words, generate_series(100, 20000) n WHERE id = 1")
    ask(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} SET min_parallel_table_scan_size = 0")
    ask(url, "CREATE VIEW shown AS SELECT id, age, word::date::text AS word, day FROM words")
    try:
        with pytest.raises(DataError) as caught:
            sfumato.run(policy(url, source={"sql": component(url, "shown")}))
    finally:
        ask(url, f"ALTER DATABASE {url.rsplit('/', 1)[1]} RESET min_parallel_table_scan_size")

    assert caught.value.code == "database-value"
    assert "cannot compute a value of shown, such as a number or a time that is none or too large (SQLSTATE 22007)" in str(caught.value)
    assert caught.value.hint == "look at what shown computes, as a view or in columns of its own, and let it give null there"
    assert canary not in log()


def test_what_a_view_cannot_compute_is_told_of_the_view_where_the_work_is_done_here(url: str, canary: str, tmp_path: Path) -> None:
    ask(url, "CREATE VIEW shown AS SELECT id, age, word::date::text AS word, day FROM words")
    with pytest.raises(DataError) as caught:
        sfumato.run(policy(url, source={"sql": component(url, "shown")}, sink=str(tmp_path / "release.csv")))

    assert "cannot compute a value of shown" in str(caught.value)
    assert canary not in str(caught.value)

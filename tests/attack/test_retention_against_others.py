"""Retention where others have a say: what they have put into an archive, a ledger or a schema makes no row go that is not archived."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from sfumato.databases.archive import Archive
from sfumato.databases.retained import Retained
from sfumato.databases.table import TableName
from sfumato.engine.retain import retain
from sfumato.errors import DataError, UnreachableError
from sfumato.sources.sql import Sql
from tests.databases.test_retention import NOW, Made, counted, url, visits, visits_of
from tests.servers import ask, component

__all__ = ["url", "visits"]

_TRIGGER = "CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {deed} END'"
SWALLOWED = {
    "postgresql_rule": ["CREATE RULE swallow AS ON INSERT TO archive DO INSTEAD NOTHING"],
    "postgresql_some": ["CREATE RULE swallow AS ON INSERT TO archive WHERE NEW.town = 'Ulm' DO INSTEAD NOTHING"],
    "postgresql_trigger": [
        _TRIGGER.format(name="swallow", deed="RETURN NULL;"),
        "CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
    "postgresql_change": [
        _TRIGGER.format(name="empty", deed="NEW.illness := NULL; RETURN NEW;"),
        "CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW EXECUTE FUNCTION empty()",
    ],
    "postgresql_deferred": [
        _TRIGGER.format(name="late", deed="DELETE FROM public.archive WHERE sfumato_batch = NEW.sfumato_batch; RETURN NULL;"),
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON archive DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()",
    ],
    "mariadb_change": ["CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW SET NEW.illness = NULL"],
}


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("attack", SWALLOWED)
def test_rows_that_do_not_come_to_the_archive_as_they_are_stay_in_the_source(request: pytest.FixtureRequest, attack: str, chunk: int) -> None:
    server = str(request.getfixturevalue(f"{attack.partition('_')[0]}_url"))
    policy = visits_of(server)({1: 40}, retention={"chunk": chunk})
    retain(policy, NOW)
    ask(server, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-02-03 10:00:00', {20 + n % 3}, 'Ulm', 'i1')" for n in range(30)))
    ask(server, *SWALLOWED[attack])
    with pytest.raises(UnreachableError) as caught:
        retain(policy, NOW)

    assert caught.value.code == "archive-altered"
    assert (counted(server, "visits"), counted(server, "archive"), counted(server, "sfumato_ledger")) == (30, 40, 1)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_a_batch_of_which_a_row_is_missing_is_undone(visits: Made, url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40}, retention={"chunk": chunk})
    append = Archive.append

    def append_less(self: Archive, *given: Any) -> None:
        append(self, *given)
        held = self._connection.quoted(self.table)
        self._connection.do(f"DELETE FROM {held} WHERE age = (SELECT MIN(age) FROM (SELECT age FROM {held}) a)")

    with monkeypatch.context() as patch:
        patch.setattr(Archive, "append", append_less)
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)

    assert caught.value.code == "archive-altered"
    assert counted(url, "visits") == 40
    assert [batch.outcome for batch in retain(policy, NOW).batches] == ["archived"]
    assert counted(url, "archive") == 40


LOST = {
    "dropped": ["DROP TABLE archive"],
    "emptied": ["DELETE FROM archive"],
    "in part": ["DELETE FROM archive WHERE town = 'Ulm'"],
    "another": ["DROP TABLE archive", "CREATE TABLE archive (age int)", "INSERT INTO archive VALUES (30)"],
}


@pytest.mark.parametrize("attack", LOST)
def test_rows_that_the_archive_has_lost_are_not_deleted(visits: Made, url: str, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    ask(url, *LOST[attack])
    with pytest.raises(DataError) as caught:
        retain(policy, NOW)
    assert (caught.value.code, counted(url, "visits")) == ("archive-lost", 40)

    ask(url, "DELETE FROM sfumato_ledger", "DROP TABLE IF EXISTS archive")
    assert [batch.outcome for batch in retain(policy, NOW).batches] == ["archived"]
    assert (counted(url, "visits"), counted(url, "archive")) == (0, 40)


MALLORY = f"mallory_{secrets.token_hex(4)}"
LEDGER = (
    "CREATE TABLE sfumato_ledger (archive VARCHAR(190), batch VARCHAR(190), source VARCHAR(190), state VARCHAR(190), rows_in BIGINT, "
    "rows_out BIGINT, written TIMESTAMP, PRIMARY KEY (archive, batch))"
)
ACTING = {
    "postgresql_owner": [f"CREATE ROLE {MALLORY}", f"ALTER TABLE sfumato_ledger OWNER TO {MALLORY}"],
    "postgresql_trigger": [
        _TRIGGER.format(name="acting", deed="RETURN NEW;"),
        "CREATE TRIGGER acting BEFORE INSERT ON sfumato_ledger FOR EACH ROW EXECUTE FUNCTION acting()",
    ],
    "postgresql_rule": ["CREATE RULE acting AS ON UPDATE TO sfumato_ledger DO ALSO NOTHING"],
    "postgresql_policy": ["ALTER TABLE sfumato_ledger ENABLE ROW LEVEL SECURITY"],
    "postgresql_view": ["ALTER TABLE sfumato_ledger RENAME TO lines", "CREATE VIEW sfumato_ledger AS SELECT * FROM lines"],
    "mariadb_trigger": ["CREATE TRIGGER acting BEFORE UPDATE ON sfumato_ledger FOR EACH ROW SET NEW.state = 'deleted'"],
    "mariadb_view": ["ALTER TABLE sfumato_ledger RENAME TO `lines`", "CREATE VIEW sfumato_ledger AS SELECT * FROM `lines`"],
    "duckdb_trigger": [
        "CREATE TABLE seen (n INTEGER)",
        "CREATE TRIGGER acting AFTER INSERT ON sfumato_ledger FOR EACH STATEMENT INSERT INTO seen VALUES (1)",
    ],
}


@pytest.mark.parametrize("attack", ACTING)
def test_a_ledger_of_somebody_else_or_on_which_something_acts_is_refused(request: pytest.FixtureRequest, attack: str) -> None:
    server = str(request.getfixturevalue(f"{attack.partition('_')[0]}_url"))
    policy = visits_of(server)({1: 40})
    ask(server, LEDGER, *ACTING[attack])
    try:
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)
    finally:
        if attack.endswith("_view"):
            ask(server, "DROP VIEW sfumato_ledger", f"DROP TABLE {'lines' if server.startswith('postgresql') else '`lines`'}")
        else:
            ask(server, *(["DROP TRIGGER acting ON sfumato_ledger"] if server.startswith("duckdb") else []), "DROP TABLE sfumato_ledger")
        if attack.endswith("_owner"):
            ask(server, f"DROP ROLE {MALLORY}")

    # what is beneath a view may have no transactions
    assert caught.value.code == ("retention-engine" if attack == "mariadb_view" else "archive-ledger")
    assert counted(server, "visits") == 40


SERVERS = ["postgresql", "mariadb"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_key_that_nothing_keeps_unique_is_refused(request: pytest.FixtureRequest, server: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 40}, retention={"key": ["illness", "age"]})
    ask(url, "UPDATE visits SET age = id", "CREATE INDEX visits_age ON visits (age)")
    for more in ([], ["CREATE UNIQUE INDEX visits_more ON visits (age, town)"]):
        ask(url, *more)
        with pytest.raises(UnreachableError) as caught:
            retain(policy, NOW)
        assert caught.value.code == "retention-key"
    ask(url, "CREATE UNIQUE INDEX visits_once ON visits (age, seen)")

    assert [batch.deleted for batch in retain(policy, NOW).batches] == [40]


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("server", SERVERS)
def test_rows_that_come_meanwhile_with_the_keys_of_others_are_not_deleted(
    request: pytest.FixtureRequest, server: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 40}, retention={"chunk": chunk, "key": ["id"]})
    ask(url, "CREATE TABLE kept AS SELECT * FROM visits", "CREATE VIEW seen AS SELECT * FROM kept")
    policy["source"] = {"sql": component(url, "seen")}
    read = Retained.read

    def read_and_grow(self: Retained, *given: Any) -> Any:
        yield from read(self, *given)
        ask(url, "INSERT INTO kept SELECT id, seen, age, town, 'new' FROM kept WHERE id = 3")

    try:
        with monkeypatch.context() as patch:
            patch.setattr(Retained, "read", read_and_grow)
            with pytest.raises(DataError) as caught:
                retain(policy, NOW)
        assert caught.value.code == "retention-key"
        assert counted(url, "kept WHERE id = 3") == 2
        assert (counted(url, "archive") if chunk == 7 else counted(url, "kept")) == (40 if chunk == 7 else 41)

        ask(url, "DELETE FROM kept WHERE illness = 'new'")
        retain(policy, NOW)
        assert (counted(url, "kept"), counted(url, "archive")) == (0, 40)
    finally:
        ask(url, "DROP VIEW seen", "DROP TABLE kept")


@pytest.mark.parametrize("server", SERVERS)
def test_rows_that_another_user_may_have_archived_are_not_archived_again(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 40})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    with Sql(**policy["source"]["sql"]).connected() as connection:
        (keys,) = connection.beginning_with(Retained(connection, TableName("visits"), "seen", None, "")._beginning, TableName("visits"))
        kept = connection.quoted(keys)
    theirs, back = f"sfumato_staging_{MALLORY}", f"ALTER TABLE {kept} OWNER TO CURRENT_USER"
    if server == "postgresql":
        ask(url, f"CREATE ROLE {MALLORY}", f"ALTER TABLE {kept} OWNER TO {MALLORY}")
    else:
        ask(url, f"CREATE DATABASE {theirs}", f"RENAME TABLE {kept} TO {theirs}.{keys.name}")
        back = f"RENAME TABLE {theirs}.{keys.name} TO {kept}"
    try:
        with pytest.raises(DataError) as caught:
            retain({**policy, "sink": {"sql": component(url, "archive_too")}}, NOW)
    finally:
        ask(url, back, f"DROP ROLE {MALLORY}" if server == "postgresql" else f"DROP DATABASE {theirs}")

    assert caught.value.code == "retention-elsewhere"
    assert [batch.deleted for batch in retain(policy, NOW).batches] == [40]

"""Retention of rows that are those of other tables: partitions, tables that inherit, and what is beneath a view are looked at as the source is."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.errors import UnreachableError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import columns_of, counted
from tests.servers import ask, component

KINDS = ["postgresql", "mariadb", "mysql"]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with emptied(str(request.getfixturevalue(f"{request.param}_url"))) as place:
        yield place


@pytest.fixture
def pg(postgresql_url: str) -> Iterator[str]:
    with emptied(postgresql_url) as place:
        yield place


@pytest.fixture
def maria(mariadb_url: str) -> Iterator[str]:
    with emptied(mariadb_url) as place:
        yield place


RANGE = "FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')"
KEPT = "id int, seen timestamp, age int"
# each has twenty old rows by the name v, and b is where they are
PARTS = {
    "partition": [
        f"CREATE TABLE v ({KEPT}, PRIMARY KEY (id, seen)) PARTITION BY RANGE (seen)",
        f"CREATE TABLE b PARTITION OF v {RANGE}",
        "CREATE TABLE c PARTITION OF v DEFAULT",
        "ALTER TABLE b ADD UNIQUE (id)",
    ],
    "partition of a partition": [
        f"CREATE TABLE v ({KEPT}, PRIMARY KEY (id, seen)) PARTITION BY RANGE (seen)",
        f"CREATE TABLE m PARTITION OF v {RANGE} PARTITION BY RANGE (seen)",
        "CREATE TABLE b PARTITION OF m DEFAULT",
        "ALTER TABLE b ADD UNIQUE (id)",
    ],
    "table that inherits": [f"CREATE TABLE v ({KEPT}, PRIMARY KEY (id))", "CREATE TABLE b (PRIMARY KEY (id)) INHERITS (v)"],
    "heir of an heir": [
        f"CREATE TABLE v ({KEPT}, PRIMARY KEY (id))",
        "CREATE TABLE m () INHERITS (v)",
        "CREATE TABLE b (PRIMARY KEY (id)) INHERITS (m)",
    ],
}
PLAIN = ["CREATE TABLE b (id int PRIMARY KEY, seen {time}, age int)"]
VIEWS = {
    "view": ["CREATE VIEW v AS SELECT * FROM b"],
    "view of a view": ["CREATE VIEW m AS SELECT id, seen, age FROM b x WHERE age > 1", "CREATE VIEW v AS SELECT * FROM m WHERE id < 1000"],
    "view with other names": ["ALTER TABLE b RENAME COLUMN id TO number", "CREATE VIEW v AS SELECT number AS id, seen, age FROM b"],
    "view with a question": ["CREATE VIEW v AS SELECT * FROM b WHERE id IN (SELECT 1 + n FROM (SELECT 1 AS n) q) OR id > 0"],
}


def made_view(url: str, view: str) -> None:
    ask(url, *(statement.format(time=kind_of_time(url)) for statement in (*PLAIN, rows("b", 1, 20), *VIEWS[view])))


def made_parts(url: str, what: str) -> None:
    ask(url, *PARTS[what], rows("v" if "partition" in what else "b", 1, 20))


def refer(url: str, rule: str) -> None:
    """Let rows of another table refer to all that are in b."""
    named = "number" if "number" in columns_of(url, "b") else "id"
    ask(url, f"CREATE TABLE kid (k int PRIMARY KEY, its int, FOREIGN KEY (its) REFERENCES b ({named}) ON DELETE {rule})")
    ask(url, f"INSERT INTO kid SELECT {named}, {named} FROM b")


def refused(url: str, code: str, **retention: object) -> str:
    """Return the words with which plan and retain refuse, when nothing has gone."""
    given = policy(url, **retention)
    said = set()
    for work in (lambda: sfumato.plan(given), lambda: retain(given, NOW)):
        with pytest.raises(UnreachableError) as caught:
            work()
        assert caught.value.code == code
        said.add(caught.value.message)
    assert (counted(url, "v"), columns_of(url, "archive")) == (20, [])
    (words,) = said
    return words


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL", "NO ACTION"])
@pytest.mark.parametrize("what", PARTS)
def test_keys_that_refer_to_parts_of_a_table_are_refused(pg: str, what: str, rule: str) -> None:
    made_parts(pg, what)
    refer(pg, rule)

    assert "kid" in refused(pg, "retention-referenced" if rule == "NO ACTION" else "retention-cascade")
    assert counted(pg, "kid WHERE its IS NOT NULL") == 20


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("what", PARTS)
def test_rows_that_go_with_those_of_parts_are_counted_where_that_is_accepted(pg: str, what: str, chunk: int) -> None:
    made_parts(pg, what)
    refer(pg, "CASCADE")
    ask(pg, "CREATE TABLE toy (its int REFERENCES kid ON DELETE SET NULL)", "INSERT INTO toy SELECT 3 FROM kid WHERE k < 5")
    (batch,) = retain(policy(pg, cascade="accept", chunk=chunk), NOW).batches

    assert {(gone.table.name, gone.rows, gone.becomes) for gone in batch.along} == {("kid", 20, "deleted"), ("toy", 4, "emptied")}
    assert (batch.deleted, counted(pg, "v"), counted(pg, "kid"), counted(pg, "toy WHERE its IS NULL")) == (20, 0, 0, 4)


def test_a_key_to_a_table_in_partitions_is_told_once(pg: str) -> None:
    made_parts(pg, "partition of a partition")
    ask(
        pg,
        "CREATE TABLE kid (id int, seen timestamp, FOREIGN KEY (id, seen) REFERENCES v ON DELETE CASCADE)",
        "INSERT INTO kid SELECT id, seen FROM v",
    )
    (batch,) = retain(policy(pg, cascade="accept"), NOW).batches

    assert [(gone.table.name, gone.rows) for gone in batch.along] == [("kid", 20)]


def test_rows_that_go_with_those_of_a_partition_of_another_table_are_found(pg: str) -> None:
    ask(pg, f"CREATE TABLE v ({KEPT}, PRIMARY KEY (id))", rows("v", 1, 20))
    ask(pg, "CREATE TABLE bill (n int PRIMARY KEY, v int REFERENCES v ON DELETE CASCADE) PARTITION BY RANGE (n)")
    ask(pg, "CREATE TABLE bill_1 PARTITION OF bill DEFAULT", "INSERT INTO bill SELECT id, id FROM v")
    ask(pg, "CREATE TABLE item (bill int REFERENCES bill_1 ON DELETE CASCADE)", "INSERT INTO item SELECT n FROM bill")

    assert "item" in refused(pg, "retention-cascade")
    (batch,) = retain(policy(pg, cascade="accept"), NOW).batches
    assert {(gone.table.name, gone.rows) for gone in batch.along} == {("bill", 20), ("item", 20)}


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL", "NO ACTION"])
@pytest.mark.parametrize("view", VIEWS)
def test_keys_that_refer_to_what_is_beneath_a_view_are_refused(url: str, view: str, rule: str) -> None:
    made_view(url, view)
    refer(url, rule)

    words = refused(url, "retention-referenced" if rule == "NO ACTION" else "retention-cascade", key=["id"])
    # to accept what cannot be counted is no way out
    assert ("kid" in words, "cannot be counted" in words) == (True, rule != "NO ACTION")
    assert counted(url, "kid WHERE its IS NOT NULL") == 20


@pytest.mark.parametrize("view", VIEWS)
def test_rows_that_go_with_those_beneath_a_view_cannot_be_accepted(url: str, view: str) -> None:
    made_view(url, view)
    refer(url, "CASCADE")

    assert "cannot be counted" in refused(url, "retention-cascade", key=["id"], cascade="accept")


def test_a_key_by_which_rows_beneath_a_view_refer_to_each_other_is_refused(url: str) -> None:
    made_view(url, "view")
    ask(url, "ALTER TABLE b ADD COLUMN parent int", "ALTER TABLE b ADD FOREIGN KEY (parent) REFERENCES b (id) ON DELETE CASCADE")

    refused(url, "retention-cascade", key=["id"], cascade="accept")


def test_keys_to_partitions_beneath_a_view_are_refused(pg: str) -> None:
    made_parts(pg, "partition of a partition")
    ask(pg, "ALTER TABLE v RENAME TO w", "CREATE VIEW v AS SELECT * FROM w WHERE seen < now()")
    refer(pg, "CASCADE")

    assert "kid" in refused(pg, "retention-cascade", key=["id"])


@pytest.mark.parametrize("view", VIEWS)
def test_rows_of_a_view_are_archived_and_deleted_in_one_transaction(url: str, view: str) -> None:
    made_view(url, view)

    assert [(batch.deleted, batch.missing) for batch in retain(policy(url, key=["id"]), NOW).batches] == [(20, 0)]
    assert (counted(url, "b"), counted(url, "archive")) == (0, 20)


NOTED = "CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'"


def acting_on(url: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the steps of the plan and the notes of the record that tell what acts by itself."""
    given = policy(url, key=["id"])
    given["sink"]["sql"]["record"] = str(folder / "record.json")
    steps = sfumato.plan(given).steps
    retain(given, NOW)
    notes = json.loads((folder / "record.2026-01.json").read_text())["notes"]
    return [step for step in steps if "by itself" in step], [note for note in notes if "by itself" in note]


@pytest.mark.parametrize("what", PARTS)
def test_triggers_on_parts_of_a_table_are_told(pg: str, what: str, tmp_path: Path) -> None:
    made_parts(pg, what)
    ask(pg, NOTED, "CREATE TRIGGER seen_going AFTER DELETE ON b FOR EACH ROW EXECUTE FUNCTION noted()")
    ask(pg, "CREATE TRIGGER not_asked AFTER DELETE ON b FOR EACH STATEMENT EXECUTE FUNCTION noted()")
    steps, notes = acting_on(pg, tmp_path)

    assert steps == ["Mind that the trigger seen_going of public.b acts by itself when rows are archived or deleted."]
    assert [note.partition(" acts")[0] for note in notes] == ["the trigger seen_going of public.b"]


def test_a_trigger_on_a_table_in_partitions_is_told_once(pg: str, tmp_path: Path) -> None:
    made_parts(pg, "partition of a partition")
    ask(pg, NOTED, "CREATE TRIGGER seen_going AFTER DELETE ON v FOR EACH ROW EXECUTE FUNCTION noted()")

    assert [note.partition(" acts")[0] for note in acting_on(pg, tmp_path)[1]] == ["the trigger seen_going"]


@pytest.mark.parametrize("view", VIEWS)
def test_triggers_beneath_a_view_are_told(url: str, view: str, tmp_path: Path) -> None:
    made_view(url, view)
    deed = "EXECUTE FUNCTION noted()" if url.startswith("postgresql:") else "SET @gone = 1"
    ask(url, *([NOTED] if url.startswith("postgresql:") else []), f"CREATE TRIGGER seen_going BEFORE DELETE ON b FOR EACH ROW {deed}")
    steps, notes = acting_on(url, tmp_path)
    of = "public" if url.startswith("postgresql:") else urlsplit(url).path[1:]

    assert steps == [f"Mind that the trigger seen_going of {of}.b acts by itself when rows are archived or deleted."]
    assert [note.partition(" acts")[0] for note in notes] == [f"the trigger seen_going of {of}.b"]


def test_a_rule_of_a_view_beneath_a_view_is_told(pg: str, tmp_path: Path) -> None:
    made_view(pg, "view of a view")
    ask(pg, "CREATE TABLE went (id int)", "CREATE RULE noted AS ON DELETE TO m DO ALSO INSERT INTO went VALUES (OLD.id)")

    assert [note.partition(" acts")[0] for note in acting_on(pg, tmp_path)[1]] == ["the rule noted of public.m"]


def test_a_trigger_in_the_place_of_a_deletion_is_told(pg: str, tmp_path: Path) -> None:
    made_view(pg, "view")
    deed = "BEGIN DELETE FROM public.b WHERE id = OLD.id; RETURN OLD; END"
    ask(pg, f"CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS '{deed}'")
    ask(pg, "CREATE TRIGGER instead INSTEAD OF DELETE ON v FOR EACH ROW EXECUTE FUNCTION gone()")

    assert [note.partition(" acts")[0] for note in acting_on(pg, tmp_path)[1]] == ["the trigger instead"]
    assert counted(pg, "b") == 0


@pytest.mark.parametrize("view", VIEWS)
def test_history_that_is_kept_beneath_a_view_is_refused(maria: str, view: str) -> None:
    made_view(maria, view)
    ask(maria, "ALTER TABLE b ADD SYSTEM VERSIONING")

    assert "b keeps the history of its rows" in refused(maria, "database-undeleted", key=["id"])


@pytest.mark.parametrize("view", VIEWS)
def test_an_engine_without_transactions_beneath_a_view_is_refused(maria: str, view: str) -> None:
    made_view(maria, view)
    ask(maria, "ALTER TABLE b ENGINE = MyISAM")

    assert "b is of the engine MyISAM" in refused(maria, "retention-engine", key=["id"])


JOINED = "CREATE VIEW v AS SELECT b.id, b.seen, b.age FROM b JOIN c ON c.id = b.id"


def test_a_view_by_way_of_which_nothing_is_deleted_is_refused(url: str) -> None:
    ask(url, *(statement.format(time=kind_of_time(url)) for statement in PLAIN), rows("b", 1, 20))
    ask(url, "CREATE TABLE c (id int)", "INSERT INTO c SELECT id FROM b", JOINED)

    assert "v is a view" in refused(url, "retention-view", key=["id"])


@pytest.mark.parametrize("rights", ["SELECT, DELETE ON {}.v", "SELECT, DELETE, SHOW VIEW ON {}.v"])
def test_a_view_of_which_the_user_cannot_see_the_table_is_refused(maria: str, rights: str) -> None:
    made_view(maria, "view")
    refer(maria, "CASCADE")
    user, place = f"few_{secrets.token_hex(4)}", urlsplit(maria).path[1:]
    archive = f"{place}_archive"
    few = maria.replace(f"{urlsplit(maria).username}:{urlsplit(maria).password}", f"{user}:secret")
    ask(maria, f"CREATE DATABASE {archive}", f"CREATE USER {user} IDENTIFIED BY 'secret'", f"GRANT {rights.format(place)} TO {user}")
    ask(maria, f"GRANT ALL ON {archive}.* TO {user}", rf"GRANT ALL ON `sfumato\_staging\_{user.replace('_', chr(92) + '_')}`.* TO {user}")
    given = policy(few, key=["id"])
    given["sink"] = {"sql": {**component(few, "archive"), "schema": archive}}
    try:
        for work in (lambda: sfumato.plan(given), lambda: retain(given, NOW)):
            with pytest.raises(UnreachableError) as caught:
                work()
            assert caught.value.code == "retention-view"
    finally:
        ask(maria, f"DROP DATABASE {archive}", f"DROP USER {user}", f"DROP DATABASE IF EXISTS sfumato_staging_{user}")
    assert (counted(maria, "b"), counted(maria, "kid")) == (20, 20)

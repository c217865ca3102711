"""Tables whose rows go along with those that are retained: what acts on them, what keeps them, and what hangs on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sfumato.engine.plan_view import plan
from sfumato.engine.retain import retain
from sfumato.errors import UnreachableError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.servers import ask


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with emptied(str(request.getfixturevalue(f"{request.param}_url"))) as place:
        yield place


def made(url: str, rule: str, further: str = "") -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)", rows("v", 1, 20))
    key = f"FOREIGN KEY (pid) REFERENCES v (id) ON DELETE {rule}"
    ask(url, f"CREATE TABLE c (cid int PRIMARY KEY, pid int UNIQUE, {key}){further}", "INSERT INTO c VALUES (1, 1), (2, 2)")


def test_keys_to_columns_that_would_be_emptied_are_refused(url: str) -> None:
    made(url, "SET NULL")
    ask(url, "CREATE TABLE g (gid int PRIMARY KEY, cp int, FOREIGN KEY (cp) REFERENCES c (pid) ON UPDATE CASCADE)", "INSERT INTO g VALUES (1, 1)")
    with pytest.raises(UnreachableError) as caught:
        retain(policy(url, cascade="accept"), NOW)
    assert (caught.value.code, "would be emptied to which foreign keys of" in caught.value.message) == ("retention-cascade", True)
    assert ask(url, "SELECT cp FROM g") == [(1,)]
    assert counted(url, "v") == 20


def test_triggers_of_tables_whose_rows_go_along_are_named(url: str) -> None:
    made(url, "CASCADE")
    if url.startswith("postgresql"):
        ask(url, "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$")
        ask(url, "CREATE TRIGGER looks BEFORE DELETE ON c FOR EACH ROW EXECUTE FUNCTION nothing()")
    else:
        ask(url, "CREATE TRIGGER looks BEFORE DELETE ON c FOR EACH ROW SET @looked = 1")
    given = policy(url, cascade="accept")
    assert "the trigger looks of " in str(plan(given))
    (batch,) = retain(given, NOW).batches
    assert sum(gone.rows for gone in batch.along) == 2


def test_a_table_with_history_whose_rows_would_go_along_is_refused(mariadb_url: str) -> None:
    with emptied(mariadb_url) as url:
        made(url, "CASCADE", " WITH SYSTEM VERSIONING")
        with pytest.raises(UnreachableError) as caught:
            retain(policy(url, cascade="accept"), NOW)
        assert caught.value.code == "database-undeleted"
        assert counted(url, "c") == 2


def test_columns_that_a_primary_key_only_includes_may_be_missing(postgresql_url: str) -> None:
    with emptied(postgresql_url) as url:
        ask(url, "CREATE TABLE v (id int, seen timestamp, age int, note text, PRIMARY KEY (id) INCLUDE (note))", rows("v", 1, 20, "'x'"))
        outcome = retain(policy(url, more=["note"]), NOW)
        assert [batch.deleted for batch in outcome.batches] == [20]


@pytest.mark.parametrize("collation", ['"C"', "ignoring_case"])
def test_rows_are_counted_along_by_the_collation_of_the_key(collation: str, postgresql_url: str) -> None:
    with emptied(postgresql_url) as url:
        ask(url, "CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen timestamp, age int, code text COLLATE {collation} UNIQUE)")
        ask(url, rows("v", 1, 20, "NULL"), "UPDATE v SET code = 'Ab' || id")
        key = "REFERENCES v (code) ON DELETE CASCADE"
        # what differs in case is the same by the second collation
        codes = ["Ab1", "Ab2"] if collation == '"C"' else ["ab1", "AB2"]
        ask(url, f'CREATE TABLE c (cid int PRIMARY KEY, code text COLLATE "POSIX" {key})')
        ask(url, f"INSERT INTO c VALUES (1, '{codes[0]}'), (2, '{codes[1]}')")

        (batch,) = retain(policy(url, more=["code"], cascade="accept"), NOW).batches
        assert [(gone.rows, gone.becomes) for gone in batch.along] == [(2, "deleted")]
        assert counted(url, "c") == 0


def test_heirs_of_a_table_whose_rows_go_along_are_spared_and_not_counted(postgresql_url: str) -> None:
    with emptied(postgresql_url) as url:
        made(url, "CASCADE")
        ask(url, "CREATE TABLE heir () INHERITS (c)", "INSERT INTO heir VALUES (3, 3), (4, 4), (5, 5)")

        (batch,) = retain(policy(url, cascade="accept"), NOW).batches
        assert sum(gone.rows for gone in batch.along) == 2
        assert counted(url, "c") == counted(url, "heir") == 3

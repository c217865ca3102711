"""Tables whose rows go along with those that are retained: what acts on them, what keeps them, and what hangs on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import pytest

from sfumato.databases import mysql_session
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


@pytest.mark.parametrize("server", ["postgresql", "postgresql18"])
@pytest.mark.parametrize("off", ["NOT ENFORCED", "v DISABLE TRIGGER ALL", "session_replication_role"])
def test_keys_that_do_nothing_take_nothing_along(request: pytest.FixtureRequest, server: str, off: str) -> None:
    if off == "NOT ENFORCED" and server == "postgresql":
        pytest.skip("keys that are not enforced are new in PostgreSQL 18: make services")
    with emptied(str(request.getfixturevalue(f"{server}_url"))) as url:
        made(url, f"CASCADE{' NOT ENFORCED' if off == 'NOT ENFORCED' else ''}")
        user, database = urlsplit(url).username, urlsplit(url).path[1:]
        if off.endswith("ALL"):
            ask(url, f"ALTER TABLE {off}")
        if off.startswith("session"):
            ask(url, f"ALTER ROLE {user} IN DATABASE {database} SET {off} = replica")
        try:
            (batch,) = retain(policy(url), NOW).batches
        finally:
            ask(url, f"ALTER ROLE {user} IN DATABASE {database} RESET ALL")
        assert (batch.deleted, list(batch.along)) == (20, [])
        assert counted(url, "c") == 2


THREADS = """
CREATE TABLE c (id int PRIMARY KEY, visit int, answers int, also int,
    FOREIGN KEY (visit) REFERENCES v (id) ON DELETE CASCADE,
    FOREIGN KEY (answers) REFERENCES c (id) ON DELETE CASCADE, FOREIGN KEY (also) REFERENCES c (id) ON DELETE {})
"""


@pytest.mark.parametrize("also", ["CASCADE", "SET NULL"])
def test_threads_of_answers_go_along_whole_and_are_counted(url: str, also: str) -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)", rows("v", 1, 20), THREADS.format(also))
    ask(url, "CREATE TABLE likes (id int PRIMARY KEY, c int, FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)")
    # a thread below visit 1, one that nothing takes along, and comments that refer to both by their other key
    ask(url, "INSERT INTO c VALUES (1, 1, NULL, NULL), (2, NULL, 1, NULL), (3, NULL, 2, NULL), (4, NULL, 3, 1), (5, 2, NULL, NULL)")
    ask(url, "INSERT INTO c VALUES (10, NULL, NULL, NULL), (11, NULL, 10, NULL), (12, NULL, 11, 4), (13, NULL, 12, 5), (14, NULL, NULL, 10)")
    ask(url, "INSERT INTO likes SELECT id, id FROM c")
    if url.startswith("mysql:"):
        # the server itself follows so many keys no further
        with pytest.raises(UnreachableError, match="follows foreign keys to so many tables or rows only"):
            retain(policy(url, cascade="accept"), NOW)
        assert (counted(url, "v"), counted(url, "c")) == (20, 10)
        return
    (batch,) = retain(policy(url, cascade="accept"), NOW).batches
    gone = {(each.table.name, each.becomes): each.rows for each in batch.along}
    if also == "CASCADE":
        # 12 goes with 4, and 13 with 12
        assert gone == {("c", "deleted"): 7, ("likes", "deleted"): 7}
        left = [10, 11, 14]
    else:
        assert gone == {("c", "deleted"): 5, ("c", "emptied"): 2, ("likes", "deleted"): 5}
        left = [10, 11, 12, 13, 14]
    assert batch.notes == []
    assert ask(url, "SELECT id FROM c ORDER BY 1") == [(number,) for number in left] == ask(url, "SELECT c FROM likes ORDER BY 1")


def test_a_thread_that_is_too_long_for_the_server_stays(url: str) -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)", rows("v", 1, 20), THREADS.format("CASCADE"))
    ask(url, "INSERT INTO c VALUES (1, 1, NULL, NULL)", *(f"INSERT INTO c VALUES ({number}, NULL, {number - 1}, NULL)" for number in range(2, 41)))
    if url.startswith("postgresql:"):
        (batch,) = retain(policy(url, cascade="accept"), NOW).batches
        assert ([gone.rows for gone in batch.along], counted(url, "c")) == ([40], 0)
        return
    with pytest.raises(UnreachableError) as caught:
        retain(policy(url, cascade="accept"), NOW)
    assert (caught.value.code, counted(url, "v"), counted(url, "c")) == ("retention-cascade", 20, 40)


def test_threads_are_counted_whole_whatever_a_server_says_of_long_queries(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = mysql_session.connections()
    with emptied(mariadb_url) as url:
        ask(url, "CREATE TABLE v (id int PRIMARY KEY, seen datetime, age int)", rows("v", 1, 20), THREADS.format("CASCADE"))
        ask(
            url, "INSERT INTO c VALUES (1, 1, NULL, NULL)", *(f"INSERT INTO c VALUES ({number}, NULL, {number - 1}, NULL)" for number in range(2, 10))
        )
        with monkeypatch.context() as patch:
            patch.setattr(mysql_session, "connections", lambda: partial(plain, init_command="SET max_recursive_iterations = 3"))
            (batch,) = retain(policy(url, cascade="accept"), NOW).batches
        assert ([gone.rows for gone in batch.along], counted(url, "c")) == ([9], 0)


def test_a_thread_that_goes_round_is_counted_once(url: str) -> None:
    ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {kind_of_time(url)}, age int)", rows("v", 1, 20), THREADS.format("CASCADE"))
    ask(url, "INSERT INTO c VALUES (1, 1, NULL, NULL), (2, NULL, 1, NULL), (3, NULL, 2, 3)", "UPDATE c SET answers = 3 WHERE id = 1")
    (batch,) = retain(policy(url, cascade="accept"), NOW).batches
    assert [(gone.table.name, gone.rows) for gone in batch.along] == [("c", 3)]
    assert counted(url, "c") == 0


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


KEEPING = {
    "CASCADE": "CREATE TRIGGER keeps BEFORE DELETE ON c FOR EACH ROW EXECUTE FUNCTION kept()",
    "SET NULL": "CREATE TRIGGER keeps BEFORE UPDATE ON c FOR EACH ROW EXECUTE FUNCTION kept()",
}
BECOMES = {"CASCADE": "deleted with them", "SET NULL": "changed with them, in the columns by which they refer to them"}


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("rule", KEEPING)
def test_rows_that_something_may_keep_are_not_told_to_have_gone(postgresql_url: str, rule: str, chunk: int) -> None:
    with emptied(postgresql_url) as url:
        made(url, rule)
        ask(url, "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$", KEEPING[rule])
        (batch,) = retain(policy(url, cascade="accept", chunk=chunk), NOW).batches
        assert [str(gone) for gone in batch.along] == [f"at most 2 rows of public.c {BECOMES[rule]}"]
        assert counted(url, "c") == 2
        assert batch.record is not None
        assert f"by foreign keys {batch.along[0]}, as counted before the batch was made" in batch.record.notes


def test_a_rule_that_keeps_rows_from_going_along_is_no_lock(postgresql_url: str) -> None:
    with emptied(postgresql_url) as url:
        made(url, "CASCADE")
        ask(url, "CREATE RULE keeps AS ON DELETE TO c DO INSTEAD NOTHING")
        with pytest.raises(UnreachableError) as caught:
            retain(policy(url, cascade="accept"), NOW)
        assert (caught.value.code, counted(url, "v"), counted(url, "c")) == ("database-failed", 20, 2)


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

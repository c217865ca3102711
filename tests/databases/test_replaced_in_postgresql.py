"""What hung on an older release in PostgreSQL: kept where the new one can have it, else the release is refused."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import DataError, UnreachableError
from tests.servers import ask, component


@pytest.fixture
def policy(postgresql_url: str) -> dict[str, Any]:
    ask(postgresql_url, "DROP TABLE IF EXISTS people, release", "CREATE TABLE people AS SELECT n AS id, n % 5 AS age FROM generate_series(1, 60) n")
    ask(postgresql_url, "CREATE TABLE release (age integer, name text)")
    columns = {"id": {"role": "identifier"}, "age": {"role": "other"}}
    return {"source": {"sql": component(postgresql_url, "people")}, "sink": {"sql": component(postgresql_url, "release")}, "columns": columns}


@pytest.mark.parametrize("made", ["CREATE INDEX names ON release (lower(name))", "ALTER TABLE release ADD CONSTRAINT names PRIMARY KEY (name)"])
def test_an_index_of_a_column_that_is_not_released_is_told(policy: dict[str, Any], postgresql_url: str, made: str) -> None:
    ask(postgresql_url, made)
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)
    words = "release cannot be replaced: the index names (its column name is not released) would be lost with it [sink-table-used]"
    assert str(caught.value).splitlines()[0] == words


def test_comments_on_columns_that_are_not_released_do_not_stop_a_run(policy: dict[str, Any], postgresql_url: str) -> None:
    ask(postgresql_url, "COMMENT ON COLUMN release.name IS 'whose'", "COMMENT ON COLUMN release.age IS 'years'", "CREATE INDEX ages ON release (age)")
    ask(postgresql_url, "GRANT SELECT (name) ON release TO PUBLIC")
    sfumato.run(policy)
    assert ask(postgresql_url, "SELECT col_description('release'::regclass, 1), (SELECT count(*) FROM pg_indexes WHERE tablename = 'release')") == [
        ("years", 1)
    ]


def test_keys_and_columns_that_are_never_missing_stay_so(postgresql_url: str, policy: dict[str, Any]) -> None:
    policy["columns"]["id"] = {"role": "other"}
    sfumato.run(policy)
    ask(postgresql_url, "ALTER TABLE release ADD CONSTRAINT one_row PRIMARY KEY (id), ADD CONSTRAINT again UNIQUE (id, age)")
    ask(postgresql_url, "ALTER TABLE release ALTER COLUMN age SET NOT NULL")
    sfumato.run(policy)
    held = ask(postgresql_url, "SELECT conname, contype::text FROM pg_constraint WHERE conrelid = 'release'::regclass AND contype <> 'n' ORDER BY 1")
    missing = ask(postgresql_url, "SELECT attname FROM pg_attribute WHERE attrelid = 'release'::regclass AND attnum > 0 AND NOT attnotnull")

    assert held == [("again", "u"), ("one_row", "p")]
    assert missing == []


def test_a_key_that_the_release_does_not_meet_is_told(postgresql_url: str, policy: dict[str, Any]) -> None:
    sfumato.run(policy)
    ask(postgresql_url, "DELETE FROM release WHERE ctid <> (SELECT min(ctid) FROM release)", "ALTER TABLE release ADD PRIMARY KEY (age)")
    with pytest.raises(DataError) as caught:
        sfumato.run(policy)

    assert caught.value.code == "database-value"
    assert "a constraint on the table that is replaced" in str(caught.value)
    assert ask(postgresql_url, "SELECT count(*) FROM release") == [(1,)]


@pytest.mark.parametrize("made", ["CREATE SEQUENCE taken", "CREATE TYPE taken AS ENUM ('a')", "CREATE INDEX taken ON people (age)"])
def test_a_name_that_something_else_has_is_refused_before_anything_is_done(postgresql_url: str, policy: dict[str, Any], made: str) -> None:
    ask(postgresql_url, "DROP SEQUENCE IF EXISTS taken", "DROP TYPE IF EXISTS taken", "DROP INDEX IF EXISTS taken", made)
    policy["sink"]["sql"]["table"] = "taken"
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)

    assert caught.value.code == "sink-not-table"


def test_foreign_keys_and_settings_of_the_old_table_are_those_of_the_new(postgresql_url: str, policy: dict[str, Any]) -> None:
    policy["columns"]["id"] = {"role": "other"}
    sfumato.run(policy)
    ask(postgresql_url, "DROP TABLE IF EXISTS ages", "CREATE TABLE ages (age integer PRIMARY KEY)", "INSERT INTO ages SELECT generate_series(0, 4)")
    ask(postgresql_url, "ALTER TABLE release ADD CONSTRAINT one_row UNIQUE (id), ALTER COLUMN id SET NOT NULL, SET UNLOGGED")
    ask(postgresql_url, "ALTER TABLE release ADD CONSTRAINT known_age FOREIGN KEY (age) REFERENCES ages ON DELETE CASCADE DEFERRABLE")
    ask(postgresql_url, "ALTER TABLE release ADD CONSTRAINT itself FOREIGN KEY (id) REFERENCES release (id)")
    ask(postgresql_url, "ALTER TABLE release REPLICA IDENTITY USING INDEX one_row", "COMMENT ON INDEX one_row IS 'it''s one'")
    ask(postgresql_url, "COMMENT ON CONSTRAINT known_age ON release IS 'known'")
    held = """
        SELECT c.relreplident::text, c.relpersistence::text, obj_description('one_row'::regclass, 'pg_class'),
            (SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'known_age'),
            (SELECT array_agg(conname || ' ' || pg_get_constraintdef(oid) ORDER BY conname) FROM pg_constraint
                WHERE conrelid = c.oid AND contype = 'f')
        FROM pg_class c WHERE c.oid = 'release'::regclass
    """
    before = ask(postgresql_url, held)
    sfumato.run(policy)

    assert ask(postgresql_url, held) == before
    assert before[0][:4] == ("i", "u", "it's one", "known")
    ask(postgresql_url, "DROP TABLE release", "DROP TABLE ages")


@pytest.mark.parametrize("identity", ["FULL", "NOTHING"])
def test_what_identifies_rows_for_replicas_stays(postgresql_url: str, policy: dict[str, Any], identity: str) -> None:
    ask(postgresql_url, f"ALTER TABLE release REPLICA IDENTITY {identity}")
    sfumato.run(policy)

    assert ask(postgresql_url, "SELECT relreplident::text FROM pg_class WHERE oid = 'release'::regclass") == [(identity[0].lower(),)]


def test_a_foreign_key_of_a_column_that_is_not_released_is_told(postgresql_url: str, policy: dict[str, Any]) -> None:
    ask(postgresql_url, "DROP TABLE IF EXISTS names", "CREATE TABLE names (name text PRIMARY KEY)")
    ask(postgresql_url, "ALTER TABLE release ADD CONSTRAINT known FOREIGN KEY (name) REFERENCES names")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)
    words = "release cannot be replaced: the foreign key known (its column name is not released) would be lost with it [sink-table-used]"

    assert str(caught.value).splitlines()[0] == words
    ask(postgresql_url, "DROP TABLE release", "DROP TABLE names")


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_a_foreign_key_that_the_release_does_not_meet_is_told(postgresql_url: str, policy: dict[str, Any], kind: str) -> None:
    ask(postgresql_url, "DROP TABLE release", "DROP TABLE IF EXISTS ages", f"CREATE TABLE ages (age {kind} PRIMARY KEY)")
    ask(postgresql_url, f"CREATE TABLE release (age {kind} REFERENCES ages)")
    with pytest.raises(DataError) as caught:
        sfumato.run(policy)

    assert caught.value.code == "database-value"
    assert "a constraint on the table that is replaced" in str(caught.value)
    assert ask(postgresql_url, "SELECT count(*) FROM release") == [(0,)]
    ask(postgresql_url, "DROP TABLE release", "DROP TABLE ages")


def test_a_plan_is_refused_where_something_hangs_on_the_table_that_would_be_replaced(policy: dict[str, Any], postgresql_url: str) -> None:
    ask(postgresql_url, "CREATE VIEW hanging AS SELECT * FROM release")
    try:
        for look in (sfumato.plan, sfumato.run):
            with pytest.raises(UnreachableError) as caught:
                look(policy)
            assert (caught.value.code, "the view public.hanging" in caught.value.message) == ("sink-table-used", True)
    finally:
        ask(postgresql_url, "DROP VIEW hanging")

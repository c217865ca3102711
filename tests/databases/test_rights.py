"""Who may read what a run makes, and what becomes of rows that a server keeps: what attackers found once."""

from __future__ import annotations

import datetime
import secrets
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError, UnreachableError, UsageError
from tests.databases.test_inside import TABLE, policy, stored
from tests.servers import ask, component, staging

NOW = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)


def old_rows(url: str, key: str = "id integer PRIMARY KEY") -> dict[str, Any]:
    """Make a table of rows that are old enough, and return a policy that archives them."""
    rows = ", ".join(f"({number}, '2026-0{1 + number % 2}-05', {20 + number % 4})" for number in range(40))
    ask(url, "DROP TABLE IF EXISTS visits", "DROP TABLE IF EXISTS old", f"CREATE TABLE visits ({key}, day date, age integer)")
    ask(url, f"INSERT INTO visits VALUES {rows}")
    return {
        "source": {"sql": component(url, "visits")},
        "columns": {"id": {"role": "identifier"}, "day": {"role": "quasi_identifier"}, "age": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "retention": {"column": "day", "older_than": "30d", "key": ["id"]},
        "sink": {"sql": component(url, "old")},
    }


def test_a_replaced_table_gives_back_just_the_rights_it_had(postgresql_url: str) -> None:
    stored(postgresql_url, TABLE, "people")
    sfumato.run(policy(postgresql_url))
    for role in ("sfumato_old_reader", "sfumato_new_reader"):
        ask(postgresql_url, f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role}")
    ask(postgresql_url, "GRANT SELECT (age, ward) ON release TO sfumato_old_reader")
    ask(postgresql_url, "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO sfumato_new_reader")
    try:
        sfumato.run(policy(postgresql_url))
        may = "SELECT has_table_privilege('{0}', 'release', 'SELECT'), has_column_privilege('{0}', 'release', 'age', 'SELECT')"
        found = [ask(postgresql_url, may.format(role)) for role in ("sfumato_old_reader", "sfumato_new_reader")]
    finally:
        ask(postgresql_url, "ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM sfumato_new_reader")
        for role in ("sfumato_old_reader", "sfumato_new_reader"):
            ask(postgresql_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")

    assert found == [[(False, True)], [(False, False)]]


def test_a_new_table_has_the_rights_that_are_given_by_default(postgresql_url: str) -> None:
    stored(postgresql_url, TABLE, "people")
    ask(postgresql_url, "DROP ROLE IF EXISTS sfumato_given", "CREATE ROLE sfumato_given", "DROP TABLE IF EXISTS released_anew")
    ask(postgresql_url, "ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT ON TABLES TO sfumato_given")
    try:
        sfumato.run(policy(postgresql_url, sink={"sql": component(postgresql_url, "released_anew")}))
        found = ask(
            postgresql_url, "SELECT privilege_type FROM pg_class, aclexplode(relacl) a WHERE relname = 'released_anew' AND grantee <> relowner"
        )
    finally:
        ask(postgresql_url, "ALTER DEFAULT PRIVILEGES REVOKE SELECT, INSERT ON TABLES FROM sfumato_given")
        ask(postgresql_url, "DROP OWNED BY sfumato_given", "DROP ROLE sfumato_given")

    assert sorted(found) == [("INSERT",), ("SELECT",)]


def test_rows_that_a_trigger_keeps_are_not_archived(postgresql_url: str) -> None:
    given = old_rows(postgresql_url)
    ask(postgresql_url, "CREATE OR REPLACE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    ask(postgresql_url, "CREATE TRIGGER keeping BEFORE DELETE ON visits FOR EACH ROW EXECUTE FUNCTION kept()")
    with pytest.raises(UnreachableError) as caught:
        retain(given, NOW)

    assert caught.value.code == "database-undeleted"
    assert ask(postgresql_url, "SELECT count(*) FROM visits") == [(40,)]
    assert ask(postgresql_url, "SELECT to_regclass('old') IS NULL OR (SELECT count(*) FROM pg_class WHERE relname = 'old') = 1") == [(True,)]


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql"])
@pytest.mark.parametrize("rows", ["(0, '2026-11-16', 50)", "(NULL, '2026-01-05', 50)"])
def test_keys_that_do_not_tell_rows_apart_delete_nothing(request: pytest.FixtureRequest, server: str, rows: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    given = old_rows(url, "id integer")
    ask(url, f"INSERT INTO visits VALUES {rows}")
    with pytest.raises(UnreachableError) as caught:
        retain(given, NOW)

    assert caught.value.code == "retention-key"
    assert ask(url, "SELECT COUNT(*) FROM visits") == [(41,)]


def test_a_run_can_be_resumed_when_nothing_is_left_of_the_source(postgresql_url: str) -> None:
    from tests.databases.test_resume import killed

    given, _ = killed(postgresql_url)
    ask(postgresql_url, "DELETE FROM people")

    assert sfumato.run(given, resume=True).record.rows.out == TABLE.num_rows  # type: ignore[union-attr]


def test_a_table_that_was_made_anew_is_not_the_one_that_was_copied(mariadb_url: str) -> None:
    import time

    from tests.databases.test_resume import killed

    given, copy = killed(mariadb_url)
    # the server notes the second in which a table was made
    time.sleep(1.1)
    ask(mariadb_url, "DROP TABLE people")
    stored(mariadb_url, TABLE.slice(0, 300), "people")
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)

    assert caught.value.code == "resume-nothing"
    # what is left of a table that is gone would be met by other tests of the server
    ask(mariadb_url, f"DROP TABLE {staging(mariadb_url)}.{copy}")


def test_what_is_not_allowed_is_named(postgresql_url: str, mariadb_url: str) -> None:
    name = f"stranger_{secrets.token_hex(3)}"
    for url, words in ((postgresql_url, "permission denied for table {}people)"), (mariadb_url, "no SELECT on {}people)")):
        stored(url, TABLE, "people")
        parts = urlsplit(url)
        is_postgresql = url.startswith("postgresql")
        ask(url, f"CREATE ROLE {name} LOGIN PASSWORD 'few'" if is_postgresql else f"CREATE USER {name}@'%' IDENTIFIED BY 'few'")
        try:
            if not is_postgresql:
                # who may do nothing with a table is not shown it
                ask(url, f"GRANT INSERT ON {parts.path[1:]}.people TO {name}@'%'")
            own = parts._replace(netloc=f"{name}:few@{parts.hostname}:{parts.port}").geturl()
            with pytest.raises(SfumatoError) as caught:
                sfumato.run(policy(own, sink=None))
            assert caught.value.code == "database-rights"
            schema = "public" if is_postgresql else parts.path[1:]
            assert words.format(f"{schema}.") in str(caught.value)
            # nobody is told what another server would need
            assert ("MySQL" in str(caught.value.hint), "staging" in str(caught.value.hint)) == (False, False)
            if not is_postgresql:
                assert caught.value.hint == f"GRANT SELECT ON {schema}.people; docs/databases.md has the rights that a run needs"
        finally:
            ask(url, f"DROP ROLE {name}" if is_postgresql else f"DROP USER {name}@'%'")


def test_a_schema_that_is_not_there_is_told_before_anything_is_read(postgresql_url: str) -> None:
    stored(postgresql_url, TABLE, "people")
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(postgresql_url, sink={"sql": {**component(postgresql_url, "release"), "schema": "nowhere"}}))

    assert caught.value.code == "database-missing"
    assert "schema nowhere" in str(caught.value)

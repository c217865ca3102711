"""A table that is masked in place on PostgreSQL, and what others do meanwhile: nobody reads rows of which some are masked and others are not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases.masked_table import MaskedTable
from sfumato.errors import SfumatoError
from tests.attack.test_tables_emptied_meanwhile import meanwhile
from tests.servers import ask, component, connect

ROWS = 40
COLUMNS = {"id": {"role": "other", "accept": "singling_out"}, "name": {"role": "identifier", "mask": {"constant": {"value": "nobody"}}}}


@pytest.fixture
def role(postgresql_url: str) -> Iterator[str]:
    """A table, and somebody who may read nothing of it."""
    name = f"bob_{threading.get_native_id()}"
    ask(
        postgresql_url,
        "DROP TABLE IF EXISTS parted_people CASCADE",
        f"CREATE TABLE parted_people AS SELECT n AS id, 'name ' || n AS name FROM generate_series(1, {ROWS}) n",
        "ALTER TABLE parted_people ADD PRIMARY KEY (id)",
        f"CREATE ROLE {name}",
        f"CREATE ROLE {name}_before",
        f"GRANT SELECT ON parted_people TO {name}_before",
    )
    yield name
    ask(postgresql_url, "DROP TABLE parted_people CASCADE", *(f"DROP ROLE {each}" for each in (name, f"{name}_before")))


def policy(url: str) -> dict[str, Any]:
    named = component(url, "parted_people")
    return {"source": {"sql": named}, "sink": {"sql": {**named, "in_place": True, "chunk": 10}}, "columns": COLUMNS}


def may_read(url: str, role: str) -> bool:
    return bool(ask(url, f"SELECT has_table_privilege('{role}', 'parted_people', 'SELECT')")[0][0])


def names(url: str) -> set[str]:
    return {name for (name,) in ask(url, "SELECT name FROM parted_people")}


def after_the_first_chunk(monkeypatch: pytest.MonkeyPatch, url: str, *statements: str) -> None:
    """Let something be done when some rows are masked and others are not."""
    copy, done = MaskedTable._copy, threading.Event()

    def copying(self: MaskedTable, *given: Any) -> None:
        copy(self, *given)
        if not done.is_set():
            done.set()
            ask(url, *statements)

    monkeypatch.setattr(MaskedTable, "_copy", copying)


def refused(url: str) -> str:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy(url))
    assert caught.value.code is not None
    assert "name 1" not in str(caught.value)
    return f"{caught.value.code} {caught.value}"


def test_rights_are_those_of_the_moment_in_which_the_audience_is_kept_out(postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    copy = MaskedTable._copy

    def copying(self: MaskedTable, *given: Any) -> None:
        copy(self, *given)
        seen.extend(may_read(postgresql_url, each) for each in (role, f"{role}_before"))

    monkeypatch.setattr(MaskedTable, "_copy", copying)
    with closing(connect(postgresql_url)) as writer:
        writer.execute("BEGIN")
        writer.execute("UPDATE parted_people SET name = name WHERE id = 1")
        with meanwhile(postgresql_url, lambda: sfumato.run(policy(postgresql_url))) as done:
            ask(postgresql_url, f"GRANT SELECT ON parted_people TO {role}", f"REVOKE SELECT ON parted_people FROM {role}_before")
            writer.execute("ROLLBACK")

    assert not isinstance(done[0], BaseException), done
    assert len(seen) == 2 * ROWS // 10
    assert not any(seen)
    assert names(postgresql_url) == {"nobody"}
    assert [may_read(postgresql_url, each) for each in (role, f"{role}_before")] == [True, False]


def test_a_view_that_is_made_while_the_table_is_waited_for_stops_the_run(postgresql_url: str, role: str) -> None:
    with closing(connect(postgresql_url)) as writer:
        writer.execute("BEGIN")
        writer.execute("UPDATE parted_people SET name = name WHERE id = 1")
        with meanwhile(postgresql_url, lambda: sfumato.run(policy(postgresql_url))) as done:
            ask(postgresql_url, "CREATE VIEW hole AS SELECT * FROM parted_people")
            writer.execute("ROLLBACK")

    assert isinstance(done[0], SfumatoError), done
    assert done[0].code == "in-place-changed"
    assert "the view public.hole" in str(done[0])
    assert len(names(postgresql_url)) == ROWS
    assert may_read(postgresql_url, f"{role}_before")


def test_rights_that_are_given_to_a_table_masked_in_part_are_taken_away_until_it_is_finished(
    postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        after_the_first_chunk(patched, postgresql_url, f"GRANT SELECT (name) ON parted_people TO {role}")
        assert refused(postgresql_url).startswith("in-place-shown")
    assert len(names(postgresql_url)) > 2
    assert ask(postgresql_url, f"SELECT has_any_column_privilege('{role}', 'parted_people', 'SELECT')") == [(False,)]

    release: Any = sfumato.run(policy(postgresql_url), resume=True)

    assert names(postgresql_url) == {"nobody"}
    assert ask(postgresql_url, f"SELECT has_column_privilege('{role}', 'parted_people', 'name', 'SELECT')") == [(True,)]
    assert may_read(postgresql_url, f"{role}_before")
    assert any("others could read the table" in note for note in release.record.notes)


def test_a_view_that_is_made_of_a_table_masked_in_part_is_named(postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        after_the_first_chunk(patched, postgresql_url, "CREATE VIEW hole AS SELECT * FROM parted_people", f"GRANT SELECT ON hole TO {role}")
        told = refused(postgresql_url)
    assert told.startswith("in-place-shown")
    assert "the view public.hole" in told
    # it is not finished as long as the view is there
    assert refused(postgresql_url).startswith("in-place-shown")
    ask(postgresql_url, "DROP VIEW hole")

    release: Any = sfumato.run(policy(postgresql_url), resume=True)

    assert names(postgresql_url) == {"nobody"}
    assert any("others could read the table" in note for note in release.record.notes)


@pytest.mark.parametrize("partitioned", ["", " PARTITION BY RANGE (id)"])
def test_a_table_that_shows_one_masked_in_part_as_its_own_is_named(
    postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch, partitioned: str
) -> None:
    attached = "ALTER TABLE everybody ATTACH PARTITION parted_people DEFAULT" if partitioned else "ALTER TABLE parted_people INHERIT everybody"
    detached = "ALTER TABLE everybody DETACH PARTITION parted_people" if partitioned else "ALTER TABLE parted_people NO INHERIT everybody"
    ask(postgresql_url, "DROP TABLE IF EXISTS everybody", f"CREATE TABLE everybody (id integer NOT NULL, name text){partitioned}")
    ask(postgresql_url, f"GRANT SELECT ON everybody TO {role}")
    with monkeypatch.context() as patched:
        after_the_first_chunk(patched, postgresql_url, attached)
        told = refused(postgresql_url)
    assert told.startswith("in-place-shown")
    assert "its place in public.everybody" in told
    ask(postgresql_url, detached, "DROP TABLE everybody")

    release: Any = sfumato.run(policy(postgresql_url), resume=True)

    assert names(postgresql_url) == {"nobody"}
    assert any("others could read the table" in note for note in release.record.notes)


def test_a_table_that_comes_to_be_a_part_of_one_masked_in_part_is_named(postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        after_the_first_chunk(patched, postgresql_url, "CREATE TABLE later () INHERITS (parted_people)", "INSERT INTO later VALUES (99, 'name 99')")
        told = refused(postgresql_url)
    assert told.startswith("in-place-shown")
    assert "the table public.later that inherits from it" in told
    ask(postgresql_url, "DROP TABLE later")
    sfumato.run(policy(postgresql_url), resume=True)

    assert names(postgresql_url) == {"nobody"}


@pytest.mark.parametrize("when", ["before", "after the first chunk"])
def test_what_the_user_passed_on_by_a_grant_option_is_taken_away_too(
    postgresql_url: str, role: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The table belongs to a role that the user has, and the user has given others a right before."""
    keeper, owner = f"{role}_keeper", f"{role}_owner"
    passed_on = (f"SET ROLE {keeper}", f"GRANT SELECT ON parted_people TO {role}", "RESET ROLE", f"GRANT {owner} TO {keeper}")
    again = (f"REVOKE {owner} FROM {keeper}", f"GRANT SELECT ON parted_people TO {keeper} WITH GRANT OPTION", *passed_on)
    ask(postgresql_url, f"CREATE ROLE {owner}", f"CREATE ROLE {keeper} LOGIN PASSWORD 'only_for_tests'")
    ask(postgresql_url, f"GRANT USAGE, CREATE ON SCHEMA public TO {keeper}, {owner}", f"ALTER TABLE parted_people OWNER TO {owner}")
    ask(
        postgresql_url,
        f"GRANT SELECT ON parted_people TO {keeper} WITH GRANT OPTION",
        *(passed_on if when == "before" else [f"GRANT {owner} TO {keeper}"]),
    )
    parts = urlsplit(postgresql_url)
    url = parts._replace(netloc=f"{keeper}:only_for_tests@{parts.hostname}:{parts.port}").geturl()
    seen: list[bool] = []
    copy = MaskedTable._copy

    def copying(self: MaskedTable, *given: Any) -> None:
        copy(self, *given)
        seen.append(may_read(postgresql_url, role))

    try:
        with monkeypatch.context() as patched:
            patched.setattr(MaskedTable, "_copy", copying)
            if when == "before":
                sfumato.run(policy(url))
            else:
                after_the_first_chunk(patched, postgresql_url, *again)
                assert refused(url).startswith("in-place-shown")
                assert not may_read(postgresql_url, role)
                sfumato.run(policy(url), resume=True)
        assert not any(seen)
        assert names(postgresql_url) == {"nobody"}
        assert [may_read(postgresql_url, each) for each in (role, f"{role}_before", keeper)] == [True, True, True]
    finally:
        component(postgresql_url, "")
        ask(postgresql_url, f"ALTER TABLE parted_people OWNER TO {parts.username}", f"REASSIGN OWNED BY {keeper}, {owner} TO {parts.username}")
        ask(postgresql_url, f"DROP OWNED BY {keeper}, {owner}", f"DROP ROLE {keeper}, {owner}")


def test_rights_that_cannot_be_taken_away_stop_the_run_before_anything_is_changed(postgresql_url: str, role: str) -> None:
    again = f"BEGIN EXECUTE 'GRANT SELECT ON public.parted_people TO {role}_before'; END"
    ask(postgresql_url, f"CREATE FUNCTION again() RETURNS event_trigger LANGUAGE plpgsql AS $$ {again} $$")
    ask(postgresql_url, "CREATE EVENT TRIGGER again ON ddl_command_end WHEN TAG IN ('REVOKE') EXECUTE FUNCTION again()")
    try:
        told = refused(postgresql_url)
    finally:
        ask(postgresql_url, "DROP EVENT TRIGGER again", "DROP FUNCTION again()")

    assert told.startswith("in-place-shown")
    assert "and that this user cannot take away" in told
    assert len(names(postgresql_url)) == ROWS
    sfumato.run(policy(postgresql_url))
    assert names(postgresql_url) == {"nobody"}


@pytest.mark.parametrize("server", ["postgresql", "postgresql18"])
def test_statistics_of_a_table_that_had_parts_show_no_old_value(server: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{server}_url")
    made = f"CREATE TABLE parted_people AS SELECT n AS id, 'name ' || n % 4 AS name, n % 2 AS ward FROM generate_series(1, {ROWS}) n"
    ask(url, "DROP TABLE IF EXISTS parted_people CASCADE", made, "ALTER TABLE parted_people ADD PRIMARY KEY (id)")
    ask(url, "CREATE STATISTICS pairs (mcv) ON name, ward FROM parted_people", "CREATE TABLE part () INHERITS (parted_people)")
    ask(url, "INSERT INTO part SELECT * FROM parted_people", "ANALYZE parted_people", "DROP TABLE part")
    kept = "SELECT count(*) FROM pg_stats WHERE tablename = 'parted_people' AND inherited AND most_common_vals::text LIKE '%name%'"
    pairs = "SELECT count(*) FROM pg_stats_ext WHERE tablename = 'parted_people' AND inherited AND most_common_vals::text LIKE '%name%'"
    assert [ask(url, query) for query in (kept, pairs)] == [[(1,)], [(1,)]]
    given = policy(url)
    sfumato.run({**given, "columns": {**COLUMNS, "ward": {"role": "other"}}})

    assert names(url) == {"nobody"}
    assert [ask(url, query) for query in (kept, pairs)] == [[(0,)], [(0,)]]
    assert ask(url, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'parted_people'::regclass") == [(0,)]
    ask(url, "DROP TABLE parted_people")

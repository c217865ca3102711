"""Row-level security: a part of a table is never taken for the table, and what nobody saw is never deleted."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.errors import DataError, UnreachableError, UsageError
from tests.servers import ask, component

NOW = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)
PASSWORD = "only_for_tests"
ROWS = 40
COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier"},
    "ward": {"role": "quasi_identifier"},
    "day": {"role": "identifier"},
}
PROMISES = [{"k_anonymity": {"k": 3}}]


@pytest.fixture(params=["postgresql", "postgresql18"])
def owner(request: pytest.FixtureRequest) -> str:
    """The address of a user who may do everything, with a table half of which others see."""
    url = str(request.getfixturevalue(f"{request.param}_url"))
    ask(url, *(f"DROP TABLE IF EXISTS {name} CASCADE" for name in ("visits", "old", "release", "sfumato_ledger")))
    rows = ", ".join(f"({number}, 'w{number % 4}', '2026-0{1 + number % 2}-05')" for number in range(ROWS))
    ask(url, "CREATE TABLE visits (id integer PRIMARY KEY, ward text, day date)", f"INSERT INTO visits VALUES {rows}")
    ask(url, "ALTER TABLE visits ENABLE ROW LEVEL SECURITY", "CREATE POLICY half ON visits USING (ward IN ('w0', 'w1'))")
    return url


@pytest.fixture
def reader(owner: str) -> Iterator[str]:
    """The address of a user who sees a part of it."""
    name = f"reader_{secrets.token_hex(4)}"
    ask(owner, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'", f"GRANT ALL ON SCHEMA public TO {name}", f"GRANT ALL ON visits TO {name}")
    parts = urlsplit(owner)
    yield parts._replace(netloc=f"{name}:{PASSWORD}@{parts.hostname}:{parts.port}").geturl()
    ask(owner, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


def policy(url: str, table: str = "visits", **source: Any) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, table) | source},
        "columns": COLUMNS,
        "promises": PROMISES,
        "sink": {"sql": component(url, "release")},
    }


def counted(url: str, table: str) -> int:
    return int(ask(url, f"SELECT count(*) FROM {table}")[0][0])


def test_a_table_of_which_rows_are_hidden_is_refused(owner: str, reader: str) -> None:
    for work in (sfumato.run, sfumato.plan):
        with pytest.raises(DataError) as caught:
            work(policy(reader))
        assert caught.value.code == "source-rows-hidden"


def test_one_who_sees_everything_is_not_refused(owner: str) -> None:
    release: Any = sfumato.run(policy(owner))

    assert release.record.rows.in_ == ROWS
    assert not any("row-level" in note for note in release.record.notes)


def test_an_owner_is_refused_where_the_rules_are_forced(owner: str, reader: str) -> None:
    ask(owner, f"ALTER TABLE visits OWNER TO {urlsplit(reader).username}")
    assert sfumato.run(policy(reader)).record.rows.in_ == ROWS
    ask(owner, "ALTER TABLE visits FORCE ROW LEVEL SECURITY")
    with pytest.raises(DataError, match="source-rows-hidden"):
        sfumato.run(policy(reader))


def test_rules_below_a_view_are_found_by_whose_rights_it_has(owner: str, reader: str) -> None:
    name = urlsplit(reader).username
    ask(owner, "CREATE VIEW seen AS SELECT * FROM visits", f"GRANT SELECT ON seen TO {name}")
    try:
        assert sfumato.run(policy(reader, "seen")).record.rows.in_ == ROWS
        ask(owner, "DROP VIEW seen", "CREATE VIEW seen WITH (security_invoker = true) AS SELECT * FROM visits", f"GRANT SELECT ON seen TO {name}")
        with pytest.raises(DataError, match="source-rows-hidden"):
            sfumato.run(policy(reader, "seen"))
    finally:
        ask(owner, "DROP VIEW seen")


def test_a_part_that_is_accepted_is_told(owner: str, reader: str) -> None:
    given = policy(reader, rows="visible")
    release: Any = sfumato.run(given)

    assert release.record.rows.in_ == ROWS // 2
    words = "row-level security hides rows of visits from the user, and the rows that it shows were taken for the table"
    assert words in release.record.notes
    assert any(words in step for step in sfumato.plan(given).steps)


def test_a_part_that_is_accepted_is_told_where_rows_come_here(owner: str, reader: str) -> None:
    given = policy(reader, rows="visible")
    del given["sink"]
    release: Any = sfumato.run(given)

    assert release.record.rows.in_ == ROWS // 2
    assert any("row-level security" in note for note in release.record.notes)


def test_rows_that_nobody_saw_are_not_deleted(owner: str, reader: str) -> None:
    given = {**policy(reader, rows="visible"), "sink": {"sql": component(reader, "old")}, "retention": {"column": "day", "older_than": "30d"}}
    told = retain(given, NOW)

    assert sum(batch.deleted for batch in told.batches) == ROWS // 2
    assert ask(owner, "SELECT DISTINCT ward FROM visits ORDER BY 1") == [("w2",), ("w3",)]
    assert counted(owner, "old") == ROWS // 2


@pytest.mark.parametrize("rule", ["CASCADE", "SET NULL"])
def test_rows_that_nobody_saw_are_not_changed_by_the_own_key_of_their_table(owner: str, reader: str, rule: str) -> None:
    ask(owner, f"ALTER TABLE visits ADD COLUMN parent integer REFERENCES visits ON DELETE {rule}", "UPDATE visits SET parent = 0 WHERE id = 2")
    given = {**policy(reader, rows="visible"), "sink": {"sql": component(reader, "old")}, "retention": {"column": "day", "older_than": "30d"}}
    given["columns"] = {**COLUMNS, "parent": {"role": "identifier"}}
    with pytest.raises(UnreachableError) as caught:
        retain(given, NOW)

    assert caught.value.code == "retention-cascade"
    assert (counted(owner, "visits"), counted(owner, "visits WHERE parent = 0")) == (ROWS, 1)


@pytest.mark.parametrize("chunk", [3, 1000])
def test_rows_that_go_with_those_that_are_shown_are_counted(owner: str, reader: str, chunk: int) -> None:
    name = urlsplit(reader).username
    ask(owner, "CREATE TABLE bills (visit integer REFERENCES visits ON DELETE CASCADE)", "INSERT INTO bills SELECT id FROM visits")
    ask(owner, f"GRANT SELECT ON bills TO {name}")
    given = {**policy(reader, rows="visible"), "sink": {"sql": component(reader, "old")}}
    given["retention"] = {"column": "day", "older_than": "30d", "cascade": "accept", "chunk": chunk}
    try:
        told = retain(given, NOW)
        left = counted(owner, "bills")
    finally:
        ask(owner, "DROP TABLE bills")

    assert sum(gone.rows for batch in told.batches for gone in batch.along) == left == ROWS // 2


def test_an_archive_of_which_rows_are_hidden_is_refused(owner: str, reader: str) -> None:
    name = urlsplit(reader).username
    given = {**policy(reader, rows="visible"), "sink": {"sql": component(reader, "old")}, "retention": {"column": "day", "older_than": "30d"}}
    retain(given, NOW)
    ask(owner, "INSERT INTO visits VALUES (100, 'w0', '2026-03-05'), (101, 'w0', '2026-03-05'), (102, 'w0', '2026-03-05')")
    ask(owner, "ALTER TABLE old ENABLE ROW LEVEL SECURITY", "ALTER TABLE old FORCE ROW LEVEL SECURITY", f"GRANT ALL ON old TO {name}")
    with pytest.raises(UsageError) as caught:
        retain(given, NOW)

    assert caught.value.code == "archive-rows-hidden"
    assert counted(owner, "visits") == ROWS // 2 + 3


def test_a_release_does_not_take_the_place_of_a_table_that_guards_its_rows(owner: str) -> None:
    ask(owner, "CREATE TABLE release (ward text)", "ALTER TABLE release ENABLE ROW LEVEL SECURITY")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy(owner))

    assert caught.value.code == "sink-table-used"
    assert "its row security" in str(caught.value)


def test_a_live_view_of_a_guarded_table_is_refused(owner: str, reader: str) -> None:
    columns = {"id": {"role": "identifier"}, "ward": {"role": "other"}, "day": {"role": "identifier"}}
    role = f"nurse_{secrets.token_hex(4)}"
    ask(owner, f"CREATE ROLE {role}")
    sink = {"live_view": {**component(reader, "ward_view"), "roles": [role]}}
    try:
        with pytest.raises(UnreachableError) as caught:
            sfumato.run({"source": {"sql": component(reader, "visits") | {"rows": "visible"}}, "columns": columns, "sink": sink})
    finally:
        ask(owner, f"DROP ROLE {role}")

    assert caught.value.code == "live-view-rows"

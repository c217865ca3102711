"""A table that somebody alters while it is masked in part: that is what is told, and what was meant is done when it is undone."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import DataError, UnreachableError
from tests.databases.test_in_place import DeadError, die_at, moved
from tests.servers import ask, component

ROWS = 60


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def killed(url: str, monkeypatch: pytest.MonkeyPatch, moment: str) -> dict[str, Any]:
    """Return the policy of a run that died while it masked a table in place."""
    ask(url, "DROP TABLE IF EXISTS patients", "CREATE TABLE patients (id INTEGER PRIMARY KEY, name VARCHAR(40), town VARCHAR(60))")
    ask(url, "INSERT INTO patients VALUES " + ", ".join(f"({number}, 'name {number}', 'town')" for number in range(ROWS)))
    table = component(url, "patients")
    policy = {
        "source": {"sql": table},
        "sink": {"sql": {**table, "in_place": True, "chunk": 7}},
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "name": {"role": "identifier"}, "town": {"role": "other"}},
    }
    with monkeypatch.context() as patch:
        die_at(patch, moment)
        with pytest.raises(DeadError):
            sfumato.run(policy)
    return policy


@pytest.mark.parametrize("change", ["RENAME TO others", "SET SCHEMA elsewhere"])
def test_a_table_that_was_renamed_is_known_as_one_masked_in_part(postgresql_url: str, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    policy = killed(postgresql_url, monkeypatch, "copying")
    name, schema = ("others", "public") if change.startswith("RENAME") else ("patients", "elsewhere")
    ask(postgresql_url, "DROP SCHEMA IF EXISTS elsewhere CASCADE", "CREATE SCHEMA elsewhere", f"ALTER TABLE patients {change}")
    table = {**component(postgresql_url, name), "schema": schema}
    given = {**policy, "source": {"sql": table}}
    for sink in ({**table, "in_place": True}, component(postgresql_url, "release")):
        with pytest.raises(UnreachableError) as caught:
            sfumato.run({**given, "sink": {"sql": sink}})
        assert caught.value.code == "in-place-open"
        assert "was called otherwise when a run began to mask it in place" in str(caught.value)
    undone = "ALTER TABLE others RENAME TO patients" if schema == "public" else "ALTER TABLE elsewhere.patients SET SCHEMA public"
    ask(postgresql_url, undone, "DROP SCHEMA elsewhere")
    sfumato.run(policy, resume=True)

    assert ask(postgresql_url, "SELECT COUNT(*), COUNT(name) FROM patients") == [(ROWS, 0)]


def test_a_ledger_of_somebody_else_does_not_close_a_table(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = killed(postgresql_url, monkeypatch, "copying")
    sfumato.run(policy, resume=True)
    number = "SELECT 'patients'::regclass::oid, (SELECT oid FROM pg_database WHERE datname = current_database())"
    table, database = ask(postgresql_url, number)[0]
    ask(postgresql_url, "DROP ROLE IF EXISTS other_ledger", "CREATE ROLE other_ledger", "CREATE TABLE masking_made_up (done bigint)")
    ask(postgresql_url, f"COMMENT ON TABLE masking_made_up IS 'sfumato masks the table {table} of the database {database}'")
    ask(postgresql_url, "ALTER TABLE masking_made_up OWNER TO other_ledger")
    try:
        sfumato.run(policy)
    finally:
        ask(postgresql_url, "DROP TABLE masking_made_up", "DROP ROLE other_ledger")

    assert ask(postgresql_url, "SELECT COUNT(*), COUNT(name) FROM patients") == [(ROWS, 0)]


@pytest.mark.parametrize("moment", ["copying", "copied"])
@pytest.mark.parametrize(
    ("change", "undo", "words"),
    [
        ("ADD COLUMN extra INTEGER", "DROP COLUMN extra", "the column extra is new"),
        ("RENAME COLUMN town TO city", "RENAME COLUMN city TO town", "the column city is new"),
        ("DROP COLUMN town", None, "the column town is gone"),
    ],
)
def test_a_table_that_was_altered_is_told_as_such_and_finished_when_that_is_undone(
    url: str, monkeypatch: pytest.MonkeyPatch, moment: str, change: str, undo: str | None, words: str
) -> None:
    policy, table = killed(url, monkeypatch, moment), moved(url)
    ask(url, f"ALTER TABLE {table} {change}")
    with pytest.raises(DataError) as caught:
        sfumato.run(policy, resume=True)

    assert caught.value.code == "in-place-altered"
    assert words in caught.value.message
    assert f"undo that in {table}, and run again" in str(caught.value.hint)
    assert "(not shown)" not in str(caught.value)
    if undo is None:
        # its rows are gone, and those that were verified are not
        (rows,) = [name for name in str(caught.value.hint).split() if name.endswith("_rows")]
        assert ask(url, f"SELECT COUNT(*), COUNT(town), COUNT(name) FROM {rows}") == [(ROWS, ROWS, 0)]
        ask(url, *(f"DROP TABLE IF EXISTS {rows.removesuffix('_rows')}{part}" for part in ("", "_keys", "_rows", "_table")))
        return
    ask(url, f"ALTER TABLE {table} {undo}")
    sfumato.run(policy, resume=True)
    assert ask(url, "SELECT COUNT(*), COUNT(town), COUNT(name) FROM patients") == [(ROWS, ROWS, 0)]

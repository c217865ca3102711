"""A table that somebody alters while it is masked in part: that is what is told, and what was meant is done when it is undone."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato
from sfumato.errors import DataError
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

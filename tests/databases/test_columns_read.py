"""What is read of a table where the work is done in this process: the columns that a run looks at, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.local_copy import LocalCopy
from sfumato.engine.drift import drift
from sfumato.sources.sql import Sql
from tests.servers import ask, component

ROWS = 60
PEOPLE = "id INTEGER PRIMARY KEY, name VARCHAR(40), age INTEGER, town VARCHAR(30), pay INTEGER, born DATE, seen DATE"
# what nobody could publish, in a column that is removed and in one that the policy does not name
UNREADABLE = {"postgresql": "infinity", "mariadb": "0000-00-00", "duckdb": "infinity"}
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "born": {"role": "identifier"},
    "pay": {"role": "other"},
    "age": {"role": "quasi_identifier"},
    "town": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}, "when": {"column": "pay", "above": 10}, "accept": "singling_out"},
}


@pytest.fixture(params=list(UNREADABLE))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with a table of people."""
    kind = request.param
    url = f"duckdb:///{tmp_path / 'people.duckdb'}" if kind == "duckdb" else str(request.getfixturevalue(f"{kind}_url"))
    day = UNREADABLE[kind]
    values = ", ".join(f"({n}, 'Canary {n}', {20 + n % 3}, 'town {n % 4}', {n % 2 * 20}, '{day}', '{day}')" for n in range(ROWS))
    modes = ["SET sql_mode = ''"] if kind == "mariadb" else []
    ask(url, "DROP TABLE IF EXISTS people", f"CREATE TABLE people ({PEOPLE})", *modes, f"INSERT INTO people VALUES {values}")
    return url


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns of each private copy that is made."""
    copied: list[list[str]] = []

    class Watched(LocalCopy):
        def __init__(self, schema: pa.Schema, batches: Any) -> None:
            copied.append(schema.names)
            super().__init__(schema, batches)

    monkeypatch.setattr("sfumato.sources.sql.LocalCopy", Watched)
    return copied


def policy(url: str, tmp_path: Path, **more: Any) -> dict[str, Any]:
    given = {"unnamed": "remove", "promises": [{"k_anonymity": {"k": 5}}], "sink": str(tmp_path / "release.csv")}
    return {"source": {"sql": component(url, "people")}, "columns": COLUMNS, **given, **more}


def test_only_what_a_run_looks_at_is_read(url: str, tmp_path: Path, copied: list[list[str]]) -> None:
    release: Any = sfumato.run(policy(url, tmp_path))

    assert release.record.rows.out == ROWS
    assert copied == [["age", "town", "pay"]]


def test_drift_reads_no_more(url: str, tmp_path: Path, copied: list[list[str]]) -> None:
    sfumato.run(policy(url, tmp_path))

    assert drift(policy(url, tmp_path)).found == []
    assert copied == [["age", "town", "pay"]] * 2


def test_what_is_measured_is_read_alone(url: str, tmp_path: Path, copied: list[list[str]]) -> None:
    sfumato.assess(Sql(**component(url, "people")), ["age", "town"], subject="id")
    sfumato.hierarchy(policy(url, tmp_path), "age")

    assert copied == [["id", "age", "town"], ["age"]]


def test_several_views_are_made_of_one_copy_of_what_they_look_at(url: str, tmp_path: Path, copied: list[list[str]]) -> None:
    views = {
        "ages": {"columns": {"town": {"role": "identifier"}}, "sink": str(tmp_path / "ages.csv")},
        "towns": {"columns": {"age": {"role": "identifier"}, "town": {"role": "quasi_identifier"}}, "sink": str(tmp_path / "towns.csv")},
    }
    given = policy(url, tmp_path, views=views, columns={**COLUMNS, "town": {"role": "quasi_identifier"}, "pay": {"role": "identifier"}})
    del given["sink"]
    releases: Any = sfumato.run(given)

    assert set(releases) == {"ages", "towns"}
    assert copied == [["age", "town"]]


def test_a_subject_is_read(url: str, tmp_path: Path, copied: list[list[str]]) -> None:
    sfumato.run(policy(url, tmp_path, subject="name"))

    assert copied == [["name", "age", "town", "pay"]]


def test_the_record_still_says_which_removed_column_may_say_whose_rows_are(url: str, tmp_path: Path) -> None:
    of_three = (f"UPDATE people SET name = 'Ann {n}' WHERE id BETWEEN {3 * n} AND {3 * n + 2}" for n in range(ROWS // 3))
    ask(url, "UPDATE people SET born = NULL, seen = NULL", *of_three)
    release: Any = sfumato.run(policy(url, tmp_path))

    assert any(note.startswith("many values of the identifier name stand in several rows") for note in release.record.notes)


def test_what_was_not_told_beforehand_is_not_read(url: str) -> None:
    source = Sql(**component(url, "people")).narrowed(["age", "pay"])

    assert source.describe().names == ["age", "pay"]
    assert sum(batch.num_rows for batch in source.batches(["pay"])) == ROWS
    with pytest.raises(AssertionError, match="told beforehand"):
        list(source.batches(["name"]))


def test_rows_of_which_nothing_is_looked_at_are_counted(url: str) -> None:
    source = Sql(**component(url, "people")).narrowed([])

    assert source.describe().names == ["id"]
    assert sum(batch.num_rows for batch in source.batches(["id"])) == ROWS

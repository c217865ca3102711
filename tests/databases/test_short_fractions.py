"""Fractions of four bytes on MariaDB and MySQL, of which the server writes six digits: every road reads and publishes them as they are."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.sources.sql import Sql
from tests.databases.test_live_view import Audience
from tests.servers import ask, component

# all of them differ in their seventh digit
VALUES = [16777216.0 - number for number in range(64)]
READ_EXACTLY = "SELECT CAST(v AS DOUBLE) FROM {} ORDER BY 1"


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(autouse=True)
def doses(url: str) -> None:
    ask(url, *(f"DROP TABLE IF EXISTS {name}" for name in ("doses", "given", "sfumato_ledger")))
    ask(url, "CREATE TABLE doses (id INTEGER PRIMARY KEY, ward VARCHAR(10), seen DATE, v FLOAT)")
    rows = ", ".join(f"({number}, 'w', '2026-01-02', {value})" for number, value in enumerate(VALUES))
    ask(url, f"INSERT INTO doses VALUES {rows}")


def policy(url: str, v: dict[str, Any], sink: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    others = {"id": {"role": "identifier"}, "ward": {"role": "other"}, "seen": {"role": "identifier"}}
    base = {"source": {"sql": component(url, "doses")}, "sink": sink or {"sql": component(url, "given")}, "columns": others | {"v": v}}
    return base | {"accept": "singling_out"} | changes


KEPT = {"role": "other"}


def published(url: str, table: str = "given") -> list[float]:
    return [float(value) for (value,) in ask(url, READ_EXACTLY.format(table))]


def test_a_source_reads_the_value_and_not_its_six_digits(url: str) -> None:
    ask(url, "DELETE FROM doses", "INSERT INTO doses (id, v) VALUES (1, 0.1234567), (2, 1e-45), (3, NULL), (4, 16777216), (5, -0.1)")
    batches = Sql(**component(url, "doses")).batches(["id", "v"])
    found = {row["id"]: row["v"] for batch in batches for row in batch.to_pylist()}
    assert found == {1: 0.12345670163631439, 2: 1.401298464324817e-45, 3: None, 4: 16777216.0, 5: -0.10000000149011612}


def test_a_kept_column_is_published_as_it_is_inside(url: str) -> None:
    sfumato.run(policy(url, KEPT))
    assert published(url) == sorted(VALUES)


def test_a_kept_column_is_published_as_it_is_in_this_process(url: str) -> None:
    entry = policy(url, KEPT)
    entry["columns"]["ward"] = {"role": "identifier", "mask": {"fake": {"kind": "city"}}}
    sfumato.run(entry)
    assert published(url) == sorted(VALUES)


def test_a_file_has_the_shortest_text_that_tells_the_value(url: str, tmp_path: Path) -> None:
    ask(url, "DELETE FROM doses", "INSERT INTO doses (id, ward, v) VALUES (1, 'w', 0.1234567), (2, 'w', 0.1234568)")
    sfumato.run(policy(url, KEPT, {"delimited": {"path": str(tmp_path / "doses.csv")}}))
    lines = (tmp_path / "doses.csv").read_text().split()
    assert sorted(line.split(",")[-1] for line in lines[1:]) == ["0.1234567", "0.1234568"]


@pytest.mark.parametrize("is_inside", [True, False])
def test_classes_are_made_of_the_values_themselves(url: str, is_inside: bool, tmp_path: Path) -> None:
    changes = {} if is_inside else {"sink": {"delimited": {"path": str(tmp_path / "doses.csv")}}}
    entry = policy(url, {"role": "quasi_identifier"}, promises=[{"k_anonymity": {"k": 2}}], **changes)
    sfumato.run(entry)
    rows = [row for (row,) in ask(url, "SELECT v FROM given")] if is_inside else (tmp_path / "doses.csv").read_text().splitlines()[1:]
    assert len(set(rows)) == len(VALUES) // 2


def test_typed_bounds_are_values_that_are_there(url: str) -> None:
    sfumato.run(policy(url, {"role": "quasi_identifier", "publish": "typed_bounds"}, promises=[{"k_anonymity": {"k": 2}}]))
    bounds = ask(url, "SELECT CAST(v_from AS DOUBLE), CAST(v_to AS DOUBLE) FROM given")
    assert {float(bound) for row in bounds for bound in row} == set(VALUES)


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_typed_bounds_hold_the_values_as_the_server_compares_them(request: pytest.FixtureRequest, server: str) -> None:
    address = str(request.getfixturevalue(f"{server}_url"))
    kind = "FLOAT" if server == "mariadb" else "REAL"
    ask(address, *(f"DROP TABLE IF EXISTS {name}" for name in ("given", "doses")))
    ask(address, f"CREATE TABLE doses (id INTEGER PRIMARY KEY, ward VARCHAR(10), seen DATE, v {kind})")
    values = ("0.1", "0.2", "0.3", "0.33333334", "123456.79", "16777216", "3.4e38", "-3.4e38")
    ask(address, "INSERT INTO doses VALUES " + ", ".join(f"({number}, 'w', '2026-01-02', {values[number % 8]})" for number in range(48)))
    v = {"role": "quasi_identifier", "publish": "typed_bounds"}
    entry = policy(address, v, promises=[{"k_anonymity": {"k": 7}}])
    entry["columns"]["id"] = {"role": "other"}
    sfumato.run(entry)
    outside = "SELECT COUNT(*) FROM doses d JOIN given g ON g.id = d.id WHERE NOT (d.v >= g.v_from AND d.v <= g.v_to)"
    assert ask(address, outside) == [(0,)]


def test_an_archive_has_what_was_deleted(url: str) -> None:
    entry = policy(url, KEPT, retention={"column": "seen", "older_than": "60d"})
    retain(entry, datetime.datetime(2026, 6, 15, tzinfo=datetime.UTC))
    assert (published(url), ask(url, "SELECT COUNT(*) FROM doses")) == (sorted(VALUES), [(0,)])


def test_a_table_among_several_has_its_values(url: str) -> None:
    entry = policy(url, KEPT)
    table = {"into": "given", "columns": entry.pop("columns")}
    for place in ("source", "sink"):
        entry[place] = {"sql": {name: value for name, value in entry[place]["sql"].items() if name != "table"}}
    sfumato.run({**entry, "tables": {"doses": table}})
    assert published(url) == sorted(VALUES)


def test_rows_are_masked_in_place_by_a_key_of_such_fractions(url: str) -> None:
    ask(url, "UPDATE doses SET v = id / 10", "ALTER TABLE doses DROP PRIMARY KEY, MODIFY v FLOAT NOT NULL PRIMARY KEY")
    before = published(url, "doses")
    entry = policy(url, {"role": "other"}, {"sql": component(url, "doses") | {"in_place": True}})
    entry["columns"] |= {"id": {"role": "other"}, "ward": {"role": "other", "mask": {"constant": {"value": "x"}}}, "seen": {"role": "other"}}
    sfumato.run(entry)
    assert (published(url, "doses"), ask(url, "SELECT DISTINCT ward FROM doses")) == (before, [("x",)])


def test_a_live_view_shows_the_values(url: str) -> None:
    audience = Audience(url)
    try:
        view = {"sql": component(url, "given")}
        entry = policy(url, KEPT, sink={"live_view": {**view["sql"], "roles": [audience.role]}})
        sfumato.run(entry)
        assert published(audience.own_url) == sorted(VALUES)
    finally:
        ask(url, "DROP VIEW IF EXISTS given")
        audience.leave()

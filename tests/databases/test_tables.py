"""Several tables of one database in one policy: keys can be joined by, all tables are published together, and promises hold in each."""

from __future__ import annotations

import base64
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UsageError
from tests.servers import ask, component

PEOPLE, VISITS = 60, 240
WARDS = ("NULL", "'A'", "'B'", "'A'", "'B'")
KEY = f"k1:{base64.b64encode(bytes(range(32))).decode()}"
PSEUDONYM: dict[str, Any] = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": "patient"}}}
HOSPITAL = [
    "CREATE TABLE wards (code varchar(10) PRIMARY KEY, name varchar(40))",
    "CREATE TABLE patients (id bigint PRIMARY KEY, name varchar(40), age int, referred bigint, FOREIGN KEY (referred) REFERENCES patients (id))",
    "CREATE TABLE visits (number int, patient bigint NOT NULL, ward varchar(10), reason varchar(40), FOREIGN KEY (patient) REFERENCES patients (id), "
    "FOREIGN KEY (ward) REFERENCES wards (code))",
    "INSERT INTO wards VALUES ('A', 'Canary ward'), ('B', 'Canary yard')",
    "INSERT INTO patients VALUES "
    + ", ".join(f"({number}, 'Canary {number}', {20 + number % 40}, {number // 2 if number > 1 else 'NULL'})" for number in range(1, PEOPLE + 1)),
    "INSERT INTO visits VALUES "
    + ", ".join(f"({number}, {number % PEOPLE + 1}, {WARDS[number % 5]}, 'reason {number % 7}')" for number in range(VISITS)),
]
TABLES: dict[str, Any] = {
    "patients": {
        "columns": {"id": PSEUDONYM, "name": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "referred": PSEUDONYM},
        "promises": [{"k_anonymity": {"k": 3}}],
        "accept": "singling_out",
    },
    "visits": {"columns": {"number": {"role": "identifier"}, "patient": PSEUDONYM, "ward": {"role": "other"}, "reason": {"role": "other"}}},
    "wards": {"columns": {"code": {"role": "other"}, "name": {"role": "identifier"}}},
}


class Hospital:
    """A hospital in schemas of its own, in PostgreSQL or in MariaDB."""

    def __init__(self, url: str) -> None:
        self.url, self.is_postgresql = url, url.startswith("postgresql")
        settings = component(url, "")
        self.settings = {"url": settings["url"], "password": settings["password"]}
        self.source, self.sink = ("ward", "masked") if self.is_postgresql else ("test_ward", "test_masked")
        for schema in (self.source, self.sink):
            self.ask(f"DROP SCHEMA IF EXISTS {schema}{' CASCADE' if self.is_postgresql else ''}", f"CREATE SCHEMA {schema}")
        self.make(*HOSPITAL)

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        return ask(self.url, *statements)

    def make(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.ask(f"SET search_path = {self.source}" if self.is_postgresql else f"USE {self.source}", *statements)

    def policy(self, tables: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "source": {"sql": {**self.settings, "schema": self.source}},
            "sink": {"sql": {**self.settings, "schema": self.sink}},
            "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
            "tables": TABLES if tables is None else tables,
            **more,
        }

    def changed(self, **tables: dict[str, Any]) -> dict[str, Any]:
        """Return the policy with some entries of tables changed."""
        return self.policy({name: {**entry, **tables.get(name, {})} for name, entry in TABLES.items()})

    def number(self, query: str) -> Any:
        ((number,),) = self.ask(query.replace("masked.", f"{self.sink}.").replace("ward.", f"{self.source}."))
        return number

    def released(self) -> list[str]:
        query = f"SELECT table_name FROM information_schema.tables WHERE table_schema IN ('{self.sink}', 'sfumato_staging') ORDER BY table_name"
        return [str(name) for (name,) in self.ask(query)]


@pytest.fixture(params=["postgresql", "mariadb"])
def hospital(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hospital]:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    made = Hospital(request.getfixturevalue(f"{request.param}_url"))
    yield made
    for schema in (made.source, made.sink) if not made.is_postgresql else ():
        made.ask(f"DROP SCHEMA IF EXISTS {schema}")


def refused(policy: dict[str, Any], kind: type[SfumatoError] = PolicyError) -> str:
    with pytest.raises(kind) as caught:
        sfumato.run(policy)
    assert "Canary" not in str(caught.value)
    return str(caught.value)


def test_tables_are_joined_by_their_pseudonyms_as_they_were_before(hospital: Hospital) -> None:
    releases: Any = sfumato.run(hospital.policy())

    assert list(releases) == ["patients", "visits", "wards"]
    assert hospital.released() == ["patients", "visits", "wards"]
    query = "SELECT count(*) FROM {0}.visits v JOIN {0}.patients p ON v.patient = p.id JOIN {0}.wards w ON v.ward = w.code"
    assert hospital.number(query.format("masked")) == hospital.number(query.format("ward")) == VISITS * 4 // 5
    assert hospital.number("SELECT count(*) FROM masked.patients c JOIN masked.patients p ON c.referred = p.id") == PEOPLE - 1
    assert hospital.number("SELECT min(n) FROM (SELECT count(*) AS n FROM masked.patients GROUP BY age) c") >= 3
    assert releases["visits"].record.foreign_keys[0].model_dump() == {
        "columns": ["patient"],
        "table": "patients",
        "referred": ["id"],
        "joined": VISITS,
        "orphans": 0,
    }

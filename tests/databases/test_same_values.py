"""Equal values are one value to promises, however a server writes them, inside it and through our process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import PromiseError
from sfumato.sources.sql import Sql
from tests.servers import ask, component

POSTGRESQL = {
    "numeric": ("1.5", "1.50"),
    "jsonb": ("""'{"a": [1, "1.0"]}'""", """'{"a": [1.0, "1.0"]}'"""),
    "numrange": ("'[1.5,2)'", "'[1.50,2.0)'"),
    "double precision": ("0", "'-0'"),
    "real": ("0", "'-0'"),
}


def policy(url: str, sink: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": {"sql": component(url, "doses")},
        "sink": sink,
        "columns": {"ward": {"role": "quasi_identifier"}, "dose": {"role": "sensitive"}},
        "promises": [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "dose", "l": 2}}],
    }


def refused(url: str, sink: dict[str, Any]) -> str:
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy(url, sink))
    return str(caught.value.code)


def prepare(url: str, kind: str, values: tuple[str, ...]) -> None:
    rows = ", ".join(f"('w{number % 4}', {values[number // 4 % len(values)]})" for number in range(48))
    ask(url, "DROP TABLE IF EXISTS doses", f"CREATE TABLE doses (ward varchar(10), dose {kind})", f"INSERT INTO doses VALUES {rows}")


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_equal_values_of_postgresql_are_one_value_to_l_diversity(kind: str, postgresql_url: str, tmp_path: Path) -> None:
    prepare(postgresql_url, kind, POSTGRESQL[kind])
    sinks = ({"sql": component(postgresql_url, "out")}, {"delimited": {"path": str(tmp_path / "out.csv")}})
    assert [refused(postgresql_url, sink) for sink in sinks] == ["promise-impossible"] * 2


@pytest.mark.parametrize("server", ["mariadb", "duckdb"])
def test_minus_zero_is_zero_to_l_diversity(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    prepare(url, "double", ("0e0", "-0e0"))
    sinks = ({"sql": component(url, "out")}, {"delimited": {"path": str(tmp_path / "out.csv")}})
    assert [refused(url, sink) for sink in sinks] == ["promise-impossible"] * 2


@pytest.mark.parametrize("kind", ["double precision", "numeric"])
def test_values_that_differ_beside_equal_ones_are_published_inside_as_they_are(kind: str, postgresql_url: str) -> None:
    prepare(postgresql_url, kind, (*POSTGRESQL[kind], "7"))
    sfumato.run(policy(postgresql_url, {"sql": component(postgresql_url, "out")}))
    assert ask(postgresql_url, "SELECT count(DISTINCT dose::text) FROM out") == [(3,)]


def test_a_domain_over_numbers_is_read_as_they_are(postgresql_url: str) -> None:
    ask(postgresql_url, "CREATE DOMAIN amount AS numeric")
    prepare(postgresql_url, "amount", ("100.50", "100.00", "-0.0"))
    found = [value for batch in Sql(**component(postgresql_url, "doses")).batches(["dose"]) for value in batch.column(0).to_pylist()]
    assert set(found) == {"100.5", "100", "0"}


def test_ranges_of_numbers_are_read_as_they_are(postgresql_url: str) -> None:
    prepare(postgresql_url, "numrange", ("'[1.0,2.50]'", "'(,7)'", "'empty'", "NULL", "'(1,)'"))
    found = [value for batch in Sql(**component(postgresql_url, "doses")).batches(["dose"]) for value in batch.column(0).to_pylist()]
    assert set(found) == {"[1,2.5]", "(,7)", "empty", None, "(1,)"}


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_people_whom_the_server_holds_to_be_one_are_told(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    kind = "varchar(9) COLLATE utf8mb4_general_ci" if server == "mariadb" else "varchar(9) COLLATE ci"
    if server == "postgresql":
        ask(url, "CREATE COLLATION IF NOT EXISTS ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    prepare(url, kind, ("'ann'", "'Ann'", "'bob'"))
    columns = {"ward": {"role": "quasi_identifier"}, "dose": {"role": "identifier"}}
    given = {"columns": columns, "subject": "dose", "promises": [{"k_anonymity": {"k": 3}}]}
    assert ask(url, "SELECT count(DISTINCT dose) FROM doses") == [(2,)]
    for sink in ({"sql": component(url, "out")}, {"delimited": {"path": str(tmp_path / "out.csv")}}):
        release: Any = sfumato.run({**policy(url, sink), **given})
        assert any(note.startswith("subject dose: 2 of its values differ from others only in case") for note in release.record.notes)

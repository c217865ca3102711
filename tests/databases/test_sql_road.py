"""Tables of real servers as source and sink: what comes out is what a file would give, and what goes in takes the old table's place."""

from __future__ import annotations

import datetime
import json
import os
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.connection import connected
from sfumato.databases.table import TableName
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UnreachableError, UsageError
from tests.servers import PASSWORD, ask, component, left_over

ROWS = 240
PEOPLE = {
    "name": [f"Canary {number}" for number in range(ROWS)],
    "age": [20 + number * 7 % 50 for number in range(ROWS)],
    "town": [("Bremen", "Köln", "Ulm", 'O\'Brien "x"')[number % 4] for number in range(ROWS)],
    "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=number * 37) for number in range(ROWS)],
    "pay": [Decimal(number * 125) / 100 if number % 9 else None for number in range(ROWS)],
    "note": ["" if number % 11 == 0 else None if number % 7 == 0 else "tab\tline\nback\\slash 🙂" for number in range(ROWS)],
}
SCHEMA = pa.schema(
    [("name", pa.string()), ("age", pa.int32()), ("town", pa.string()), ("born", pa.date32()), ("pay", pa.decimal128(9, 2)), ("note", pa.string())]
)
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi_identifier"},
    "town": {"role": "quasi_identifier"},
    "born": {"role": "quasi_identifier"},
    "pay": {"role": "sensitive"},
    "note": {"role": "other"},
}
POLICY: dict[str, Any] = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}
Server = tuple[str, dict[str, Any], str]


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Server:
    """The address of a database of this module, where its password is, and the address with it."""
    url = request.getfixturevalue(f"{request.param}_url")
    settings = component(url, "")
    return settings["url"], settings["password"], url


@pytest.fixture
def people(server: Server) -> Callable[..., dict[str, Any]]:
    """Make the table of people anew, and return a component that names a table."""

    def named(table: str, **more: Any) -> dict[str, Any]:
        return {"sql": {"url": server[0], "password": server[1], "table": table, **more}}

    writer = sfumato_writer(named("people"))
    writer.write(pa.RecordBatch.from_arrays([pa.array(PEOPLE[name], SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA))
    writer.finish()
    writer.publish()
    return named


def sfumato_writer(component: dict[str, Any]) -> Any:
    from sfumato.sinks.sql import Sql

    return Sql(**component["sql"]).open(SCHEMA)


def rows_of(component: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    from sfumato.sources.sql import Sql

    source = Sql(**component["sql"])
    table = pa.Table.from_batches(source.batches(source.describe().names), source.describe())
    return Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def test_every_value_comes_back_as_it_went(people: Callable[..., dict[str, Any]]) -> None:
    assert rows_of(people("people")) == Counter(zip(*PEOPLE.values(), strict=True))


def test_a_table_gives_the_release_that_the_same_rows_give_from_memory(people: Callable[..., dict[str, Any]]) -> None:
    inside: Any = sfumato.run({**POLICY, "source": people("people"), "sink": people("release")})
    outside: Any = sfumato.run(POLICY, pa.table(PEOPLE, schema=SCHEMA))

    assert inside.record.measures["after"] == outside.record.measures["after"]
    expected = Counter(zip(*(outside.table[name].to_pylist() for name in outside.table.column_names), strict=True))
    assert rows_of(people("release")) == expected


def test_a_second_run_replaces_the_table_and_leaves_nothing_else_behind(people: Callable[..., dict[str, Any]], server: Server) -> None:
    for _ in range(2):
        sfumato.run({**POLICY, "source": people("people"), "sink": people("release")})
    assert sum(rows_of(people("release")).values()) == ROWS
    assert left_over(server[2]) == []


def test_nothing_is_left_of_a_release_that_was_not_published(people: Callable[..., dict[str, Any]], server: Server) -> None:
    impossible = {**POLICY, "promises": [{"k_anonymity": {"k": ROWS + 1}}]}
    with pytest.raises(PromiseError):
        sfumato.run({**impossible, "source": people("people"), "sink": people("never")})
    writer = sfumato_writer(people("never"))
    writer.write(pa.RecordBatch.from_arrays([pa.array(PEOPLE[name], SCHEMA.field(name).type) for name in SCHEMA.names], schema=SCHEMA))
    writer.abort()
    assert "never" not in tables_of(server)
    assert left_over(server[2]) == []


def test_names_are_only_names(people: Callable[..., dict[str, Any]], server: Server) -> None:
    name = "re`le\"a'se; DROP TABLE people; -- Ω"
    if parsed(server[0]).kind == "mysql":
        with pytest.raises(UsageError, match="allow no emoji"):
            sfumato.run({**POLICY, "source": people("people"), "sink": people("🙂")})
    else:
        name += "🙂\n"
    sfumato.run({**POLICY, "source": people("people"), "sink": people(name)})
    assert sum(rows_of(people(name)).values()) == sum(rows_of(people("people")).values()) == ROWS


def _password() -> str:
    return os.environ[PASSWORD]


def tables_of(server: Server) -> list[str]:
    return [str(name) for (name,) in ask(server[2], "SELECT table_name FROM information_schema.tables")]


def failed(component: dict[str, Any]) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({**POLICY, "source": component})
    assert "Canary" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["*", "?x", "p[a]"])
def test_a_table_that_is_called_as_a_pattern_of_files_is_no_pattern(name: str, people: Callable[..., dict[str, Any]], server: Server) -> None:
    url, mark = server[2], '"' if server[2].startswith("postgresql:") else "`"
    ask(url, f"DROP TABLE IF EXISTS {mark}{name}{mark}", f"CREATE TABLE {mark}{name}{mark} AS SELECT * FROM people")
    sfumato.run({**POLICY, "source": people(name), "sink": people("called_so")})

    assert ask(url, "SELECT count(*) FROM called_so") == [(ROWS,)]


def test_a_table_that_is_not_there_gets_the_nearest_name(people: Callable[..., dict[str, Any]]) -> None:
    error = failed(people("peeple"))
    assert (type(error), error.code, error.hint) == (DataError, "table-missing", "people")


def test_a_wrong_password_is_told_without_it(people: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "canary-secret")
    error = failed(people("people"))
    assert (type(error), error.code) == (UnreachableError, "database-refused")
    assert "canary-secret" not in str(error)


def test_a_server_that_is_not_there_is_told(people: Callable[..., dict[str, Any]], server: Server) -> None:
    address = parsed(server[0])
    component = people("people")
    component["sql"]["url"] = server[0].replace(str(address.port), "1")
    error = failed(component)
    assert (type(error), error.code) == (UnreachableError, "database-unreachable")


def test_a_database_that_is_not_there_is_told(people: Callable[..., dict[str, Any]], server: Server) -> None:
    component = people("people")
    component["sql"]["url"] = server[0].replace(parsed(server[0]).database, "no_such_database")
    assert failed(component).code == "database-missing"


def test_a_view_on_the_old_table_is_not_lost(people: Callable[..., dict[str, Any]], server: Server) -> None:
    if parsed(server[0]).kind == "mysql":
        # there a view goes by the name of its table, and shows the new one
        return
    sfumato.run({**POLICY, "source": people("people"), "sink": people("release")})
    ask(server[2], "CREATE VIEW seen AS SELECT age FROM release")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run({**POLICY, "source": people("people"), "sink": people("release")})
    assert caught.value.code == "sink-table-used"
    ask(server[2], "DROP VIEW seen")


def test_an_empty_table_is_told(people: Callable[..., dict[str, Any]], server: Server) -> None:
    with connected(parsed(server[0]), _password()) as connection:
        staged = connection.staged_name(TableName("empty"))
        connection.create(staged, SCHEMA)
        connection.publish(staged, TableName("empty"))
        connection.commit()
    assert failed(people("empty")).code == "source-empty"


def test_a_password_in_the_address_is_refused_with_the_policy() -> None:
    component = {"sql": {"url": "postgresql://me:canary@localhost/db", "table": "people"}}
    with pytest.raises(PolicyError) as caught:
        sfumato.run({**POLICY, "source": component})
    assert "canary" not in str(caught.value)


def test_a_sink_that_is_the_source_under_another_name_is_refused(people: Callable[..., dict[str, Any]], server: Server) -> None:
    address = parsed(server[0])
    same = people("people", **({"schema": "public"} if address.kind == "postgresql" else {"schema": address.database}))
    same["sql"]["url"] = server[0].replace("127.0.0.1", "localhost")
    with pytest.raises(PolicyError) as caught:
        sfumato.run({**POLICY, "source": people("people"), "sink": same})
    assert [mistake.code for mistake in caught.value.mistakes] == ["sink-is-source"]
    assert sum(rows_of(people("people")).values()) == ROWS


def test_the_summary_says_where_release_and_record_are(
    people: Callable[..., dict[str, Any]], server: Server, write_policy: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from sfumato.cli.app import run_command

    path = write_policy({**POLICY, "source": people("people"), "sink": people("release", record="release.record.json")})
    assert run_command(["run", str(path)]) == 0
    told = capsys.readouterr().out
    address = parsed(server[0])
    assert f"release   table release of the database {address.database} on 127.0.0.1:{address.port}\n" in told
    assert f"record    {path.parent / 'release.record.json'}\n" in told
    assert json.loads((path.parent / "release.record.json").read_text())["status"] == "published"
    assert run_command(["plan", str(path)]) == 0
    assert os.environ[PASSWORD] not in capsys.readouterr().out

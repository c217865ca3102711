"""What can go wrong with a server: each gets one clear error, and no table is ever half there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.errors import SfumatoError
from sfumato.registry import find
from tests.databases.kills import endings, finish
from tests.servers import ask, component, left_over

ROWS = 4000
TABLE = pa.table(
    {
        "age": [20 + number % 60 for number in range(ROWS)],
        "ward": [f"w{number % 7}" for number in range(ROWS)],
        "note": [f"note {number}" for number in range(ROWS)],
    }
)
COLUMNS = {"age": {"role": "quasi_identifier"}, "ward": {"role": "quasi_identifier"}, "note": {"role": "other", "accept": "singling_out"}}
Named = Callable[..., dict[str, Any]]


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of a database of this module, with its password."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


def stored(url: str, table: pa.Table, name: str) -> dict[str, Any]:
    settings = component(url, name)
    writer = find("sinks", "sql")(**settings).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return {"sql": settings}


def policy(source: dict[str, Any], sink: dict[str, Any] | None, k: int = 5) -> dict[str, Any]:
    return {"source": source, "columns": COLUMNS, "promises": [{"k_anonymity": {"k": k}}], **({"sink": sink} if sink else {})}


def code_of(given: dict[str, Any]) -> str:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(given)
    assert "note 1" not in str(caught.value)
    return caught.value.code


def is_mysql(url: str) -> bool:
    return parsed(component(url, "")["url"]).kind == "mysql"


def test_a_reader_may_read_and_not_write(url: str) -> None:
    source = stored(url, TABLE, "people")
    name = parsed(component(url, "")["url"]).database
    if is_mysql(url):
        ask(url, f"CREATE USER reader_{name[-8:]} IDENTIFIED BY 'a long secret'", f"GRANT SELECT ON {name}.* TO reader_{name[-8:]}")
    else:
        ask(url, f"CREATE ROLE reader_{name[-8:]} LOGIN PASSWORD 'a long secret'", f"GRANT SELECT ON people TO reader_{name[-8:]}")
        ask(url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    try:
        parts = component(url, "")["url"].split("@", 1)[1]
        reader = f"{'mysql' if is_mysql(url) else 'postgresql'}://reader_{name[-8:]}:a%20long%20secret@{parts}"
        release: Any = sfumato.run(policy({"sql": component(reader, "people")}, None))
        assert release.table.num_rows == ROWS
        assert code_of(policy({"sql": component(reader, "people")}, {"sql": component(reader, "mine")})) == "database-rights"
    finally:
        component(url, "")
        ask(url, *([f"DROP USER reader_{name[-8:]}"] if is_mysql(url) else ["REVOKE ALL ON people FROM PUBLIC", f"DROP OWNED BY reader_{name[-8:]}"]))
    assert source["sql"]["table"] == "people"


def test_zero_bytes_are_told_and_nothing_is_published(url: str) -> None:
    if is_mysql(url):
        pytest.skip("MariaDB and MySQL hold zero bytes in text: no command makes this run")
    table = pa.table({"age": [1, 1], "ward": ["a", "a"], "note": ["x\0y", "z"]})
    given = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}], "sink": {"sql": component(url, "zeros")}}
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(given, table)
    assert caught.value.code == "database-value"
    assert ask(url, "SELECT table_name FROM information_schema.tables WHERE table_name = 'zeros'") == []


def test_a_type_that_nobody_knows_is_named(url: str) -> None:
    kind = "point" if not is_mysql(url) else "geometry"
    ask(url, "DROP TABLE IF EXISTS places", f"CREATE TABLE places (age int, ward varchar(9), note {kind})")
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy({"sql": component(url, "places")}, None))
    assert caught.value.message == f"the source has columns that cannot be read: note (values of type {kind})"


def test_a_view_that_fails_is_one_error(url: str) -> None:
    broken = "CREATE OR REPLACE VIEW broken AS SELECT age, ward, 1 / (age - 20) AS note FROM people"
    if is_mysql(url):
        # there a division by zero is a missing value
        broken = "CREATE OR REPLACE VIEW broken AS SELECT age, ward, (SELECT note FROM people p WHERE p.age = people.age) AS note FROM people"
    stored(url, TABLE, "people")
    ask(url, broken)
    try:
        assert code_of(policy({"sql": component(url, "broken")}, None)) in ("database-failed", "database-value")
    finally:
        ask(url, "DROP VIEW broken")


def test_many_columns_are_read_and_written(url: str) -> None:
    # of MariaDB a row has 8,126 bytes at most within its page
    names = [f"c{number}" for number in range(190 if is_mysql(url) else 1500)]
    table = pa.table({name: ["1", "1"] for name in names})
    columns = {name: {"role": "other"} for name in names[1:]} | {names[0]: {"role": "quasi_identifier"}}
    source = stored(url, table, "wide")
    sfumato.run({"source": source, "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "sink": {"sql": component(url, "wider")}})
    assert ask(url, "SELECT count(*) FROM wider") == [(2,)]


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_the_old_table_or_the_new_one(url: str) -> None:
    source = stored(url, TABLE, "people")
    sink = {"sql": component(url, "anonymous")}
    sfumato.run(policy(source, sink, 5))
    done = 0
    for ended in endings(*[(policy(source, sink, 5),)] * 6):
        done += ended == 0
        assert ask(url, "SELECT count(*) FROM anonymous") == [(ROWS,)]
        assert ask(url, "SELECT min(n) >= 5 FROM (SELECT count(*) AS n FROM anonymous GROUP BY age, ward) AS classes")[0][0] in (True, 1)
    finish(policy(source, sink, 5))
    assert left_over(url) == []
    assert done < 5

"""Retention of tables as people have them: times at the end of the calendar, columns that nobody can read, and names of any kind."""

from __future__ import annotations

import pytest

from sfumato.engine.retain import retain
from sfumato.errors import DataError
from tests.databases.test_retention import NOW, Made, columns_of, counted, visits_of
from tests.servers import ask


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def visits(url: str) -> Made:
    return visits_of(url)


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize("period", ["day", "week", "month", "quarter", "year"])
def test_rows_of_the_last_days_of_the_calendar_never_grow_old(visits: Made, url: str, period: str, kind: str) -> None:
    # where the type timestamp ends in 2038 another one goes on
    kind = "datetime" if kind == "timestamp" and url.startswith(("mariadb", "mysql")) else kind
    policy = visits({6: 1}, kind=kind, retention={"period": period})
    for first, day in ((100, "2025-01-01"), (200, "9999-12-31")):
        ask(url, "INSERT INTO visits VALUES " + ", ".join(f"({first + n}, '{day}', 30, 'Ulm', 'i{n % 4}')" for n in range(6)))
    outcome = retain(policy, NOW)

    assert ([batch.deleted for batch in outcome.batches], outcome.without_time) == ([6], 0)
    assert counted(url, "visits") == 7


UNREADABLE = {
    "postgresql": [("bytea", "'\\x00'"), ("integer[]", "'{1,2}'"), ("interval", "'1 day'")],
    "mariadb": [("blob", "'a'"), ("bit(3)", "b'101'"), ("binary(4)", "'a'")],
    "mysql": [("blob", "'a'"), ("bit(3)", "b'101'"), ("binary(4)", "'a'")],
    "duckdb": [("blob", "'a'"), ("interval", "INTERVAL 1 DAY"), ("bit", "'101'")],
}
CASES = [(server, kind, value) for server, kinds in UNREADABLE.items() for kind, value in kinds]


@pytest.mark.parametrize(("server", "kind", "value"), CASES)
def test_a_column_that_nobody_can_read_may_be_removed(request: pytest.FixtureRequest, server: str, kind: str, value: str) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 20})
    ask(url, f"ALTER TABLE visits ADD COLUMN more {kind}", f"UPDATE visits SET more = {value}")
    kept = {**policy, "columns": {**policy["columns"], "more": {"role": "other"}}}
    with pytest.raises(DataError) as caught:
        retain(kept, NOW)
    assert (caught.value.code, counted(url, "visits")) == ("column-nested", 20)
    assert "columns that cannot be read: more" in caught.value.message

    policy["columns"]["more"] = {"role": "identifier"}
    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("archived", 20)]
    assert sorted(columns_of(url, "archive")) == ["age", "illness", "sfumato_batch", "town"]


KEYS = [
    ("postgresql", "bytea", "decode(lpad(to_hex(id), 4, '0'), 'hex')"),
    ("mariadb", "binary(4)", "LPAD(HEX(id), 4, '0')"),
    ("mariadb", "bit(8)", "id"),
    ("mysql", "bit(8)", "id"),
    ("duckdb", "blob", "CAST(CAST(id AS VARCHAR) AS BLOB)"),
]


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize(("server", "kind", "value"), KEYS)
def test_a_key_that_nobody_can_read_tells_rows_apart(request: pytest.FixtureRequest, server: str, kind: str, value: str, chunk: int) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    policy = visits_of(url)({1: 20, 6: 5}, retention={"chunk": chunk, "key": ["own"]})
    ask(url, f"ALTER TABLE visits ADD COLUMN own {kind}", f"UPDATE visits SET own = {value}", "CREATE UNIQUE INDEX visits_own ON visits (own)")
    policy["columns"]["own"] = {"role": "identifier"}

    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("archived", 20)]
    assert counted(url, "visits WHERE seen >= '2026-06-01'") == counted(url, "visits") == 5


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize(("key", "time"), [("n", "seen"), ("N", "seen"), ("id", "n"), ("n", "n_")])
def test_keys_and_times_may_be_called_as_a_list_calls_its_own(visits: Made, url: str, key: str, time: str, chunk: int) -> None:
    policy = visits({1: 20, 6: 5}, retention={"chunk": chunk, "column": time})
    mark = "`" if url.startswith(("mariadb", "mysql")) else '"'
    for old, new in (("id", key), ("seen", time)):
        if old != new:
            ask(url, f"ALTER TABLE visits RENAME COLUMN {old} TO {mark}{new}{mark}")
    policy["columns"] = {{"id": key, "seen": time}.get(name, name): asked for name, asked in policy["columns"].items()}

    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("archived", 20)]
    assert counted(url, "visits") == 5

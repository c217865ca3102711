"""Retention of tables as people have them: times at the end of the calendar, columns that nobody can read, and names of any kind."""

from __future__ import annotations

import pytest

from sfumato.engine.retain import retain
from tests.databases.test_retention import NOW, Made, counted, visits_of
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

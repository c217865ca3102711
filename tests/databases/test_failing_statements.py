"""Statements that fail or are interrupted, told for what they are."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import DataError
from tests.servers import SERVER_FIXTURES, ask, component

COLUMNS = {"n": {"role": "other"}}


def test_an_interrupt_while_the_server_works_is_an_interrupt(postgresql_url: str, tmp_path: Path) -> None:
    ask(postgresql_url, "CREATE OR REPLACE VIEW slow AS SELECT n FROM generate_series(1, 3) n, pg_sleep(60)")
    policy = tmp_path / "policy.json"
    made = {"source": {"sql": component(postgresql_url, "slow")}, "sink": {"sql": component(postgresql_url, "out")}, "columns": COLUMNS}
    policy.write_text(json.dumps(made))
    process = subprocess.Popen([sys.executable, "-m", "sfumato", "run", str(policy)], stderr=subprocess.PIPE, text=True)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    deadline = time.monotonic() + 60
    while ask(postgresql_url, waiting) == [(0,)] and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert message.endswith("interrupted; a release is published whole or not at all\n")


@pytest.mark.parametrize("to", ["inside", "file"])
def test_a_view_that_divides_by_zero_is_told(postgresql_url: str, to: str, tmp_path: Path) -> None:
    ask(postgresql_url, "CREATE OR REPLACE VIEW divided AS SELECT 7 / (n - 5) AS n FROM generate_series(1, 9) n")
    sink = {"sql": component(postgresql_url, "out")} if to == "inside" else str(tmp_path / "out.csv")
    with pytest.raises(DataError, match="cannot compute a value of the source, such as one that is divided by zero"):
        sfumato.run({"source": {"sql": component(postgresql_url, "divided")}, "sink": sink, "columns": COLUMNS})


@pytest.mark.parametrize("to", ["inside", "file"])
@pytest.mark.parametrize("name", ["mariadb", "mysql"])
@pytest.mark.parametrize("value", ["CAST(CONCAT('x', n) AS DATE)", "CAST(n AS UNSIGNED) - 18446744073709551615"])
def test_a_view_that_computes_what_is_no_value_is_named(request: pytest.FixtureRequest, name: str, value: str, to: str, tmp_path: Path) -> None:
    url = request.getfixturevalue(f"{name}_url")
    ask(
        url,
        "CREATE TABLE IF NOT EXISTS numbers (n INT)",
        "INSERT INTO numbers VALUES (1)",
        f"CREATE OR REPLACE VIEW none AS SELECT {value} AS n FROM numbers",
    )
    if to == "file" and "DATE" in value:
        # who only reads gets a missing value of it, and a warning
        ask(url, "CREATE OR REPLACE VIEW none AS SELECT CAST(n AS UNSIGNED) - 18446744073709551615 AS n FROM numbers")
    sink = {"sql": component(url, "out")} if to == "inside" else str(tmp_path / "out.csv")
    with pytest.raises(DataError) as caught:
        sfumato.run({"source": {"sql": component(url, "none")}, "sink": sink, "columns": COLUMNS})

    assert caught.value.code == "database-value"
    assert "cannot compute a value of none, such as a number or a time that is none or too large" in str(caught.value)
    assert caught.value.hint == "look at what none computes, as a view or in columns of its own, and let it give null there"


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
def test_a_view_that_names_what_is_gone_is_told(server: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(SERVER_FIXTURES[server]))
    view = "CREATE OR REPLACE VIEW broken AS SELECT small AS n FROM shrinking"
    ask(url, "DROP TABLE IF EXISTS shrinking", "CREATE TABLE shrinking (small int, great int)", view, "ALTER TABLE shrinking DROP COLUMN small")
    with pytest.raises(DataError, match="shows no columns of broken") as caught:
        sfumato.run({"source": {"sql": component(url, "broken")}, "columns": COLUMNS})
    assert caught.value.code == "table-missing"
    assert caught.value.hint == (
        "make a view anew that names a table or a column which is gone, or whose collation is another by now; or GRANT SELECT on the table"
    )

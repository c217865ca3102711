"""Statements of PostgreSQL that fail or are interrupted, told for what they are."""

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
from tests.servers import ask, component

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

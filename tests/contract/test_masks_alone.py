"""Policies that mask and count nothing: all rows are one cell, and every database does with it what it does with many."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases import expressions
from sfumato.databases.duckdb_inside import DuckdbInside
from sfumato.databases.mysql_inside import MysqlInside
from sfumato.databases.postgresql_inside import PostgresqlInside
from sfumato.databases.spark_inside import SparkInside
from sfumato.databases.spark_table import SparkTable
from sfumato.databases.table import TableName
from sfumato.engine.explain import explain
from sfumato.engine.inside import not_inside, statements
from sfumato.engine.plan import make_plan
from sfumato.errors import PromiseError, UsageError
from sfumato.stores._inside import InsideStore
from tests.contract.test_back_ends import BACK_ENDS, POLICIES, TABLE, filled, shown, with_keys
from tests.databases.test_resume import COPIED, KILLED, STAGED
from tests.servers import SERVER_FIXTURES, ask, made, named

POLICY = {**POLICIES["masks alone"], "unnamed": "remove"}


@pytest.fixture(params=BACK_ENDS)
def url(request: pytest.FixtureRequest) -> str:
    """A server that has the rows, and an older release."""
    found = str(request.getfixturevalue(SERVER_FIXTURES[request.param]))
    filled(found)
    writer = made("sinks", named(found, "release")).open(OLD.schema)
    writer.write(OLD.to_batches()[0])
    writer.finish()
    writer.publish()
    return found


OLD = pa.table({"name": ["old"]})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "k1:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")


def policy(url: str) -> dict[str, Any]:
    return {**with_keys(POLICY, named(url, "people")), "source": named(url, "people"), "sink": named(url, "release")}


def released(url: str) -> pa.Table:
    source = made("sources", named(url, "release"))
    return pa.Table.from_batches(source.batches(source.describe().names))


def test_a_plan_says_that_masks_alone_are_done_there(url: str) -> None:
    plan = make_plan(policy(url))
    (told,) = [each for each in explain(plan) if "Do all of this inside" in each]

    assert not_inside(plan) is None
    assert "Do the masks of name, number, illness, note again here, on the distinct values that they were made of." in told
    assert "combinations" not in told
    assert not any("hidden" in statement for statement in statements(plan))


# as a statement, and as a query for Spark, whose files nobody can change
STAGED_ROWS = "SELECT name, number, illness, {note} AS note FROM staged_rows WHERE {kept}"
TAMPERED = {
    "a masked value": (
        "UPDATE {staged} SET note = 'xx' WHERE note = 'it…'",
        STAGED_ROWS.format(note="IF(note = 'it…', 'xx', note)", kept="true"),
        "verify-kept",
    ),
    "a missing row": ("DELETE FROM {staged} WHERE note = 'it…'", STAGED_ROWS.format(note="note", kept="note <> 'it…'"), "verify-rows"),
    "a row twice": (
        "INSERT INTO {staged} SELECT * FROM {staged} WHERE note = 'it…'",
        "SELECT * FROM staged_rows UNION ALL SELECT * FROM staged_rows WHERE note = 'it…'",
        "verify-rows",
    ),
    "values that change places": (
        "UPDATE {staged} SET note = CASE note WHEN 'it…' THEN 'xx…' ELSE 'it…' END WHERE note IN ('it…', 'xx…')",
        STAGED_ROWS.format(note="CASE note WHEN 'it…' THEN 'xx…' WHEN 'xx…' THEN 'it…' ELSE note END", kept="true"),
        "verify-kept",
    ),
    "all rows": ("DELETE FROM {staged}", STAGED_ROWS.format(note="note", kept="false"), "verify-rows"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_wrong_with_one_cell_is_found(url: str, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    statement, query, code = TAMPERED[what]
    tamper(monkeypatch, statement, query)
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy(url))

    assert caught.value.code == code
    assert released(url).equals(OLD)


def tamper(monkeypatch: pytest.MonkeyPatch, statement: str, query: str) -> None:
    """Let what is staged be changed as soon as it is written."""
    for kind in (PostgresqlInside, MysqlInside, DuckdbInside, SparkInside):

        def watched(kind: Any = kind) -> None:
            stage = kind.stage

            def staging(self: Any, target: TableName, columns: Any) -> TableName:
                staged = stage(self, target, columns)
                if kind is not SparkInside:
                    self._connection.do(statement.format(staged=self._connection.quoted(staged)))
                    return staged
                self._read(staged.name).createOrReplaceTempView("staged_rows")
                self._session.sql(query).write.parquet(f"{self._folder}/tampered")
                return SparkTable(f"{self._folder}/tampered", is_path=True)

            monkeypatch.setattr(kind, "stage", staging)

        watched()


def test_a_database_that_masks_otherwise_is_found_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for engine, functions in expressions.FUNCTIONS.items():
        monkeypatch.setitem(expressions.FUNCTIONS[engine], "first", str(functions["first"]).replace("{1}", "{1} + 1"))
    with pytest.raises(PromiseError) as caught:
        sfumato.run(policy(url))

    assert caught.value.code == "verify-mask"
    assert released(url).equals(OLD)


class KilledError(Exception):
    """What a run dies of."""


def die(*_: Any) -> None:
    raise KilledError


@pytest.mark.parametrize("moment", [COPIED, STAGED])
def test_a_killed_run_goes_on_with_the_rows_as_they_were(url: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = policy(url)
    if url.startswith("file:"):
        _died(given, moment, monkeypatch)
    else:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, moment], input=json.dumps(given), text=True, env=os.environ, capture_output=True, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert released(url).equals(OLD)
    if url.startswith("duckdb:"):
        # the copy was temporary, and is gone with the process
        with pytest.raises(UsageError) as caught:
            sfumato.run(given, resume=True)
        assert caught.value.code == "resume-nothing"
        return
    _changed(url)

    resumed: Any = sfumato.run(given, resume=True)

    assert shown(resumed.table) == shown(released(url)) == shown(sfumato.run(POLICY, TABLE).table)  # type: ignore[union-attr]


def _died(given: dict[str, Any], moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what a process of Spark leaves that dies: its folder is there, and its lock is gone."""
    with monkeypatch.context() as patch:
        patch.setattr(SparkInside, "close", lambda inside: inside._connection.leave())
        patch.setattr(*((InsideStore, "stage", die) if moment == COPIED else (SparkInside, "shown", die)))
        with pytest.raises(KilledError):
            sfumato.run(given)


def _changed(url: str) -> None:
    """Let the source be another one."""
    if not url.startswith("file:"):
        ask(url, "DELETE FROM people WHERE age < 50")
        return
    writer = made("sinks", named(url, "people")).open(TABLE.schema)
    writer.write(TABLE.slice(0, 100).combine_chunks().to_batches()[0])
    writer.finish()
    writer.publish()

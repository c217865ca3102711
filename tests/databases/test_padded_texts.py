"""Blanks with which PostgreSQL fills ``char(n)`` mean nothing there, and nothing to what is made of such a column, wherever that is done."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.engine.drift import drift
from sfumato.engine.retain import retain
from tests.servers import ask, component

NOW = datetime.datetime(2026, 6, 15, tzinfo=datetime.UTC)
ENDS = {"role": "other", "mask": {"character_mask": {"keep_last": 1}}}


@pytest.fixture
def url(postgresql_url: str) -> str:
    """Return a database with a table of texts in ``char(8)`` and, without the blanks, in ``text``."""
    rows = ", ".join(f"('k{n}', 'w{n % 3}', 'w{n % 3}', '2026-01-05')" for n in range(60))
    ask(postgresql_url, "DROP TABLE IF EXISTS stays, archive, sfumato_ledger, release", "DROP VIEW IF EXISTS shown")
    ask(postgresql_url, "CREATE TABLE stays (id char(8) PRIMARY KEY, ward char(8), plain text, seen date)", f"INSERT INTO stays VALUES {rows}")
    return postgresql_url


def policy(url: str, sink: dict[str, Any], ward: dict[str, Any], **more: Any) -> dict[str, Any]:
    kept = {"role": "other", "accept": "singling_out"}
    columns = {"id": kept, "ward": ward, "plain": {"role": "other"}, "seen": {"role": "other"}}
    return {"source": {"sql": component(url, "stays")}, "sink": sink, "columns": columns, **more}


def test_rows_are_masked_in_place_by_a_padded_key(url: str) -> None:
    given = policy(url, {"sql": component(url, "stays") | {"in_place": True, "chunk": 8}}, {"role": "other"})
    given["columns"]["plain"] = ENDS
    sfumato.run(given)
    assert ask(url, "SELECT DISTINCT plain, right(ward::text, 1) FROM stays ORDER BY 1") == [(f"*{n}", str(n)) for n in range(3)]
    assert ask(url, "SELECT plain FROM stays WHERE id = 'k4'") == [("*1",)]


def test_a_live_view_masks_what_stands_before_the_blanks(url: str) -> None:
    ask(url, "DO $$ BEGIN CREATE ROLE padded_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    place = component(url, "shown")
    sfumato.run(policy(url, {"live_view": {**place, "roles": ["padded_reader"]}}, ENDS))
    assert ask(url, "SELECT DISTINCT ward FROM shown ORDER BY 1") == [(f"*{n}",) for n in range(3)]
    ask(url, "DROP VIEW shown", "DROP ROLE padded_reader")


@pytest.mark.parametrize("inside", [True, False])
def test_conditions_and_promises_see_what_stands_before_the_blanks(url: str, inside: bool, tmp_path: Path) -> None:
    sink = {"sql": component(url, "release")} if inside else {"delimited": {"path": str(tmp_path / "release.csv")}}
    ward = {"role": "other", "mask": {"constant": {"value": "x"}}, "when": {"column": "ward", "equals": "w1"}}
    released: Any = sfumato.run(policy(url, sink, ward))
    assert sorted({(row["plain"], row["ward"]) for row in released.table.to_pylist()}) == [("w0", "w0"), ("w1", "x"), ("w2", "w2")]


def test_a_padded_column_that_is_kept_stays_what_it_is_and_does_not_drift(url: str) -> None:
    given = policy(url, {"sql": component(url, "release")}, {"role": "sensitive"})
    given["columns"]["plain"], given["promises"] = {"role": "quasi_identifier"}, [{"k_anonymity": {"k": 2}}]
    given["columns"]["ward"] = {"role": "sensitive"}
    sfumato.run(given)
    assert drift(given).found == []
    query = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'release'::regclass AND attname IN ('id', 'ward')"
    assert ask(url, query) == [("character(8)",)] * 2


def test_rows_are_retained_by_a_padded_key(url: str) -> None:
    given = policy(url, {"sql": component(url, "archive")}, {"role": "other"}, retention={"column": "seen", "older_than": "60d"})
    (batch,) = retain(given, NOW).batches
    assert (batch.outcome, batch.deleted) == ("archived", 60)
    assert ask(url, "SELECT count(*), count(*) FILTER (WHERE ward = plain) FROM archive") == [(60, 60)]

"""Keys and fingerprints of rows of PostgreSQL: those of different rows differ, whatever types stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.databases.postgresql_hash import chained
from sfumato.databases.postgresql_types import bytewise, column_of
from tests.servers import ask, component

VALUES = {
    "bool": ("false", "true"),
    "int2": ("0", "1", "-1"),
    "int4": ("0", "1", "-1"),
    "int8": ("0", "1", "-1", "4294967296"),
    "float4": ("0", "1", "-1", "'NaN'", "'infinity'", "1.5"),
    "float8": ("0", "1", "-1", "'NaN'", "'-infinity'", "1e300", "5e-324"),
    "text": ("''", "'0'", "'a'"),
    "citext": ("''", "'0'", "'NULL'"),
    "numeric": ("0", "'NaN'", "'infinity'", "1"),
    "uuid": ("'00000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000001'"),
    "jsonb": ("'0'", "'null'", "'[]'"),
    "numrange": ("'empty'", "'(,)'", "'[0,0]'"),
    "date": ("'2000-01-01'", "'1970-01-01'", "'infinity'"),
    "time": ("'0:00'", "'24:00'", "'0:01'"),
    "timestamp": ("'2000-01-01'", "'1970-01-01'", "'infinity'"),
    "timestamptz": ("'2000-01-01 00:00Z'", "'1970-01-01 00:00Z'", "'-infinity'"),
}
SEEDS = st.integers(1, 2**62 - 1)


def hashed(kinds: Sequence[str], seed: int) -> str:
    """Return the hash of the columns c0, c1, ..., as those of a table are hashed."""
    columns = [column_of(f"c{place}", kind, kind, "b", -1) for place, kind in enumerate(kinds)]
    return chained([(column, bytewise(column, column.name)) for column in columns], f"{seed}::bigint", "missing")


def all_rows(kinds: Sequence[str]) -> str:
    """Return a query of every combination of the values of some types, each value once, and none at all among them."""
    values = [", ".join(f"({value}::{kind})" for value in (*VALUES[kind], "NULL")) for kind in kinds]
    return "SELECT * FROM " + ", ".join(f"(VALUES {rows}) v{place} (c{place})" for place, rows in enumerate(values))


def alike(kinds: Sequence[str], seed: int) -> str:
    """Return a query of how many rows have a key that another one has."""
    return f"SELECT count(*) - count(DISTINCT {hashed(kinds, seed)}) FROM ({all_rows(kinds)}) r"


@pytest.fixture(scope="module")
def url(postgresql_url: str) -> str:
    ask(postgresql_url, "CREATE EXTENSION IF NOT EXISTS citext")
    return postgresql_url


def test_different_rows_of_any_two_types_have_different_keys(url: str) -> None:
    queries = " UNION ALL ".join(alike(kinds, 2**61 + 12345) for kinds in product(VALUES, repeat=2))
    assert set(ask(url, queries)) == {(0,)}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(kinds=st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4), seed=SEEDS)
def test_different_rows_of_any_types_have_different_keys(url: str, kinds: list[str], seed: int) -> None:
    assert ask(url, alike(kinds, seed)) == [(0,)]


@pytest.mark.parametrize("kind", ["float4", "float8"])
def test_zeros_and_missing_values_are_told_apart_by_their_places_among_many(kind: str, url: str) -> None:
    kinds = [kind] * 9
    rows = "SELECT * FROM " + ", ".join(f"(VALUES (0::{kind}), (NULL)) v{place} (c{place})" for place in range(9))
    marked = f"SELECT {', '.join(f'CASE WHEN place = {place} THEN 7 ELSE c{place} END AS c{place}' for place in range(9))}"
    query = f"SELECT DISTINCT * FROM ({marked} FROM ({rows}) r, generate_series(0, 9) place) m"
    assert ask(url, f"SELECT count(*) - count(DISTINCT {hashed(kinds, 2**60 + 7)}) FROM ({query}) r") == [(0,)]


@pytest.mark.parametrize("kinds", [("float4",), ("float8", "int4"), ("int4", "float8", "float4")])
def test_zeros_of_either_sign_have_one_key(kinds: Sequence[str], url: str) -> None:
    zeros = [f"SELECT {', '.join(f'{value}::{kind} AS c{place}' for place, kind in enumerate(kinds))}" for value in ("'0'", "'-0'")]
    assert ask(url, f"SELECT count(DISTINCT {hashed(kinds, 5)}) FROM ({' UNION ALL '.join(zeros)}) r") == [(1,)]


@pytest.mark.parametrize("kinds", [("date", "text"), ("date", "float8"), ("bool",), ("float8", "text")])
def test_keys_of_missing_values_hang_on_the_seed(kinds: Sequence[str], url: str) -> None:
    missing = f"SELECT {', '.join(f'NULL::{kind} AS c{place}' for place, kind in enumerate(kinds))}"
    keys = [ask(url, f"SELECT {hashed(kinds, seed)} FROM ({missing}) r") for seed in (5, 6)]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("kind", ["double precision", "real"])
def test_zeros_beside_numbers_and_beside_missing_ones_are_published(kind: str, url: str) -> None:
    values = ", ".join(["(0, 7)"] * 12 + ["(7, 0)"] * 9 + ["(NULL, 7)"] * 8 + ["('-0', 7)"] * 7 + ["(7, NULL)"] * 6)
    ask(url, "DROP TABLE IF EXISTS doses, shown", f"CREATE TABLE doses (a {kind}, b {kind})", f"INSERT INTO doses VALUES {values}")
    columns = {name: {"role": "quasi_identifier"} for name in "ab"}
    release = sfumato.run(
        {
            "columns": columns,
            "promises": [{"k_anonymity": {"k": 5}}],
            "source": {"sql": component(url, "doses")},
            "sink": {"sql": component(url, "shown")},
        }
    )
    assert release.record.rows.suppressed == 0
    assert ask(url, "SELECT count(*) FROM shown") == [(42,)]

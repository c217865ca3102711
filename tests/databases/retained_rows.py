"""A small table that is retained, for tests that make it in a way of their own, and a database that is empty before and after each of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers import ask, component, forget_lists

NOW = datetime.datetime(2026, 6, 15, tzinfo=datetime.UTC)
OLD, FRESH = "'2026-01-05'", "'2026-06-14'"


@contextmanager
def emptied(url: str) -> Iterator[str]:
    """Remove all that is in a database, before and after."""
    _empty(url)
    yield url
    _empty(url)


def _empty(url: str) -> None:
    if url.startswith("postgresql:"):
        ask(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        return
    query = "SELECT IF(table_type = 'VIEW', 'VIEW', 'TABLE'), table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    found = ask(url, query)
    forget_lists(url)
    ask(url, "SET foreign_key_checks = 0", *(f"DROP {kind} `{name}`" for kind, name in found))


def policy(url: str, table: str = "v", **retention: Any) -> dict[str, Any]:
    """Return what archives rows of a table with the columns id, seen and age, and those that are named besides."""
    more = {name: {"role": "identifier"} for name in retention.pop("more", ())}
    return {
        "source": {"sql": component(url, table)},
        "sink": {"sql": component(url, "archive")},
        "columns": {"id": {"role": "identifier"}, "seen": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, **more},
        "promises": [{"k_anonymity": {"k": 5}}],
        "retention": {"column": "seen", "older_than": "60d", "chunk": 1000, **retention},
    }


def kind_of_time(url: str) -> str:
    return "timestamp" if url.startswith("postgresql:") else "datetime"


def rows(table: str, first: int, last: int, *more: str, seen: str = OLD) -> str:
    """Return the statement that puts rows into a table."""
    behind = "".join(f", {value}" for value in more)
    return f"INSERT INTO {table} VALUES {', '.join(f'({number}, {seen}, 30{behind})' for number in range(first, last + 1))}"

"""Expressions of SQL that see one row: parsed by DuckDB, and refused unless every part of them is known to look at nothing else.

A window, an aggregate or a subquery sees other rows; ``unnest`` makes rows; a star stands for columns that nobody named; statistics, sequences and
variables carry something from one row to the next. What is not on the list of what is allowed is refused, whatever it may be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_PARTS = frozenset(
    [
        "BETWEEN",
        "CASE",
        "CAST",
        "COLLATE",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "LAMBDA",
        "LAMBDA_REF",
        "OPERATOR",
        "TYPE",
    ]
)
_CLAUSES = ("where_clause", "group_expressions", "group_sets", "having", "qualify", "sample", "modifiers")
_BY_CHANCE = ("error", "gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7")
_BEYOND = ("getvariable", "in_search_path", "current_setting")
_ADVICE = "an expression sees one row: no aggregates, windows, subqueries, unnest or stars"


@dataclass(frozen=True)
class _Functions:
    """The functions of DuckDB: those that are computed from their arguments, and what macros stand for."""

    scalar: frozenset[str]
    macros: Mapping[str, tuple[str, ...]]


def closed_connection() -> duckdb.DuckDBPyConnection:
    """Return a database of nothing, from which nothing can be reached."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET enable_external_access = false")
    # what two parts of an expression have in common would be computed outside of a TRY around them
    connection.execute("SET disabled_optimizers = 'common_subexpressions'")
    connection.execute("SET lock_configuration = true")
    return connection


def refuse_more_than_a_row(sql: str) -> None:
    """Raise a ValueError where a text is no expression, or one that looks beyond its row."""
    with closed_connection() as connection:
        node = _parsed(connection, sql)
        if node is None:
            raise ValueError("is no single expression of SQL")
        wrong = _beyond(connection, node, frozenset())
    if wrong is not None:
        raise ValueError(f"looks beyond its row by {wrong}; {_ADVICE}")


def _parsed(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """Return the tree of an expression; None where it is none, or more than one."""
    query = f"SELECT ({sql}\n) AS value FROM rows"  # noqa: S608 - only parsed
    parsed = json.loads(connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchall()[0][0])
    if parsed.get("error") or len(parsed.get("statements", [])) != 1:
        return None
    node = parsed["statements"][0]["node"]
    source = node.get("from_table", {})
    alone = node.get("type") == "SELECT_NODE" and len(node.get("select_list", [])) == 1 and source.get("table_name") == "rows"
    return node["select_list"][0] if alone and not any(node.get(clause) for clause in _CLAUSES) and not source.get("sample") else None


def _beyond(connection: duckdb.DuckDBPyConnection, tree: Any, within: frozenset[str]) -> str | None:
    """Return the first part of an expression that is not known to look at its row alone; macros are looked into."""
    functions = _functions()
    for part in _parts(tree):
        if part["class"] not in _PARTS or part.get("type") == "GROUPING_FUNCTION":
            kind = part["class"] if part["class"] not in _PARTS else part["type"]
            return f"a {kind.lower().replace('_', ' ')}"
        name = part.get("function_name", "").lower()
        if part["class"] != "FUNCTION" or name in functions.scalar or name in within:
            continue
        if name not in functions.macros:
            return f"the function {name}"
        for definition in functions.macros[name]:
            inner = _parsed(connection, definition)
            if inner is None or _beyond(connection, inner, within | {name}) is not None:
                return f"the function {name}"
    return None


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Return the parts of a tree that have a class, from the top down."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        for below in tree.values():
            yield from _parts(below)
    elif isinstance(tree, list):
        for below in tree:
            yield from _parts(below)


@cache
def _functions() -> _Functions:
    with closed_connection() as connection:
        rows = connection.execute("SELECT function_name, function_type, stability, macro_definition FROM duckdb_functions()").fetchall()
    volatile = {name for name, kind, stability, _ in rows if kind == "scalar" and stability == "VOLATILE" and name not in _BY_CHANCE}
    scalar = {name for name, kind, _, _ in rows if kind == "scalar"} - volatile - set(_BEYOND)
    macros: dict[str, tuple[str, ...]] = {}
    for name, kind, _, definition in rows:
        if kind == "macro" and name not in volatile | scalar | set(_BEYOND):
            macros[name] = (*macros.get(name, ()), definition)
    return _Functions(frozenset(scalar), macros)

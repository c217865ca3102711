"""Expressions of SQL that see one row: parsed by DuckDB, and refused unless every part of them is known to look at nothing else.

A window, an aggregate or a subquery sees other rows; ``unnest`` makes rows; a star stands for columns that nobody named; statistics, sequences and
variables carry something from one row to the next; the version, the user and the like are the machine's. What is not on the list of what is allowed
is refused, whatever it may be. Of the machine's clock an expression may know, but not where it is said to give the same again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sfumato.masking._bounded_functions import LONGEST, definitions, multiplied, too_wide

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
_BY_CHANCE = ("gen_random_uuid", "random", "uuid", "uuidv4", "uuidv7")
_BY_CLOCK = (
    "current_date",
    "current_localtime",
    "current_localtimestamp",
    "get_current_time",
    "get_current_timestamp",
    "now",
    "today",
    "transaction_timestamp",
)
_CLOCK_WORDS = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
_SESSION_WORDS = ("current_catalog", "current_role", "current_schema", "current_user", "session_user", "user")
_SESSION = (*_SESSION_WORDS, "current_setting", "getvariable", "in_search_path", "json_serialize_plan", "version")
_MEMORY = "1GB"
_ADVICE = "an expression sees one row: no aggregates, windows, subqueries, unnest or stars, and nothing of the database"

_Wrong = Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True)
class _Functions:
    """The functions of DuckDB: those that are computed from their arguments, those that change from run to run, and what macros stand for."""

    scalar: frozenset[str]
    changing: frozenset[str]
    macros: Mapping[str, tuple[str, ...]]


def closed_connection() -> duckdb.DuckDBPyConnection:
    """Return a database of nothing, from which nothing can be reached, and in which it is the same time zone everywhere."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute("SET temp_directory = ''")
    connection.execute("SET enable_external_access = false")
    # what two parts of an expression have in common would be computed outside of a TRY around them
    connection.execute("SET disabled_optimizers = 'common_subexpressions'")
    connection.execute("SET lock_configuration = true")
    for definition in definitions():
        connection.execute(definition)
    return connection


def refuse_more_than_a_row(sql: str) -> None:
    """Raise a ValueError where a text is no expression, or one that looks beyond its row."""
    with closed_connection() as connection:
        node = _parsed(connection, sql)
        if node is None:
            raise ValueError("is no single expression of SQL")
        wrong = _first(connection, node, _beyond, frozenset())
        many = next((found for part in _parts(node) if (found := multiplied(part, _parts(part))) is not None), None)
        wide = next((found for part in _parts(node) if (found := too_wide(part, _parts(part))) is not None), None)
    if wide is not None:
        raise ValueError(f"fills up to a width that is beyond {LONGEST}, or that a value says, by {wide}; write a smaller number")
    if wrong is not None:
        name = wrong.removeprefix("the function ")
        if name != wrong and name not in _every_function():
            raise ValueError(f"calls the function {name}, which DuckDB does not have")
        raise ValueError(f"looks beyond its row by {wrong}; {_ADVICE}")
    if many is not None:
        raise ValueError(f"makes much many times over, by {many}; write them beside each other")


def named_columns(sql: str) -> list[str]:
    """Return the columns that an expression names, each once, in its own writing; words for the clock, and what a lambda calls its values, are none.

    >>> named_columns("upper(rows.name) || list_transform([1], x -> x + age)::text || current_date")
    ['name', 'age']
    """
    with closed_connection() as connection:
        parts = list(_parts(_parsed(connection, sql)))
    called = {name for part in parts if part["class"] == "LAMBDA" for one in _parts(part.get("lhs")) for name in one.get("column_names", ())}
    found = []
    for part in parts:
        names = part.get("column_names", []) if part["class"] == "COLUMN_REF" else []
        name = names[1] if len(names) > 1 and names[0].lower() == "rows" else names[0] if names else ""
        if name and name not in called and _word(part) not in _CLOCK_WORDS:
            found.append(name)
    return list(dict.fromkeys(found))


def what_changes(sql: str) -> str | None:
    """Return the first part of an expression that gives something else in another run, by chance or by the clock; None where there is none."""
    with closed_connection() as connection:
        return _first(connection, _parsed(connection, sql), _changing, frozenset())


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


def _first(connection: duckdb.DuckDBPyConnection, tree: Any, wrong: _Wrong, within: frozenset[str]) -> str | None:
    """Return the first part of an expression that is wrong; macros are looked into."""
    macros = _functions().macros
    for part in _parts(tree):
        found = wrong(part)
        if found is not None:
            return found
        name = part.get("function_name", "").lower()
        if part["class"] != "FUNCTION" or name not in macros or name in within:
            continue
        for definition in macros[name]:
            inner = _parsed(connection, definition)
            if inner is None or _first(connection, inner, wrong, within | {name}) is not None:
                return f"the function {name}"
    return None


def _beyond(part: dict[str, Any]) -> str | None:
    """Return what a part is that is not known to look at its row alone."""
    if part["class"] not in _PARTS or part.get("type") == "GROUPING_FUNCTION":
        kind = part["class"] if part["class"] not in _PARTS else part["type"]
        return f"a {kind.lower().replace('_', ' ')}"
    word = _word(part)
    if word in _SESSION_WORDS:
        return f"{word}, which is no column but the database's own word: a column of that name is rows.{word}"
    functions, name = _functions(), part.get("function_name", "").lower()
    # written with its schema a function would not be held to a length
    unknown = name not in functions.scalar and name not in functions.macros
    return f"the function {name}" if part["class"] == "FUNCTION" and (unknown or part.get("schema")) else None


def _changing(part: dict[str, Any]) -> str | None:
    """Return what a part is that gives something else in another run."""
    word = _word(part)
    if word in _CLOCK_WORDS:
        return f"{word}, where a column of that name is rows.{word}"
    name = part.get("function_name", "").lower()
    # what one instant is away from, is today
    by_clock = name == "age" and len(part.get("arguments") or part.get("children") or ()) == 1
    return f"the function {name}" if name in _functions().changing or by_clock else None


def _word(part: dict[str, Any]) -> str:
    """Return the name of a column that stands alone: some words mean something else where there is no such column."""
    names = part.get("column_names", []) if part["class"] == "COLUMN_REF" else []
    return names[0].lower() if len(names) == 1 else ""


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
def _every_function() -> frozenset[str]:
    with closed_connection() as connection:
        return frozenset(name for (name,) in connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall())


@cache
def _functions() -> _Functions:
    asked = "SELECT function_name, function_type, stability, macro_definition, schema_name FROM duckdb_functions() WHERE database_name = 'system'"
    with closed_connection() as connection:
        rows = connection.execute(asked).fetchall()
    scalars = {name: stability for name, kind, stability, _, _ in rows if kind == "scalar"}
    # error() is called volatile, so that it is not called too early
    volatile = {name for name, stability in scalars.items() if stability == "VOLATILE" and name not in (*_BY_CHANCE, "error")}
    passing = {name for name, stability in scalars.items() if stability == "CONSISTENT_WITHIN_QUERY"}
    refused = volatile | (passing - set(_BY_CLOCK)) | set(_SESSION) | {name for name, *_, schema in rows if schema == "pg_catalog"}
    macros: dict[str, tuple[str, ...]] = {}
    for name, kind, _, definition, _ in rows:
        if kind == "macro" and name not in refused and name not in scalars:
            macros[name] = (*macros.get(name, ()), definition)
    return _Functions(frozenset(scalars) - refused, frozenset([*_BY_CHANCE, *_BY_CLOCK]), macros)

"""An expression over one row, which can reach nothing else."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError
from sfumato.masking.expression import Expression

ROWS = pa.RecordBatch.from_pydict({"name": ["ann", "bo", "it's"], "n": ["1", "x", None]})


def made(sql: str, *columns: str) -> list[str | None]:
    return list(Expression(sql=sql, columns=list(columns)).apply(ROWS, MaskContext("name")).to_pylist())


def test_it_is_computed_from_the_row() -> None:
    assert made("upper(left(name, 1)) || '.'") == ["A.", "B.", "I."]
    assert made("name || coalesce(n, '-')", "n") == ["ann1", "box", "it's-"]
    assert made("TRY_CAST(n AS INTEGER) + 1", "n") == ["2", None, None]
    assert made("length(name) -- and no more") == ["3", "2", "4"]


@pytest.mark.parametrize(
    "sql",
    [
        "1) FROM rows; DROP TABLE x; SELECT (1",
        "name; SELECT 1",
        "name) FROM rows WHERE (1=1",
        "",
        "SELECT",
        "sum(n) OVER ()",
        "(SELECT 1)",
        "?",
        "$1",
    ],
)
def test_what_is_no_expression_over_a_row_is_refused_with_the_policy(sql: str) -> None:
    with pytest.raises(PolicyError):
        Expression(sql=sql)


@pytest.mark.parametrize("sql", ["nobody", "a, b", "(name, n)", "error(name)", "name::INTEGER + random()"])
def test_what_cannot_be_computed_stops_without_a_value(sql: str) -> None:
    with pytest.raises(DataError) as raised:
        made(sql)
    assert raised.value.code == "mask-expression"
    assert not {"ann", "it's"} & set(raised.value.sentence().split())


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("unnest(list(name))", "the function unnest"),
        ("unnest([1])", "the function unnest"),
        ("list(name)", "the function list"),
        ("main.SUM(n)", "the function sum"),
        ("count(*)", "the function count_star"),
        ("first(name ORDER BY n)", "the function first"),
        ("geomean(n)", "the function geomean"),
        ("json_group_array(name)", "the function json_group_array"),
        ("regexp_split_to_table(name, 'n')", "the function regexp_split_to_table"),
        ("upper(list_transform([1], lambda x: max(x)))", "the function max"),
        ("stats(name)", "the function stats"),
        ("nextval('s')", "the function nextval"),
        ("current_setting('threads')", "the function current_setting"),
        ("read_text('secret')", "the function read_text"),
        ("row_number() OVER ()", "a window"),
        ("name IN (SELECT n FROM rows)", "a subquery"),
        ("array(SELECT name FROM rows)", "a subquery"),
        ("EXISTS (SELECT 1)", "a subquery"),
        ("COLUMNS(*)", "a star"),
        ("$1", "a parameter"),
        ("GROUPING(name)", "a grouping function"),
        ("version()", "the function version"),
        ("txid_current()", "the function txid_current"),
        ("current_database()", "the function current_database"),
        ("current_schema()", "the function current_schema"),
        ("current_schemas(true)", "the function current_schemas"),
        ("current_user()", "the function current_user"),
        ("pg_postmaster_start_time()", "the function pg_postmaster_start_time"),
        ("json_serialize_plan('SELECT 1')", "the function json_serialize_plan"),
        ("system.main.range(5)", "the function range"),
        ("upper(current_user)", "current_user, which is no column but the database's own word: a column of that name is rows.current_user"),
    ],
)
def test_what_looks_beyond_its_row_is_refused_with_the_policy(sql: str, part: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Expression(sql=sql)
    advice = "an expression sees one row: no aggregates, windows, subqueries, unnest or stars, and nothing of the database"
    assert f"looks beyond its row by {part}; {advice}" in caught.value.sentence()


@pytest.mark.parametrize(
    "sql",
    [
        "CASE WHEN name LIKE 'a%' THEN 1 ELSE 2 END",
        "name IS NOT NULL AND NOT (name = 'x' OR name IN ('a', 'b'))",
        "name BETWEEN 'a' AND 'b'",
        "coalesce(nullif(name, 'ann'), 'x')",
        "split_part(name, 'n', 1) || left(name, 1) || name[1]",
        "date_trunc('month', DATE '2020-01-31') + INTERVAL 1 DAY",
        "extract(year FROM DATE '2020-01-31')",
        "regexp_replace(name, '(.)', '\\1', 'g')",
        "list_sum(list_transform([1, 2], lambda x: x + 1))",
        "[x + 1 FOR x IN [1, 2] IF x > 1]",
        "json_extract_string('{\"a\": 1}', '$.a')",
        "{'a': name}.a",
        "if(name ~ 'a.*', random(), hash(name))",
        "TRY(CAST(name AS INTEGER))",
        "name COLLATE NOCASE",
        "current_date - DATE '2020-01-01'",
        "TIMESTAMPTZ '2020-01-01 00:00:00+00' AT TIME ZONE 'UTC'",
        "trim(BOTH ' ' FROM name) ILIKE '%a' OR name SIMILAR TO 'a.' OR name IS DISTINCT FROM 'b'",
    ],
)
def test_what_sees_its_row_alone_is_computed(sql: str) -> None:
    assert len(made(sql)) == 3


def test_the_time_zone_of_the_machine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert made("hour(TIMESTAMPTZ '2020-01-01 10:00:00+00') || strftime(to_timestamp(0), '%Z')") == ["10UTC"] * 3
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("today()", "the function today"),
        ("name || now()", "the function now"),
        ("ago(INTERVAL 1 DAY)", "the function ago"),
        ("age(TIMESTAMP '2020-01-01')", "the function age"),
        ("upper(localtime::VARCHAR)", "localtime, where a column of that name is rows.localtime"),
        ("current_date", "current_date, where a column of that name is rows.current_date"),
        ("random()", "the function random"),
    ],
)
def test_what_differs_in_another_run_is_not_the_same_again(sql: str, part: str) -> None:
    assert len(made(sql)) == 3
    with pytest.raises(PolicyError) as caught:
        Expression(sql=sql, same_again=True)
    assert caught.value.mistakes[0].message == f"same_again, but another run may give something else by {part}; leave same_again out"


def test_a_column_called_like_a_word_of_the_database_is_meant_with_its_table() -> None:
    rows = pa.RecordBatch.from_pydict({"user": ["ann"]})
    assert Expression(sql="upper(rows.user)", same_again=True).apply(rows, MaskContext("user")).to_pylist() == ["ANN"]


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("repeat('ab', 2)", "abab"),
        ("lpad('7', 3, '0') || rpad('7', 3, '0')", "007700"),
        ("range(3)", "[0, 1, 2]"),
        ("range(1, 3)", "[1, 2]"),
        ("generate_series(5, 1, -2)", "[5, 3, 1]"),
        ("list_resize([1], 2) || array_resize([1], 2, 0)", "[1, NULL, 1, 0]"),
        ("bitstring('1', 3)", "001"),
        ("len(range(10000))", "10000"),
    ],
)
def test_functions_that_make_much_make_a_little(sql: str, found: str) -> None:
    assert made(sql) == [found] * 3


@pytest.mark.parametrize(
    "sql",
    [
        "range(1000000000)",
        "range(0, 10001)",
        "list_sum(generate_series(0, 10000000000, 2))",
        "generate_series(0, -1000000000, -1)",
        "repeat('a', 1000000000)",
        "repeat([1], 1000000000)",
        "lpad('a', 1000000000, 'b')",
        "rpad('a', 1000000000, 'b')",
        "list_resize([1], 1000000000)",
        "array_resize([1], 1000000000, 0)",
        "bitstring('1', 1000000000)",
        "list_transform(range(1000000000), lambda x: x + 1)",
    ],
)
def test_what_would_fill_the_memory_is_a_value_that_cannot_be_computed(sql: str) -> None:
    assert Expression(sql=sql).apply_or_refuse(ROWS, MaskContext("name"))[1].all()


@pytest.mark.parametrize(
    "sql", ["printf('%1000000000d', 1)", "format('{:>99999d}', 1)", "printf('%*d', 99999, 1)", "upper(format('{:{}}', 1, 99999))"]
)
def test_a_format_that_fills_the_memory_is_refused_with_the_policy(sql: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Expression(sql=sql)
    name = "printf" if "printf" in sql else "format"
    words = f"fills up to a width that is beyond 10000, or that a value says, by {name}; write a smaller number"
    assert caught.value.mistakes[0].message == words


@pytest.mark.parametrize("sql", ["printf('%08d', 100000)", "format('{:>10}', name)", "printf('%d of 100000', 1)"])
def test_other_formats_are_taken(sql: str) -> None:
    assert Expression(sql=sql).sql == sql


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("list_transform(range(10), lambda x: range(x))", "range within a lambda"),
        ("list_transform([[1]], lambda x: list_transform(x, lambda y: x))", "a lambda within a lambda"),
        ("repeat(repeat(name, 9), 9)", "repeat within repeat"),
        ("replace(name, 'x', repeat('y', 9))", "repeat within replace"),
        ("damerau_levenshtein(name, repeat('b', 9))", "repeat within damerau_levenshtein"),
    ],
)
def test_what_makes_much_many_times_over_is_refused_with_the_policy(sql: str, part: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Expression(sql=sql)
    assert caught.value.mistakes[0].message == f"makes much many times over, by {part}; write them beside each other"


def test_plan_and_record_say_that_nobody_knows_what_it_lets_through() -> None:
    policy = {"columns": {"name": {"role": "other", "mask": {"expression": {"sql": "lower(name)", "same_again": True}}}}}
    release = sfumato.run(policy, data=pa.table({"name": ["Ann", "Bo"]}))

    assert sorted(release.table.column("name").to_pylist()) == ["ann", "bo"]
    assert any("nothing is known of it here" in note for note in release.record.notes)


def test_what_a_delimited_file_holds_is_text_and_the_hint_says_what_to_do() -> None:
    rows = pa.RecordBatch.from_pydict({"score": ["7"]})
    assert Expression(sql="score::int + 1").apply(rows, MaskContext("score")).to_pylist() == ["8"]
    with pytest.raises(DataError) as caught:
        Expression(sql="round(score)").apply(rows, MaskContext("score"))
    assert "what a delimited file holds is text, and score::int a number" in str(caught.value.hint)


def test_wide_decimals_are_computed_with_where_they_fit() -> None:
    wide = pa.RecordBatch.from_pydict({"x": pa.array([Decimal("1.50"), None], pa.decimal256(60, 2))})
    assert Expression(sql="x * 2").apply(wide, MaskContext("x")).to_pylist() == ["3.00", None]


def test_decimals_that_are_too_wide_are_refused_in_words() -> None:
    wide = pa.RecordBatch.from_pydict({"x": pa.array([Decimal(10**50)], pa.decimal256(60, 2))})
    with pytest.raises(DataError) as caught:
        Expression(sql="x * 2").apply(wide, MaskContext("x"))
    assert caught.value.message == "column x: the expression of its mask cannot be computed"


def column(sql: str, **more: Any) -> dict[str, Any]:
    return {"columns": {"n": {"role": "other", "mask": {"expression": {"sql": sql, "same_again": True}}, **more}}}


def test_rows_for_which_it_cannot_be_computed_stop_the_run_and_are_counted() -> None:
    with pytest.raises(DataError) as caught:
        sfumato.run(column("CAST(n AS INTEGER) + 1"), data=pa.table({"n": ["1", "Canary", None, "x"]}))
    assert caught.value.message == "column n: 2 rows with a value that expression cannot take, the first in row 2"
    assert caught.value.code == "mask-invalid"


def test_rows_for_which_it_cannot_be_computed_are_removed_where_the_policy_says_so() -> None:
    # what is missing on purpose is not counted as removed
    policy = column("nullif(CAST(n AS INTEGER) + 1, 2)", on_invalid="remove")
    release = sfumato.run(policy, data=pa.table({"n": ["1", "Canary", None, "x", "5"] * 300}))
    assert sorted(value or "" for value in release.table["n"].to_pylist()) == [""] * 1200 + ["6"] * 300
    assert "columns.n: 600 values that expression cannot take were removed" in release.record.notes


def test_a_document_in_which_it_cannot_be_computed_cannot_be_taken() -> None:
    mask = {"nested": {"paths": {"$.a": [{"expression": {"sql": "CAST(n AS INTEGER) + 1"}}, "keep"]}}}
    data = pa.table({"n": ['{"a":"1"}', '{"a":"Canary"}', '{"a":null}']})
    with pytest.raises(DataError) as caught:
        sfumato.run({"columns": {"n": {"role": "other", "mask": mask}}}, data=data)
    assert caught.value.message == "column n: 1 row with a value that nested, for what is at $.a, cannot take, row 2"


def test_a_function_that_nobody_has_is_called_so() -> None:
    for name in ("initcap", "getenv", "no_such_function"):
        with pytest.raises(PolicyError, match=f"calls the function {name}, which DuckDB does not have"):
            Expression(sql=f"{name}(name)")

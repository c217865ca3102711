"""Masks that a database does itself: what they publish is what they make here, and what promises say of them holds there too."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases import expressions
from sfumato.databases.address import parsed
from sfumato.engine.inside import not_inside
from sfumato.engine.plan import make_plan
from sfumato.errors import DataError, PromiseError
from tests.databases.test_inside import stored
from tests.servers import SERVER_FIXTURES, ask, component

ROWS = 240
TEXTS = ["Ann", "ann ", "Änne", "", None, "O'Brien\\", "🙂 emoji", "tab\tline\n"]
TABLE = pa.table(
    {
        "age": pa.array([20 + number % 40 for number in range(ROWS)], pa.int32()),
        "name": pa.array([TEXTS[number % len(TEXTS)] for number in range(ROWS)]),
        "mail": pa.array([f"user{number % 7}@example.org" for number in range(ROWS)]),
        "pay": pa.array([None if number % 11 == 0 else 1000 + number % 9 for number in range(ROWS)], pa.int64()),
        "ward": pa.array([f"w{number % 3}" for number in range(ROWS)]),
    }
)
MASKS: dict[str, Any] = {
    "hash": {"name": {"mask": {"hash": {"key": "main"}}}},
    "unkeyed": {"name": {"mask": {"hash": {"unkeyed": "sha256"}}, "accept": "warnings"}},
    "shorten": {"name": {"mask": {"shorten": {"length": 2, "ellipsis": "…"}}}},
    "ends": {"name": {"mask": {"character_mask": {"keep_first": 1}}}, "mail": {"mask": {"email_mask": {}}}},
    "condition": {"name": {"mask": {"constant": {"value": "it's \\ hidden"}}, "when": {"column": "ward", "equals": "w1"},
                           "otherwise": {"hash": {"key": "main"}}}},
    "chain": {"mail": {"mask": [{"shorten": {"length": 6}}, {"hash": {"key": "main"}}]}},
    "missing": {"name": {"mask": {"constant": {"value": "nobody"}}, "on_null": "generate"}},
}  # fmt: skip


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    found = str(request.getfixturevalue(SERVER_FIXTURES[request.param]))
    kept(found, TABLE)
    return found


def kept(url: str, table: pa.Table) -> None:
    """Store a table, with texts of the lengths and rules that people give them."""
    stored(url, table, "people")
    if url.startswith("duckdb"):
        ask(url, "ALTER TABLE people ALTER name SET DATA TYPE VARCHAR COLLATE NOCASE")
    elif not url.startswith("postgresql"):
        texts = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
        ask(url, f"ALTER TABLE people {', '.join(f'MODIFY {name} varchar(100) COLLATE utf8mb4_general_ci' for name in texts)}")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", "k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")


def policy(url: str, columns: dict[str, Any], allowed: bool = True, **more: Any) -> dict[str, Any]:
    parts = urlsplit(url)
    # what is done in a file is done in this process, where the key is
    named = allowed and parts.scheme != "duckdb"
    server = {"servers": [f"{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}"]} if named else {}
    roles = {name: {"role": "other", **given} for name, given in columns.items()}
    return {
        "name": "test",
        "source": {"sql": component(url, "people")},
        "columns": {"age": {"role": "quasi_identifier"}, "ward": {"role": "other"}, **roles},
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY", **server}},
        "unnamed": "remove",
        "promises": [{"k_anonymity": {"k": 5}}],
        "sink": {"sql": component(url, "release")},
        **more,
    }


def shown(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("name", MASKS)
def test_what_a_database_masks_is_what_is_masked_here(url: str, name: str) -> None:
    given = policy(url, MASKS[name])
    assert not_inside(make_plan(given)) is None

    inside: Any = sfumato.run(given)
    here: Any = sfumato.run({each: value for each, value in given.items() if each not in ("source", "sink")}, TABLE)

    assert shown(inside.table) == shown(here.table)
    assert inside.record.columns == here.record.columns
    assert inside.record.notes == here.record.notes


@pytest.mark.parametrize("url", ["postgresql", "duckdb"], indirect=True)
def test_numbers_are_masked_there_in_their_own_type(url: str) -> None:
    given = policy(url, {"pay": {"mask": {"round_number": {"base": 5}}}})
    assert not_inside(make_plan(given)) is None

    sfumato.run(given)

    query = "SELECT data_type FROM information_schema.columns WHERE table_name = 'release' AND column_name = 'pay'"
    assert [kind.lower() for (kind,) in ask(url, query)] == ["bigint"]
    assert Counter(ask(url, "SELECT pay FROM release"))[(None,)] == TABLE["pay"].null_count


@pytest.mark.parametrize("url", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_a_key_stays_here_unless_the_policy_names_the_server(url: str) -> None:
    given = policy(url, MASKS["hash"], allowed=False)
    told = str(not_inside(make_plan(given)))

    server = parsed(given["source"]["sql"]["url"]).unowned
    assert told.startswith("name is masked in a way that is done here, where the key is; with keys: {main: {servers: [")
    assert told.endswith("the server would do it, and hold what is as good as a key")
    assert server in told
    given["keys"]["main"]["servers"] = [server]
    assert not_inside(make_plan(given)) is None
    del given["keys"]["main"]["servers"]
    assert sfumato.run(given).record.rows.out == ROWS  # type: ignore[union-attr]


@pytest.mark.parametrize("url", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_nothing_is_said_of_keys_where_a_server_could_not_do_the_mask_with_them_either(url: str) -> None:
    for columns in ({"name": {"mask": {"encrypt": {"key": "main"}}}}, {**MASKS["hash"], "pay": {"mask": {"shuffle": {}}}}):
        assert str(not_inside(make_plan(policy(url, columns, allowed=False)))).endswith("masked in a way that is done here")


def test_a_server_that_computes_something_else_is_found_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = policy(url, MASKS["shorten"])
    monkeypatch.setitem(expressions.FUNCTIONS["postgresql"], "first", "LEFT({0}, CAST({1} AS INTEGER) + 1)")
    for engine in ("mysql", "duckdb"):
        monkeypatch.setitem(expressions.FUNCTIONS[engine], "first", "LEFT({0}, {1} + 1)")
    with pytest.raises(PromiseError) as caught:
        sfumato.run(given)

    assert caught.value.code == "verify-mask"
    assert "Ann" not in str(caught.value)


def test_values_that_a_mask_cannot_take_stop_the_run(url: str) -> None:
    columns = {"name": {"mask": {"email_mask": {}}}}
    with pytest.raises(DataError) as caught:
        sfumato.run(policy(url, columns))
    assert caught.value.code == "mask-invalid"
    removed: Any = sfumato.run(policy(url, {"name": {**columns["name"], "on_invalid": "remove"}}))

    assert set(removed.table["name"].to_pylist()) == {None}


def test_pseudonyms_that_show_few_people_in_a_class_are_refused(url: str) -> None:
    given = policy(url, {"mail": {"role": "identifier", "mask": {"hash": {"key": "main"}}}}, promises=[{"k_anonymity": {"k": 30}}])
    assert not_inside(make_plan(given)) is None
    with pytest.raises(PromiseError) as caught:
        sfumato.run(given)

    assert caught.value.code == "subject-missing"


def test_masks_that_leave_values_alone_single_people_out_there_too(url: str) -> None:
    table = TABLE.append_column("code", pa.array([f"c{number}" for number in range(ROWS)]))
    kept(url, table)
    given = policy(url, {"code": {"mask": {"shorten": {"length": 20}}}})
    with pytest.raises(PromiseError) as caught:
        sfumato.run(given)

    assert caught.value.code == "singling-out"

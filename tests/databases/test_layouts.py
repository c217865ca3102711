"""Layouts of a release in a database: native ranges, bounds in types of their own, equivalence classes in a table of their own."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.drift import drift
from sfumato.engine.retain import retain
from sfumato.errors import DataError, PolicyError, UnreachableError, UsageError
from sfumato.sinks.sql import Sql
from tests.databases.kills import endings, finish
from tests.servers import ask, component, left_over

ROWS = 400
DAY = datetime.date(1950, 1, 1)
NOON = datetime.datetime(2020, 1, 31, 12, 30, 0, 500000)
PEOPLE = pa.table(
    {
        "age": pa.array([20 + number * 7 % 50 if number % 40 else None for number in range(ROWS)], pa.int32()),
        "number": pa.array([number % 20 * 10**12 for number in range(ROWS)], pa.int64()),
        "pay": pa.array([Decimal(number % 90 * 125) / 100 for number in range(ROWS)], pa.decimal128(9, 2)),
        "share": pa.array([number % 30 * 1e-7 for number in range(ROWS)], pa.float64()),
        "born": pa.array([DAY + datetime.timedelta(days=number * 37 % 900) for number in range(ROWS)], pa.date32()),
        "seen": pa.array([NOON + datetime.timedelta(seconds=number * 7919 % 100_000) for number in range(ROWS)], pa.timestamp("us")),
        "sent": pa.array([NOON + datetime.timedelta(seconds=number % 50) for number in range(ROWS)], pa.timestamp("us", tz="UTC")),
        "client": [f"10.{number % 3}.{number % 7}.{number % 11}" for number in range(ROWS)],
        "illness": [("flu", "cold", None, 'it\'s "x"\\')[number % 4] for number in range(ROWS)],
    }
)
TYPES = {
    "age": "int4range",
    "number": "int8range",
    "pay": "numrange",
    "share": "numrange",
    "born": "daterange",
    "seen": "tsrange",
    "sent": "tstzrange",
    "client": "cidr",
}


def policy(style: str, *names: str, **more: Any) -> dict[str, Any]:
    columns = {name: {"role": "quasi_identifier", "publish": style} if name in names else {"role": "identifier"} for name in PEOPLE.column_names}
    return {"columns": {**columns, "illness": {"role": "sensitive"}}, "promises": [{"k_anonymity": {"k": 5}}], **more}


def sink(url: str, table: str, **more: Any) -> dict[str, Any]:
    return {"sql": {**component(url, table), **more}}


def types(url: str, table: str) -> dict[str, str]:
    query = f"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
    return {str(name): str(kind).lower() for name, kind in ask(url, query)}


@pytest.fixture(params=["postgresql", "postgresql18"])
def postgresql(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.mark.parametrize("name", TYPES)
def test_a_column_is_published_as_ranges_of_its_type(postgresql: str, name: str) -> None:
    sfumato.run({**policy("range", name), "sink": sink(postgresql, "ranges")}, PEOPLE)

    assert types(postgresql, "ranges")[name] == TYPES[name]
    operator = ">>=" if name == "client" else "@>"
    value = next(value for value in PEOPLE[name].to_pylist() if value is not None)
    kind = {"client": "inet", "seen": "timestamp", "sent": "timestamptz", "born": "date", "age": "int", "number": "bigint"}.get(name, "numeric")
    ((held,),) = ask(postgresql, f"SELECT count(*) FROM ranges WHERE \"{name}\" {operator} '{value}'::{kind}")
    assert held >= PEOPLE[name].to_pylist().count(value)


def test_ranges_say_what_intervals_would_say(postgresql: str) -> None:
    sfumato.run({**policy("range", "age", "born"), "sink": sink(postgresql, "ranges")}, PEOPLE)
    intervals: Any = sfumato.run(policy("interval", "age", "born"), PEOPLE)

    query = (
        "SELECT CASE WHEN age = '(,)' THEN '*' WHEN upper(age) - 1 = lower(age) THEN lower(age)::text "
        "WHEN age IS NOT NULL THEN format('[%s, %s]', lower(age), upper(age) - 1) END, "
        "CASE WHEN upper(born) - 1 = lower(born) THEN lower(born)::text ELSE format('[%s, %s]', lower(born), upper(born) - 1) END, "
        "count(*) FROM ranges GROUP BY 1, 2"
    )
    expected = Counter(zip(*(intervals.table[name].to_pylist() for name in ("age", "born")), strict=True))
    assert {(age, born): number for age, born, number in ask(postgresql, query)} == expected


def ages(*values: int | None) -> pa.Table:
    return pa.table({"age": pa.array(values, pa.int64())})


def test_the_root_is_unbounded_and_missing_values_among_themselves_stay_missing(postgresql_url: str) -> None:
    asked = {"columns": {"age": {"role": "quasi_identifier", "publish": "range"}}, "promises": [{"k_anonymity": {"k": 5}}]}
    sfumato.run({**asked, "sink": sink(postgresql_url, "apart")}, ages(*[None] * 5, *[30] * 5))
    sfumato.run({**asked, "sink": sink(postgresql_url, "mixed")}, ages(*[None] * 3, *[30] * 5))

    assert Counter(age for (age,) in ask(postgresql_url, "SELECT age::text FROM apart")) == {None: 5, "[30,31)": 5}
    assert ask(postgresql_url, "SELECT DISTINCT age::text FROM mixed") == [("(,)",)]


@pytest.mark.parametrize(
    ("values", "kind", "shown"),
    [
        (pa.array([2**31 - 2, 2**31 - 1], pa.int32()), "int8range", f"[{2**31 - 2},{2**31})"),
        (pa.array([-(2**31), 0], pa.int32()), "int8range", f"[{-(2**31)},1)"),
        (pa.array([0, 2**63 - 1], pa.int64()), "numrange", f"[0,{2**63 - 1}]"),
        (pa.array([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]), "daterange", "[0001-01-01,10000-01-01)"),
        (pa.array([1.5e-9, 2.5e20]), "numrange", "[0.0000000015,250000000000000000000]"),
        (pa.array(["::10.0.0.1", "2001:db8::"]), "cidr", "::/0"),
        (pa.array(["10.0.0.1", "10.0.0.1"]), "cidr", "10.0.0.1/32"),
        (pa.array([datetime.datetime(1, 1, 1), datetime.datetime.max]), "tsrange", '["0001-01-01 00:00:00","9999-12-31 23:59:59.999999"]'),
    ],
)  # fmt: skip
def test_ranges_go_to_the_edges_of_their_types(postgresql_url: str, values: pa.Array, kind: str, shown: str) -> None:
    asked = {"columns": {"value": {"role": "quasi_identifier", "publish": "range"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    sfumato.run({**asked, "sink": sink(postgresql_url, "edges")}, pa.table({"value": values}))

    assert types(postgresql_url, "edges") == {"value": kind}
    assert ask(postgresql_url, "SELECT value::text FROM edges") == [(shown,)] * 2


def test_ranges_of_whole_levels_are_published_by_datafly(postgresql_url: str) -> None:
    asked = policy("range", "age", "pay", algorithm="datafly")
    asked["columns"]["age"]["hierarchy"] = {"interval": {"width": 10}}
    asked["columns"]["pay"]["hierarchy"] = {"interval": {"edges": [10.125, 50]}}
    sfumato.run({**asked, "sink": sink(postgresql_url, "levels")}, PEOPLE)

    assert all(age == "(,)" or age.endswith("0)") for (age,) in ask(postgresql_url, "SELECT DISTINCT age::text FROM levels") if age)


def test_a_column_without_values_has_the_type_that_is_declared(postgresql_url: str) -> None:
    asked = {"columns": {"born": {"role": "quasi_identifier", "publish": "range", "type": "date"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    sfumato.run({**asked, "sink": sink(postgresql_url, "nothing")}, pa.table({"born": pa.array([None] * 3, pa.string())}))

    assert types(postgresql_url, "nothing") == {"born": "daterange"}
    assert ask(postgresql_url, "SELECT born FROM nothing") == [(None,)] * 3


def test_a_second_run_replaces_ranges_and_what_they_had_beside_them(postgresql_url: str) -> None:
    asked = {**policy("range", "age"), "sink": sink(postgresql_url, "kept")}
    sfumato.run(asked, PEOPLE)
    ask(postgresql_url, "CREATE INDEX by_age ON kept USING gist (age)")
    sfumato.run(asked, PEOPLE)

    assert ask(postgresql_url, "SELECT count(*) FROM kept") == [(ROWS,)]
    assert ask(postgresql_url, "SELECT indexname FROM pg_indexes WHERE tablename = 'kept'") == [("by_age",)]


def test_ranges_are_read_as_text_where_they_are_a_source(postgresql_url: str) -> None:
    sfumato.run({**policy("range", "age"), "sink": sink(postgresql_url, "read_again")}, PEOPLE)
    columns = {"age": {"role": "other"}, "illness": {"role": "other"}}
    release: Any = sfumato.run({"columns": columns, "source": sink(postgresql_url, "read_again")})

    assert release.table["age"].type == pa.string()


def refused(asked: dict[str, Any], data: pa.Table | None = PEOPLE) -> str:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(asked, data)
    return str(caught.value)


def test_a_sink_without_ranges_is_refused(mariadb_url: str) -> None:
    asked = policy("range", "age")
    for chosen in (None, "release.csv", sink(mariadb_url, "ranges")):
        words = refused({**asked, **({"sink": chosen} if chosen else {})})
        assert "columns.age.publish: range asked for, but the sink has no type for ranges [policy-range]" in words
        assert "try: typed_bounds, or a sink in PostgreSQL" in words
    assert types(mariadb_url, "ranges") == {}


def test_a_column_that_has_no_ranges_is_refused(postgresql_url: str) -> None:
    asked = {"promises": [{"k_anonymity": {"k": 2}}], "sink": sink(postgresql_url, "never")}
    towns = pa.table({"town": ["Bremen", "Ulm"]})
    mixed, near = pa.table({"town": ["10.0.0.1", "2001:db8::1"]}), pa.table({"town": ["10.0.0.1", "10.0.0.2"]})
    column: dict[str, Any] = {"role": "quasi_identifier", "publish": "range"}

    assert "the column has no order" in refused({**asked, "columns": {"town": column}}, towns)
    assert "the column has no order" in refused({**asked, "columns": {"town": {**column, "type": "text"}}}, towns)
    assert "IPv4 and IPv6 addresses, and no network holds both" in refused({**asked, "columns": {"town": column}}, mixed)
    assert "the column has no order" in refused({**asked, "columns": {"town": {**column, "hierarchy": "prefix", "type": "ip"}}}, near)
    assert types(postgresql_url, "never") == {}


def test_a_database_publishes_ranges_from_its_own_tables_too(postgresql_url: str) -> None:
    sfumato.run(
        {"columns": {name: {"role": "other", "accept": "singling_out"} for name in PEOPLE.column_names}, "sink": sink(postgresql_url, "people")},
        PEOPLE,
    )
    sfumato.run({**policy("range", "age", "client"), "source": sink(postgresql_url, "people"), "sink": sink(postgresql_url, "from_table")})

    assert types(postgresql_url, "from_table") == {"age": "int4range", "client": "cidr", "illness": "text"}


MYSQL_BOUNDS = {"age": "int", "number": "bigint", "pay": "decimal", "share": "double", "born": "date", "seen": "datetime", "sent": "datetime"}
BOUNDS = {
    "postgresql": {"age": "integer", "number": "bigint", "pay": "numeric", "share": "double precision", "born": "date",
                   "seen": "timestamp without time zone", "sent": "timestamp with time zone"},
    "mariadb": MYSQL_BOUNDS,
    "mysql": MYSQL_BOUNDS,
}  # fmt: skip


@pytest.mark.parametrize("server", BOUNDS)
def test_typed_bounds_have_the_type_of_their_column(server: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{server}_url")
    for name, kind in BOUNDS[server].items():
        asked = {**policy("typed_bounds", name), "sink": sink(url, "bounds")}
        sfumato.run(asked, PEOPLE)
        release: Any = sfumato.run({**asked, "sink": None}, PEOPLE)

        assert types(url, "bounds") == {f"{name}_from": kind, f"{name}_to": kind, "illness": "text" if server == "postgresql" else "varchar"}
        within = f"SELECT count(*) FROM bounds WHERE {name}_from <= {name}_to"
        assert ask(url, within) == [(ROWS - release.table[f"{name}_from"].null_count,)]


def test_typed_bounds_are_missing_where_any_value_may_be(mariadb_url: str, postgresql_url: str) -> None:
    asked = {"columns": {"age": {"role": "quasi_identifier", "publish": "typed_bounds"}}, "promises": [{"k_anonymity": {"k": 5}}]}
    for url in (mariadb_url, postgresql_url):
        sfumato.run({**asked, "sink": sink(url, "apart_bounds")}, ages(*[None] * 5, *[30] * 5))
        sfumato.run({**asked, "sink": sink(url, "mixed_bounds")}, ages(*[None] * 3, *[30] * 5))

        assert Counter(ask(url, "SELECT age_from, age_to FROM apart_bounds")) == {(None, None): 5, (30, 30): 5}
        assert ask(url, "SELECT DISTINCT age_from, age_to FROM mixed_bounds") == [(None, None)]


def test_numbers_and_truth_values_have_room_in_mariadb(mariadb_url: str) -> None:
    numbers = {"number": pa.array([2**31 - 1, -(2**31)], pa.int32()), "other": pa.array([2**32 - 1, 0], pa.uint32())}
    table = pa.table({**numbers, "flag": [True, False], "share": pa.array([0.1, None], pa.float32())})
    columns = {name: {"role": "other", "accept": "singling_out"} for name in table.column_names}
    sfumato.run({"columns": columns, "sink": sink(mariadb_url, "numbers")}, table)

    assert sorted(ask(mariadb_url, "SELECT number, other, flag FROM numbers")) == [(-(2**31), 0, 0), (2**31 - 1, 2**32 - 1, 1)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "xlsx"])
def test_typed_bounds_go_to_files_too(tmp_path: Any, ending: str) -> None:
    for name in ("age", "number", "pay", "share", "born", "seen", "sent"):
        release: Any = sfumato.run({**policy("typed_bounds", name), "sink": str(tmp_path / f"{name}.{ending}")}, PEOPLE)
        assert release.table.column_names == [f"{name}_from", f"{name}_to", "illness"]


def test_bounds_are_complete_in_databases(postgresql_url: str, mariadb_url: str) -> None:
    asked = policy("bounds", "age", "born")
    memory: Any = sfumato.run(asked, PEOPLE)
    expected = Counter(zip(*(memory.table[name].to_pylist() for name in memory.table.column_names), strict=True))
    for url in (postgresql_url, mariadb_url):
        sfumato.run({**asked, "sink": sink(url, "text_bounds")}, PEOPLE)
        assert Counter(ask(url, f"SELECT {', '.join(memory.table.column_names)} FROM text_bounds")) == expected


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


TWO = policy("interval", "age", "born")
JOINED = "SELECT c.age, c.born, r.illness FROM rows_of r JOIN classes_of c ON c.class_id = r.class_id"


def test_classes_and_rows_joined_are_the_release(server: str) -> None:
    sfumato.run({**TWO, "sink": sink(server, "rows_of", classes="classes_of")}, PEOPLE)
    one: Any = sfumato.run(TWO, PEOPLE)

    assert list(types(server, "classes_of")) == ["class_id", "age", "born", "class_size"]
    assert list(types(server, "rows_of")) == ["class_id", "illness"]
    assert Counter(ask(server, JOINED)) == Counter(zip(*(one.table[name].to_pylist() for name in ("age", "born", "illness")), strict=True))
    sizes = dict(ask(server, "SELECT class_id, class_size FROM classes_of"))
    assert sizes == dict(ask(server, "SELECT class_id, count(*) FROM rows_of GROUP BY class_id"))
    assert sorted(sizes) == list(range(1, len(sizes) + 1))
    assert min(sizes.values()) >= 5


def test_the_release_of_two_tables_is_told_as_one(server: str) -> None:
    two: Any = sfumato.run({**TWO, "sink": sink(server, "rows_of", classes="classes_of")}, PEOPLE)
    one: Any = sfumato.run(TWO, PEOPLE)

    assert two.table.to_pylist() == one.table.to_pylist()
    assert two.record.measures == one.record.measures


def test_classes_have_the_numbers_of_the_release_and_not_of_the_source(server: str) -> None:
    backwards = PEOPLE.take(pa.array(range(ROWS - 1, -1, -1)))
    found = []
    for table in (PEOPLE, backwards):
        sfumato.run({**TWO, "sink": sink(server, "rows_of", classes="classes_of")}, table)
        found.append(ask(server, "SELECT class_id, age, born, class_size FROM classes_of ORDER BY class_id"))
    assert found[0] == found[1]


def test_a_second_run_replaces_both_tables_and_leaves_nothing_else_behind(server: str) -> None:
    asked = {**TWO, "sink": sink(server, "rows_of", classes="classes_of")}
    for data in (PEOPLE, PEOPLE.slice(0, 200)):
        sfumato.run(asked, data)
    assert ask(server, "SELECT sum(class_size) FROM classes_of")[0][0] == len(ask(server, JOINED)) == 200
    assert left_over(server) == []


def test_both_tables_stay_as_they_were_where_one_cannot_be_replaced(server: str) -> None:
    sfumato.run({**TWO, "sink": sink(server, "rows_kept", classes="classes_kept")}, PEOPLE)
    before = [ask(server, f"SELECT * FROM {name} ORDER BY 1") for name in ("rows_kept", "classes_kept")]
    ask(server, "DROP VIEW IF EXISTS on_rows", "CREATE VIEW on_rows AS SELECT * FROM rows_kept")
    if server.startswith("postgresql"):
        with pytest.raises(UnreachableError, match="cannot be replaced"):
            sfumato.run({**TWO, "sink": sink(server, "rows_kept", classes="classes_kept")}, PEOPLE.slice(0, 100))
        assert [sorted(ask(server, f"SELECT * FROM {name}"), key=repr) for name in ("rows_kept", "classes_kept")] == [
            sorted(each, key=repr) for each in before
        ]
    with pytest.raises(UnreachableError, match=r"is no plain table|would be lost with it"):
        sfumato.run({**TWO, "sink": sink(server, "rows_kept", classes="on_rows")}, PEOPLE.slice(0, 100))
    assert [sorted(ask(server, f"SELECT * FROM {name}"), key=repr) for name in ("rows_kept", "classes_kept")] == [
        sorted(each, key=repr) for each in before
    ]


def test_classes_may_be_ranges_and_bounds(postgresql_url: str) -> None:
    asked = policy("range", "age", "born")
    asked["columns"]["born"]["publish"] = "typed_bounds"
    sfumato.run({**asked, "sink": sink(postgresql_url, "rows_of", classes="classes_of")}, PEOPLE)

    expected = {"class_id": "bigint", "age": "int4range", "born_from": "date", "born_to": "date", "class_size": "bigint"}
    assert types(postgresql_url, "classes_of") == expected


def test_two_tables_are_read_as_one_by_who_looks_for_drift(server: str) -> None:
    asked = {**TWO, "sink": sink(server, "rows_of", classes="classes_of")}
    sfumato.run(asked, PEOPLE)
    source = Sql(**asked["sink"]["sql"]).as_source()
    assert source.describe().names == ["age", "born", "illness"]
    assert sum(batch.num_rows for batch in source.batches(["age", "illness"])) == ROWS

    ask(server, "UPDATE classes_of SET class_size = class_size + 1 WHERE class_id = 1")
    with pytest.raises(DataError, match="a class has another number of rows than it says"):
        list(Sql(**asked["sink"]["sql"]).as_source().batches(["age"]))
    ask(server, "DELETE FROM classes_of WHERE class_id = 1")
    with pytest.raises(DataError, match="a row has a class that is not there"):
        list(Sql(**asked["sink"]["sql"]).as_source().batches(["age"]))


def test_a_source_is_not_written_over_by_its_classes(postgresql_url: str) -> None:
    sfumato.run({"columns": {"age": {"role": "other"}, "town": {"role": "other"}}, "sink": sink(postgresql_url, "origin")},
                pa.table({"age": [1, 1, 2, 2] * 5, "town": ["a", "b"] * 10}))  # fmt: skip
    columns = {"age": {"role": "quasi_identifier"}, "town": {"role": "other"}}
    asked = {"columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "source": sink(postgresql_url, "origin")}

    assert "[sink-is-source]" in refused({**asked, "sink": sink(postgresql_url, "elsewhere", classes="origin")}, None)
    assert ask(postgresql_url, "SELECT count(*) FROM origin") == [(20,)]


def test_classes_that_cannot_be_are_refused(postgresql_url: str) -> None:
    kept = {"columns": {name: {"role": "other", "accept": "singling_out"} for name in PEOPLE.column_names}}
    taken = PEOPLE.rename_columns([*PEOPLE.column_names[:-1], "class_id"])
    clash = {**TWO, "columns": {**{name: TWO["columns"][name] for name in PEOPLE.column_names[:-1]}, "class_id": {"role": "other"}}}

    assert "there is no quasi_identifier, and so there are no classes" in refused({**kept, "sink": sink(postgresql_url, "a", classes="b")})
    assert "class_id would be there twice" in refused({**clash, "sink": sink(postgresql_url, "a", classes="b")}, taken)
    assert "needs another table for the classes" in refused({**TWO, "sink": sink(postgresql_url, "a", classes="a")})
    assert types(postgresql_url, "a") == {}


def test_rows_without_any_columns_but_their_class_are_published(server: str) -> None:
    asked = {
        "columns": {"age": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 5}}],
        "sink": sink(server, "bare", classes="bare_classes"),
    }
    sfumato.run(asked, ages(*range(50)))

    assert ask(server, "SELECT count(*) FROM bare") == [(50,)]


@pytest.mark.parametrize("style", ["range", "typed_bounds"])
def test_an_archive_has_ranges_and_bounds_of_one_type(postgresql_url: str, style: str) -> None:
    name = f"archive_{style}"
    ask(postgresql_url, "DROP TABLE IF EXISTS events", "CREATE TABLE events (id int PRIMARY KEY, pay text, seen date)")
    columns = {"id": {"role": "identifier"}, "pay": {"role": "quasi_identifier", "publish": style}, "seen": {"role": "identifier"}}
    archived = {
        "columns": columns,
        "promises": [{"k_anonymity": {"k": 5}}],
        "source": sink(postgresql_url, "events"),
        "sink": sink(postgresql_url, name),
    }
    asked = {**archived, "retention": {"column": "seen", "older_than": "90d"}}

    ask(postgresql_url, "INSERT INTO events SELECT g, (g % 9 || '.25'), '2020-01-05' FROM generate_series(1, 50) g")
    retain(asked)
    assert ask(postgresql_url, f"SELECT count(*) FROM {name}") == [(50,)]

    ask(postgresql_url, "INSERT INTO events SELECT g, (g % 9 || '.255'), '2020-02-05' FROM generate_series(51, 100) g")
    if style == "range":
        retain(asked)
        assert ask(postgresql_url, f"SELECT count(*) FROM {name} WHERE upper(pay)::text LIKE '%.255'") == [(50,)]
    else:
        # a server would round the third digit away
        with pytest.raises(UsageError, match=r"the column pay_from of the archive public\.archive_typed_bounds has another type"):
            retain(asked)
        assert ask(postgresql_url, "SELECT count(*) FROM events") == [(50,)]


def test_an_archive_of_two_tables_is_refused(postgresql_url: str) -> None:
    ask(postgresql_url, "CREATE TABLE IF NOT EXISTS more_events (id int PRIMARY KEY, age int, seen date)")
    columns = {"id": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "seen": {"role": "identifier"}}
    asked = {"columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "source": sink(postgresql_url, "more_events")}
    with pytest.raises(PolicyError, match="an archive is one table"):
        retain({**asked, "sink": sink(postgresql_url, "a", classes="b"), "retention": {"column": "seen", "older_than": "90d"}})


def test_two_views_have_ranges(postgresql_url: str) -> None:
    coarse = {"promises": [{"k_anonymity": {"k": 20}}], "derived_from": "fine", "sink": sink(postgresql_url, "coarse_view")}
    views = {"fine": {"sink": sink(postgresql_url, "fine_view")}, "coarse": coarse}
    sfumato.run({**policy("range", "age", "client"), "views": views, "readers": {"everybody": ["fine", "coarse"]}}, PEOPLE)

    ((least,),) = ask(postgresql_url, "SELECT min(number) FROM (SELECT count(*) AS number FROM coarse_view GROUP BY age, client) AS classes")
    assert least >= 20


@pytest.mark.parametrize("more", [{}, {"classes": "drifting_classes"}])
def test_a_release_of_another_layout_has_not_drifted(postgresql_url: str, more: dict[str, str]) -> None:
    kept = {name: {"role": "other", "accept": "singling_out"} for name in PEOPLE.column_names}
    sfumato.run({"columns": kept, "sink": sink(postgresql_url, "drifting_source")}, PEOPLE)
    asked = {**policy("range", "age", "client"), "source": sink(postgresql_url, "drifting_source"), "sink": sink(postgresql_url, "drifting", **more)}
    sfumato.run(asked)
    assert drift(asked).found == []

    ask(postgresql_url, "DELETE FROM drifting")
    assert drift(asked).found != []


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_both_old_tables_or_both_new_ones(server: str) -> None:
    asked = {**TWO, "sink": sink(server, "killed", classes="killed_classes")}
    sfumato.run(asked, PEOPLE)
    done = 0
    for ended in endings(*((asked, PEOPLE.slice(0, ROWS - 1 - trial)) for trial in range(6))):
        # one statement: the server may still be at work for who is dead
        joined = "SELECT count(*) FROM killed r JOIN killed_classes c ON c.class_id = r.class_id"
        ((both, sizes, rows),) = ask(server, f"SELECT ({joined}), (SELECT sum(class_size) FROM killed_classes), (SELECT count(*) FROM killed)")
        assert both == sizes == rows
        done += ended == 0
    assert done < 5
    finish(asked, PEOPLE)
    assert ask(server, "SELECT count(*) FROM killed") == [(ROWS,)]
    assert left_over(server) == []

"""Names of columns that a server cannot take are refused by the policy, before anything is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PolicyError
from tests.servers import ask, component

HINT = "another sink, such as release.csv, or a view of the source with other columns"


def release(url: str, names: list[str], **first: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {name: {"role": "other"} for name in names}
    columns[names[0]] |= first
    promises = [{"k_anonymity": {"k": 2}}] if first else []
    return {"columns": columns, "promises": promises, "sink": {"sql": component(url, "called")}}


def numbers(names: list[str]) -> pa.Table:
    return pa.table({name: [1, 1, 2, 2] for name in names})


def refused(policy: dict[str, Any], *data: pa.Table) -> str:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy, *data)
    (found,) = caught.value.mistakes
    assert (found.key, found.code, found.hint) == ("sink", "policy-sink-columns", HINT)
    return found.message


@pytest.mark.parametrize("name", ["ctid", "xmin", "tableoid"])
def test_a_view_whose_column_is_called_as_one_of_every_table_is_refused_by_that_name(name: str, postgresql_url: str) -> None:
    ask(postgresql_url, "DROP VIEW IF EXISTS shown", f"CREATE VIEW shown AS SELECT 1 AS age, 2 AS {name}")
    policy = {**release(postgresql_url, ["age", name]), "source": {"sql": component(postgresql_url, "shown")}}

    assert refused(policy) == f"column {name} cannot be called so: every table of PostgreSQL has a column of that name"


@pytest.mark.parametrize(
    ("server", "letter", "message"),
    [
        ("postgresql", "é", "the name of column {} has 65 bytes, and PostgreSQL takes 63"),
        ("mariadb", "é", "the name of column {} has 65 characters, and MySQL and MariaDB take 64"),
    ],
)
def test_bounds_whose_names_would_be_too_long_are_refused(server: str, letter: str, message: str, request: pytest.FixtureRequest) -> None:
    name = letter * (30 if server == "postgresql" else 60)
    policy = release(str(request.getfixturevalue(f"{server}_url")), [name], role="quasi_identifier", publish="bounds")

    assert refused(policy, numbers([name])) == message.format(f"{name}_from")


@pytest.mark.parametrize(("server", "longest"), [("postgresql", "x" * 63), ("mariadb", "é" * 64)])
def test_the_longest_name_of_a_server_is_published(server: str, longest: str, request: pytest.FixtureRequest) -> None:
    url = str(request.getfixturevalue(f"{server}_url"))
    sfumato.run(release(url, [longest]), numbers([longest]))

    assert ask(url, "SELECT count(*) FROM called") == [(4,)]


def test_names_that_differ_in_case_only_are_one_to_mariadb(mariadb_url: str) -> None:
    names = ["Größe", "age", "GRÖßE"]
    assert refused(release(mariadb_url, names), numbers(names)) == "MySQL and MariaDB take columns for one: Größe, GRÖßE"


def test_names_of_the_tables_of_classes_are_held_against_those_of_columns(mariadb_url: str) -> None:
    policy = release(mariadb_url, ["age", "Class_ID"], role="quasi_identifier")
    policy["sink"]["sql"]["classes"] = "called_classes"

    assert refused(policy, numbers(["age", "Class_ID"])) == "MySQL and MariaDB take columns for one: Class_ID, class_id"


def test_a_name_with_a_blank_at_its_end_is_refused_by_mariadb(mariadb_url: str) -> None:
    words = "the name of column age ends with white space, and MySQL and MariaDB take no such name"
    assert refused(release(mariadb_url, ["age "]), numbers(["age "])) == words


def test_a_dump_that_postgresql_could_not_restore_is_refused() -> None:
    policy = {**release("duckdb:///:memory:", ["ctid"]), "sink": {"sql_dump": {"path": "called.sql", "dialect": "postgresql"}}}
    assert refused(policy, numbers(["ctid"])) == "column ctid cannot be called so: every table of PostgreSQL has a column of that name"

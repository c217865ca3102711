"""Unique indexes and columns of the server's own against a table that is masked in place: told before anything is changed, and never half-way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import sfumato
from sfumato.databases.masked_table import MaskedTable
from sfumato.errors import DataError, PolicyError, SfumatoError
from tests.databases.test_in_place import is_mysql, moved
from tests.servers import ask, component

KEPT = {"role": "other", "accept": "singling_out"}
ROWS = ((1, "aaa1", "x"), (2, "bbb1", "y"), (3, "ccc1", "z"))


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def masking(url: str, mapping: dict[str, str] | None, *statements: str, rows: Sequence[Any] = ROWS, column: str = "email") -> dict[str, Any]:
    """Make a table, and return the policy that maps the values of a column in place, one row after the other."""
    ask(url, "DROP TABLE IF EXISTS patients", "CREATE TABLE patients (id INTEGER PRIMARY KEY, email VARCHAR(50), note VARCHAR(50))")
    ask(url, *statements)
    if rows:
        values = ", ".join("(" + ", ".join("NULL" if value is None else repr(value) for value in row) + ")" for row in rows)
        ask(url, f"INSERT INTO patients (id, email, note) VALUES {values}")
    table = component(url, "patients")
    columns: dict[str, Any] = {"id": KEPT, "email": KEPT, "note": KEPT}
    columns[column] = KEPT | {"mask": {"map_values": {"mapping": mapping}}} if mapping else {"role": "identifier"}
    return {"source": {"sql": table}, "sink": {"sql": {**table, "in_place": True, "chunk": 1}}, "columns": columns, "accept": ["singling_out"]}


def refused_untouched(url: str, policy: dict[str, Any], code: str = "in-place-unique") -> str:
    """Hold that a policy is refused and that nothing was changed, and return the message."""
    before = ask(url, "SELECT * FROM patients ORDER BY id")
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy)
    assert caught.value.code == code
    assert "nothing has been changed" in caught.value.message
    assert "aaa" not in str(caught.value)
    assert ask(url, "SELECT * FROM patients ORDER BY id") == before
    return caught.value.message


NEW = {"aaa1": "a", "bbb1": "b", "ccc1": "c"}
SHIFTED = {"aaa1": "bbb1", "bbb1": "ccc1", "ccc1": "ddd1"}
CAPITALS = {"aaa1": "BBB1", "bbb1": "CCC1", "ccc1": "DDD1"}
CI = "CREATE COLLATION IF NOT EXISTS ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


@pytest.mark.parametrize(
    ("mapping", "statements"),
    [
        (SHIFTED, ["CREATE UNIQUE INDEX once ON patients (email) INCLUDE (note)"]),
        (CAPITALS, [CI, "CREATE UNIQUE INDEX once ON patients (email COLLATE ci)"]),
        (CAPITALS, ["CREATE UNIQUE INDEX once ON patients (lower(email))"]),
        (SHIFTED, ["CREATE UNIQUE INDEX once ON patients (email) WHERE note <> 'none'"]),
        (SHIFTED, ["CREATE UNIQUE INDEX once ON patients (email varchar_pattern_ops)"]),
        (SHIFTED, ["ALTER TABLE patients ADD CONSTRAINT once UNIQUE (email) DEFERRABLE INITIALLY DEFERRED"]),
        (CAPITALS, ["CREATE EXTENSION IF NOT EXISTS citext", "ALTER TABLE patients ALTER email TYPE citext, ADD CONSTRAINT once UNIQUE (email)"]),
    ],
)
def test_values_that_shift_are_refused_whatever_the_unique_index_is_made_of(postgresql_url: str, mapping: Any, statements: list[str]) -> None:
    if "citext" in statements[0] and not ask(postgresql_url, "SELECT 1 FROM pg_available_extensions WHERE name = 'citext'"):
        pytest.skip("the server has no extension citext: make services")
    assert "email" in refused_untouched(postgresql_url, masking(postgresql_url, mapping, *statements))


def test_a_condition_of_a_unique_index_that_is_masked_is_heeded(postgresql_url: str) -> None:
    rows = ((1, "aaa1", "old"), (2, "aaa1", "new"))
    one = "CREATE UNIQUE INDEX once ON patients (email) WHERE note = 'new'"
    refused_untouched(postgresql_url, masking(postgresql_url, {"old": "new", "new": "old"}, one, rows=rows, column="note"))


def test_missing_values_that_may_be_there_once_are_heeded(postgresql_url: str) -> None:
    rows = ((1, "aaa1", "x"), (2, None, "y"))
    one = "CREATE UNIQUE INDEX once ON patients (email, note) NULLS NOT DISTINCT"
    refused_untouched(postgresql_url, masking(postgresql_url, {"x": "y", "y": "z"}, one, rows=((1, None, "x"), (2, None, "y")), column="note"))
    policy = masking(postgresql_url, None, one, rows=rows)
    policy["columns"]["note"] = KEPT | {"mask": {"map_values": {"mapping": {"x": "y", "y": "z"}}}}
    refused_untouched(postgresql_url, policy)


@pytest.mark.parametrize(
    "one",
    [
        "CREATE UNIQUE INDEX once ON patients (email) WHERE note = 'none'",
        "CREATE UNIQUE INDEX once ON patients (email, note) INCLUDE (id)",
        "CREATE UNIQUE INDEX once ON patients (lower(email || note))",
    ],
)
def test_what_a_unique_index_does_not_tell_is_masked(postgresql_url: str, one: str) -> None:
    sfumato.run(masking(postgresql_url, SHIFTED, one))
    assert [row[0] for row in ask(postgresql_url, "SELECT email FROM patients ORDER BY id")] == ["bbb1", "ccc1", "ddd1"]


@pytest.mark.parametrize("one", ["(told(patients))", "(email, told(patients))", "(email) WHERE told(patients) > ''"])
def test_a_unique_index_of_whole_rows_is_refused(postgresql_url: str, one: str) -> None:
    told = "CREATE FUNCTION told(patients) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1.email || $1.id'"
    policy = masking(postgresql_url, NEW, told, f"CREATE UNIQUE INDEX once ON patients {one}")
    try:
        with pytest.raises(PolicyError) as caught:
            sfumato.run(policy)
        assert [mistake.code for mistake in caught.value.mistakes] == ["in-place-table"]
        assert "the unique index once, of which it is not known what is equal in it" in str(caught.value)
    finally:
        ask(postgresql_url, "DROP FUNCTION told CASCADE")


@pytest.mark.parametrize("url", ["mariadb", "mysql"], indirect=True)
def test_a_unique_index_of_the_beginnings_of_texts_is_heeded(url: str) -> None:
    one = "CREATE UNIQUE INDEX once ON patients (email(3))"
    refused_untouched(url, masking(url, {"aaa1": "bbb9", "bbb1": "ccc9", "ccc1": "ddd9"}, one))
    sfumato.run(masking(url, {"aaa1": "eee1", "bbb1": "fff1", "ccc1": "ggg1"}, one))
    assert [row[0] for row in ask(url, "SELECT email FROM patients ORDER BY id")] == ["eee1", "fff1", "ggg1"]


def test_periods_that_may_not_overlap_are_refused(mariadb_url: str) -> None:
    policy = masking(mariadb_url, SHIFTED, "ALTER TABLE patients ADD a DATE NOT NULL DEFAULT '2020-01-01', ADD b DATE NOT NULL DEFAULT '2021-01-01'")
    ask(mariadb_url, "ALTER TABLE patients ADD PERIOD FOR p (a, b), ADD UNIQUE (email, p WITHOUT OVERLAPS)")
    policy["columns"] |= {"a": KEPT, "b": KEPT}
    with pytest.raises(PolicyError) as caught:
        sfumato.plan(policy)
    assert caught.value.mistakes[0].code == "in-place-table"


def test_a_column_that_the_server_numbers_itself_is_refused_before_a_row_is_read(postgresql_url: str) -> None:
    policy = masking(postgresql_url, NEW, "ALTER TABLE patients ADD number bigint GENERATED ALWAYS AS IDENTITY")
    policy["columns"]["number"] = KEPT | {"mask": {"shuffle": {}}}
    for look in (sfumato.plan, sfumato.run):
        with pytest.raises(PolicyError) as caught:
            look(policy)
        (mistake,) = caught.value.mistakes
        assert (mistake.key, mistake.code) == ("columns.number", "in-place-column")
    policy["columns"]["number"] = KEPT
    sfumato.run(policy)
    assert ask(postgresql_url, "SELECT email, number FROM patients WHERE id = 1") == [("a", 1)]


def test_a_foreign_key_of_which_all_is_there_or_nothing_is_not_emptied_in_part(postgresql_url: str) -> None:
    ask(
        postgresql_url, "DROP TABLE IF EXISTS patients", "DROP TABLE IF EXISTS wards", "CREATE TABLE wards (a varchar, b varchar, PRIMARY KEY (a, b))"
    )
    ask(postgresql_url, "INSERT INTO wards VALUES ('aaa1', 'x')")
    whole = "ALTER TABLE patients ADD FOREIGN KEY (email, note) REFERENCES wards (a, b) MATCH FULL"
    policy = masking(postgresql_url, None, whole, rows=ROWS[:1])
    with pytest.raises(PolicyError) as caught:
        sfumato.plan(policy)
    assert caught.value.mistakes[0].code == "in-place-column"
    policy["columns"]["note"] = {"role": "identifier"}
    sfumato.run(policy)
    assert ask(postgresql_url, "SELECT * FROM patients") == [(1, None, None)]


def test_a_table_of_which_the_server_lets_no_row_be_changed_is_refused(postgresql_url: str) -> None:
    ask(postgresql_url, "DROP PUBLICATION IF EXISTS told")
    policy = masking(postgresql_url, NEW, "ALTER TABLE patients REPLICA IDENTITY NOTHING", "CREATE PUBLICATION told FOR TABLE patients")
    try:
        refused_untouched(postgresql_url, policy, "in-place-refused")
    finally:
        ask(postgresql_url, "DROP PUBLICATION told")


def test_what_stands_against_a_table_that_is_masked_in_part_is_told_with_the_way_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = masking(url, NEW)
    copy = MaskedTable._copy

    def forbid(self: MaskedTable, facts: Any, start: int, end: int) -> None:
        if start == 0:
            ask(url, f"ALTER TABLE {self.places.table} ADD CONSTRAINT never CHECK (email <> 'b')")
        copy(self, facts, start, end)

    with monkeypatch.context() as patch:
        patch.setattr(MaskedTable, "_copy", forbid)
        with pytest.raises(DataError) as caught:
            sfumato.run(policy)
    error = caught.value
    assert error.code == "in-place-stuck"
    assert "is masked in part, and its audience is kept out until it is finished" in error.message
    assert "never" in error.message
    assert "sfumato run policy.yaml --resume" in str(error.hint)
    assert "name another table" not in str(error)
    table = moved(url)
    ask(url, f"ALTER TABLE {table} DROP {'CHECK' if is_mysql(url) and not url.startswith('mariadb') else 'CONSTRAINT'} never")
    sfumato.run(policy, resume=True)
    assert [row[0] for row in ask(url, "SELECT email FROM patients ORDER BY id")] == ["a", "b", "c"]


def test_a_lock_of_somebody_else_on_a_table_that_is_masked_in_part_is_told_as_such(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.databases.failures import LOCKED

    policy = masking(url, NEW)

    def wait(*_: Any) -> None:
        raise LOCKED.error("the server")

    with monkeypatch.context() as patch:
        patch.setattr(MaskedTable, "_copy", wait)
        with pytest.raises(SfumatoError) as caught:
            sfumato.run(policy)
    assert caught.value.code == "database-locked"
    assert "is masked in part, and its audience is kept out until it is finished" in caught.value.message
    assert "sfumato run policy.yaml --resume" in str(caught.value.hint)
    sfumato.run(policy, resume=True)


@pytest.mark.parametrize("url", ["mariadb", "mysql"], indirect=True)
def test_a_table_in_partitions_is_masked(url: str) -> None:
    policy = masking(url, NEW, "ALTER TABLE patients PARTITION BY HASH (id) PARTITIONS 3")
    sfumato.run(policy)
    assert [row[0] for row in ask(url, "SELECT email FROM patients ORDER BY id")] == ["a", "b", "c"]

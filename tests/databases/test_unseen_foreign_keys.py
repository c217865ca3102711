"""Foreign keys of tables that the user of a run cannot see: nothing that they refer to is replaced, deleted or changed under them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases.masked_table import Draft
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.private_names import staging_of
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from tests.servers import ask, component

COLUMNS = {"id": {"role": "identifier"}, "town": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}


@dataclass(frozen=True)
class Place:
    """A database, one that the user of a run cannot see, and the addresses of who may do everything and of that user."""

    everything: str
    few: str
    hidden: str

    def key_of(self, table: str, column: str, rule: str = "") -> None:
        """Make a hidden table that refers to a column of another."""
        kind = ask(
            self.everything,
            f"SELECT CONCAT(column_type, COALESCE(CONCAT(' COLLATE ', collation_name), '')) FROM information_schema.columns "
            f"WHERE table_schema = DATABASE() AND table_name = '{table}' AND column_name = '{column}'",
        )[0][0]
        name = f"{self.hidden}.child_of_{column}"
        referred = f"{urlsplit(self.everything).path[1:]}.{table} ({column})"
        ask(self.everything, f"CREATE TABLE {name} (its {kind}, FOREIGN KEY (its) REFERENCES {referred} {rule})")
        ask(self.everything, f"INSERT INTO {name} SELECT DISTINCT {column} FROM {table}")

    def children(self, column: str) -> list[tuple[Any, ...]]:
        return ask(self.everything, f"SELECT its FROM {self.hidden}.child_of_{column} ORDER BY 1")

    def refers_to(self, column: str) -> list[tuple[Any, ...]]:
        query = (
            "SELECT referenced_table_schema, referenced_table_name FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL"
        )
        return ask(self.everything, f"{query} AND table_schema = '{self.hidden}' AND table_name = 'child_of_{column}'")


@pytest.fixture(params=["mariadb", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    url = str(request.getfixturevalue(f"{request.param}_url"))
    database, user = urlsplit(url).path[1:], f"few_{secrets.token_hex(4)}"
    hidden, staged = f"{database}_hidden", staging_of(user)
    rights = "CREATE TEMPORARY TABLES, CREATE, DROP, ALTER, INDEX, INSERT, SELECT, UPDATE, DELETE"
    ask(url, "DROP TABLE IF EXISTS people", "DROP TABLE IF EXISTS release_", "DROP TABLE IF EXISTS other", f"CREATE DATABASE {hidden}")
    ask(
        url,
        f"CREATE USER {user}@'%' IDENTIFIED BY 'x'",
        f"GRANT {rights} ON {database}.* TO {user}@'%'",
        f"GRANT {rights} ON {staged}.* TO {user}@'%'",
    )
    ask(url, "CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR(60), illness VARCHAR(20))")
    ask(url, "INSERT INTO people VALUES " + ", ".join(f"({number}, 'town {number % 5}', 'i{number % 3}')" for number in range(100)))
    parts = urlsplit(url)
    yield Place(url, parts._replace(netloc=f"{user}:x@{parts.hostname}:{parts.port}").geturl(), hidden)
    ask(url, f"DROP DATABASE {hidden}", f"DROP DATABASE IF EXISTS {staged}", f"DROP USER {user}@'%'")


def published(place: Place, table: str = "release_") -> dict[str, Any]:
    return {
        "source": {"sql": component(place.few, "people")},
        "sink": {"sql": component(place.few, table)},
        "columns": COLUMNS,
        "promises": [{"k_anonymity": {"k": 5}}],
    }


def staged(place: Place) -> list[tuple[Any, ...]]:
    return ask(
        place.everything, f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{staging_of(str(urlsplit(place.few).username))}'"
    )


def of_release(place: Place) -> list[tuple[Any, ...]]:
    return [(urlsplit(place.everything).path[1:], "release_")]


def refused(policy: dict[str, Any]) -> str:
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy)
    return str(caught.value).splitlines()[0]


def test_a_release_that_unseen_keys_refer_to_is_not_replaced(place: Place) -> None:
    sfumato.run(published(place))
    ask(place.everything, "ALTER TABLE release_ ADD number INT AUTO_INCREMENT PRIMARY KEY")
    place.key_of("release_", "number")
    ask(place.everything, "ALTER TABLE release_ DROP PRIMARY KEY, ADD UNIQUE INDEX numbered (number)")
    told = refused(published(place))

    assert told == "release_ cannot be replaced: a foreign key of tables that this user cannot see would be lost with it [sink-table-used]"
    assert place.refers_to("number") == of_release(place)
    assert staged(place) == []
    sfumato.run(published(place, "other"))


def test_a_key_that_comes_at_the_last_moment_finds_its_table_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sfumato.run(published(place))
    ask(place.everything, "ALTER TABLE release_ MODIFY illness VARCHAR(20) COLLATE utf8mb4_bin")
    ask(
        place.everything,
        "DELETE FROM release_",
        "ALTER TABLE release_ ADD UNIQUE INDEX illnesses (illness)",
        "INSERT INTO release_ VALUES ('x', 'i0')",
    )
    rename = MysqlConnection.rename

    def late(self: MysqlConnection, moves: Any) -> None:
        if place.refers_to("illness") == []:
            place.key_of("release_", "illness")
        rename(self, moves)

    monkeypatch.setattr(MysqlConnection, "rename", late)
    # each illness once, as the index has it
    policy = published(place) | {"promises": [], "unnamed": "remove", "columns": {"illness": {"role": "other"}}}
    ask(place.everything, "DELETE FROM people WHERE id > 2", "ALTER TABLE release_ DROP COLUMN town")
    told = refused(policy)

    assert told == "release_ cannot be replaced: a foreign key of tables that this user cannot see would be lost with it [sink-table-used]"
    assert place.refers_to("illness") == of_release(place)
    assert ask(place.everything, "SELECT illness FROM release_") == [("i0",)]
    assert staged(place) == []


@pytest.mark.parametrize("moment", ["before the last look", "after it"])
def test_an_index_that_comes_at_the_last_moment_is_not_lost(place: Place, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    sfumato.run(published(place))
    name = "put_away" if moment == "before the last look" else "rename"
    real = getattr(MysqlConnection, name)

    def late(self: MysqlConnection, *given: Any) -> Any:
        monkeypatch.setattr(MysqlConnection, name, real)
        ask(place.everything, "ALTER TABLE release_ ADD INDEX late (illness)")
        return real(self, *given)

    monkeypatch.setattr(MysqlConnection, name, late)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(published(place))

    assert caught.value.code == "database-changed"
    assert len(ask(place.everything, "SHOW INDEX FROM release_ WHERE Key_name = 'late'")) == 1
    assert staged(place) == []


def test_tables_that_take_their_places_together_go_back_together(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = published(place)
    policy["sink"]["sql"]["classes"] = "groups_"
    sfumato.run(policy)
    ask(place.everything, "ALTER TABLE groups_ ADD UNIQUE INDEX numbered (class_id)")
    rename = MysqlConnection.rename

    def late(self: MysqlConnection, moves: Any) -> None:
        monkeypatch.setattr(MysqlConnection, "rename", rename)
        place.key_of("groups_", "class_id", "ON DELETE CASCADE")
        rename(self, moves)

    monkeypatch.setattr(MysqlConnection, "rename", late)
    ask(place.everything, "UPDATE people SET illness = 'another'")
    told = refused(policy)

    assert told == "groups_ cannot be replaced: a foreign key of tables that this user cannot see would be lost with it [sink-table-used]"
    assert place.refers_to("class_id") == [(urlsplit(place.everything).path[1:], "groups_")]
    assert ask(place.everything, "SELECT COUNT(*) FROM release_ WHERE illness = 'another'") == [(0,)]
    assert staged(place) == []
    ask(place.everything, f"DROP TABLE {place.hidden}.child_of_class_id", "DROP TABLE groups_")


def test_what_cannot_be_dropped_stops_no_other_run(place: Place) -> None:
    sfumato.run(published(place))
    left = f"{staging_of(str(urlsplit(place.few).username))}.sfumato_0123456789abcdef_old"
    ask(
        place.everything,
        f"CREATE TABLE {left} (id INT PRIMARY KEY)",
        f"CREATE TABLE {place.hidden}.child (its INT, FOREIGN KEY (its) REFERENCES {left} (id))",
    )
    sfumato.run(published(place))

    assert staged(place) == [("sfumato_0123456789abcdef_old",)]
    ask(place.everything, f"DROP TABLE {place.hidden}.child")


def in_place(place: Place, columns: str = "", masks: dict[str, Any] | None = None) -> dict[str, Any]:
    ask(place.everything, "DROP TABLE IF EXISTS people")
    ask(place.everything, f"CREATE TABLE people (id INT PRIMARY KEY, code VARCHAR(80) UNIQUE, town VARCHAR(60){columns})")
    rows = ", ".join(f"({number}, 'code {number}', 'town {number % 3}')" for number in range(30))
    ask(place.everything, f"INSERT INTO people (id, code, town) VALUES {rows}, (99, 'code 99', 'elsewhere')")
    table = component(place.few, "people")
    return {
        "source": {"sql": table},
        "sink": {"sql": {**table, "in_place": True}},
        "columns": {
            "id": {"role": "other", "accept": "singling_out"},
            "code": {"role": "other", "accept": "singling_out"},
            "town": {"role": "other", "mask": {"constant": {"value": "somewhere"}}},
            **(masks or {}),
        },
    }


CODES = {"code": {"role": "identifier", "mask": {"hash": {"unkeyed": "sha256"}}, "accept": ["warnings", "singling_out"]}}
LEFT_OUT = {
    "suppression_limit": 0.1,
    "promises": [{"k_anonymity": {"k": 5}}],
}
TOWNS = {
    "town": {
        "role": "quasi_identifier",
        "on_unknown": "suppress",
        "hierarchy": {"taxonomy": {"tree": {"all": [f"town {number}" for number in range(3)]}}},
    }
}


def test_what_unseen_keys_refer_to_is_masked_where_they_do_not_look(place: Place) -> None:
    policy = in_place(place)
    place.key_of("people", "code", "ON UPDATE CASCADE")
    before = place.children("code")
    sfumato.run(policy)

    assert ask(place.everything, "SELECT DISTINCT town FROM people") == [("somewhere",)]
    assert place.children("code") == before


def test_columns_that_unseen_keys_refer_to_are_not_masked_in_place(place: Place) -> None:
    policy = in_place(place, masks=CODES)
    place.key_of("people", "code", "ON UPDATE CASCADE")
    before = place.children("code")
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy)
    words = "foreign keys of tables that this user cannot see refer to it, and would find nothing any more, or be changed with it"

    assert [(mistake.code, mistake.message) for mistake in caught.value.mistakes] == [("in-place-column", words)]
    with pytest.raises(PolicyError):
        sfumato.plan(policy)
    assert place.children("code") == before
    assert staged(place) == []


def test_rows_that_unseen_keys_refer_to_are_not_deleted_in_place(place: Place) -> None:
    policy = in_place(place, masks=TOWNS) | LEFT_OUT
    place.key_of("people", "id", "ON DELETE CASCADE")
    before = place.children("id")
    with pytest.raises(DataError) as caught:
        sfumato.run(policy)

    assert caught.value.code == "in-place-referenced"
    assert "foreign keys of tables that this user cannot see refer to it" in str(caught.value)
    assert place.children("id") == before
    assert staged(place) == []


def test_without_unseen_keys_indexed_columns_are_masked_and_rows_deleted(place: Place) -> None:
    sfumato.run(in_place(place, masks=CODES | TOWNS) | LEFT_OUT)

    assert ask(place.everything, "SELECT COUNT(*), COUNT(DISTINCT code), MAX(LENGTH(code)) FROM people WHERE code NOT LIKE 'code%%'") == [
        (30, 30, 64)
    ]


def test_where_the_server_does_not_say_whether_there_are_others_nothing_is_risked(place: Place) -> None:
    ask(place.everything, "DROP TABLE IF EXISTS wards", "CREATE TABLE wards (ward INT PRIMARY KEY)")
    policy = in_place(place, ", ward INT, FOREIGN KEY (ward) REFERENCES wards (ward)", {"ward": {"role": "other"}} | CODES)
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy)
    words = "foreign keys of tables that this user cannot see, if there are any, refer to it, and would find nothing any more, or be changed with it"

    assert [mistake.message for mistake in caught.value.mistakes] == [words]
    of_all = {"sql": component(place.everything, "people")}
    sfumato.run(policy | {"source": of_all, "sink": {"sql": {**of_all["sql"], "in_place": True}}})
    ask(place.everything, "DROP TABLE people", "DROP TABLE wards")


def test_a_key_that_comes_while_rows_are_verified_stops_the_masking(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = in_place(place, masks=CODES)
    begin = Draft.begin

    def late(self: Draft, *given: Any) -> None:
        place.key_of("people", "code", "ON UPDATE CASCADE")
        begin(self, *given)

    monkeypatch.setattr(Draft, "begin", late)
    with pytest.raises(DataError) as caught:
        sfumato.run(policy)

    assert caught.value.code == "in-place-changed"
    assert len(place.children("code")) == 31
    assert ask(place.everything, "SELECT COUNT(*) FROM people WHERE code LIKE 'code%%'") == [(31,)]

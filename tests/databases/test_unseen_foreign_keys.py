"""Foreign keys of tables that the user of a run cannot see: nothing that they refer to is replaced, deleted or changed under them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.private_names import staging_of
from sfumato.errors import SfumatoError, UsageError
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
    with pytest.raises(UsageError) as caught:
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

"""What users of MySQL and MariaDB stage is nobody else's, also where all may run sfumato; and a table that is called like a ledger is none."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymysql.err import OperationalError

import sfumato
from sfumato.databases.mysql_inside import MysqlInside
from sfumato.errors import UsageError
from tests.databases.test_inside import ROWS, TABLE, policy, stored
from tests.servers import ask, component, staging


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    stored(found, TABLE, "people")
    return found


def test_one_user_reads_nothing_of_what_another_stages(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ben, password = urlsplit(url), f"ben_{secrets.token_hex(3)}", secrets.token_hex(8)
    own = parts._replace(netloc=f"{ben}:{password}@{parts.hostname}:{parts.port}", path="/").geturl()
    ask(url, f"CREATE USER {ben}@'%' IDENTIFIED BY '{password}'")
    # all that a user of a run needs
    place = staging(own).replace("_", "\\_")
    ask(url, f"GRANT CREATE TEMPORARY TABLES, CREATE, DROP, ALTER, INSERT, SELECT ON `{place}`.* TO {ben}@'%'")
    seen: list[Any] = []
    take = MysqlInside.take

    def taking(self: MysqlInside) -> None:
        take(self)
        copy = f"{self._rows.schema}.{self._rows.name}"
        assert ask(url, f"SELECT COUNT(*) FROM {copy}") == [(ROWS,)]
        with pytest.raises(OperationalError) as refused:
            ask(own, f"SELECT * FROM {copy}")
        seen.append(refused.value.args[0])

    try:
        monkeypatch.setattr(MysqlInside, "take", taking)
        sfumato.run(policy(url))
    finally:
        ask(url, f"DROP USER {ben}@'%'")

    # denied
    assert seen == [1142]


@pytest.mark.parametrize("rows", [[], ["(0, 'no hex')"], ["(0, '7b7d')"], ["(0, '7b7d')", "(0, '7b7d')"]], ids=["empty", "no facts", "none", "two"])
def test_a_table_that_is_called_like_a_ledger_is_told(url: str, rows: list[str]) -> None:
    ask(
        url, "DROP TABLE IF EXISTS ours", "CREATE TABLE ours (id INTEGER PRIMARY KEY, name VARCHAR(20))", "INSERT INTO ours VALUES (1, 'a'), (2, 'b')"
    )
    given = {
        "source": {"sql": component(url, "ours")},
        "columns": {"id": {"role": "other"}, "name": {"role": "identifier", "mask": {"constant": {"value": "x"}}}},
        "sink": {"sql": {**component(url, "ours"), "in_place": True}},
    }
    from sfumato.databases.in_place import lasting_places
    from sfumato.sinks.sql import Sql

    with Sql(**component(url, "ours")).connected() as connection:
        ledger = connection.quoted(lasting_places(connection, Sql(**component(url, "ours")).table_name).ledger)
    ask(url, f"CREATE TABLE {ledger} (done BIGINT, facts LONGTEXT)", *(f"INSERT INTO {ledger} VALUES {row}" for row in rows))
    try:
        with pytest.raises(UsageError) as caught:
            sfumato.run(given)
        assert caught.value.code == "in-place-name"
        assert ask(url, "SELECT name FROM ours ORDER BY id") == [("a",), ("b",)]
    finally:
        ask(url, f"DROP TABLE {ledger}")

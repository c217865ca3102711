"""What hangs on a table of MySQL or MariaDB that is replaced: all is as it was where the run is refused, also what comes at the last moment."""

from __future__ import annotations

import re
import secrets
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.private_names import staging_of
from sfumato.errors import SfumatoError
from tests.servers import ask, component, connect, left_over, staging

COLUMNS = {"age": {"role": "quasi_identifier"}, "ward": {"role": "sensitive"}}
PROMISES = [{"k_anonymity": {"k": 3}}]
TABLES = ("first", "second")


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    rows = ", ".join(f"({20 + number % 2}, 'w{number % 3}')" for number in range(20))
    for table in TABLES:
        ask(found, f"DROP TABLE IF EXISTS {table}", f"DROP TABLE IF EXISTS release_of_{table}")
        ask(found, f"CREATE TABLE {table} (age int, ward varchar(9))", f"INSERT INTO {table} VALUES {rows}")
    return found


def both(url: str) -> dict[str, Any]:
    place = {key: value for key, value in component(url, "any").items() if key != "table"}
    tables = {table: {"into": f"release_of_{table}", "columns": COLUMNS, "promises": PROMISES} for table in TABLES}
    return {"source": {"sql": place}, "sink": {"sql": place}, "tables": tables}


@pytest.mark.parametrize("form", ["DYNAMIC", "COMPACT", "REDUNDANT", "COMPRESSED"])
def test_tables_of_any_row_format_go_back_together(url: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for table, its in zip(TABLES, (form, "DYNAMIC"), strict=True):
        ask(url, f"CREATE TABLE release_of_{table} (age varchar(20), ward varchar(9)) ROW_FORMAT = {its}")
        ask(url, f"INSERT INTO release_of_{table} VALUES ('old', 'old')")
    rename = MysqlConnection.rename

    def late(self: MysqlConnection, moves: Any) -> None:
        monkeypatch.setattr(MysqlConnection, "rename", rename)
        ask(url, "CREATE INDEX late ON release_of_second (ward)")
        rename(self, moves)

    monkeypatch.setattr(MysqlConnection, "rename", late)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(both(url))

    assert caught.value.code == "database-changed"
    assert [ask(url, f"SELECT age, ward FROM release_of_{table}") for table in TABLES] == [[("old", "old")]] * 2
    assert len(ask(url, "SHOW INDEX FROM release_of_second WHERE Key_name = 'late'")) == 1
    assert left_over(url) == []


def test_tables_of_which_nothing_says_whether_keys_refer_to_them_go_back_together(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in TABLES:
        ask(url, f"CREATE TABLE release_of_{table} (age varchar(20), ward varchar(9))", f"INSERT INTO release_of_{table} VALUES ('old', 'old')")
    for name, answer in (("is_bound", None), ("sees_all", False)):
        monkeypatch.setattr(f"sfumato.databases.mysql_publishing.{name}", lambda *_, answer=answer: answer)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(both(url))

    words = "release_of_first cannot be replaced: a foreign key of tables that this user cannot see, if there is one, would be lost with it"
    assert str(caught.value).splitlines()[0] == f"{words} [sink-table-used]"
    assert [ask(url, f"SELECT age, ward FROM release_of_{table}") for table in TABLES] == [[("old", "old")]] * 2


@pytest.mark.parametrize("name", [" lead", "\tlead", "a\nb", "a\n  KEY `b`", "a'b\"c`d", "ü"])
@pytest.mark.parametrize("inside", [True, False])
def test_names_of_columns_and_tables_may_have_blanks_and_lines(url: str, name: str, inside: bool) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    release = "`out" + name.replace("`", "``") + "`"
    ask(url, f"DROP TABLE IF EXISTS {release}", f"ALTER TABLE first RENAME COLUMN age TO {quoted}")
    kept = {"role": "other"} if inside else {"role": "other", "mask": {"shuffle": {}}}
    columns = {name: {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}}, "ward": kept}
    given = {"source": {"sql": component(url, "first")}, "sink": {"sql": component(url, f"out{name}")}, "columns": columns, "accept": "singling_out"}
    sfumato.run(given)
    ask(url, f"CREATE INDEX {quoted} ON {release} ({quoted}, ward)", f"CREATE INDEX other ON {release} (ward) COMMENT 'it''s\n  KEY'")
    sfumato.run(given)

    indexes = ask(url, f"SHOW INDEX FROM {release}")
    assert [(row[2], row[4]) for row in indexes] == [(name, name), (name, "ward"), ("other", "ward")]
    assert ask(url, f"SELECT count({quoted}) FROM {release}") == [(20,)]
    ask(url, f"DROP TABLE {release}")


def test_what_cannot_be_put_back_is_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "source": {"sql": component(url, "first")},
        "sink": {"sql": component(url, "release_of_first")},
        "columns": COLUMNS,
        "promises": PROMISES,
    }
    ask(url, "CREATE TABLE release_of_first (age varchar(20), ward varchar(9))", "INSERT INTO release_of_first VALUES ('old', 'old')")
    rename, times = MysqlConnection.rename, iter(range(9))

    with closing(connect(url)) as reader, reader.cursor() as cursor:

        def late(self: MysqlConnection, moves: Any) -> None:
            is_first = next(times) == 0
            if is_first:
                ask(url, "CREATE INDEX late ON release_of_first (ward)")
            self.do("SET SESSION lock_wait_timeout = 1")
            rename(self, moves)
            if is_first:
                cursor.execute("START TRANSACTION")
                cursor.execute("SELECT * FROM release_of_first")

        monkeypatch.setattr(MysqlConnection, "rename", late)
        with pytest.raises(SfumatoError) as caught:
            sfumato.run(given)

    assert caught.value.code == "database-replaced"
    (name,) = re.findall(r"kept is, where the user stages, release_of_first as (replaced_[0-9]{8}) ", str(caught.value))
    kept = f"{staging(url)}.{name}"
    monkeypatch.undo()
    sfumato.run({**given, "sink": {"sql": component(url, "release_of_second")}})
    assert ask(url, f"SELECT age FROM {kept}") == [("old",)]
    assert len(ask(url, f"SHOW INDEX FROM {kept}")) == 1
    ask(url, f"DROP TABLE {kept}")


def test_a_trigger_that_the_user_cannot_see_keeps_its_table(url: str) -> None:
    user, parts = f"few_{secrets.token_hex(4)}", urlsplit(url)
    rights = "CREATE TEMPORARY TABLES, CREATE, DROP, ALTER, INDEX, INSERT, SELECT, UPDATE, DELETE"
    ask(url, f"CREATE USER {user}@'%' IDENTIFIED BY 'x'")
    ask(url, *(f"GRANT {rights} ON {database}.* TO {user}@'%'" for database in (parts.path[1:], staging_of(user))))
    few = parts._replace(netloc=f"{user}:x@{parts.hostname}:{parts.port}").geturl()
    ask(url, "CREATE TABLE release_of_first (age varchar(20), ward varchar(9))", "INSERT INTO release_of_first VALUES ('old', 'old')")
    ask(url, "CREATE TRIGGER unseen BEFORE INSERT ON release_of_first FOR EACH ROW SET NEW.ward = NULL")
    given = {
        "source": {"sql": component(few, "first")},
        "sink": {"sql": component(few, "release_of_first")},
        "columns": COLUMNS,
        "promises": PROMISES,
    }
    try:
        with pytest.raises(SfumatoError) as caught:
            sfumato.run(given)
        # MariaDB shows it to who may change the table
        hanging = "the trigger unseen" if url.startswith("mariadb") else "a trigger that this user cannot see"
        assert f"release_of_first cannot be replaced: {hanging} would be lost with it [sink-table-used]" in str(caught.value)
        assert ask(url, "SELECT age FROM release_of_first") == [("old",)]
    finally:
        ask(url, f"DROP DATABASE IF EXISTS {staging_of(user)}", f"DROP USER {user}@'%'")

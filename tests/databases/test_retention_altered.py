"""A batch that is archived and not yet deleted, and of whose table somebody has altered the columns by which its rows are known."""

from __future__ import annotations

import pytest

from sfumato.databases.retained import Retained
from sfumato.engine.retain import retain
from sfumato.errors import DataError
from tests.databases.retained_rows import NOW, emptied, kind_of_time, policy, rows
from tests.databases.test_retention import counted
from tests.servers import ask

pytestmark = pytest.mark.slow

ALTERED = {
    "renamed": ["ALTER TABLE v RENAME COLUMN id TO pid", "ALTER TABLE v RENAME COLUMN pid TO id"],
    "time renamed": ["ALTER TABLE v RENAME COLUMN seen TO came", "ALTER TABLE v RENAME COLUMN came TO seen"],
    "text": ["ALTER TABLE v {of} id {to} varchar(20)", "ALTER TABLE v {of} id {to} int {using}"],
    "cut": ["ALTER TABLE v {of} seen {to} date", "ALTER TABLE v {of} seen {to} {time}", "UPDATE v SET seen = '2026-01-05 10:00:00'"],
}


@pytest.mark.parametrize("how", ALTERED)
@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql"])
def test_an_open_batch_whose_columns_were_altered_says_what_helps(
    request: pytest.FixtureRequest, server: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"of": "ALTER", "to": "TYPE", "using": "USING id::int", "time": "timestamp"}
    words = words if server == "postgresql" else {"of": "MODIFY", "to": "", "using": "", "time": "datetime"}
    with emptied(str(request.getfixturevalue(f"{server}_url"))) as url:
        ask(url, f"CREATE TABLE v (id int PRIMARY KEY, seen {words['time']}, age int)", rows("v", 1, 30, seen="'2026-01-05 10:00:00'"))
        left_open(url, monkeypatch)
        altered, *back = (statement.format(**words) for statement in ALTERED[how])
        ask(url, altered)
        given = policy(url)
        for old, new in (("id", "pid"), ("seen", "came")):
            if f"TO {new}" in altered:
                given["columns"] = {new if name == old else name: role for name, role in given["columns"].items()}
                given["retention"]["column"] = new if old == "seen" else "seen"
        with pytest.raises(DataError) as caught:
            retain(given, NOW)
        assert (caught.value.code, counted(url, "v"), counted(url, "archive")) == ("retention-altered", 30, 30)
        assert "have been renamed or altered since: " + ("id" if how in ("renamed", "text") else "seen") in caught.value.message

        ask(url, *back)
        retain(policy(url), NOW)
        assert (counted(url, "v"), counted(url, "archive")) == (0, 30)


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql"])
def test_an_open_batch_is_finished_where_its_columns_hold_more_now(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with emptied(str(request.getfixturevalue(f"{server}_url"))) as url:
        ask(url, "CREATE TABLE v (id int PRIMARY KEY, seen date, age int)", rows("v", 1, 30))
        left_open(url, monkeypatch)
        change = "ALTER {} TYPE" if server == "postgresql" else "MODIFY {}"
        ask(url, f"ALTER TABLE v {change.format('id')} bigint, {change.format('seen')} {kind_of_time(url)}")
        retain(policy(url), NOW)
        assert (counted(url, "v"), counted(url, "archive")) == (0, 30)


def left_open(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archive all rows of a table, and delete none."""
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy(url, chunk=7), NOW)

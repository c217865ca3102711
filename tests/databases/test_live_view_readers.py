"""Who may read the table itself sees no live view of it on MySQL and MariaDB, whichever way the right comes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.errors import UsageError
from tests.databases.test_live_view import Audience, cleared, policy, prepared
from tests.servers import ask


@pytest.fixture(params=["mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    prepared(found)
    yield found
    cleared(found)


@pytest.fixture
def roles(url: str) -> Iterator[list[str]]:
    """Three roles, the first of which has the second."""
    names = [f"role_{secrets.token_hex(4)}" for _ in range(3)]
    ask(url, *(f"CREATE ROLE {name}" for name in names))
    ask(url, f"GRANT {names[1]} TO {names[0]}")
    yield names
    ask(url, *(f"DROP ROLE {name}" for name in names))


@pytest.fixture
def nurse(url: str) -> Iterator[Audience]:
    audience = Audience(url)
    yield audience
    audience.leave()


def is_refused(url: str, role: str, source: str = "people") -> bool:
    # masks of what a view computes are refused for another reason
    given = policy(url, role) if source == "people" else policy(url, role, {"name": {"role": "other"}}, unnamed="remove")
    given["source"]["sql"]["table"] = source
    try:
        sfumato.run(given)
    except UsageError as error:
        assert error.code == "live-view-role"
        assert "would hide nothing" in str(error)
        return True
    return False


@pytest.mark.parametrize("what", ["people", "*", "(name) people"])
def test_rights_of_roles_count_for_those_who_have_them(url: str, roles: list[str], nurse: Audience, what: str) -> None:
    column, _, table = what.rpartition(" ")
    ask(url, f"GRANT SELECT {column} ON {table} TO {roles[1]}")
    assert is_refused(url, roles[0])
    assert is_refused(url, roles[1])
    assert not is_refused(url, roles[2])
    assert not is_refused(url, nurse.role)
    ask(url, f"GRANT {roles[0]} TO {nurse.role}@'%'")
    assert is_refused(url, nurse.role)


OVER_THE_TABLE = {
    "one": ["VIEW over_people AS SELECT * FROM people"],
    "further": ["VIEW inner_people AS SELECT * FROM people WHERE name <> 'from `x`'", "VIEW over_people AS SELECT i.* FROM inner_people i"],
    "joined": ["VIEW over_people AS SELECT p.* FROM (SELECT 1 AS one) o JOIN people p ON p.id >= o.one - 1"],
    "texts": [r"VIEW over_people AS SELECT p.* FROM people p WHERE p.name <> '\\' OR p.name <> '\''"],
}


@pytest.mark.parametrize("what", OVER_THE_TABLE)
def test_rights_to_what_is_beneath_a_view_count(url: str, nurse: Audience, what: str) -> None:
    ask(url, *(f"CREATE {made}" for made in OVER_THE_TABLE[what]))
    try:
        assert not is_refused(url, nurse.role, "over_people")
        ask(url, f"GRANT SELECT (name) ON people TO {nurse.role}@'%'")
        assert is_refused(url, nurse.role, "over_people")
    finally:
        ask(url, "DROP VIEW over_people", "DROP VIEW IF EXISTS inner_people")


@pytest.mark.parametrize("table", ["people", "*"])
def test_rights_of_everybody_count_for_each(mariadb_url: str, table: str) -> None:
    prepared(mariadb_url)
    nurse = Audience(mariadb_url)
    try:
        ask(mariadb_url, f"GRANT SELECT ON {table} TO PUBLIC")
        assert is_refused(mariadb_url, nurse.role)
        ask(mariadb_url, f"REVOKE SELECT ON {table} FROM PUBLIC")
        assert not is_refused(mariadb_url, nurse.role)
    finally:
        nurse.leave()
        cleared(mariadb_url)


def test_roles_that_the_server_lets_everybody_have_count_for_each(mysql_url: str) -> None:
    prepared(mysql_url)
    nurse, role = Audience(mysql_url), f"role_{secrets.token_hex(4)}"
    ask(mysql_url, f"CREATE ROLE {role}", f"GRANT SELECT ON people TO {role}", f"SET GLOBAL mandatory_roles = '`{role}`@`%`'")
    try:
        assert is_refused(mysql_url, nurse.role)
    finally:
        ask(mysql_url, "SET GLOBAL mandatory_roles = ''", f"DROP ROLE {role}")
        nurse.leave()
        cleared(mysql_url)


def test_the_record_names_the_tables_of_rights_that_could_not_be_read(url: str, nurse: Audience) -> None:
    keeper, database = Audience(url), urlsplit(url).path[1:]
    views, staged = f"{database}_views", f"sfumato_staging_{keeper.role}"
    ask(url, f"CREATE DATABASE {views}", f"GRANT SELECT ON people TO {keeper.role}")
    ask(url, f"GRANT CREATE VIEW, SHOW VIEW, DROP, SELECT ON {views}.* TO {keeper.role} WITH GRANT OPTION")
    ask(url, f"GRANT CREATE, CREATE VIEW, SHOW VIEW, DROP, SELECT ON {staged}.* TO {keeper.role}", f"GRANT SELECT ON mysql.db TO {keeper.role}")
    try:
        given = policy(keeper.own_url, nurse.role)
        given["sink"]["live_view"]["schema"] = views
        notes = sfumato.run(given).record.notes  # type: ignore[union-attr]
        roles = "mysql.roles_mapping" if url.startswith("mariadb") else "mysql.role_edges"
        words = "whether its readers may read the table itself could not be looked up: the user of the run may not read"
        assert f"{words} mysql.tables_priv, mysql.user, {roles}" in notes
    finally:
        ask(url, f"DROP DATABASE {views}", f"DROP DATABASE IF EXISTS {staged}")
        keeper.leave()

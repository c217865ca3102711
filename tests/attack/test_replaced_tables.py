"""Tables that a release replaces: nothing that was somebody's goes with the old one, and a run that would lose it is refused before it reads."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.databases.postgresql_inside import PostgresqlInside
from sfumato.errors import UnreachableError
from tests.databases.test_inside import TABLE, policy, stored
from tests.servers import ask, component

pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "postgresql18"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    found = str(request.getfixturevalue(f"{request.param}_url"))
    stored(found, TABLE, "people")
    yield found
    ask(found, "DROP TABLE IF EXISTS release, parts, users CASCADE", "DROP FUNCTION IF EXISTS counting")


@pytest.fixture
def roles(url: str) -> Iterator[tuple[str, str, str]]:
    """An owner, somebody who makes releases, and the address of the latter."""
    owner, maker = (f"{what}_{secrets.token_hex(4)}" for what in ("owner", "maker"))
    parts = urlsplit(url)
    ask(url, f"CREATE ROLE {owner}", f"CREATE ROLE {maker} LOGIN PASSWORD '{parts.password}'", f"GRANT SELECT ON people TO {maker}")
    ask(url, f"GRANT CREATE, USAGE ON SCHEMA public TO {maker}")
    yield owner, maker, parts._replace(netloc=f"{maker}:{parts.password}@{parts.hostname}:{parts.port}").geturl()
    ask(url, f"DROP OWNED BY {maker}, {owner}", f"DROP ROLE {maker}", f"DROP ROLE {owner}")


@pytest.mark.parametrize(
    ("statements", "hanging"),
    [
        (["CREATE TABLE parts (a text) PARTITION BY LIST (a)", "CREATE TABLE release PARTITION OF parts DEFAULT"], "its place in public.parts"),
        (["CREATE TABLE parts (a text)", "CREATE TABLE release () INHERITS (parts)"], "its place in public.parts"),
        (["CREATE TABLE release (a text)", "CREATE TABLE parts () INHERITS (release)"], "the table public.parts"),
        (["CREATE TABLE release (a text)", "CREATE TABLE users (r release)"], "the column r of table public.users"),
        (["CREATE TABLE release (a text)", "CREATE TABLE users (r release[])"], "the column r of table public.users"),
        (
            ["CREATE TABLE release (a text)", "CREATE FUNCTION counting() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM release; END"],
            "the function public.counting()",
        ),
    ],
)
def test_what_hangs_on_a_table_is_told_before_anything_is_read(
    url: str, statements: list[str], hanging: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(self: Any) -> None:
        raise AssertionError("nothing is read for a table that cannot be replaced")

    ask(url, *statements)
    monkeypatch.setattr(PostgresqlInside, "take", taken)
    with pytest.raises(UnreachableError) as caught:
        sfumato.run(policy(url))

    assert str(caught.value).startswith(f"release cannot be replaced: {hanging} would be lost with it [sink-table-used]")


def test_a_table_with_a_default_a_check_and_a_computed_column_of_its_own_is_replaced(url: str) -> None:
    ask(url, "CREATE TABLE release (id serial, age text CHECK (age <> ''), half integer GENERATED ALWAYS AS (id / 2) STORED)")
    sfumato.run(policy(url))

    assert ask(url, "SELECT count(*) FROM release") == [(TABLE.num_rows,)]


def test_a_table_that_is_replaced_keeps_its_owner_and_grants(url: str, roles: tuple[str, str, str]) -> None:
    owner, maker, _ = roles
    ask(url, "CREATE TABLE release (age text)", f"ALTER TABLE release OWNER TO {owner}", f"GRANT SELECT ON release TO {maker}")
    ask(url, f"GRANT SELECT, INSERT ON release TO {urlsplit(url).username}")
    query = "SELECT pg_get_userbyid(relowner), relacl::text FROM pg_class WHERE relname = 'release'"
    before = ask(url, query)
    sfumato.run(policy(url))

    assert ask(url, query) == before
    assert ask(url, "SELECT count(*) FROM release") == [(TABLE.num_rows,)]


def test_members_of_the_owner_give_the_table_back_to_it(url: str, roles: tuple[str, str, str]) -> None:
    owner, maker, own_url = roles
    ask(url, f"GRANT {owner} TO {maker}", f"GRANT CREATE ON SCHEMA public TO {owner}")
    ask(url, "CREATE TABLE release (age text)", f"ALTER TABLE release OWNER TO {owner}")
    sfumato.run(policy(url, source={"sql": component(own_url, "people")}, sink={"sql": component(own_url, "release")}))

    assert ask(url, "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'release'") == [(owner,)]


def test_a_table_whose_owner_would_lose_it_is_not_replaced(url: str, roles: tuple[str, str, str]) -> None:
    owner, maker, own_url = roles
    # the owner of a schema may drop whatever is in it
    ask(url, "CREATE SCHEMA held", f"ALTER SCHEMA held OWNER TO {maker}", "CREATE TABLE held.release (age text)")
    ask(url, f"ALTER TABLE held.release OWNER TO {owner}")
    sink = component(own_url, "release") | {"schema": "held"}
    try:
        with pytest.raises(UnreachableError) as caught:
            sfumato.run(policy(url, source={"sql": component(own_url, "people")}, sink={"sql": sink}))
        assert ask(url, "SELECT count(*) FROM held.release") == [(0,)]
    finally:
        ask(url, "DROP SCHEMA held CASCADE")

    words = f"held.release cannot be replaced: the ownership of {owner} (this user can give that role no tables there) would be lost with it"
    assert str(caught.value).startswith(f"{words} [sink-table-used]")

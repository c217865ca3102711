"""The rights that docs/databases.md names are enough for what it says, and what is missing is told before anything is done."""

from __future__ import annotations

import datetime
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.plan_view import plan
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError
from sfumato.sources.sql import Sql
from tests.servers import PASSWORD, ask, component, staging

NOW = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)
ROWS = 40


class Keeper:
    """A user who may do nothing but connect, a schema with visits and one for what is released."""

    def __init__(self, url: str) -> None:
        self.url, self.name = url, f"keeper_{secrets.token_hex(3)}"
        self.is_postgresql = url.startswith("postgresql")
        self.ward, self.research = (f"{self.name}_{place}" for place in ("ward", "research"))
        for schema in (self.ward, self.research):
            ask(url, f"CREATE SCHEMA {schema}")
        user = f"CREATE ROLE {self.name} LOGIN PASSWORD 'few'" if self.is_postgresql else f"CREATE USER {self.name}@'%' IDENTIFIED BY 'few'"
        rows = ", ".join(f"({number}, '2026-0{1 + number % 2}-05', {20 + number % 4})" for number in range(ROWS))
        ask(url, user, f"CREATE TABLE {self.ward}.visits (id integer PRIMARY KEY, day date, age integer)")
        ask(url, f"INSERT INTO {self.ward}.visits VALUES {rows}")
        parts = urlsplit(url)
        self.own_url = parts._replace(netloc=f"{self.name}:few@{parts.hostname}:{parts.port}").geturl()
        self.staging = staging(self.own_url)
        if not self.is_postgresql:
            # who has no right to a database cannot connect to it
            self.granted(f"SELECT ON {parts.path[1:]}.*")

    def granted(self, *rights: str) -> None:
        """Give rights, to the user."""
        ask(self.url, *(f"GRANT {right} TO {self.name}" for right in rights))

    def policy(self, **changes: Any) -> dict[str, Any]:
        """Return a policy that releases or retains the visits."""
        return {
            "source": {"sql": component(self.own_url, "visits") | {"schema": self.ward}},
            "sink": {"sql": component(self.own_url, "released") | {"schema": self.research}},
            "columns": {"id": {"role": "identifier"}, "day": {"role": "identifier"}, "age": {"role": "quasi_identifier"}},
            "promises": [{"k_anonymity": {"k": 3}}],
            **changes,
        }

    def leave(self) -> None:
        """Remove it all."""
        if self.is_postgresql:
            ask(self.url, f"DROP OWNED BY {self.name}", *(f"DROP SCHEMA {schema} CASCADE" for schema in (self.ward, self.research)))
            ask(self.url, f"DROP ROLE {self.name}")
        else:
            ask(self.url, f"DROP USER {self.name}", *(f"DROP DATABASE IF EXISTS {schema}" for schema in (self.ward, self.research, self.staging)))


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def keeper(request: pytest.FixtureRequest) -> Iterator[Keeper]:
    found = Keeper(str(request.getfixturevalue(f"{request.param}_url")))
    yield found
    found.leave()


RETENTION = {"column": "day", "older_than": "30d"}


def retaining_rights(keeper: Keeper) -> list[str]:
    """Return the rights of the documentation."""
    if keeper.is_postgresql:
        return [
            f"USAGE, CREATE ON SCHEMA {keeper.ward}",
            f"SELECT, DELETE ON {keeper.ward}.visits",
            f"USAGE, CREATE ON SCHEMA {keeper.research}",
        ]
    staged = keeper.staging.replace("_", "\\_")
    return [
        f"SELECT, DELETE ON {keeper.ward}.visits",
        f"CREATE, ALTER, INSERT, SELECT, UPDATE ON {keeper.research}.*",
        f"CREATE, DROP, ALTER, INDEX, INSERT, SELECT, DELETE ON `{staged}`.*",
    ]


@pytest.mark.parametrize("chunk", [7, 10000])
def test_the_rights_of_the_documentation_are_enough_to_retain(keeper: Keeper, chunk: int) -> None:
    keeper.granted(*retaining_rights(keeper))
    outcome = retain(keeper.policy(retention={**RETENTION, "chunk": chunk}), NOW)
    assert [batch.deleted for batch in outcome.batches] == [ROWS // 2, ROWS // 2]


@pytest.mark.parametrize(
    ("rule", "code"), [("CASCADE", "retention-cascade"), ("SET NULL", "retention-cascade"), ("RESTRICT", "retention-referenced")]
)
def test_keys_of_other_tables_are_seen_with_rights_to_these_tables_alone(keeper: Keeper, rule: str, code: str) -> None:
    keeper.granted(*retaining_rights(keeper))
    bills = f"{keeper.ward}.bills"
    key = f"FOREIGN KEY (visit) REFERENCES {keeper.ward}.visits (id) ON DELETE {rule}"
    ask(keeper.url, f"CREATE TABLE {bills} (id integer PRIMARY KEY, visit integer, {key})")
    ask(keeper.url, f"INSERT INTO {bills} VALUES (1, 1), (2, 3)")
    keeper.granted(f"SELECT ON {bills}")
    for look in (lambda policy: retain(policy, NOW), plan):
        with pytest.raises(SfumatoError) as caught:
            look(keeper.policy(retention=RETENTION))
        assert caught.value.code == code
    assert ask(keeper.url, f"SELECT COUNT(*), COUNT(visit) FROM {bills}") == [(2, 2)]
    if rule != "RESTRICT":
        outcome = retain(keeper.policy(retention={**RETENTION, "cascade": "accept"}), NOW)
        assert sum(gone.rows for batch in outcome.batches for gone in batch.along) == 2


def test_the_right_to_count_what_goes_along_is_named_by_the_plan_too(keeper: Keeper) -> None:
    keeper.granted(*retaining_rights(keeper))
    bills = f"{keeper.ward}.bills"
    key = f"FOREIGN KEY (visit) REFERENCES {keeper.ward}.visits (id) ON DELETE CASCADE"
    ask(keeper.url, f"CREATE TABLE {bills} (id integer PRIMARY KEY, visit integer, {key})")
    # MySQL and MariaDB show no keys of tables to which somebody has no right at all
    keeper.granted(f"INSERT ON {bills}")
    for look in (lambda policy: retain(policy, NOW), plan):
        with pytest.raises(SfumatoError) as caught:
            look(keeper.policy(retention={**RETENTION, "cascade": "accept"}))
        assert caught.value.code == "database-rights"
        assert f"no SELECT on {bills}" in str(caught.value)
        assert f"GRANT SELECT ON {bills}" in str(caught.value.hint)
    assert ask(keeper.url, f"SELECT COUNT(*) FROM {keeper.ward}.visits") == [(ROWS,)]


def test_younger_rows_of_the_table_itself_stay_with_rights_to_it_alone(keeper: Keeper) -> None:
    keeper.granted(*retaining_rights(keeper))
    visits = f"{keeper.ward}.visits"
    ask(
        keeper.url,
        f"ALTER TABLE {visits} ADD earlier integer",
        f"ALTER TABLE {visits} ADD FOREIGN KEY (earlier) REFERENCES {visits} (id) ON DELETE CASCADE",
    )
    ask(keeper.url, f"INSERT INTO {visits} VALUES (1000, '2026-11-16', 30, 1)")
    columns = {name: {"role": "identifier"} for name in ("id", "day", "earlier")} | {"age": {"role": "quasi_identifier"}}
    with pytest.raises(SfumatoError) as caught:
        retain(keeper.policy(retention=RETENTION, columns=columns), NOW)
    assert caught.value.code == "retention-referenced"
    assert ask(keeper.url, f"SELECT COUNT(*) FROM {visits} WHERE id = 1000") == [(1,)]


def test_rights_that_are_missing_are_named_before_the_first_batch(keeper: Keeper) -> None:
    lacking = f"CREATE in {keeper.ward}" if keeper.is_postgresql else f"UPDATE on {keeper.research}.sfumato_ledger"
    rights = retaining_rights(keeper)
    place = 0 if keeper.is_postgresql else 1
    rights[place] = rights[place].replace(f", {lacking.split()[0]}", "")
    keeper.granted(*rights)
    for look in (lambda policy: retain(policy, NOW), plan):
        with pytest.raises(SfumatoError) as caught:
            look(keeper.policy(retention=RETENTION))
        assert (caught.value.code, f"(no {lacking})" in str(caught.value)) == ("database-rights", True)
    assert ask(keeper.url, f"SELECT COUNT(*) FROM {keeper.ward}.visits") == [(ROWS,)]


def test_a_key_that_may_not_be_read_is_told_alike_by_the_plan_and_by_what_retains(postgresql_url: str) -> None:
    keeper = Keeper(postgresql_url)
    try:
        schemas = [right for right in retaining_rights(keeper) if "SCHEMA" in right]
        keeper.granted(*schemas, f"SELECT (day, age), DELETE ON {keeper.ward}.visits")
        policy = keeper.policy(columns={"day": {"role": "identifier"}, "age": {"role": "quasi_identifier"}}, retention=RETENTION)
        said = set()
        for look in (lambda: retain(policy, NOW), lambda: plan(policy)):
            with pytest.raises(SfumatoError) as caught:
                look()
            said.add((caught.value.code, caught.value.message))
    finally:
        keeper.leave()
    ((code, words),) = said
    assert (code, f"(no SELECT on {keeper.ward}.visits)" in words) == ("database-rights", True)


RUNNING = {
    "research": ["CREATE", "DROP", "ALTER", "INSERT", "SELECT"],
    "staging": ["CREATE TEMPORARY TABLES", "CREATE", "DROP", "ALTER", "INSERT", "SELECT"],
}
RETAINING = {
    "research": ["CREATE", "ALTER", "INSERT", "SELECT", "UPDATE"],
    "staging": ["CREATE", "DROP", "INDEX", "INSERT", "SELECT", "DELETE"],
}
ALL = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP"]
MASKING = {"ward": ALL, "staging": [*ALL, "INDEX"]}


@pytest.mark.parametrize("keeper", ["mariadb", "mysql"], indirect=True)
@pytest.mark.parametrize(
    ("rights", "place", "lacking"),
    [
        *((RUNNING, "staging", right) for right in ("CREATE TEMPORARY TABLES", "DROP", "ALTER", "INSERT")),
        *((RUNNING, "research", right) for right in ("DROP", "ALTER")),
        *((RETAINING, "staging", right) for right in ("DROP", "INDEX", "SELECT")),
        (RETAINING, "research", "ALTER"),
        *((MASKING, "staging", right) for right in ("UPDATE", "DROP", "INDEX")),
        *((MASKING, "ward", right) for right in ("CREATE", "DROP")),
    ],
)
def test_a_right_that_is_needed_half_way_is_named_beforehand_and_nothing_is_left(
    keeper: Keeper, rights: dict[str, list[str]], place: str, lacking: str
) -> None:
    places = {"ward": keeper.ward, "research": keeper.research, "staging": keeper.staging}
    escaped = {name: "`" + schema.replace("_", "\\_") + "`.*" for name, schema in places.items()}
    keeper.granted(f"SELECT, DELETE ON {keeper.ward}.visits", *(f"{', '.join(given)} ON {escaped[name]}" for name, given in rights.items()))
    policy, do = keeper.policy(), sfumato.run
    if rights is RETAINING:
        policy, do = keeper.policy(retention=RETENTION), lambda policy: retain(policy, NOW)  # type: ignore[assignment]
    elif rights is MASKING:
        kept = {"role": "other", "accept": "singling_out"}
        sink = {"sql": policy["source"]["sql"] | {"in_place": True}}
        policy = policy | {"columns": {"id": kept, "day": {"role": "identifier"}, "age": kept}, "promises": [], "sink": sink}
    elif place == "research":
        # only a table that is there is taken out of its place
        do(policy)
    ask(keeper.url, f"REVOKE {lacking} ON {escaped[place]} FROM {keeper.name}")
    with pytest.raises(SfumatoError) as planned:
        plan(policy)
    named = rf"\(no {lacking} (in {places[place]}|on {places[place]}.retained)\)"
    assert (planned.value.code, re.search(named, str(planned.value)) is not None) == ("database-rights", True)
    with pytest.raises(SfumatoError) as caught:
        do(policy)
    assert caught.value.code == "database-rights"
    if (rights, lacking) != (RUNNING, "DROP"):
        # else a run that nobody has planned has found out too late that it may not remove what it has made
        assert ask(keeper.url, f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{keeper.staging}'") == []
    assert ask(keeper.url, f"SELECT COUNT(*), COUNT(day) FROM {keeper.ward}.visits") == [(ROWS, ROWS)]


@pytest.mark.parametrize("keeper", ["mariadb", "mysql"], indirect=True)
def test_rights_to_the_one_table_of_the_release_are_enough(keeper: Keeper) -> None:
    released, staged = f"{keeper.research}.released", "`" + keeper.staging.replace("_", "\\_") + "`.*"
    keeper.granted(
        f"SELECT ON {keeper.ward}.visits", f"{', '.join(RUNNING['research'])} ON {released}", f"{', '.join(RUNNING['staging'])} ON {staged}"
    )
    for _ in range(2):
        plan(keeper.policy())
        assert sfumato.run(keeper.policy()).record.rows.out == ROWS  # type: ignore[union-attr]


@pytest.mark.parametrize("is_inside", [True, False])
def test_columns_that_the_user_may_not_read_are_as_if_they_were_not_there(keeper: Keeper, is_inside: bool, tmp_path: Path) -> None:
    keeper.granted(*retaining_rights(keeper)[1 + keeper.is_postgresql :], f"SELECT (age, day) ON {keeper.ward}.visits")
    if keeper.is_postgresql:
        keeper.granted(f"USAGE ON SCHEMA {keeper.ward}")
    else:
        keeper.granted(f"DROP ON {keeper.research}.*", "CREATE TEMPORARY TABLES ON `" + keeper.staging.replace("_", "\\_") + "`.*")
    sink = {} if is_inside else {"sink": str(tmp_path / "visits.csv")}
    policy = keeper.policy(columns={"age": {"role": "quasi_identifier"}}, unnamed="remove", **sink)
    release: Any = sfumato.run(policy)
    assert (release.record.rows.out, release.record.columns.keys() & {"id"}) == (ROWS, set())


def test_a_plan_is_refused_where_the_run_would_be(keeper: Keeper) -> None:
    keeper.granted(*([f"USAGE ON SCHEMA {keeper.ward}"] if keeper.is_postgresql else []), f"SELECT ON {keeper.ward}.visits")
    keeper.granted(f"USAGE ON SCHEMA {keeper.research}" if keeper.is_postgresql else f"SELECT ON {keeper.research}.*")
    with pytest.raises(SfumatoError) as caught:
        plan(keeper.policy())
    assert (caught.value.code, f"no CREATE in {keeper.research}" in str(caught.value)) == ("database-rights", True)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(keeper.policy())
    assert caught.value.code == "database-rights"


def test_two_databases_of_one_server_are_told_how_to_be_one(mariadb_url: str) -> None:
    keeper = Keeper(mariadb_url)
    try:
        keeper.granted(*retaining_rights(keeper), f"DROP ON {keeper.research}.*")
        policy = keeper.policy()
        address = policy["sink"]["sql"]["url"].rpartition("/")[0]
        steps = plan({**policy, "sink": {"sql": {**component(keeper.own_url, "released"), "url": f"{address}/{keeper.research}"}}}).steps
        assert any(f"schema: {keeper.research} in the sink it would be done there" in step for step in steps)
    finally:
        keeper.leave()


def test_a_schema_without_tables_and_a_password_that_is_not_set_are_told(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = component(postgresql_url, "visits") | {"schema": "nowhere"}
    with pytest.raises(SfumatoError) as caught:
        Sql(**source).describe()
    assert (caught.value.code, "look at schema" in str(caught.value.hint)) == ("table-missing", True)
    monkeypatch.delenv(PASSWORD)
    with pytest.raises(SfumatoError) as caught:
        Sql(**source).describe()
    assert caught.value.message == f"the password of the database: the variable {PASSWORD} is not set"
    assert caught.value.hint == f"export {PASSWORD}=..., or name a file"


def test_a_plan_is_refused_where_the_schema_of_the_sink_is_not_there(keeper: Keeper) -> None:
    keeper.granted(*([f"USAGE ON SCHEMA {keeper.ward}"] if keeper.is_postgresql else []), f"SELECT ON {keeper.ward}.visits")
    policy = keeper.policy(sink={"sql": component(keeper.own_url, "released") | {"schema": "nowhere"}})
    with pytest.raises(SfumatoError) as caught:
        plan(policy)
    if keeper.is_postgresql:
        assert (caught.value.code, "nowhere" in str(caught.value)) == ("database-missing", True)
    else:
        # the server does not tell what is not there from what this user may not see
        assert "has no database nowhere, or gives this user no right to it [database-rights]" in str(caught.value)
        assert str(caught.value.hint).startswith("GRANT CREATE ON `nowhere`.*; ")
        assert "CREATE DATABASE first, where it is not there" in str(caught.value.hint)
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy)
    assert caught.value.code in ("database-missing", "database-rights")


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_who_sees_all_databases_is_told_that_one_is_not_there(request: pytest.FixtureRequest, name: str) -> None:
    url = request.getfixturevalue(f"{name}_url")
    ask(url, "CREATE TABLE IF NOT EXISTS seen (n INT)")
    sink = {"sql": component(url, "released") | {"schema": "nowhere"}}
    with pytest.raises(SfumatoError) as caught:
        plan({"source": {"sql": component(url, "seen")}, "columns": {"n": {"role": "other"}}, "sink": sink})
    assert "(database nowhere) [database-missing]" in str(caught.value)

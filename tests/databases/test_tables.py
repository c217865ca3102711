"""Several tables of one database in one policy: keys can be joined by, all tables are published together, and promises hold in each."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import sfumato
from sfumato.engine.preview import preview
from sfumato.engine.reveal import Request, reveal
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UnreachableError, UsageError
from tests.databases.kills import endings, finish
from tests.servers import ask, component, left_over

PEOPLE, VISITS = 60, 240
WARDS = ("NULL", "'A'", "'B'", "'A'", "'B'")
KEY = f"k1:{base64.b64encode(bytes(range(32))).decode()}"
PSEUDONYM: dict[str, Any] = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": "patient"}}}
HOSPITAL = [
    "CREATE TABLE wards (code varchar(10) PRIMARY KEY, name varchar(40))",
    "CREATE TABLE patients (id bigint PRIMARY KEY, name varchar(40), age int, referred bigint, FOREIGN KEY (referred) REFERENCES patients (id))",
    "CREATE TABLE visits (number int, patient bigint NOT NULL, ward varchar(10), reason varchar(40), FOREIGN KEY (patient) REFERENCES patients (id), "
    "FOREIGN KEY (ward) REFERENCES wards (code))",
    "INSERT INTO wards VALUES ('A', 'Canary ward'), ('B', 'Canary yard')",
    # DuckDB takes a row only where the one that it refers to was there before the statement
    *(
        f"INSERT INTO patients VALUES ({number}, 'Canary {number}', {20 + number % 40}, {number // 2 if number > 1 else 'NULL'})"
        for number in range(1, PEOPLE + 1)
    ),
    "INSERT INTO visits VALUES "
    + ", ".join(f"({number}, {number % PEOPLE + 1}, {WARDS[number % 5]}, 'reason {number % 7}')" for number in range(VISITS)),
]
TABLES: dict[str, Any] = {
    "patients": {
        "columns": {"id": PSEUDONYM, "name": {"role": "identifier"}, "age": {"role": "quasi_identifier"}, "referred": PSEUDONYM},
        "promises": [{"k_anonymity": {"k": 3}}],
        "accept": "singling_out",
    },
    "visits": {"columns": {"number": {"role": "identifier"}, "patient": PSEUDONYM, "ward": {"role": "other"}, "reason": {"role": "other"}}},
    "wards": {"columns": {"code": {"role": "other"}, "name": {"role": "identifier"}}},
}


class Hospital:
    """A hospital in schemas of its own, in PostgreSQL, in MariaDB or in a file of DuckDB."""

    def __init__(self, url: str) -> None:
        self.url, self.is_postgresql = url, url.startswith("postgresql")
        settings = component(url, "")
        self.settings = {key: value for key, value in settings.items() if key != "table"}
        self.cascade = " CASCADE" if url.startswith(("postgresql", "duckdb")) else ""
        self.source, self.sink = (f"{urlsplit(url).path.split('/')[-1].split('.')[0]}_{name}" for name in ("ward", "masked"))
        for schema in (self.source, self.sink):
            self.ask(f"DROP SCHEMA IF EXISTS {schema}{self.cascade}", f"CREATE SCHEMA {schema}")
        self.make(*HOSPITAL)

    def ask(self, *statements: str) -> list[tuple[Any, ...]]:
        return ask(self.url, *statements)

    def make(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.ask(f"SET search_path = {self.source}" if self.is_postgresql else f"USE {self.source}", *statements)

    def policy(self, tables: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return {
            "source": {"sql": {**self.settings, "schema": self.source}},
            "sink": {"sql": {**self.settings, "schema": self.sink}},
            "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
            "tables": TABLES if tables is None else tables,
            **more,
        }

    def changed(self, **tables: dict[str, Any]) -> dict[str, Any]:
        """Return the policy with some entries of tables changed."""
        return self.policy({name: {**entry, **tables.get(name, {})} for name, entry in TABLES.items()})

    def number(self, query: str) -> Any:
        ((number,),) = self.ask(query.replace("masked.", f"{self.sink}.").replace("ward.", f"{self.source}."))
        return number

    def released(self) -> list[str]:
        query = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{self.sink}' ORDER BY table_name"
        return [str(name) for (name,) in self.ask(query)]


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def hospital(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hospital]:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    made = Hospital(request.getfixturevalue(f"{request.param}_url"))
    yield made
    for schema in (made.source, made.sink):
        made.ask(f"DROP SCHEMA IF EXISTS {schema}{made.cascade}")


def needs_more_than_a_file(hospital: Hospital, why: str) -> None:
    """Skip what DuckDB does not have."""
    if hospital.url.startswith("duckdb"):
        pytest.skip(f"{why}: no command makes this run")


def refused(policy: dict[str, Any], kind: type[SfumatoError] = PolicyError) -> str:
    with pytest.raises(kind) as caught:
        sfumato.run(policy)
    assert "Canary" not in str(caught.value)
    return str(caught.value)


def test_tables_are_joined_by_their_pseudonyms_as_they_were_before(hospital: Hospital) -> None:
    releases: Any = sfumato.run(hospital.policy())

    assert list(releases) == ["patients", "visits", "wards"]
    assert hospital.released() == ["patients", "visits", "wards"]
    query = "SELECT count(*) FROM {0}.visits v JOIN {0}.patients p ON v.patient = p.id JOIN {0}.wards w ON v.ward = w.code"
    assert hospital.number(query.format("masked")) == hospital.number(query.format("ward")) == VISITS * 4 // 5
    assert hospital.number("SELECT count(*) FROM masked.patients c JOIN masked.patients p ON c.referred = p.id") == PEOPLE - 1
    assert hospital.number("SELECT min(n) FROM (SELECT count(*) AS n FROM masked.patients GROUP BY age) c") >= 3
    assert releases["visits"].record.foreign_keys[0].model_dump() == {
        "columns": ["patient"],
        "table": "patients",
        "referred": ["id"],
        "joined": VISITS,
        "orphans": 0,
    }


def test_pseudonyms_without_a_domain_are_the_same_in_all_tables(hospital: Hospital) -> None:
    plain = {"role": "identifier", "mask": {"hash": {"key": "main"}}}
    patients = {**TABLES["patients"]["columns"], "id": plain, "referred": plain}
    sfumato.run(hospital.changed(patients={"columns": patients}, visits={"columns": {**TABLES["visits"]["columns"], "patient": plain}}))
    assert hospital.number("SELECT count(*) FROM masked.visits v JOIN masked.patients p ON v.patient = p.id") == VISITS


def test_a_second_run_replaces_all_tables_and_leaves_nothing_behind(hospital: Hospital, tmp_path: Path) -> None:
    policy = hospital.policy()
    policy["sink"]["sql"]["record"] = f"{tmp_path}/records/"
    for _ in range(2):
        sfumato.run(policy)
    assert hospital.released() == ["patients", "visits", "wards"]
    assert sorted(path.name for path in (tmp_path / "records").iterdir()) == [f"{name}.record.json" for name in ("patients", "visits", "wards")]


def test_all_tables_are_read_in_one_state(hospital: Hospital) -> None:
    needs_more_than_a_file(hospital, "nobody can write to a DuckDB file that is read")

    class Busy:
        """Writes to the database while it is read."""

        done = False

        def stage(self, name: str, total: int | None = None) -> None:
            if name == "reading visits" and not self.done:
                self.done = True
                hospital.make("INSERT INTO patients VALUES (1000, 'Canary', 30, NULL)", "INSERT INTO visits VALUES (1000, 1000, NULL, 'late')")

        def advance(self, rows: int) -> None:
            pass

    releases: Any = sfumato.run(hospital.policy(), progress=Busy())
    assert [release.record.rows.out for release in releases.values()] == [PEOPLE, VISITS, 2]
    assert releases["visits"].record.foreign_keys[0].joined == VISITS


def test_stages_name_the_table(hospital: Hospital) -> None:
    stages: list[str] = []

    class Told:
        """Notes the stages."""

        def stage(self, name: str, total: int | None = None) -> None:
            stages.append(name)

        def advance(self, rows: int) -> None:
            pass

    sfumato.run(hospital.policy(), progress=Told())
    assert stages[:3] == ["reading patients", "reading visits", "reading wards"]
    assert {"counting patients", "writing visits", "joining", "published"} <= set(stages)


def test_a_table_that_cannot_be_replaced_leaves_all_others_as_they_were(hospital: Hospital, tmp_path: Path) -> None:
    policy = hospital.policy()
    policy["sink"]["sql"]["record"] = f"{tmp_path}/"
    sfumato.run(policy)
    records = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    hospital.ask(f"DROP TABLE {hospital.sink}.wards", f"CREATE VIEW {hospital.sink}.wards AS SELECT 1 AS code")
    hospital.ask(f"DELETE FROM {hospital.sink}.patients", f"DELETE FROM {hospital.sink}.visits")

    assert "wards is no plain table" in refused(policy, UnreachableError)
    assert hospital.number("SELECT count(*) FROM masked.patients") == hospital.number("SELECT count(*) FROM masked.visits") == 0
    assert hospital.released() == ["patients", "visits", "wards"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == records


def test_a_promise_that_cannot_be_kept_in_one_table_publishes_none(hospital: Hospital) -> None:
    message = refused(hospital.changed(patients={"promises": [{"k_anonymity": {"k": PEOPLE + 1}}]}), PromiseError)
    assert message.startswith("table patients: ")
    assert hospital.released() == []


def test_a_key_whose_columns_become_different_is_refused_with_both_names(hospital: Hospital) -> None:
    visits = {**TABLES["visits"]["columns"], "patient": {"role": "identifier"}}
    assert refused(hospital.changed(visits={"columns": visits})) == (
        "policy: tables.visits.columns.patient: is of the foreign key visits.patient -> patients.id, by which the release could not be joined: "
        "patient is removed and id is masked with hash [policy-broken-key]\n"
        "  try: keep both, or give both the same mask with the same key and domain, such as mask: {hash: {key: main, domain: patient}}; "
        "or accept: broken_key in the table visits"
    )


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "other"}, "patient is kept and id is masked with hash"),
        ({"role": "identifier", "mask": {"hash": {"key": "main", "domain": "other"}}}, "patient and id are masked in two ways"),
        ({**PSEUDONYM, "when": {"column": "ward", "equals": "A"}, "otherwise": "constant"}, "patient is masked under a condition"),
    ],
)
def test_masks_that_differ_break_a_key(hospital: Hospital, column: dict[str, Any], words: str) -> None:
    assert words in refused(hospital.changed(visits={"columns": {**TABLES["visits"]["columns"], "patient": column}}))


def test_a_generalised_key_is_refused(hospital: Hospital) -> None:
    visits = {"columns": {**TABLES["visits"]["columns"], "patient": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    assert "patient is generalised and id is masked with hash" in refused(hospital.changed(visits=visits))


@pytest.mark.parametrize("mask", [{"constant": {"value": "x"}}, {"encrypt": {"key": "main"}}])
def test_masks_by_which_nothing_can_be_joined_are_refused_on_both_sides(hospital: Hospital, mask: dict[str, Any]) -> None:
    column = {"role": "identifier", "mask": mask}
    tables = {
        "patients": {"columns": {**TABLES["patients"]["columns"], "id": column, "referred": column}},
        "visits": {"columns": {**TABLES["visits"]["columns"], "patient": column}},
    }
    message = refused(hospital.changed(**tables))
    assert ("makes one value of several" if "constant" in mask else "does not always make the same of one value") in message


def test_a_broken_key_that_is_accepted_is_told_in_plan_and_record(hospital: Hospital) -> None:
    visits = {"columns": {**TABLES["visits"]["columns"], "patient": {"role": "identifier"}}, "accept": ["broken_key"]}
    words = (
        "visits.patient -> patients.id: the release cannot be joined by it, as the policy accepts, because "
        "patient is removed and id is masked with hash"
    )
    policy = hospital.changed(visits=visits)
    assert f"Mind the foreign key {words}." in sfumato.plan(policy).together
    releases: Any = sfumato.run(policy)
    assert words in releases["visits"].record.notes
    assert [key.table for key in releases["visits"].record.foreign_keys] == ["wards"]


def test_a_key_to_a_table_that_is_not_named_is_told(hospital: Hospital) -> None:
    policy = hospital.policy({name: entry for name, entry in TABLES.items() if name != "wards"})
    words = f"visits.ward -> {hospital.source}.wards.code: the policy has no table {hospital.source}.wards"
    assert any(line.startswith(f"Mind the foreign key {words}") for line in sfumato.plan(policy).together)
    releases: Any = sfumato.run(policy)
    assert any(note.startswith(words) for note in releases["visits"].record.notes)


def test_rows_whose_parents_were_left_out_are_counted(hospital: Hospital) -> None:
    needs_more_than_a_file(hospital, "DuckDB changes no row to which others refer")
    hospital.make("UPDATE patients SET age = 99 WHERE id IN (10, 20)", "UPDATE patients SET referred = NULL")
    tree = {"value": [str(age) for age in range(20, 61)]}
    age = {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": tree}}, "on_unknown": "suppress"}
    patients = {"columns": {**TABLES["patients"]["columns"], "age": age}, "suppression_limit": 0.5, "promises": [{"k_anonymity": {"k": 2}}]}
    releases: Any = sfumato.run(hospital.changed(patients=patients))
    left_out = PEOPLE - releases["patients"].record.rows.out
    found = releases["visits"].record.foreign_keys[0]
    assert left_out >= 2
    assert (found.joined, found.orphans) == (VISITS - 4 * left_out, 4 * left_out)
    assert hospital.number("SELECT count(*) FROM masked.visits v JOIN masked.patients p ON v.patient = p.id") == found.joined


def test_composite_keys_cycles_and_several_keys_to_one_table(hospital: Hospital) -> None:
    needs_more_than_a_file(hospital, "DuckDB has no cycles of foreign keys")
    hospital.make(
        "CREATE TABLE a (x int, y varchar(5), b int, PRIMARY KEY (x, y))",
        "CREATE TABLE b (id int PRIMARY KEY, x int, y varchar(5), x2 int, y2 varchar(5), "
        "FOREIGN KEY (x, y) REFERENCES a (x, y), FOREIGN KEY (x2, y2) REFERENCES a (x, y))",
        "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b (id)",
        "INSERT INTO a VALUES (1, 'p', NULL), (1, 'q', NULL), (2, 'p', NULL)",
        "INSERT INTO b VALUES (1, 1, 'q', 2, 'p'), (2, 1, 'p', 1, NULL)",
        "UPDATE a SET b = 1 WHERE x = 1",
    )
    mask = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": "x"}}}
    keep = {"role": "other"}
    tables = {"a": {"columns": {"x": mask, "y": keep, "b": keep}}, "b": {"columns": {"id": keep, "x": mask, "y": keep, "x2": mask, "y2": keep}}}
    releases: Any = sfumato.run(hospital.policy(tables))
    assert {tuple(key.columns): key.joined for key in releases["b"].record.foreign_keys} == {("x", "y"): 2, ("x2", "y2"): 1}
    assert [(key.columns, key.joined) for key in releases["a"].record.foreign_keys] == [(["b"], 2)]
    assert hospital.number("SELECT count(*) FROM masked.b JOIN masked.a ON a.x = b.x AND a.y = b.y") == 2


def test_an_empty_table_without_promises_is_published_empty(hospital: Hospital) -> None:
    hospital.make("DELETE FROM visits")
    releases: Any = sfumato.run(hospital.policy())
    assert releases["visits"].record.rows.out == 0
    assert hospital.number("SELECT count(*) FROM masked.visits") == 0
    assert "the source has no rows: an empty table was published" in releases["visits"].record.notes


def test_an_empty_table_of_which_something_is_promised_is_refused(hospital: Hospital) -> None:
    needs_more_than_a_file(hospital, "DuckDB changes no row to which others refer")
    hospital.make("DELETE FROM visits", "UPDATE patients SET referred = NULL", "DELETE FROM patients")
    assert refused(hospital.policy(), DataError).startswith("table patients: the source has no rows [source-empty]")
    assert hospital.released() == []


def test_what_is_wrong_with_all_tables_is_told_together(hospital: Hospital, tmp_path: Path) -> None:
    needs_more_than_a_file(hospital, "a DuckDB file has no host and no password")
    path = tmp_path / "policy.yaml"
    path.write_text(
        f"""source: {{sql: {{url: "{hospital.settings["url"]}", schema: {hospital.source}, password: {{environment: SFUMATO_TEST_PASSWORD}}}}}}
sink: {{sql: {{url: "{hospital.settings["url"]}", schema: {hospital.sink}, password: {{environment: SFUMATO_TEST_PASSWORD}}}}}}
tables:
  pateints:
    columns: {{id: {{role: other}}}}
  visits:
    columns: {{number: {{role: other}}, patient: {{role: other}}, ward: {{role: other}}}}
  wards:
    columns: {{code: {{role: other}}, name: {{role: other}}, size: {{role: other}}}}
"""
    )
    with pytest.raises(DataError) as caught:
        sfumato.run(path)
    database = f"the database {hospital.settings['url'].rsplit('/', 1)[1]} on {hospital.settings['url'].split('@')[1].rsplit('/', 1)[0]}"
    assert caught.value.status == 6
    assert str(caught.value) == (
        f"policy.yaml:4 tables.pateints: {database} has no table {hospital.source}.pateints [table-missing]\n  try: patients\n"
        "policy.yaml:6 tables.visits: the source has columns that the policy does not name: reason [columns-differ]\n"
        "  try: name each of them with a role; role identifier removes it\n"
        "policy.yaml:8 tables.wards: the policy names columns that the source does not have: size [columns-differ]\n"
        "  try: leave them out of the policy, or call them as the source does"
    )


def test_a_table_is_not_written_over_another_one_that_is_read(hospital: Hospital) -> None:
    policy = hospital.changed(visits={"into": "wards2"}, wards={"into": "patients"}, patients={"into": "visits"})
    policy["sink"]["sql"]["schema"] = hospital.source
    message = refused(policy)
    assert "tables.patients: would be written over the table that visits is read from [sink-is-source]" in message
    assert "tables.wards: would be written over the table that patients is read from [sink-is-source]" in message
    assert hospital.number("SELECT count(*) FROM ward.visits") == VISITS


def test_tables_of_other_schemas_and_of_other_names(hospital: Hospital) -> None:
    needs_more_than_a_file(hospital, "DuckDB has no foreign keys to other schemas")
    other = f"{hospital.source}_2"
    name = "vis`its\" 'x'; -- Ω" + (" 🙂\n" if hospital.is_postgresql else "")
    quoted = '"' + name.replace('"', '""') + '"' if hospital.is_postgresql else "`" + name.replace("`", "``") + "`"
    hospital.ask(
        f"DROP SCHEMA IF EXISTS {other}{' CASCADE' if hospital.is_postgresql else ''}",
        f"CREATE SCHEMA {other}",
        f"CREATE TABLE {other}.{quoted} (patient bigint, FOREIGN KEY (patient) REFERENCES {hospital.source}.patients (id))",
        f"INSERT INTO {other}.{quoted} VALUES (1), (2), (2), (NULL)",
        f"CREATE VIEW {other}.seen AS SELECT id FROM {hospital.source}.patients",
    )
    tables = {
        **TABLES,
        name: {"schema": other, "columns": {"patient": PSEUDONYM}},
        "second": {"table": "seen", "schema": other, "into": "seen again", "columns": {"id": PSEUDONYM}},
    }
    try:
        releases: Any = sfumato.run(hospital.policy(tables))
        assert releases[name].record.foreign_keys[0].joined == 3
        assert releases["second"].record.rows.out == PEOPLE
        assert hospital.number(f"SELECT count(*) FROM masked.{quoted}") == 4
    finally:
        hospital.ask(f"DROP SCHEMA {other}{' CASCADE' if hospital.is_postgresql else ''}")


def test_keys_of_any_type_and_tables_in_partitions(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    hospital = Hospital(postgresql_url)
    hospital.make(
        "CREATE TABLE people (id uuid, year int, town text, PRIMARY KEY (id, year)) PARTITION BY RANGE (year)",
        "CREATE TABLE people_old PARTITION OF people FOR VALUES FROM (0) TO (2000)",
        "CREATE TABLE people_new PARTITION OF people FOR VALUES FROM (2000) TO (3000)",
        "CREATE TABLE letters (person uuid, year int, body text, FOREIGN KEY (person, year) REFERENCES people (id, year)) PARTITION BY LIST (year)",
        "CREATE TABLE letters_all PARTITION OF letters DEFAULT",
        "INSERT INTO people SELECT md5(n::text)::uuid, 1990 + n, 'town' FROM generate_series(1, 20) n",
        "INSERT INTO letters SELECT id, year, 'Canary' FROM people, generate_series(1, 3)",
    )
    mask = {"role": "identifier", "mask": {"hash": {"key": "main"}}}
    tables = {
        "people": {"columns": {"id": mask, "year": {"role": "other"}, "town": {"role": "other"}}},
        "letters": {"columns": {"person": mask, "year": {"role": "other"}, "body": {"role": "identifier"}}},
    }
    releases: Any = sfumato.run(hospital.policy(tables))
    assert [(key.columns, key.joined) for key in releases["letters"].record.foreign_keys] == [(["person", "year"], 60)]
    assert hospital.number("SELECT count(*) FROM masked.letters l JOIN masked.people p ON l.person = p.id AND l.year = p.year") == 60


@pytest.mark.parametrize("mask", [{}, {"mask": {"hash": {"key": "main"}}}])
def test_a_key_of_padded_texts_is_joined_with_texts_that_are_not(postgresql_url: str, mask: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    hospital = Hospital(postgresql_url)
    hospital.make(
        "CREATE TABLE people (code char(8) PRIMARY KEY)",
        "CREATE TABLE letters (person varchar(8) REFERENCES people (code), answers char(8) REFERENCES people (code))",
        "INSERT INTO people VALUES ('a'), ('b c')",
        "INSERT INTO letters VALUES ('a', 'b c'), ('b c', 'a'), ('a', NULL)",
    )
    tables = {
        "people": {"columns": {"code": {"role": "other", **mask}}},
        "letters": {"columns": {"person": {"role": "other", **mask}, "answers": {"role": "other", **mask}}},
    }
    releases: Any = sfumato.run(hospital.policy(tables))
    assert [key.joined for key in releases["letters"].record.foreign_keys] == [2, 3]
    assert hospital.number("SELECT count(*) FROM masked.letters l JOIN masked.people p ON l.person = p.code") == 3


def test_values_that_a_mask_makes_alike_are_found_before_anything_is_published(hospital: Hospital) -> None:
    # a domain of its own: that of the policy would be another in every database, and with some no two names would be the same
    fake = {"role": "identifier", "mask": {"fake": {"kind": "first_name", "key": "main", "domain": "names"}}}
    tables = {
        "patients": {"columns": {**TABLES["patients"]["columns"], "id": fake, "referred": fake}},
        "visits": {"columns": {**TABLES["visits"]["columns"], "patient": fake}},
    }
    message = refused(hospital.changed(**tables), SfumatoError)
    assert "the written release is not joined by patients.referred -> patients.id as the source is [verify-joined]" in message
    assert hospital.released() == []


def test_keys_that_only_a_database_takes_for_equal_are_refused_and_told_where_that_is_accepted(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    hospital = Hospital(mariadb_url)
    hospital.make("INSERT INTO visits VALUES (1000, 1, 'a', 'as A')")
    message = refused(hospital.policy(), PromiseError)
    assert message.startswith(
        "the release could not be joined by visits.ward -> wards.code as the source is: 1 row finds another there only by the rules of the "
        "database, and not byte for byte [verify-joined]"
    )
    assert "or accept: broken_key in the table visits" in message
    assert hospital.released() == []

    releases: Any = sfumato.run(hospital.changed(visits={"accept": "broken_key"}))
    assert "visits.ward -> wards.code: < 2 rows refer to nothing that is in the source, byte for byte" in releases["visits"].record.notes


def test_rows_that_find_nothing_in_the_source_either_are_told_and_no_mistake(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    hospital = Hospital(mariadb_url)
    hospital.make("SET foreign_key_checks = 0", "INSERT INTO visits VALUES (1000, 1, 'none', 'as A')")
    releases: Any = sfumato.run(hospital.policy())
    assert "visits.ward -> wards.code: < 2 rows refer to nothing that is in the source, byte for byte" in releases["visits"].record.notes


CARELESS = "CREATE COLLATION careless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
ONE_WRITING = {"collation": [CARELESS, "text COLLATE careless"], "citext": ["CREATE EXTENSION citext", "citext"]}


@pytest.mark.parametrize("rule", ONE_WRITING)
def test_rules_of_postgresql_by_which_rows_find_others_are_heeded(postgresql_url: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    if rule == "citext" and not ask(postgresql_url, "SELECT 1 FROM pg_available_extensions WHERE name = 'citext'"):
        pytest.skip("the server has no extension citext: make services")
    hospital, (begin, kind) = Hospital(postgresql_url), ONE_WRITING[rule]
    hospital.make(
        begin,
        f"CREATE TABLE people (code {kind} PRIMARY KEY)",
        f"CREATE TABLE letters (person {kind} REFERENCES people (code))",
        "INSERT INTO people VALUES ('Canary'), ('B')",
        "INSERT INTO letters VALUES ('Canary'), ('CANARY'), ('b'), (NULL)",
    )
    tables = {name: {"columns": {column: {"role": "other"}}} for name, column in (("people", "code"), ("letters", "person"))}
    assert "letters.person -> people.code as the source is: 2 rows find another there only" in refused(hospital.policy(tables), PromiseError)


def test_tables_go_from_one_server_to_another(postgresql_url: str, mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    target = Hospital(mariadb_url)
    password = os.environ["SFUMATO_TEST_PASSWORD"]
    policy = Hospital(postgresql_url).policy()
    monkeypatch.setenv("SFUMATO_OTHER_PASSWORD", password)
    policy["sink"] = {"sql": {"url": target.settings["url"], "schema": target.sink, "password": {"environment": "SFUMATO_OTHER_PASSWORD"}}}
    sfumato.run(policy)
    assert target.number("SELECT count(*) FROM masked.visits v JOIN masked.patients p ON v.patient = p.id") == VISITS


def test_a_release_without_a_sink_is_returned(hospital: Hospital) -> None:
    policy = hospital.policy()
    del policy["sink"]
    releases: Any = sfumato.run(policy)
    assert set(releases["visits"].table["patient"].to_pylist()) == set(releases["patients"].table["id"].to_pylist())
    assert hospital.released() == []


def test_pseudonyms_of_one_table_are_revealed_by_the_policy(postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", KEY)
    hospital = Hospital(postgresql_url)
    mask = {"role": "identifier", "mask": {"deterministic_encrypt": {"key": "main"}}}
    patients = {**TABLES["patients"]["columns"], "id": mask, "referred": mask}
    policy = hospital.changed(patients={"columns": patients}, visits={"columns": {**TABLES["visits"]["columns"], "patient": mask}})
    releases: Any = sfumato.run(policy)
    pseudonyms = releases["visits"].table["patient"].to_pylist()
    (tmp_path / "visits.csv").write_text("\n".join(["patient", *pseudonyms]) + "\n")
    reveal(policy, Request("patient", "a test", "visits"), tmp_path / "visits.csv", tmp_path / "revealed.csv")
    assert set((tmp_path / "revealed.csv").read_text().split()[1:]) == {str(number) for number in range(1, PEOPLE + 1)}


def test_a_primary_key_that_is_lost_is_told(hospital: Hospital) -> None:
    wards = {"columns": {"code": {"role": "identifier"}, "name": {"role": "other"}}}
    words = "its primary key code does not tell rows apart any more: code is removed"
    policy = hospital.changed(wards=wards, visits={"accept": "broken_key"})
    assert f"Mind of wards that {words}." in sfumato.plan(policy).together
    releases: Any = sfumato.run(policy)
    assert words in releases["wards"].record.notes


def test_plan_and_preview_know_the_tables(hospital: Hospital) -> None:
    plan = sfumato.plan(hospital.policy())
    assert list(plan.as_mapping()["tables"]) == ["patients", "visits", "wards"]
    assert str(plan).startswith("Table patients:\n1. Read 4 columns from table ")
    assert plan.together[0].startswith("All 3 tables are read in one state of the database")
    seen = preview(hospital.policy(), rows=2, view="wards")
    assert [after for _, after in seen.rows] == [{"code": "A"}, {"code": "B"}]
    with pytest.raises(UsageError, match=r"the policy has no table ward \[view-unknown\]\n  try: wards"):
        preview(hospital.policy(), view="ward")
    with pytest.raises(UsageError, match="the policy has several tables, which a database has, and data were given"):
        sfumato.run(hospital.policy(), data={"id": [1]})


def test_the_command_says_a_line_a_table(hospital: Hospital, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sfumato.cli.run import run as command

    policy = hospital.policy()
    policy["sink"]["sql"]["record"] = "records/"
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy))
    command(path, "text")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"patients  {PEOPLE} in, {PEOPLE} out, 0 suppressed; k_anonymity k 3 measured 3; table {hospital.sink}.patients of ")
    assert lines[3:6] == [
        f"joined    patients.referred -> patients.id: {PEOPLE - 1} rows",
        f"joined    visits.patient -> patients.id: {VISITS} rows",
        f"joined    visits.ward -> wards.code: {VISITS * 4 // 5} rows",
    ]
    assert lines[-1] == f"records   {tmp_path}/records"
    command(path, "json")
    told = json.loads(capsys.readouterr().out)
    assert told["tables"]["visits"]["foreign_keys"] == json.loads((tmp_path / "records/visits.record.json").read_text())["foreign_keys"]
    assert told["tables"]["visits"]["table"] == "visits"


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_all_old_tables_or_all_new_ones(hospital: Hospital) -> None:
    def keyed(domain: str) -> dict[str, Any]:
        mask = {"role": "identifier", "mask": {"hash": {"key": "main", "domain": domain}}}
        patients = {"columns": {**TABLES["patients"]["columns"], "id": mask, "referred": mask}}
        return hospital.changed(patients=patients, visits={"columns": {**TABLES["visits"]["columns"], "patient": mask}})

    sfumato.run(keyed("first"))
    joining = "SELECT count(*) FROM masked.visits v JOIN masked.patients p ON v.patient = p.id"
    done = 0
    for ended in endings(*((keyed(str(trial)),) for trial in range(6))):
        done += ended == 0
        assert hospital.number(joining) == VISITS
    finish(keyed("last"))
    assert hospital.released() == ["patients", "visits", "wards"]
    assert left_over(hospital.url) == []
    assert done < 5


def test_one_table_by_two_names_and_two_releases_in_one_place_are_refused_where_capitals_do_not_count(tmp_path: Path) -> None:
    url = f"duckdb:///{tmp_path / 'shop.duckdb'}"
    ask(url, "CREATE TABLE pay (id INTEGER)", "INSERT INTO pay VALUES (1), (2)", "CREATE TABLE other AS SELECT * FROM pay")
    columns = {"id": {"role": "other", "accept": ["singling_out"]}}

    def refused(first: dict[str, Any], second: dict[str, Any]) -> str:
        entries = {name: {"columns": columns, **entry} for name, entry in (("a", first), ("b", second))}
        with pytest.raises(PolicyError) as caught:
            sfumato.run({"source": {"sql": {"url": url}}, "sink": {"sql": {"url": url}}, "tables": entries})
        assert {mistake.code for mistake in caught.value.mistakes} == {"policy-tables-twice"}
        return str(caught.value)

    twice = "is the table that a is too"
    assert twice in refused({"table": "pay", "into": "x"}, {"table": "PAY", "into": "y"})
    assert twice in refused({"table": "pay", "into": "x"}, {"table": "pay", "schema": "main", "into": "y"})
    assert "would write over what a writes" in refused({"table": "pay", "into": "pay_a"}, {"table": "other", "into": "PAY_A"})
    assert ask(url, "SELECT count(*) FROM information_schema.tables WHERE table_name ILIKE 'pay_a'") == [(0,)]

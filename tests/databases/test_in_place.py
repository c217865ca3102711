"""In place: a table is masked where it is, after all its rows were verified elsewhere; whatever happens in between, no row is seen half done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.address import parsed
from sfumato.databases.in_place import Places
from sfumato.databases.masked_table import Draft, MaskedTable
from sfumato.databases.mysql import MysqlConnection
from sfumato.databases.mysql_in_place import MysqlInPlace
from sfumato.databases.postgresql_in_place import PostgresqlInPlace
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError, UsageError
from sfumato.registry import find
from tests.servers import ask, component

ROWS = 120
TOWNS = ("Bremen", "Ulm", "Köln", "Ulm am See")
Made = Callable[..., dict[str, Any]]


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def is_mysql(url: str) -> bool:
    return parsed(component(url, "")["url"]).kind == "mysql"


@pytest.fixture
def patients(url: str) -> Made:
    """A table of patients, and the policy that masks it in place."""

    def made(rows: int = ROWS, columns: str = "", **changes: Any) -> dict[str, Any]:
        ask(url, "DROP TABLE IF EXISTS visits", "DROP TABLE IF EXISTS patients")
        ask(
            url,
            "CREATE TABLE patients (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(40), town VARCHAR(60), age INTEGER, "
            f"illness VARCHAR(20) NOT NULL{columns})",
        )
        values = (f"({n}, 'name {n}', '{TOWNS[n % 4]}', {20 + n % 50}, 'i{n % 3}')" for n in range(rows))
        if rows:
            ask(url, f"INSERT INTO patients (id, name, town, age, illness) VALUES {', '.join(values)}")
        policy = {
            "source": {"sql": component(url, "patients")},
            "sink": {"sql": component(url, "patients") | {"in_place": True, "chunk": 7}},
            "columns": {
                "id": {"role": "other", "accept": "singling_out"},
                "name": {"role": "identifier"},
                "town": {"role": "quasi_identifier"},
                "age": {"role": "other", "mask": {"round_number": {"base": 10, "mode": "down"}}},
                "illness": {"role": "sensitive"},
            },
            "promises": [{"k_anonymity": {"k": 5}}],
        }
        return {**policy, **changes}

    return made


def table(url: str, order: str = "id") -> list[tuple[Any, ...]]:
    return ask(url, f"SELECT id, name, town, age, illness FROM patients ORDER BY {order}")


def code_of(policy: dict[str, Any]) -> str:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy)
    assert "name 1" not in str(caught.value)
    assert "Bremen" not in str(caught.value)
    if isinstance(caught.value, PolicyError):
        return caught.value.mistakes[0].code
    return caught.value.code


def left_over(url: str) -> list[str]:
    """Return what a run has made and not removed; on MariaDB others work in the same place."""
    is_postgresql = url.startswith("postgresql")
    schema = "public" if is_postgresql else urlsplit(url).path[1:]
    told = f"masking_{hashlib.sha256(f'{schema}.patients'.encode()).hexdigest()[:24]}"
    others = " OR table_name LIKE 'sfumato%'" if is_postgresql else ""
    rows = ask(url, f"SELECT table_name FROM information_schema.tables WHERE table_name LIKE '{told}%'{others}")
    return [str(name) for (name,) in rows]


def test_a_table_is_masked_where_it_is(patients: Made, url: str) -> None:
    policy = patients()
    before = table(url)
    release: Any = sfumato.run(policy)

    after = table(url)
    assert [row[0] for row in after] == [row[0] for row in before]
    assert [row[4] for row in after] == [row[4] for row in before]
    assert {row[1] for row in after} == {None}
    assert [row[3] for row in after] == [row[3] // 10 * 10 for row in before]
    assert min(ask(url, "SELECT COUNT(*) FROM patients GROUP BY town"))[0] >= 5
    assert left_over(url) == []
    assert release.record.rows.out == ROWS
    assert any(note.startswith("masked in place") for note in release.record.notes)


@pytest.mark.parametrize("name", ["n", "gone", "digest", "N", "sfumato_digest", "sfumato_row"])
def test_a_key_may_be_called_as_the_list_of_keys_calls_its_own(patients: Made, url: str, name: str) -> None:
    policy = patients(suppression_limit=0.1)
    ask(url, "INSERT INTO patients VALUES (900, 'name', 'Nowhere', 30, 'i1'), (901, 'name', 'Nowhere', 31, 'i1')")
    policy["columns"]["town"] |= {"on_unknown": "suppress", "hierarchy": {"taxonomy": {"tree": {"all": list(TOWNS)}}}}
    mark = "`" if is_mysql(url) else '"'
    ask(url, f"ALTER TABLE patients RENAME COLUMN id TO {mark}{name}{mark}")
    policy["columns"] = {name: policy["columns"].pop("id"), **policy["columns"]}
    sfumato.run(policy)

    assert ask(url, "SELECT COUNT(*), COUNT(name) FROM patients") == [(ROWS, 0)]
    assert left_over(url) == []


def test_suppressed_rows_are_deleted_in_place_and_counted(patients: Made, url: str) -> None:
    policy = patients(suppression_limit=0.1)
    ask(url, "INSERT INTO patients VALUES (900, 'name', 'Nowhere', 30, 'i1'), (901, 'name', 'Nowhere', 31, 'i1')")
    tree = {"all": list(TOWNS)}
    policy["columns"]["town"] |= {"on_unknown": "suppress", "hierarchy": {"taxonomy": {"tree": tree}}}
    release: Any = sfumato.run(policy)

    assert len(table(url)) == ROWS
    assert ask(url, "SELECT COUNT(*) FROM patients WHERE id >= 900")[0][0] == 0
    assert release.record.rows.suppressed == "< 5"


def test_a_composite_key_of_texts_tells_rows_apart(url: str) -> None:
    ask(url, "DROP TABLE IF EXISTS stays", "CREATE TABLE stays (ward VARCHAR(9), bed INTEGER, town VARCHAR(40), PRIMARY KEY (ward, bed))")
    ask(url, "INSERT INTO stays VALUES " + ", ".join(f"('w{n % 3}', {n // 3}, '{TOWNS[n % 4]}')" for n in range(60)))
    kept = {"role": "other", "accept": "singling_out"}
    policy = {
        "source": {"sql": component(url, "stays")},
        "sink": {"sql": component(url, "stays") | {"in_place": True, "chunk": 8}},
        "columns": {"ward": {"role": "other"}, "bed": kept, "town": {"role": "other", "mask": {"shorten": {"length": 2}}}},
    }
    sfumato.run(policy)
    assert ask(url, "SELECT COUNT(*) FROM stays WHERE LENGTH(town) > 3")[0][0] == 0
    assert ask(url, "SELECT town FROM stays WHERE ward = 'w1' AND bed = 2") == [(TOWNS[7 % 4][:2],)]


@pytest.mark.parametrize("url", ["postgresql", "mariadb"], indirect=True)  # MySQL has no such type
def test_keys_that_are_uuids_find_their_rows(url: str) -> None:
    ask(url, "DROP TABLE IF EXISTS tokens", "CREATE TABLE tokens (id uuid PRIMARY KEY, town VARCHAR(40))")
    ask(url, "INSERT INTO tokens VALUES " + ", ".join(f"('0000000{n}-0000-4000-8000-000000000000', '{TOWNS[n % 4]}')" for n in range(9)))
    shortened = {"role": "other", "mask": {"shorten": {"length": 1}}}
    policy = {
        "source": {"sql": component(url, "tokens")},
        "sink": {"sql": component(url, "tokens") | {"in_place": True}},
        "columns": {"id": {"role": "other", "accept": "singling_out"}, "town": shortened},
    }
    sfumato.run(policy)
    assert [row[0] for row in ask(url, "SELECT town FROM tokens ORDER BY id")] == [TOWNS[n % 4][:1] for n in range(9)]


def test_a_table_without_rows_stays_so(patients: Made, url: str) -> None:
    policy = patients(0, promises=[])
    policy["columns"]["town"] = {"role": "other"}
    sfumato.run(policy)
    assert table(url) == []


def test_a_key_of_zero_in_a_column_that_counts_is_masked_too(patients: Made, url: str) -> None:
    policy = patients(0, promises=[])
    policy["columns"]["town"] = {"role": "other"}
    if is_mysql(url):
        ask(url, "ALTER TABLE patients MODIFY id INTEGER NOT NULL AUTO_INCREMENT")
    rows = "INSERT INTO patients VALUES (0, 'name', 'Ulm', 34, 'i1'), (5, 'name', 'Ulm', 34, 'i1')"
    ask(url, *(["SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"] if is_mysql(url) else []), rows)
    sfumato.run(policy)
    assert [row[:1] + row[3:4] for row in table(url)] == [(0, 30), (5, 30)]


def test_others_may_do_afterwards_what_they_might_before_and_nothing_meanwhile(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = patients()
    name = parsed(component(url, "")["url"]).database
    reader = f"reader_{name[-8:]}"
    parts = component(url, "")["url"].split("@", 1)[1]
    address = f"{'mysql' if is_mysql(url) else 'postgresql'}://{reader}:along_secret@{parts}"
    if is_mysql(url):
        ask(url, f"CREATE USER {reader} IDENTIFIED BY 'along_secret'", f"GRANT SELECT ON {name}.* TO {reader}")
    else:
        ask(url, f"CREATE ROLE {reader} LOGIN PASSWORD 'along_secret'", f"GRANT SELECT, INSERT ON patients TO {reader} WITH GRANT OPTION")
        ask(url, f"GRANT UPDATE (age) ON patients TO {reader}", "GRANT SELECT ON patients TO PUBLIC")
        # what is made in this schema may be read by everybody, unless that is taken away
        ask(url, f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO {reader}")
    seen: list[str] = []
    rights = "SELECT relacl::text FROM pg_class WHERE relname = 'patients' UNION ALL SELECT attacl::text FROM pg_attribute WHERE attacl IS NOT NULL "
    rights += "AND attrelid = 'patients'::regclass"
    copy = MaskedTable._copy

    def look(self: MaskedTable, facts: Any, start: int, end: int) -> None:
        private = [str(self.places.keys), str(self.places.rows), str(self.places.ledger), str(self.places.table), "patients"]
        for each in private:
            try:
                ask(address, f"SELECT COUNT(*) FROM {each}")
                seen.append(each)
            except Exception as error:  # noqa: BLE001 - whatever the driver calls it
                assert "denied" in str(error) or "exist" in str(error)
        copy(self, facts, start, end)

    try:
        before = None if is_mysql(url) else sorted(ask(url, rights))
        with monkeypatch.context() as patch:
            patch.setattr(MaskedTable, "_copy", look)
            sfumato.run(policy)
        assert seen == []
        assert ask(address, "SELECT COUNT(*) FROM patients")[0][0] == ROWS
        if before is not None:
            assert [_rights(row) for row in sorted(ask(url, rights))] == [_rights(row) for row in before]
    finally:
        component(url, "")
        ask(url, *([f"DROP USER {reader}"] if is_mysql(url) else [f"DROP OWNED BY {reader}", f"DROP ROLE {reader}"]))


def _rights(row: tuple[Any, ...]) -> list[str]:
    return sorted(str(row[0]).strip("{}").split(","))


class DeadError(BaseException):
    """What a process that dies raises nowhere."""


def die_at(patch: pytest.MonkeyPatch, moment: str) -> None:
    """Let a run die at some moment: before anything is begun, when the audience has been kept out, within the copying, or before it is let in."""
    copy = MaskedTable._copy

    def die(*_: Any, **__: Any) -> Any:
        raise DeadError

    def copy_some(self: MaskedTable, facts: Any, start: int, end: int) -> None:
        if start >= 35:
            raise DeadError
        copy(self, facts, start, end)

    name, deed = {
        "draft": ("finish", None),
        "withheld": ("_check_before", die),
        "copying": ("_copy", copy_some),
        "copied": ("_check_after", die),
        "given back": ("_give_back", die),
    }[moment]
    if deed is None:
        patch.setattr(Draft, "begin", die)
    else:
        patch.setattr(MaskedTable, name, deed)


@pytest.mark.parametrize("moment", ["draft", "withheld", "copying", "copied", "given back"])
def test_what_a_dead_run_left_in_place_is_finished_by_the_next(patients: Made, url: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = patients()
    before = table(url)
    with monkeypatch.context() as patch:
        die_at(patch, moment)
        with pytest.raises(DeadError):
            sfumato.run(policy)
    release: Any = sfumato.run(policy)

    after = table(url)
    assert [(row[0], row[3], row[4]) for row in after] == [(row[0], row[3] // 10 * 10, row[4]) for row in before]
    assert {row[1] for row in after} == {None}
    assert left_over(url) == []
    assert release.record.rows.out == ROWS
    finished = moment != "draft"
    assert any("this one has finished it" in note for note in release.record.notes) == finished
    assert release.table.num_rows == ROWS


def test_what_is_made_by_chance_is_never_made_twice(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = patients()
    policy["columns"]["age"]["mask"] = {"random_number": {"minimum": 0, "maximum": 10**6}}
    with monkeypatch.context() as patch:
        die_at(patch, "copying")
        with pytest.raises(DeadError):
            sfumato.run(policy)
    half = {row[0]: row[3] for row in ask(url, f"SELECT id, name, town, age FROM {moved(url)}") if row[1] is None}
    sfumato.run(policy)

    assert len(half) == 35
    assert {row[0]: row[3] for row in table(url) if row[0] in half} == half


def moved(url: str) -> str:
    """Return where the table is while it is masked."""
    return str(places_of(url).table)


def places_of(url: str) -> Places:
    """Return where everything is while the table is masked."""
    source = find("sources", "sql")(**component(url, "patients"))
    with source.connected() as connection:
        return MaskedTable(connection, source.address.kind, source.table_name).places


def test_a_table_that_is_masked_in_part_is_no_source_and_no_sink_for_others(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = patients()
    with monkeypatch.context() as patch:
        die_at(patch, "copying")
        with pytest.raises(DeadError):
            sfumato.run(policy)
    other = {**policy, "promises": [{"k_anonymity": {"k": 6}}]}
    copied = {**policy, "sink": {"sql": component(url, "elsewhere")}}
    over = {**policy, "sink": {"sql": component(url, "patients")}}
    del over["source"]
    rows = pa.table({"id": [1], "name": ["a"], "town": ["b"], "age": [1], "illness": ["c"]})
    for wrong in (other, copied):
        assert code_of(wrong) == "in-place-open"
    with pytest.raises(UnreachableError) as caught:
        sfumato.run({**over, "promises": [], "columns": over["columns"] | {"town": {"role": "other"}}}, rows)
    assert caught.value.code == "in-place-open"
    with pytest.raises(SfumatoError) as planned:
        sfumato.plan(policy)
    assert planned.value.code == "in-place-open"
    sfumato.run(policy)
    assert left_over(url) == []


def test_resume_finishes_and_does_nothing_else(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy = patients()
    record = tmp_path / "record.json"
    policy["sink"]["sql"]["record"] = str(record)
    with pytest.raises(UsageError) as caught:
        sfumato.run(policy, resume=True)
    assert caught.value.code == "resume-nothing"
    with monkeypatch.context() as patch:
        die_at(patch, "copying")
        with pytest.raises(DeadError):
            sfumato.run(policy)
    assert not record.exists()
    sfumato.run(policy, resume=True)
    assert json.loads(record.read_text())["rows"]["out"] == ROWS
    with pytest.raises(UsageError):
        sfumato.run(policy, resume=True)


def dies_before_the_copying(policy: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run die when the audience has been kept out and no row is masked."""
    with monkeypatch.context() as patch:
        die_at(patch, "withheld")
        with pytest.raises(DeadError):
            sfumato.run(policy)


def test_resume_masks_what_was_verified_and_not_begun_to_be_copied(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = patients()
    policy["columns"]["age"]["mask"] = {"random_number": {"minimum": 0, "maximum": 10**6}}
    dies_before_the_copying(policy, monkeypatch)
    places = places_of(url)
    verified = dict(ask(url, f"SELECT id, age FROM {places.rows}"))
    with pytest.raises(SfumatoError) as other:
        sfumato.plan(policy)
    sfumato.run(policy, resume=True)

    # the words are as true of a table of which no row is masked yet
    assert "some of its rows may be masked and others not" in str(other.value)
    assert {row[0]: row[3] for row in table(url)} == verified
    assert {row[1] for row in table(url)} == {None}
    assert left_over(url) == []


@pytest.mark.parametrize("harm", ["UPDATE {0.table} SET age = 99 WHERE id = 7", "DELETE FROM {0.rows} WHERE id = 7", "DROP TABLE {0.rows}"])
@pytest.mark.parametrize("resume", [False, True])
def test_what_is_not_as_it_was_verified_is_undone_and_told(
    patients: Made, url: str, monkeypatch: pytest.MonkeyPatch, harm: str, resume: bool
) -> None:
    policy = patients()
    dies_before_the_copying(policy, monkeypatch)
    ask(url, harm.format(places_of(url)))
    if resume:
        with pytest.raises(DataError) as caught:
            sfumato.run(policy, resume=True)
        assert caught.value.code == "in-place-changed"
        assert str(caught.value).split("\n")[0].endswith("nothing has been changed, and its audience is let in as before [in-place-changed]")
    else:
        sfumato.run(policy)

    assert left_over(url) == []
    assert {row[1] is None for row in table(url)} == {not resume}


def test_rows_that_others_write_before_the_copying_stop_it_and_nothing_is_changed(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Draft.begin
    for statement in (
        "INSERT INTO patients VALUES (999, 'name 999', 'Ulm', 44, 'i1')",
        "UPDATE patients SET age = 99 WHERE id = 7",
        "DELETE FROM patients WHERE id = 7",
    ):
        policy = patients()

        def write_first(self: Draft, facts: Any, standing: Any, statement: str = statement) -> None:
            ask(url, statement)
            begin(self, facts, standing)

        with monkeypatch.context() as patch:
            patch.setattr(Draft, "begin", write_first)
            assert code_of(policy) == "in-place-changed"
        assert len([row for row in table(url) if row[1] is None]) == 0
        assert left_over(url) == []
        sfumato.run(policy)


@pytest.mark.parametrize(
    ("statement", "step"),
    [("DELETE FROM patients WHERE id = 7", "fill"), ("TRUNCATE TABLE patients", "fill"), ("DELETE FROM patients WHERE id = 7", "make_like")],
)
def test_rows_that_others_delete_while_the_masked_ones_are_written_are_told(
    patients: Made, url: str, statement: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = patients()
    owner: Any = Draft if step == "fill" else MysqlInPlace if is_mysql(url) else PostgresqlInPlace
    does = getattr(owner, step)

    def deleted_first(*given: Any) -> None:
        ask(url, statement)
        does(*given)

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, deleted_first)
        assert code_of(policy) == "in-place-changed"
    assert len([row for row in table(url) if row[1] is None]) == 0
    assert left_over(url) == []


@pytest.mark.parametrize(
    ("statement", "way_out"),
    [
        ("INSERT INTO {} VALUES (999, 'name 999', 'Ulm', 44, 'i1')", "DELETE FROM {} WHERE id = 999"),
        ("UPDATE {} SET age = 99 WHERE id = 100", "DELETE FROM {} WHERE id = 100"),
        ("UPDATE {} SET name = 'again' WHERE id = 0", "DELETE FROM {} WHERE id = 0"),
    ],
)
def test_a_row_that_is_written_meanwhile_is_never_left_unmasked_silently(
    patients: Made, url: str, monkeypatch: pytest.MonkeyPatch, statement: str, way_out: str
) -> None:
    policy = patients()
    copy = MaskedTable._copy

    def write_between(self: MaskedTable, facts: Any, start: int, end: int) -> None:
        if start == 35:
            ask(url, statement.format(self.places.table))
        copy(self, facts, start, end)

    with monkeypatch.context() as patch:
        patch.setattr(MaskedTable, "_copy", write_between)
        assert code_of(policy) == "in-place-written"
    # the audience is still kept out, and the next run says the same
    assert code_of(policy) == "in-place-written"
    assert left_over(url) != []
    ask(url, way_out.format(moved(url)))
    release: Any = sfumato.run(policy)
    assert {row[1] for row in table(url)} == {None}
    assert {row[3] % 10 for row in table(url)} == {0}
    assert left_over(url) == []
    assert len(table(url)) == (ROWS if "999" in way_out else ROWS - 1)
    assert any("deleted by others" in note for note in release.record.notes) == ("999" not in way_out)


def test_another_table_of_the_same_name_is_told_and_not_lost(patients: Made, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_mysql(url):
        pytest.skip("PostgreSQL leaves the table where it is: no command makes this run")
    policy = patients()
    with monkeypatch.context() as patch:
        die_at(patch, "copied")
        with pytest.raises(DeadError):
            sfumato.run(policy)
    ask(url, "CREATE TABLE patients (id INTEGER)")
    assert code_of(policy) == "in-place-name"
    ask(url, "DROP TABLE patients")
    sfumato.run(policy)
    assert len(table(url)) == ROWS


def test_what_the_catalogue_says_stands_against_it_is_told_before_a_row_is_read(patients: Made, url: str) -> None:
    def refused(change: dict[str, Any], *statements: str, columns: str = "") -> tuple[str, str]:
        policy = patients(20, columns)
        policy["columns"] |= change
        ask(url, *statements)
        before = ask(url, "SELECT * FROM patients ORDER BY id")
        with pytest.raises(PolicyError) as caught:
            sfumato.run(policy)
        with pytest.raises(PolicyError):
            sfumato.plan(policy)
        assert ask(url, "SELECT * FROM patients ORDER BY id") == before
        assert left_over(url) == []
        (mistake,) = caught.value.mistakes
        return mistake.code, f"{mistake.key}: {mistake.message}"

    drop_key = "ALTER TABLE patients DROP PRIMARY KEY" if is_mysql(url) else "ALTER TABLE patients DROP CONSTRAINT patients_pkey"
    code, words = refused({}, drop_key)
    assert code == "in-place-key"
    assert "no key, no in place" in words
    assert refused({"id": {"role": "identifier"}})[0] == "in-place-key"
    assert refused({"id": {"role": "other", "mask": {"round_number": {"base": 10}}}})[0] == "in-place-key"
    code, words = refused({"age": {"role": "quasi_identifier"}})
    assert code == "in-place-column"
    # MariaDB says how wide it would show the number
    whole = "integer" if not is_mysql(url) else "int(11)" if url.startswith("mariadb") else "int"
    assert words == f"columns.age: is of type {whole}, which cannot hold a generalised value such as an interval"
    assert refused({"age": {"role": "quasi_identifier", "publish": "bounds"}})[1].startswith("columns.age: publish: bounds needs two columns")
    assert refused({"age": {"role": "other", "mask": {"constant": {"value": "x"}}}})[0] == "in-place-column"
    assert "NOT NULL" in refused({"illness": {"role": "identifier"}})[1]
    computed = ", twice INTEGER GENERATED ALWAYS AS (age * 2) STORED"
    assert "computes" in refused({"twice": {"role": "other"}}, columns=computed)[1]
    ask(url, "DROP TABLE IF EXISTS towns", "CREATE TABLE towns (town VARCHAR(60) PRIMARY KEY)")
    ask(url, "INSERT INTO towns VALUES " + ", ".join(f"('{town}')" for town in TOWNS))
    assert "is a foreign key" in refused({}, "ALTER TABLE patients ADD CONSTRAINT live FOREIGN KEY (town) REFERENCES towns (town)")[1]
    ask(url, "DROP TABLE patients", "DROP TABLE towns")


def test_triggers_and_what_else_hangs_on_a_table_are_told(patients: Made, url: str) -> None:
    policy = patients(20)
    if is_mysql(url):
        ask(url, "CREATE TRIGGER noted BEFORE UPDATE ON patients FOR EACH ROW SET NEW.age = OLD.age")
        expected = ["the trigger noted"]
    else:
        ask(url, "CREATE OR REPLACE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'")
        ask(url, "CREATE TRIGGER noted BEFORE UPDATE ON patients FOR EACH ROW EXECUTE FUNCTION noted()")
        ask(url, "CREATE VIEW seen AS SELECT * FROM patients", "ALTER TABLE patients ENABLE ROW LEVEL SECURITY")
        expected = ["the trigger noted", "the view public.seen", "its row security"]
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy)
    (mistake,) = caught.value.mistakes
    assert mistake.code == "in-place-table"
    assert all(each in mistake.message for each in expected)
    if not is_mysql(url):
        ask(url, "DROP VIEW seen")


@pytest.mark.parametrize(
    ("columns", "mask", "code"),
    [
        ("", {"constant": {"value": "x" * 70}}, "in-place-misfit"),
        (", CHECK (name <> 'nobody')", {"constant": {"value": "nobody"}}, "in-place-misfit"),
        (", UNIQUE (name)", {"constant": {"value": "nobody"}}, "in-place-misfit"),
        (", UNIQUE (name)", {"shuffle": {}}, "in-place-unique"),
    ],
)
def test_values_that_the_table_would_not_take_are_told_before_anything_is_changed(
    patients: Made, url: str, columns: str, mask: dict[str, Any], code: str
) -> None:
    policy = patients(30, columns, accept=["singling_out"])
    policy["columns"]["name"] = {"role": "other", "mask": mask}
    before = table(url)
    with pytest.raises(SfumatoError) as refused:
        sfumato.run(policy)
    assert refused.value.code == code
    assert "name" in refused.value.message
    assert table(url) == before
    assert left_over(url) == []


def test_rows_that_others_refer_to_are_masked_and_never_deleted(patients: Made, url: str) -> None:
    policy = patients(suppression_limit=0.1)
    ask(url, "INSERT INTO patients VALUES (900, 'name', 'Nowhere', 30, 'i1')")
    ask(url, "CREATE TABLE visits (patient INTEGER, FOREIGN KEY (patient) REFERENCES patients (id))", "INSERT INTO visits VALUES (3), (900)")
    tree = {"all": [*TOWNS, "Nowhere"]}
    policy["columns"]["town"] |= {"hierarchy": {"taxonomy": {"tree": tree}}}
    sfumato.run({**policy, "suppression_limit": 0})
    assert {row[1] for row in table(url)} == {None}
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        ask(url, "INSERT INTO visits VALUES (77777)")

    ask(url, "UPDATE patients SET town = 'Nowhere' WHERE id = 900", "UPDATE patients SET town = 'Ulm' WHERE id <> 900")
    policy["columns"]["town"] = {"role": "quasi_identifier", "on_unknown": "suppress", "hierarchy": {"taxonomy": {"tree": {"all": list(TOWNS)}}}}
    assert code_of(policy) == "in-place-referenced"
    assert len(table(url)) == ROWS + 1
    assert left_over(url) == []
    ask(url, "DROP TABLE visits")


def test_in_place_is_for_the_table_that_is_read_and_must_be_asked_for(patients: Made, url: str, tmp_path: Path) -> None:
    policy = patients(20)
    plain = {**policy, "sink": {"sql": component(url, "patients")}}
    other = {**policy, "sink": {"sql": component(url, "elsewhere") | {"in_place": True}}}
    (tmp_path / "people.csv").write_text("id,name,town,age,illness\n1,a,b,1,c\n")
    for wrong, code in (
        (plain, "sink-is-source"),
        (other, "policy-in-place"),
        ({**policy, "source": str(tmp_path / "people.csv")}, "policy-in-place"),
    ):
        assert code_of(wrong) == code
    views = {"one": {"sink": policy["sink"]}}
    assert code_of({**{key: value for key, value in policy.items() if key != "sink"}, "views": views}) == "policy-in-place"


def test_two_runs_never_mask_one_table_at_once(patients: Made, url: str) -> None:
    policy = patients(20)
    source = find("sources", "sql")(**component(url, "patients"))
    with source.connected() as connection, connection.alone(f"mask {connection.placed(source.table_name)}"):
        assert code_of(policy) == "database-busy"
    sfumato.run(policy)


def test_a_promise_that_cannot_be_kept_changes_nothing(patients: Made, url: str) -> None:
    policy = patients(promises=[{"k_anonymity": {"k": 1000}}])
    before = table(url)
    assert code_of(policy) == "promise-impossible"
    assert table(url) == before
    assert left_over(url) == []


def test_columns_that_the_server_touches_stay_as_they_are(patients: Made, url: str) -> None:
    if not is_mysql(url):
        pytest.skip("PostgreSQL touches no column of its own: no command makes this run")
    policy = patients(20, ", seen TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP")
    policy["columns"]["seen"] = {"role": "other"}
    sfumato.run(policy)
    assert [str(row[0]) for row in ask(url, "SELECT DISTINCT seen FROM patients")] == ["2020-01-01 00:00:00"]


def test_a_plan_says_that_it_is_done_in_place(patients: Made, url: str) -> None:
    steps = sfumato.plan(patients(20)).steps
    assert any("in place" in step and "the audience" in step for step in steps)
    assert "Empty name, which stays as a column: it is in place." in steps


def test_classes_of_a_table_that_is_masked_in_place_are_refused() -> None:
    with pytest.raises(PolicyError, match="masks one table in place, and cannot write another for the classes"):
        find("sinks", "sql")(url="postgresql://ada@localhost/x", table="people", classes="groups", in_place=True)


def test_database_files_are_not_masked_in_place() -> None:
    with pytest.raises(PolicyError, match="cannot mask tables of database files in place"):
        find("sinks", "sql")(url="duckdb:////tmp/people.duckdb", table="people", in_place=True)


def test_rows_are_copied_over_by_their_keys(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ", ".join(f"({number}, 'name {number}')" for number in range(3000))
    ask(mariadb_url, "DROP TABLE IF EXISTS many", "CREATE TABLE many (id BIGINT PRIMARY KEY, name VARCHAR(40))", f"INSERT INTO many VALUES {rows}")
    do, looked = MysqlConnection.do, []

    def explained(self: MysqlConnection, statement: str) -> None:
        if statement.startswith("UPDATE") and " SET s." in statement and not statement.endswith("1 = 0"):
            looked.extend(self.facts(f"EXPLAIN {statement}", []))
        do(self, statement)

    monkeypatch.setattr(MysqlConnection, "do", explained)
    columns = {"id": {"role": "other", "accept": "warnings"}, "name": {"role": "identifier", "mask": {"constant": {"value": "x"}}}}
    place = component(mariadb_url, "many")
    sfumato.run({"source": {"sql": place}, "columns": columns, "sink": {"sql": {**place, "in_place": True}}})

    # the list of keys first, and the row of each in both others by its key
    assert [(row[2], row[3]) for row in looked] == [("k", "ALL"), ("w", "eq_ref"), ("s", "eq_ref")]

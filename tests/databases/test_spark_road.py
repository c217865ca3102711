"""Spark as source and sink: what comes out is what a file would give, a reader never sees half a release, and nothing else is left."""

from __future__ import annotations

import datetime
import hashlib
import json
import stat
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.spark_files import HadoopFiles, LocalFiles
from sfumato.databases.spark_inside import SparkInside
from sfumato.engine.inside import not_inside, statements
from sfumato.engine.plan import make_plan
from sfumato.errors import PromiseError, UnreachableError, UsageError
from sfumato.stores._inside import InsideStore
from tests.servers import made

ROWS = 240
STRANGE = {"age": "a.b `c`", "town": "d \"e\" 'f'; --", "illness": "🙂 =,;{}()"}
PEOPLE = pa.table(
    {
        "name": [f"Canary {number}" for number in range(ROWS)],
        "age": pa.array([20 + number * 7 % 50 for number in range(ROWS)], pa.int32()),
        "town": [("Bremen", "bremen", "Ulm ", 'O\'Brien "x"', None)[number % 5] for number in range(ROWS)],
        "born": [datetime.date(1950, 1, 1) + datetime.timedelta(days=number * 37) for number in range(ROWS)],
        "seen": pa.array([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)] * ROWS, pa.timestamp("us", tz="UTC")),
        "pay": pa.array([Decimal(number * 125) / 100 if number % 9 else None for number in range(ROWS)], pa.decimal128(9, 2)),
        "illness": [("flu", "cold", None)[number % 3] for number in range(ROWS)],
    }
)
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi_identifier"},
    "town": {"role": "quasi_identifier"},
    "born": {"role": "quasi_identifier"},
    "seen": {"role": "other"},
    "pay": {"role": "sensitive"},
    "illness": {"role": "sensitive"},
}
POLICY: dict[str, Any] = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 5}}]}


@pytest.fixture
def people(spark_session: Any, tmp_path: Path) -> dict[str, Any]:
    """What names the people in a folder of a release."""
    return stored(PEOPLE, tmp_path / "people")


def stored(table: pa.Table, path: Path) -> dict[str, Any]:
    component = {"spark": {"path": str(path)}}
    writer = made("sinks", component).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return component


def rows_of(component: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    source = made("sources", component)
    return counted(pa.Table.from_batches(source.batches(source.describe().names), source.describe()))


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def from_memory(policy: dict[str, Any], table: pa.Table = PEOPLE) -> Counter[tuple[Any, ...]]:
    release: Any = sfumato.run(policy, table)
    return counted(release.table)


def test_every_value_comes_back_as_it_went(people: dict[str, Any]) -> None:
    assert rows_of(people) == counted(PEOPLE)
    assert made("sources", people).describe().types == PEOPLE.schema.types


def test_a_reader_follows_the_pointer_to_one_version(people: dict[str, Any], spark_session: Any, tmp_path: Path) -> None:
    release = tmp_path / "release"
    versions = []
    for _ in range(2):
        sfumato.run({**POLICY, "source": people, "sink": {"spark": {"path": str(release)}}})
        version = (release / "_current").read_text().strip()
        versions.append(version)
        assert sorted(found.name for found in release.iterdir()) == ["_current", version]
        assert counted(spark_session.read.parquet(str(release / version)).toArrow()) == rows_of({"spark": {"path": str(release)}})

    assert versions[0] != versions[1]
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people", "release"]


def test_what_a_dead_run_left_is_removed_by_the_next(people: dict[str, Any], tmp_path: Path) -> None:
    sink = {"spark": {"path": str(tmp_path / "release")}}
    sfumato.run({**POLICY, "source": people, "sink": sink})
    (tmp_path / "release" / ".theirs").write_text("not ours")
    left = [tmp_path / "release" / "v-0123456789abcdef", tmp_path / ".release.sfumato" / "rows"]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "part-00000.parquet").write_bytes(b"left behind")

    sfumato.run({**POLICY, "source": people, "sink": sink})

    assert [folder for folder in left if folder.exists()] == []
    assert (tmp_path / "release" / ".theirs").read_text() == "not ours"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people", "release"]


def test_what_is_private_is_for_its_owner_only(people: dict[str, Any], tmp_path: Path) -> None:
    writer = made("sinks", {"spark": {"path": str(tmp_path / "release")}}).open(PEOPLE.schema)

    assert stat.S_IMODE((tmp_path / ".release.sfumato").stat().st_mode) == 0o700
    assert not (tmp_path / "release").exists()
    writer.abort()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people"]


def test_a_second_run_waits_for_nobody(people: dict[str, Any], tmp_path: Path) -> None:
    sink = {"spark": {"path": str(tmp_path / "release")}}
    writer = made("sinks", sink).open(PEOPLE.schema)
    with pytest.raises(UnreachableError) as caught:
        sfumato.run({**POLICY, "source": people, "sink": sink})
    writer.abort()

    assert caught.value.code == "sink-busy"


def test_a_promise_that_cannot_be_kept_leaves_the_old_release(people: dict[str, Any], tmp_path: Path) -> None:
    sink = {"spark": {"path": str(tmp_path / "release")}}
    sfumato.run({**POLICY, "source": people, "sink": sink})
    before = rows_of(sink)
    with pytest.raises(PromiseError):
        sfumato.run({**POLICY, "promises": [{"k_anonymity": {"k": ROWS + 1}}], "source": people, "sink": sink})

    assert rows_of(sink) == before
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people", "release"]


def test_names_of_columns_are_only_names(spark_session: Any, tmp_path: Path) -> None:
    table = PEOPLE.rename_columns([STRANGE.get(name, name) for name in PEOPLE.column_names])
    policy = {**POLICY, "columns": {STRANGE.get(name, name): column for name, column in COLUMNS.items()}}
    sink = {"spark": {"path": str(tmp_path / "release")}}

    sfumato.run({**policy, "source": stored(table, tmp_path / "people"), "sink": sink})

    assert rows_of(sink) == from_memory(policy, table)


@pytest.fixture
def catalogue(spark_session: Any, tmp_path: Path) -> Any:
    """A schema of the catalogue for one test, with the people in it."""
    spark_session.sql(f"CREATE DATABASE ward LOCATION 'file:{tmp_path / 'warehouse'}'")
    spark_session.createDataFrame(PEOPLE).write.saveAsTable("ward.people")
    yield spark_session
    spark_session.sql("DROP DATABASE ward CASCADE")


def table(name: str) -> dict[str, Any]:
    return {"spark": {"table": name, "schema": "ward"}}


def test_a_table_of_the_catalogue_is_replaced_and_nothing_else_is_left(catalogue: Any) -> None:
    policy = {**POLICY, "source": table("people"), "sink": table("release")}
    assert not_inside(make_plan(policy)) is None
    for _ in range(2):
        sfumato.run(policy)

    assert rows_of(table("release")) == from_memory(POLICY)
    assert sorted(found.name for found in catalogue.catalog.listTables("ward") if not found.isTemporary) == ["people", "release"]


def test_a_table_between_two_renames_is_put_back(catalogue: Any) -> None:
    policy = {**POLICY, "source": table("people"), "sink": table("release")}
    sfumato.run(policy)
    old = next(iter(renamed_away(catalogue)))
    with pytest.raises(PromiseError):
        sfumato.run({**policy, "promises": [{"k_anonymity": {"k": ROWS + 1}}]})
    assert [found.name for found in catalogue.catalog.listTables("ward") if not found.isTemporary and found.name != "people"] == [old]

    sfumato.run(policy)

    assert sorted(found.name for found in catalogue.catalog.listTables("ward") if not found.isTemporary) == ["people", "release"]


def renamed_away(session: Any) -> list[str]:
    """Leave the catalogue as a process does that dies between the two renames."""
    name = f"sfumato_{hashlib.sha256(repr(('ward', 'release')).encode()).hexdigest()[:16]}_old"
    session.sql(f"ALTER TABLE ward.release RENAME TO ward.{name}")
    return [name]


def test_a_view_is_a_source_and_no_sink(catalogue: Any) -> None:
    catalogue.sql("CREATE VIEW ward.seen AS SELECT * FROM ward.people")
    release: Any = sfumato.run({**POLICY, "source": table("seen")})
    assert counted(release.table) == from_memory(POLICY)
    catalogue.sql("CREATE VIEW ward.alone AS SELECT 1 AS age")
    with pytest.raises(UnreachableError) as caught:
        sfumato.run({**POLICY, "source": table("people"), "sink": table("alone")})

    assert caught.value.code == "sink-not-table"


def test_a_data_frame_is_taken_from_the_session_that_runs(people: dict[str, Any], spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(PEOPLE)
    sink = {"spark": {"path": str(tmp_path / "release")}}
    policy = {**POLICY, "sink": sink}
    assert not_inside(make_plan(policy, frame)) is None

    sfumato.run(policy, frame)
    alone: Any = sfumato.run(POLICY, frame)

    assert rows_of(sink) == counted(alone.table) == from_memory(POLICY)


def test_what_is_masked_is_worked_on_here(people: dict[str, Any], tmp_path: Path) -> None:
    masked = {"role": "sensitive", "mask": {"redact": {"words": ["flu"]}}}
    policy = {**POLICY, "columns": {**COLUMNS, "illness": masked}}
    sink = {"spark": {"path": str(tmp_path / "release")}}
    assert not_inside(make_plan({**policy, "source": people, "sink": sink})) == "illness is masked in a way that is done here"

    release: Any = sfumato.run({**policy, "source": people, "sink": sink})

    assert rows_of(sink) == counted(release.table) == from_memory(policy)


def test_a_file_goes_into_spark_and_spark_into_a_file(people: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "release.parquet"
    sfumato.run({**POLICY, "source": people, "sink": str(out)})
    sfumato.run({**POLICY, "source": people, "sink": {"spark": {"path": str(tmp_path / "again"), "record": str(tmp_path / "again.json")}}})

    assert rows_of({"parquet": {"path": str(out)}}) == rows_of({"spark": {"path": str(tmp_path / "again")}})
    assert json.loads((tmp_path / "again.json").read_text())["files"] == ["again"]


def test_a_plan_says_what_spark_would_do(people: dict[str, Any], tmp_path: Path) -> None:
    told = statements(make_plan({**POLICY, "source": people, "sink": {"spark": {"path": str(tmp_path / "release")}}}))

    assert all(line.startswith("-- ") for line in told)
    assert told[1] == "-- the copy is grouped by age, town, born and by what is watched; these cells are read"
    assert not (tmp_path / "release").exists()


def test_text_is_told_apart_by_its_bytes_whatever_its_collation(spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(PEOPLE).selectExpr("*", "collate(town, 'UTF8_LCASE') AS place").drop("town")
    columns = {("place" if name == "town" else name): column for name, column in COLUMNS.items()}
    sink = {"spark": {"path": str(tmp_path / "release")}}
    policy = {**POLICY, "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}

    sfumato.run({**policy, "sink": sink}, frame)

    moved = PEOPLE.append_column("place", PEOPLE["town"]).drop_columns(["town"])
    assert rows_of(sink) == from_memory(policy, moved)


def test_the_source_is_read_once(people: dict[str, Any], spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(PEOPLE.drop_columns(["age"])).selectExpr("*", "cast(rand() * 50 AS int) AS age")
    sink = {"spark": {"path": str(tmp_path / "release")}}

    release: Any = sfumato.run({**POLICY, "sink": sink}, frame)

    assert release.record.rows.out == ROWS


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_files_are_replaced_moved_and_locked(spark_session: Any, tmp_path: Path, kind: str) -> None:
    files: Any = LocalFiles() if kind == "local" else HadoopFiles(spark_session)
    root = f"file:{tmp_path}"
    private = files.private(f"{root}/release")
    with pytest.raises(UnreachableError) as caught:
        files.private(f"{root}/release")
    (tmp_path / "part").write_text("rows")
    files.take(str(tmp_path / "part"), f"{private.uri}/staged/part")
    files.move(f"{private.uri}/staged", f"{root}/release/v-1")
    for text in ("v-0\n", "v-1\n"):
        files.write(f"{root}/release/_current", text)

    assert caught.value.code == "sink-busy"
    assert stat.S_IMODE((tmp_path / ".release.sfumato").stat().st_mode) == 0o700
    assert files.read(f"{root}/release/_current") == "v-1\n"
    assert files.read(f"{root}/release/nothing") is None
    assert [name for name in files.names(f"{root}/release") if not name.startswith(".")] == ["_current", "v-1"]
    assert files.is_file(f"{root}/release/_current")
    assert not files.is_file(f"{root}/release")
    files.remove(f"{root}/release/v-1")
    private.close()
    assert not (tmp_path / ".release.sfumato").exists()
    assert not (tmp_path / "release" / "v-1").exists()


class KilledError(Exception):
    """What a run dies of."""


def test_a_run_that_died_is_resumed_with_the_rows_as_they_were(people: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"spark": {"path": str(tmp_path / "release")}}
    given = {**POLICY, "source": people, "sink": target}
    with monkeypatch.context() as patch:
        # a process that dies leaves its folder, and its lock is gone
        patch.setattr(SparkInside, "close", lambda inside: inside._connection.leave())
        patch.setattr(InsideStore, "stage", lambda *_: killed())
        with pytest.raises(KilledError):
            sfumato.run(given)
    left = tmp_path / ".release.sfumato"
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    stored(PEOPLE.slice(0, 100), tmp_path / "people")
    with pytest.raises(UsageError) as caught:
        sfumato.run({**given, "columns": {**COLUMNS, "seen": {"role": "identifier"}}}, resume=True)
    assert caught.value.code == "resume-nothing"

    resumed: Any = sfumato.run(given, resume=True)

    assert counted(resumed.table) == counted(sfumato.run(POLICY, PEOPLE).table)  # type: ignore[union-attr]
    assert not left.exists()
    with pytest.raises(UsageError):
        sfumato.run(given, resume=True)


def killed() -> None:
    raise KilledError


def test_a_run_that_finds_nothing_to_resume_leaves_nothing(people: dict[str, Any], tmp_path: Path) -> None:
    given = {**POLICY, "source": people, "sink": {"spark": {"path": str(tmp_path / "new" / "release")}}}
    with pytest.raises(UsageError) as caught:
        sfumato.run(given, resume=True)
    assert caught.value.code == "resume-nothing"
    assert not (tmp_path / "new").exists()

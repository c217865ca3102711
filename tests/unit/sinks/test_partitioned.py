"""Parquet in folders called after values: written where nobody sees it, read back exactly, published in one step."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import dataset, parquet

import sfumato
from sfumato.core import staged_folder
from sfumato.core.hive_folders import NULL
from sfumato.core.interfaces import ReorderingWriter
from sfumato.core.staged_folder import StagedFolder
from sfumato.core.workplace import Workplace
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from sfumato.sinks import _partitioned
from sfumato.sinks.parquet import Parquet

ODD = ["A/B", "a=b", "two words", None, "", "Zoë 😀", "%41", "..", "_x", NULL, "*", "[30, 39]", "new\nline"]
TABLE = pa.table({"ward": ODD * 2, "number": list(range(2 * len(ODD)))})
CELLS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["", "/", "=", "%", NULL, ".", "_"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out"


def write(path: Path, table: pa.Table = TABLE, *by: str) -> tuple[Any, Any]:
    writer = Parquet(path=f"{path}/", partition_by=list(by or ("ward",))).open(table.schema)
    for batch in table.to_batches(max_chunksize=7):
        writer.write(batch)
    return writer, writer.finish()


def rows(source: Any) -> list[dict[str, Any]]:
    return [row for batch in source.batches(source.describe().names) for row in batch.to_pylist()]


def in_order(writer: Any, table: pa.Table) -> list[dict[str, Any]]:
    return table.take(pa.array(writer.order)).to_pylist()


def code(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(SfumatoError) as caught:
        call()
    return caught.value.code, caught.value.message


def test_odd_values_are_read_back_as_they_were(path: Path) -> None:
    writer, source = write(path)

    assert rows(source) == in_order(writer, TABLE)
    assert sorted(writer.order.tolist()) == list(range(TABLE.num_rows))
    assert isinstance(writer, ReorderingWriter)
    writer.abort()


def test_order_within_a_folder_is_that_of_the_release(path: Path) -> None:
    _, source = write(path)

    assert [row["number"] for row in rows(source) if row["ward"] == "A/B"] == [0, len(ODD)]


def test_coded_columns_mean_the_same(path: Path) -> None:
    writer, source = write(path)

    batches = list(source.batches(["number", "ward"], ["ward"]))
    assert all(pa.types.is_dictionary(batch.column("ward").type) for batch in batches)
    assert [row for batch in batches for row in batch.to_pylist()] == in_order(writer, TABLE.select(["number", "ward"]))
    assert sum(batch.num_rows for batch in source.batches([])) == TABLE.num_rows


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.tuples(CELLS, CELLS), max_size=12), names=st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=2, unique=True))
def test_any_text_in_any_two_columns_is_read_back_as_it_was(tmp_path: Path, lines: list[tuple[Any, Any]], names: list[str]) -> None:
    try:
        columns = {name: pa.array([line[place] for line in lines], pa.string()) for place, name in enumerate(names)}
    except UnicodeEncodeError:
        return
    table = pa.table(columns | {"a number": list(range(len(lines)))})

    writer, source = write(tmp_path / "out", table, *names)
    try:
        assert sorted(rows(source), key=lambda row: row["a number"]) == table.to_pylist()
        assert rows(source) == in_order(writer, table)
    finally:
        writer.abort()


def test_folders_are_filled_in_files_when_memory_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partitioned, "_HELD", 3 * _partitioned._OVERHEAD)

    writer, source = write(path)

    assert len(source.files()) > len(ODD)
    assert rows(source) == in_order(writer, TABLE)


def test_dictionaries_and_numbers_may_become_folders(path: Path) -> None:
    table = pa.table({"ward": pa.array(["x", None, "x"]).dictionary_encode(), "year": [2020, 2021, None], "n": [1.5, 2.5, 3.5]})

    writer, source = write(path, table, "ward", "year")
    assert source.describe().names == ["n", "ward", "year"]
    writer.publish()

    assert {str(file.parent.relative_to(path)) for file in path.rglob("*.parquet")} == {
        "ward=x/year=2020",
        f"ward={NULL}/year=2021",
        f"ward=x/year={NULL}",
    }


def test_others_read_the_folder_too(path: Path) -> None:
    table = pa.table({"ward": ["A/B", None, "x y"], "n": [1, 2, 3]})
    write(path, table)[0].publish()

    found = dataset.dataset(path, partitioning=dataset.partitioning(flavor="hive")).to_table()

    assert sorted(zip(found["n"].to_pylist(), found["ward"].to_pylist(), strict=True)) == [(1, "A/B"), (2, None), (3, "x y")]


def test_a_release_without_rows_has_columns(path: Path) -> None:
    writer, source = write(path, TABLE.slice(0, 0))
    assert source.describe().names == ["number", "ward"]
    writer.publish()

    write(path)[0].publish()
    assert len(rows(find(path))) == TABLE.num_rows


def find(path: Path) -> Any:
    from sfumato.sources.parquet import Parquet as Source

    return Source(path=str(path))


# --- the folder ------------------------------------------------------------------------------------------------------------


def test_nothing_is_visible_before_it_is_published(path: Path) -> None:
    writer, _ = write(path)
    (staged,) = map(Path, writer.staging)

    assert [found.name for found in path.parent.iterdir()] == [".out.sfumato"]
    assert stat.S_IMODE(staged.stat().st_mode) == 0o700
    assert writer.publish() == (str(path),)
    assert [found.name for found in path.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_older_release_is_replaced_whole(path: Path, can_exchange: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can_exchange:
        monkeypatch.setattr(staged_folder, "exchange", lambda one, other: False)
    write(path, pa.table({"ward": ["gone"], "number": [1]}))[0].publish()
    path.chmod(0o750)

    writer, _ = write(path)
    assert [row["ward"] for row in rows(find(path))] == ["gone"]
    writer.publish()

    assert rows(find(path)) == in_order(writer, TABLE)
    assert [found.name for found in path.parent.iterdir()] == ["out"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_an_older_release_that_was_moved_away_comes_back(path: Path) -> None:
    write(path)[0].publish()
    path.rename(path.with_name(".out.sfumato-old"))

    StagedFolder(str(path)).abort()

    assert len(rows(find(path))) == TABLE.num_rows
    assert [found.name for found in path.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("content", ["notes.md", "a.parquet", "ward=x/notes.md", "inner/a.parquet"])
def test_a_folder_with_other_things_is_not_replaced(path: Path, content: str) -> None:
    (path / content).parent.mkdir(parents=True)
    (path / content).write_text("mine")

    assert code(lambda: write(path)) == (
        "sink-not-dataset",
        f"{path} is there and holds something else than Parquet files in folders called key=value; it is not replaced",
    )
    assert (path / content).read_text() == "mine"


def test_a_file_is_not_replaced_by_a_folder(path: Path) -> None:
    path.write_text("mine")

    assert code(lambda: write(path))[0] == "sink-not-dataset"


@pytest.mark.parametrize("finished", [False, True])
def test_aborting_leaves_nothing(path: Path, finished: bool) -> None:
    writer = Parquet(path=str(path), partition_by=["ward"]).open(TABLE.schema)
    writer.write(TABLE.to_batches()[0])
    if finished:
        writer.finish()
    writer.abort()
    writer.abort()

    assert list(path.parent.iterdir()) == []


def test_a_second_writer_is_refused_while_the_first_one_writes(path: Path) -> None:
    first, _ = write(path)

    assert code(lambda: write(path)) == ("sink-busy", f"another run is writing {path}")
    first.abort()


def test_what_a_dead_run_left_is_removed_by_the_next_start_and_what_a_living_one_writes_is_not(path: Path) -> None:
    writer, _ = write(path)
    dead = Workplace()
    dead.note(list(writer.staging))
    dead._lock.close()  # type: ignore[union-attr]  # as if the process had died

    Workplace().close()
    assert Path(writer.staging[0]).exists()

    writer._folder._unlock()
    dead = Workplace()
    dead.note(list(writer.staging))
    dead._lock.close()  # type: ignore[union-attr]
    Workplace().close()
    assert list(path.parent.iterdir()) == []


def test_too_many_folders_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partitioned, "_MOST_FOLDERS", 3)

    assert code(lambda: write(path)) == ("sink-partition", "ward would make more than 3 folders")
    assert list(path.parent.iterdir()) == []


def test_a_value_too_long_for_a_name_is_refused_without_showing_it(path: Path) -> None:
    assert code(lambda: write(path, pa.table({"ward": ["canary" * 50], "n": [1]}))) == (
        "sink-partition",
        "the column ward has a value that is too long to be the name of a folder",
    )
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UnreachableError):
        write(tmp_path / "file" / "out")


# --- in a policy -------------------------------------------------------------------------------------------------------------

PEOPLE = "age,ward,sick\n" + "".join(f"{30 + i % 7},{'A/B' if i % 3 else ''},{'yes' if i % 2 else 'no'}\n" for i in range(60))
POLICY: dict[str, Any] = {
    "source": "data.csv",
    "columns": {"age": {"role": "quasi_identifier"}, "ward": {"role": "other"}, "sick": {"role": "sensitive"}},
    "promises": [{"k_anonymity": {"k": 5}}],
}


@pytest.mark.parametrize("by", [["ward"], ["age"], ["age", "ward"]])
def test_a_release_goes_into_folders_of_kept_and_generalised_columns(by: list[str], tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    path = write_policy(POLICY | {"sink": {"parquet": {"path": "out/", "partition_by": by}}}, PEOPLE)
    release = sfumato.run(path)
    release = sfumato.run(path)
    plain = sfumato.run(write_policy(POLICY, name="plain.yaml")).table

    names = ["age", "ward", "sick"]
    key = lambda row: tuple(str(row[name]) for name in names)  # noqa: E731 - a name for the order of the rows
    assert sorted(release.table.select(names).to_pylist(), key=key) == sorted(plain.select(names).to_pylist(), key=key)
    assert json.loads((tmp_path / "out.record.json").read_text())["files"] == ["out"]
    assert sorted(found.name for found in tmp_path.iterdir()) == ["data.csv", "out", "out.record.json", "plain.yaml", "policy.yaml"]


def test_a_release_in_folders_is_a_source(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    sfumato.run(write_policy(POLICY | {"sink": {"parquet": {"path": "out/", "partition_by": ["ward"]}}}, PEOPLE))

    again = sfumato.run(write_policy(POLICY | {"source": "out/", "sink": "again.csv"}))

    assert again.record.rows.in_ == 60


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["wart"], "partition_by names columns that are not published: wart"),
        (["ward", "ward"], "partition_by names a column twice"),
        (["ward", "age", "sick"], "partition_by leaves no column for the files"),
    ],
)
def test_columns_that_cannot_be_folders_are_refused_before_anything_is_read(by: list[str], message: str, write_policy: Callable[..., Path]) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(POLICY | {"sink": {"parquet": {"path": "out/", "partition_by": by}}}, PEOPLE))

    assert [(mistake.key, mistake.message, mistake.code) for mistake in caught.value.mistakes] == [("sink", message, "policy-sink-columns")]


def test_a_folder_that_holds_the_source_is_not_replaced(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    parquet.write_table(pa.table({"age": ["1"], "ward": ["x"], "sick": ["no"]}), tmp_path / "part-000000.parquet")
    (tmp_path / "data").mkdir()
    (tmp_path / "part-000000.parquet").rename(tmp_path / "data" / "part-000000.parquet")
    sink = {"parquet": {"path": "data/", "partition_by": ["ward"]}}

    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(POLICY | {"source": "data/part-000000.parquet", "sink": sink}))

    assert caught.value.code == "sink-is-source"


# --- as a source ---------------------------------------------------------------------------------------------------------------


def test_folders_are_columns_of_text_at_the_end(tmp_path: Path) -> None:
    for country in ("DE", "C%C3%B4te%20d%27Ivoire", NULL):
        folder = tmp_path / "data" / f"country={country}" / "year=2020"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"n": [1]}), folder / "part.parquet")

    source = find(tmp_path / "data")

    assert source.describe().names == ["n", "country", "year"]
    assert [row["country"] for row in rows(source)] == ["Côte d'Ivoire", "DE", None]
    assert {row["year"] for row in rows(find(tmp_path / "data" / "**" / "*.parquet"))} == {"2020"}


def test_folders_that_name_a_column_of_the_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "n=1").mkdir()
    parquet.write_table(pa.table({"n": [1]}), tmp_path / "n=1" / "part.parquet")

    with pytest.raises(DataError) as caught:
        find(tmp_path).describe()

    assert caught.value.message == f"{tmp_path}/n=1/part.parquet has columns that its folders name again: n"


def test_files_in_other_folders_are_told_by_their_columns(tmp_path: Path) -> None:
    for name in ("a=1", "b=1"):
        (tmp_path / name).mkdir()
        parquet.write_table(pa.table({"n": [1]}), tmp_path / name / "part.parquet")

    with pytest.raises(DataError) as caught:
        find(tmp_path).describe()

    first, other = tmp_path / "a=1/part.parquet", tmp_path / "b=1/part.parquet"
    assert caught.value.message == f"{other} lacks columns that {first} has: a; it has columns that {first} does not have: b"

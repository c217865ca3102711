"""What every source keeps to: the same rows in the same order, and an error where it changed meanwhile."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.interfaces import Scan, Source
from sfumato.core.standard_streams import forget_input
from sfumato.errors import DataError, UnreachableError
from sfumato.registry import find, names
from tests.servers import address, component, spark_running

TABLE = pa.table(
    {
        "name": ["Ann", None, "", "Zoë 😀", "שלום"],
        "note": ['say "no"', "a,b;c\td|e", "two\nlines", "two\r\nlines", " "],
        "number": ["1", "2", "3", None, "5"],
        "group": ["x", "y", "x", "x", None],
    }
)


def in_a_folder(table: pa.Table, path: Path) -> Source:
    make("delimited", table, path / "data.csv")
    return find("sources", "folder")(path=str(path))


def in_memory(table: pa.Table, path: Path) -> Source:
    return find("sources", "memory")(table=table)


def in_a_database(table: pa.Table, path: Path) -> Source:
    settings = component(address("postgresql"), f"t{secrets.token_hex(8)}")
    return written("sql", table, settings)


def in_spark(table: pa.Table, path: Path) -> Source:
    spark_running()
    return written("spark", table, {"path": str(path)})


def written(name: str, table: pa.Table, settings: dict[str, Any]) -> Source:
    writer = find("sinks", name)(**settings).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return find("sources", name)(**settings)


def by_standard_input(table: pa.Table, path: Path) -> Source:
    make("delimited", table, path)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    return find("sources", "standard_input")()


@pytest.fixture(autouse=True)
def _standard_input() -> Iterator[None]:
    """Give standard input back after a test that has exchanged it."""
    kept = os.dup(0)
    yield
    forget_input()
    os.dup2(kept, 0)
    os.close(kept)


# sources that are no files; a file is written by the sink of the same name
SPECIAL: dict[str, Callable[[pa.Table, Path], Source]] = {
    "folder": in_a_folder,
    "memory": in_memory,
    "standard_input": by_standard_input,
    "sql": in_a_database,
    "spark": in_spark,
}
# where only rows say what columns there are
WITHOUT_A_HEADER = ("json_lines",)
FILES = [name for name in names("sources") if name not in SPECIAL]


def make(name: str, table: pa.Table, path: Path) -> Source:
    if name in SPECIAL:
        return SPECIAL[name](table, path)
    writer = find("sinks", name)(path=str(path)).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return find("sources", name)(path=str(path))


@pytest.fixture(params=names("sources"))
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return make(request.param, TABLE, tmp_path / "data")


@pytest.fixture(params=FILES)
def file_source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return make(request.param, TABLE, tmp_path / "data")


def rows(source: Source, columns: list[str], coded: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for batch in source.batches(columns, coded) for row in batch.to_pylist()]


def expected(columns: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in TABLE.to_pylist()]


def test_it_has_the_shape_of_a_source(source: Source) -> None:
    assert isinstance(source, Source)


def test_it_names_its_columns_in_order(source: Source) -> None:
    assert source.describe().names == TABLE.column_names


def test_it_gives_the_types_that_it_describes(source: Source) -> None:
    schema = source.describe()

    assert all(batch.schema.types == schema.types for batch in source.batches(schema.names))


def test_it_reads_the_same_rows_in_the_same_order_twice(source: Source) -> None:
    assert rows(source, TABLE.column_names) == expected(TABLE.column_names)
    assert rows(source, TABLE.column_names) == expected(TABLE.column_names)


@pytest.mark.parametrize("columns", [["group"], ["number", "name"], ["group", "note", "name"]])
def test_it_reads_the_columns_that_are_asked_for_in_the_order_asked_for(source: Source, columns: list[str]) -> None:
    assert all(batch.schema.names == columns for batch in source.batches(columns))
    assert rows(source, columns) == expected(columns)


def test_without_columns_it_still_counts_the_rows(source: Source) -> None:
    batches = list(source.batches([]))

    assert sum(batch.num_rows for batch in batches) == TABLE.num_rows
    assert all(batch.num_columns == 0 for batch in batches)


def test_coded_columns_mean_the_same(source: Source) -> None:
    assert rows(source, TABLE.column_names, coded=("name", "note", "group")) == expected(TABLE.column_names)


@pytest.mark.parametrize("name", names("sources"))
@pytest.mark.slow
def test_many_rows_come_in_batches_of_bounded_size(name: str, tmp_path: Path) -> None:
    # more than a source reads at once; a cell of a workbook takes long to write
    number = 60_000 if name == "excel" else 600_000
    table = pa.table({"text": [f"{place % 1000:020d}" for place in range(number)]})

    batches = list(make(name, table, tmp_path / "data").batches(["text"], ["text"]))

    assert sum(batch.num_rows for batch in batches) == number
    assert max(batch.num_rows for batch in batches) < number
    assert pa.chunked_array([batch.column(0).cast(pa.string()) for batch in batches]).equals(table["text"])


@pytest.mark.parametrize("name", names("sources"))
def test_a_source_without_rows_still_has_columns(name: str, tmp_path: Path) -> None:
    if name in WITHOUT_A_HEADER:
        pytest.skip(f"a file of {name} without rows says nothing of its columns: no command makes this run")
    source = make(name, TABLE.slice(0, 0), tmp_path / "data")

    assert source.describe().names == TABLE.column_names
    assert rows(source, TABLE.column_names) == []


def test_its_state_stays_while_nobody_writes(source: Source) -> None:
    assert source.state() == source.state()


def test_it_says_how_a_store_can_read_it(source: Source) -> None:
    assert source.scan() is None or isinstance(source.scan(), Scan)


def test_its_state_changes_when_the_file_does(file_source: Any) -> None:
    before = file_source.state()

    with Path(file_source.path).open("ab") as file:
        file.write(b"\n")

    assert file_source.state() != before


def test_its_state_changes_when_another_file_takes_its_name(file_source: Any) -> None:
    before, path = file_source.state(), Path(file_source.path)

    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    copy.replace(path)

    assert file_source.state() != before


def test_a_file_that_changes_while_it_is_read_is_refused(file_source: Any) -> None:
    batches = file_source.batches(["name"])
    next(batches)
    with Path(file_source.path).open("ab") as file:
        file.write(b"\n")

    with pytest.raises(DataError) as caught:
        list(batches)

    assert caught.value.code == "source-changed"


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_there_is_unreachable(name: str, tmp_path: Path) -> None:
    source = find("sources", name)(path=str(tmp_path / "nowhere"))

    for ask in (source.describe, source.state, lambda: list(source.batches(["name"]))):
        with pytest.raises(UnreachableError) as caught:
            ask()
        assert caught.value.code == "file-missing"


@pytest.mark.parametrize("name", FILES)
def test_a_folder_without_files_is_no_source(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as caught:
        find("sources", name)(path=str(tmp_path)).describe()

    assert caught.value.code in ("source-no-files", "file-is-folder")


def test_a_file_that_may_not_be_read_is_unreachable(file_source: Any, unreadable: Callable[[Path], None]) -> None:
    unreadable(Path(file_source.path))

    with pytest.raises(UnreachableError) as caught:
        file_source.describe()

    assert caught.value.code == "file-permission"

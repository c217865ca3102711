"""What every sink keeps to: nothing is visible before it is published, and what was written is read back as it was."""

from __future__ import annotations

import gc
import resource
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.core.interfaces import Sink, Source
from sfumato.errors import UnreachableError
from sfumato.registry import find, names
from tests.servers import address, component, spark_running

TABLE = pa.table(
    {
        "name": ["Ann", None, "", "Zoë 😀", "שלום", '"', '""', "\ufeffmark"],
        "note": ['say "no"', "a,b;c\td|e", "two\nlines", "two\r\nlines", "\r", "'", None, ""],
        "label": pa.array(["[1, 2]", "*", "[1, 2]", None, "3", "3", "", "*"]).dictionary_encode(),
    }
)
PLAIN = TABLE.cast(pa.schema([(name, pa.string()) for name in TABLE.column_names]))
CELLS = (
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["", '"', ",", "\n", "\r", "\r\n", "\ufeff", "\\"])
)


def make(name: str, path: Path) -> Any:
    sink = find("sinks", name)
    if name == "sql":
        return sink(**component(address("postgresql"), f"t{secrets.token_hex(8)}"))
    if name == "spark":
        spark_running()
    return sink(path=str(path)) if "path" in sink.model_fields else sink()


# a live view shows the rows of its source, and takes none
SINKS = [name for name in names("sinks") if getattr(find("sinks", name), "takes_rows", True)]
# a release of Spark is a folder
FILES = [name for name in names("sinks") if "path" in find("sinks", name).model_fields and name != "spark"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "release"


@pytest.fixture(params=SINKS)
def sink(request: pytest.FixtureRequest, path: Path) -> Any:
    return make(request.param, path)


@pytest.fixture(params=FILES)
def file_sink(request: pytest.FixtureRequest, path: Path) -> Any:
    return make(request.param, path)


def write(sink: Any, table: pa.Table = TABLE) -> tuple[Any, Source]:
    writer = sink.open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    return writer, writer.finish()


def read(source: Source) -> pa.Table:
    schema = source.describe()
    return pa.Table.from_batches(source.batches(schema.names), schema)


def test_it_has_the_shape_of_a_sink(sink: Any) -> None:
    assert isinstance(sink, Sink)


def test_what_was_written_is_read_back_before_it_is_published(sink: Any) -> None:
    writer, source = write(sink)

    assert read(source).to_pylist() == PLAIN.to_pylist()
    writer.abort()


@pytest.mark.parametrize("name", SINKS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_is_read_back_as_it_was(name: str, tmp_path: Path, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 3))
    header = data.draw(
        st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4), min_size=width, max_size=width, unique=True)
    )
    lines = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))
    if name in ("sql", "sql_dump"):
        # PostgreSQL has no columns without a name, none of more than 63 bytes, and no zero bytes in text
        header = [f"x{column}" for column in header]
        lines = [[cell and cell.replace("\0", "0") for cell in line] for line in lines]
    table = pa.table({column: pa.array([line[place] for line in lines], pa.string()) for place, column in enumerate(header)})

    writer, source = write(make(name, tmp_path / "release"), table)
    try:
        assert source.describe().names == header
        assert read(source).to_pylist() == table.to_pylist()
    finally:
        writer.abort()


def test_several_batches_follow_one_another(sink: Any) -> None:
    writer = sink.open(TABLE.schema)
    for start in range(TABLE.num_rows):
        for batch in TABLE.slice(start, 1).to_batches():
            writer.write(batch)

    assert read(writer.finish()).to_pylist() == PLAIN.to_pylist()
    writer.abort()


def test_a_release_without_rows_has_columns(sink: Any) -> None:
    writer, source = write(sink, TABLE.slice(0, 0))

    assert source.describe().names == TABLE.column_names
    assert read(source).num_rows == 0
    writer.abort()


def test_it_says_what_it_will_replace(file_sink: Any, path: Path) -> None:
    assert list(file_sink.places()) == [str(path)]


def test_nothing_is_visible_before_it_is_published(file_sink: Any, path: Path) -> None:
    writer, _ = write(file_sink)

    assert [found.name for found in path.parent.iterdir() if not found.name.startswith(".")] == []
    assert writer.publish() == (str(path),)
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_its_private_files_are_named_and_for_their_owner_only(file_sink: Any, path: Path) -> None:
    writer = file_sink.open(TABLE.schema)

    assert {Path(place) for place in writer.staging} == set(path.parent.iterdir())
    assert all(stat.S_IMODE(Path(place).stat().st_mode) == 0o600 for place in writer.staging)
    writer.abort()


def test_a_private_file_left_behind_is_closed_to_others_before_it_is_written(file_sink: Any, path: Path) -> None:
    writer = file_sink.open(TABLE.schema)
    (staged,) = map(Path, writer.staging)
    writer.abort()
    staged.write_bytes(b"left behind " * 1000)
    staged.chmod(0o644)

    writer, source = write(file_sink)

    assert stat.S_IMODE(staged.stat().st_mode) == 0o600
    assert read(source).to_pylist() == PLAIN.to_pylist()
    writer.abort()


def test_what_was_published_is_read_as_it_was_written(file_sink: Any, path: Path) -> None:
    writer, source = write(file_sink)
    writer.publish()

    assert read(type(source)(path=str(path))).to_pylist() == PLAIN.to_pylist()


def test_publishing_replaces_what_was_there(file_sink: Any, path: Path) -> None:
    path.parent.mkdir()
    path.write_text("an older and much longer release\n" * 1000)
    path.chmod(0o640)

    writer, source = write(file_sink)
    assert path.read_text().startswith("an older")
    writer.publish()

    assert read(type(source)(path=str(path))).to_pylist() == PLAIN.to_pylist()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("finished", [False, True])
def test_aborting_leaves_nothing_and_keeps_what_was_there(file_sink: Any, path: Path, finished: bool) -> None:
    path.parent.mkdir()
    path.write_text("an older release")

    writer = file_sink.open(TABLE.schema)
    writer.write(TABLE.to_batches()[0])
    if finished:
        writer.finish()
    writer.abort()
    writer.abort()

    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert path.read_text() == "an older release"


def test_a_second_writer_is_refused_while_the_first_one_writes(file_sink: Any) -> None:
    first = file_sink.open(TABLE.schema)

    with pytest.raises(UnreachableError) as caught:
        file_sink.open(TABLE.schema)

    assert caught.value.code == "sink-busy"
    first.abort()
    file_sink.open(TABLE.schema).abort()


def test_a_folder_cannot_be_replaced(file_sink: Any, path: Path) -> None:
    path.mkdir(parents=True)

    with pytest.raises(UnreachableError) as caught:
        file_sink.open(TABLE.schema)

    assert caught.value.code == "file-is-folder"


@pytest.mark.slow
def test_a_disk_that_takes_no_more_leaves_nothing_behind(file_sink: Any, path: Path) -> None:
    table = pa.table({"text": [str(hash(str(place))) for place in range(200_000)]})

    with pytest.raises(UnreachableError) as caught, largest_file(1 << 16):
        write(file_sink, table)

    gc.collect()
    assert caught.value.message == f"there is no space left to write {path}; nothing has been published"
    assert list(path.parent.iterdir()) == []


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size for a while."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

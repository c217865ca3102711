"""Several files as one table: folders and patterns, in every format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from sfumato.registry import find
from sfumato.sources.delimited import Delimited

FILES = ("delimited", "json_lines", "parquet", "arrow")
ENDING = {"delimited": "csv", "json_lines": "jsonl", "parquet": "parquet", "arrow": "arrow"}
COLUMNS = {"age": {"role": "quasi_identifier"}, "job": {"role": "other", "accept": "singling_out"}}
POLICY = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}]}


def write(name: str, path: Path, **columns: list[Any]) -> None:
    table = pa.table(columns)
    writer = find("sinks", name)(path=str(path)).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()


def source(name: str, path: Path | str) -> Any:
    return find("sources", name)(path=str(path))


def jobs(found: Any) -> list[str]:
    return [value for batch in found.batches(["job"], ["job"]) for value in batch.column(0).to_pylist()]


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Return a folder with files of one format, and others that are no part of the table."""
    ending = ENDING[name]
    for place, job in (("b", "second"), ("a", "first"), ("inner/c", "third"), ("_old", "no"), (".hidden", "no"), ("_temporary/d", "no")):
        write(name, tmp_path / "data" / f"{place}.{ending}", age=["30", "31"], job=[job, job])
    (tmp_path / "data" / "_SUCCESS").touch()
    (tmp_path / "data" / "notes.md").write_text("nothing")
    return tmp_path / "data"


def refused(found: Any) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        found.describe()
    return caught.value


def test_a_folder_is_the_table_of_all_its_files_in_the_order_of_their_names(name: str, folder: Path) -> None:
    assert jobs(source(name, folder)) == ["first", "first", "second", "second", "third", "third"]
    assert source(name, folder).describe().names == ["age", "job"]


def test_a_bare_folder_has_the_format_of_its_files(name: str, folder: Path) -> None:
    assert jobs(source("folder", folder)) == jobs(source(name, folder))


def test_a_pattern_is_the_table_of_what_it_matches(name: str, folder: Path) -> None:
    assert jobs(source(name, folder / f"[ab].{ENDING[name]}")) == ["first", "first", "second", "second"]
    assert jobs(source(name, folder / "**" / f"*.{ENDING[name]}")) == jobs(source(name, folder))
    assert jobs(source(name, folder / "inner" / "*")) == ["third", "third"]
    assert jobs(source(name, folder / f"_*.{ENDING[name]}")) == ["no", "no"]


def test_a_file_with_the_signs_of_a_pattern_in_its_name_is_that_file(name: str, folder: Path) -> None:
    odd = folder / f"[ab].{ENDING[name]}"
    write(name, odd, age=["1"], job=["odd"])

    assert jobs(source(name, odd)) == ["odd"]


def test_the_state_covers_all_files(name: str, folder: Path) -> None:
    found = source(name, folder)
    states = [found.state()]
    write(name, folder / f"z.{ENDING[name]}", age=["1"], job=["new"])
    states.append(found.state())
    (folder / f"a.{ENDING[name]}").unlink()
    states.append(found.state())
    with (folder / f"b.{ENDING[name]}").open("ab") as file:
        file.write(b"\n")
    states.append(found.state())

    assert len(set(states)) == 4


def test_a_file_that_appears_while_the_others_are_read_is_refused(name: str, folder: Path) -> None:
    batches = source(name, folder).batches(["job"])
    next(batches)
    write(name, folder / f"z.{ENDING[name]}", age=["1"], job=["new"])

    with pytest.raises(DataError) as caught:
        list(batches)

    assert str(caught.value) == (
        f"{folder} changed while it was read; nothing has been published [source-changed]\n  try: run again when nothing writes to it, or on a copy"
    )


def test_a_folder_without_files_of_the_format_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()

    error = refused(source(name, tmp_path))

    assert (error.code, error.message) == ("source-no-files", f"the folder {tmp_path} holds no file of the format {name}")
    assert error.status == 5


def test_a_pattern_that_goes_up_again_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    error = refused(source(name, tmp_path / "*" / ".." / "*.csv"))

    assert (error.code, error.message) == ("source-no-files", f"the pattern {tmp_path}/*/../*.csv goes up again with ..")


def test_a_pattern_that_matches_nothing_is_refused(name: str, tmp_path: Path) -> None:
    error = refused(source(name, tmp_path / "*.csv"))

    assert (error.code, error.message) == ("source-no-files", f"no file matches {tmp_path}/*.csv")


def test_a_pattern_in_a_folder_that_is_not_there_says_so(name: str, tmp_path: Path) -> None:
    error = refused(source(name, tmp_path / "nowhere" / "*.csv"))

    assert (error.code, error.message) == ("file-missing", f"{tmp_path}/nowhere is not there")


def test_a_folder_that_leads_back_to_itself_is_read_once(name: str, folder: Path) -> None:
    (folder / "inner" / "again").symlink_to(folder)

    assert jobs(source(name, folder))[-2:] == ["third", "third"]
    assert jobs(source(name, folder / "**" / f"*.{ENDING[name]}")) == jobs(source(name, folder))


@pytest.mark.parametrize("name", ["delimited", "parquet", "arrow"])
def test_a_file_with_other_columns_is_named_with_them(name: str, folder: Path) -> None:
    write(name, folder / f"b.{ENDING[name]}", age=["canary"], work=["canary"])

    error = refused(source(name, folder))

    first, other = folder / f"a.{ENDING[name]}", folder / f"b.{ENDING[name]}"
    assert (error.code, error.status) == ("files-differ", 6)
    assert error.message == f"{other} lacks columns that {first} has: job; it has columns that {first} does not have: work"
    with pytest.raises(DataError):
        next(source(name, folder).batches(["age"]))


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_columns_in_another_order_or_of_another_type_are_refused_where_files_have_types(name: str, folder: Path) -> None:
    first, other = folder / f"a.{ENDING[name]}", folder / f"b.{ENDING[name]}"
    write(name, other, job=["x"], age=["1"])
    order = refused(source(name, folder)).message
    write(name, other, age=[1], job=["x"])

    assert order == f"{other} has its columns in another order than {first}"
    assert refused(source(name, folder)).message == f"{other} has columns of other types than {first}: age"


@pytest.mark.parametrize("name", ["delimited"])
def test_files_with_a_header_are_read_by_name(name: str, folder: Path) -> None:
    (folder / "b.csv").write_text("job,age\nsecond,44\n")

    rows = [row for batch in source(name, folder).batches(["age", "job"]) for row in batch.to_pylist()]

    assert {"age": "44", "job": "second"} in rows


def test_a_file_without_the_header_of_the_others_shows_no_cell(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,job\n30,x\n")
    (tmp_path / "b.csv").write_text("canary,secret\n31,y\n")

    message = refused(source("delimited", tmp_path)).message

    assert message == f"{tmp_path}/b.csv has 2 columns, none of which is among the 2 of {tmp_path}/a.csv"


def test_files_without_a_header_have_the_same_number_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("30,x\n")
    (tmp_path / "b.csv").write_text("31,y,z\n")

    message = refused(find("sources", "delimited")(path=str(tmp_path), header=False)).message

    assert message == f"{tmp_path}/b.csv has columns that {tmp_path}/a.csv does not have: column_3"


def test_a_line_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,job\n30,x\n")
    (tmp_path / "b.csv").write_text("age,job\n30,x\n31\n")

    with pytest.raises(DataError) as caught:
        list(source("delimited", tmp_path / "*.csv").batches(["age"]))

    assert caught.value.message == f"{tmp_path}/b.csv:3 has 1 field, the file has 2 columns"


def test_fields_of_json_lines_are_those_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"age": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"age": 2.5, "job": "x"}\n')

    found = source("json_lines", tmp_path)

    assert found.describe().names == ["age", "job"]
    assert [row for batch in found.batches(["age", "job"]) for row in batch.to_pylist()] == [{"age": 1.0, "job": None}, {"age": 2.5, "job": "x"}]


def test_several_formats_in_a_bare_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n")
    (tmp_path / "b.tsv").write_text("age\n1\n")

    error = refused(source("folder", tmp_path))

    assert error.code == "folder-formats"
    assert error.message == f"{tmp_path} holds files of several formats, such as {tmp_path}/a.csv and {tmp_path}/b.tsv"


def test_a_folder_that_may_not_be_read_is_not_left_out(tmp_path: Path, unreadable: Callable[[Path], None]) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n")
    (tmp_path / "inner").mkdir()
    unreadable(tmp_path / "inner")

    for path in (tmp_path, tmp_path / "**" / "*.csv"):
        with pytest.raises(UnreachableError) as caught:
            source("delimited", path).describe()
        assert caught.value.code == "file-permission"


def test_about_goes_by_the_size_of_all_files(tmp_path: Path) -> None:
    for number in range(4):
        parquet.write_table(pa.table({"n": list(range(100))}), tmp_path / f"{number}.parquet")

    assert source("parquet", tmp_path).about() == 400


# --- in a policy ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def compressed(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for number in range(3):
        with gzip.open(tmp_path / "data" / f"{number}.csv.gz", "wt") as file:
            file.write("age,job\n30,x\n40,y\n")
    return tmp_path / "data"


@pytest.mark.parametrize("short", ["data/", "data/*.csv.gz", "data/**/*.csv.gz"])
def test_a_policy_names_folders_and_patterns_by_their_path(short: str, compressed: Path, write_policy: Callable[..., Path]) -> None:
    release = sfumato.run(write_policy(POLICY | {"source": short, "sink": "release.csv"}))

    assert release.record.rows.in_ == 6


@pytest.mark.parametrize(
    ("short", "sink"),
    [
        ("data/", "data/release.csv"),
        ("data/", "data/deep/release.parquet"),
        ({"delimited": {"path": "data/*"}}, "data/release.csv"),
        ("data/**/*.csv", "data/deep/release.csv"),
        ({"delimited": {"path": "data"}}, "data/../data/release.csv"),
    ],
)
def test_a_sink_that_the_next_run_would_read_is_refused(short: object, sink: str, compressed: Path, write_policy: Callable[..., Path]) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(POLICY | {"source": short, "sink": sink}))

    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.message) == ("sink-is-source", "lies among the files of the source: the next run would read this release")


def test_a_sink_that_is_one_of_the_files_by_another_name_is_refused(compressed: Path, write_policy: Callable[..., Path]) -> None:
    (compressed / "linked.csv.gz").symlink_to(compressed.parent / "release.csv.gz")
    (compressed.parent / "release.csv.gz").write_bytes((compressed / "0.csv.gz").read_bytes())

    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(POLICY | {"source": "data/*.csv.gz", "sink": "release.csv.gz"}))

    assert caught.value.code == "sink-is-source"


def test_a_sink_beside_the_files_that_the_pattern_leaves_out_is_fine(compressed: Path, write_policy: Callable[..., Path]) -> None:
    sfumato.run(write_policy(POLICY | {"source": "data/*.csv.gz", "sink": "data/release.csv"}))

    assert (compressed / "release.csv").exists()


def test_a_folder_without_its_slash_gets_the_hint(compressed: Path, write_policy: Callable[..., Path]) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(POLICY | {"source": "data"}))

    assert caught.value.hint == 'source: "data/" where it is a folder, else source: {delimited: {path: data}}'


@pytest.mark.parametrize("link", ["latest", "2024/b.csv"])
def test_one_file_under_two_names_is_refused(link: str, tmp_path: Path) -> None:
    (tmp_path / "data/2024").mkdir(parents=True)
    (tmp_path / "data/2024/a.csv").write_text("n\n1\n2\n")
    (tmp_path / "data" / link).symlink_to(tmp_path / ("data/2024" if link == "latest" else "data/2024/a.csv"))

    with pytest.raises(DataError) as refused:
        Delimited(path=str(tmp_path / "data")).describe()

    assert refused.value.code == "file-twice"

"""Files that grow are read once, whatever happens to their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core import followed_files
from sfumato.core.followed_files import FollowedFiles, whole_lines
from sfumato.errors import DataError

SECRET = bytes(32)


def followed(folder: Path, pattern: str = "*.log", position: dict | None = None) -> FollowedFiles:
    return FollowedFiles(lambda: folder.glob(pattern), whole_lines, SECRET, position)


def read(files: FollowedFiles, ended: bool = False) -> list[bytes]:
    return [stretch.content for stretch in files.stretches(ended)]


def test_only_whole_lines_are_read_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n3")
    files = followed(tmp_path)
    assert (read(files), read(files)) == ([b"1\n2\n"], [])
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"4\n5")
    assert (read(files), read(files, ended=True), read(files, ended=True)) == ([b"34\n"], [b"5"], [])


def test_files_are_read_in_the_order_of_their_names_and_late_ones_are_not_lost(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_bytes(b"b1\n")
    (tmp_path / "a.log").write_bytes(b"a1\n")
    files = followed(tmp_path)
    assert read(files) == [b"a1\n", b"b1\n"]
    (tmp_path / "0.log").write_bytes(b"late\n")
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"a2\n")
    assert read(files) == [b"late\n", b"a2\n"]


def test_a_position_that_was_written_down_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n")
    files = followed(tmp_path)
    read(files)
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"3\n")
    assert read(followed(tmp_path, position=files.position)) == [b"3\n"]


def test_a_stretch_that_was_handed_out_counts_as_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n")
    files = followed(tmp_path)
    next(files.stretches())
    assert read(followed(tmp_path, position=files.position)) == []


def test_a_renamed_file_is_read_to_its_end_before_the_new_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n")
    files = followed(tmp_path, "a.log")
    read(files)
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"2\n")
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    (tmp_path / "a.log").write_bytes(b"3\n")
    assert read(followed(tmp_path, "a.log", files.position)) == [b"2\n", b"3\n"]


def test_another_file_with_the_number_of_a_removed_one_is_read_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n")
    files = followed(tmp_path)
    read(files)
    # the same file for the file system, with another content: what a removed file's number being given away looks like
    (tmp_path / "a.log").write_bytes(b"9\n8\n7\n")
    assert read(files) == [b"9\n8\n7\n"]


def test_a_file_that_was_shortened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n" * 400)
    files = followed(tmp_path)
    read(files)
    (tmp_path / "a.log").write_bytes(b"1\n" * 200)
    with pytest.raises(DataError) as refused:
        read(files)
    assert refused.value.code == "stream-source-shortened"


def test_what_was_read_can_be_read_again_and_is_missed_where_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n3\n")
    files = followed(tmp_path)
    (stretch,) = files.stretches()
    assert files.again(stretch.place, 2, 4) == b"2\n"
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    assert files.again(stretch.place, 2, 4) == b"2\n"
    (tmp_path / "a.log.1").unlink()
    with pytest.raises(DataError) as refused:
        files.again(stretch.place, 2, 4)
    assert refused.value.code == "stream-source-gone"


def test_long_records_are_read_whole_and_endless_ones_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_files, "BLOCK", 4)
    monkeypatch.setattr(followed_files, "_LARGEST_RECORD", 16)
    (tmp_path / "a.log").write_bytes(b"123456789\nab\n")
    assert b"".join(read(followed(tmp_path))) == b"123456789\nab\n"
    (tmp_path / "b.log").write_bytes(b"x" * 40)
    with pytest.raises(DataError) as refused:
        read(followed(tmp_path, "b.log"))
    assert refused.value.code == "stream-record-large"

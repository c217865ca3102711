"""Files that grow are read once, whatever happens to their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato.core import followed_files, unfinished
from sfumato.core.followed_files import FollowedFiles, whole_lines
from sfumato.errors import DataError

SECRET = bytes(32)
FOLLOWED: list[FollowedFiles] = []


@pytest.fixture(autouse=True)
def _all_closed() -> Iterator[None]:
    yield
    while FOLLOWED:
        FOLLOWED.pop().close()


def followed(folder: Path, pattern: str = "*.log", position: dict | None = None) -> FollowedFiles:
    FOLLOWED.append(FollowedFiles(lambda: folder.glob(pattern), whole_lines, SECRET, position))
    return FOLLOWED[-1]


def later(files: FollowedFiles, folder: Path, pattern: str = "*.log") -> FollowedFiles:
    """Return files as another process follows them, from the position that these are at."""
    files.close()
    return followed(folder, pattern, files.position)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


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
    assert read(later(files, tmp_path)) == [b"9\n8\n7\n"]


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
    files = later(files, tmp_path)
    (tmp_path / "a.log.1").rename(tmp_path / "old")
    assert files.again(stretch.place, 2, 4) == b"2\n"
    (tmp_path / "old").unlink()
    with pytest.raises(DataError) as refused:
        files.again(stretch.place, 2, 4)
    assert refused.value.code == "stream-source-gone"


def test_long_records_are_read_whole_and_endless_ones_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_files, "BLOCK", 4)
    monkeypatch.setattr(followed_files, "LARGEST_RECORD", 16)
    (tmp_path / "a.log").write_bytes(b"123456789\nab\n")
    assert b"".join(read(followed(tmp_path))) == b"123456789\nab\n"
    (tmp_path / "b.log").write_bytes(b"x" * 40)
    with pytest.raises(DataError) as refused:
        read(followed(tmp_path, "b.log"))
    assert refused.value.code == "stream-record-large"


def test_what_is_no_whole_record_is_told_with_how_long_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(unfinished.time, "monotonic", lambda: now[0])
    (tmp_path / "a.log").write_bytes(b"1\nha")
    files = followed(tmp_path, "*.log")
    read(files)
    now[0] = 107.0
    append(tmp_path / "a.log", b"lf")
    read(files)
    assert (files.unfinished.size, files.unfinished.seconds) == (4, 7.0)
    append(tmp_path / "a.log", b"\nno")
    read(files)
    assert (files.unfinished.size, files.unfinished.seconds) == (2, 0.0)
    append(tmp_path / "a.log", b"\n")
    read(files)
    assert (files.unfinished.size, files.unfinished.seconds) == (0, 0.0)


@pytest.mark.parametrize("name", ["b.log.old", "2024-01-01.log", "a.log.1"])
@pytest.mark.parametrize("is_running", [True, False])
def test_a_file_is_read_to_its_end_whatever_its_new_name(tmp_path: Path, name: str, is_running: bool) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n")
    files = followed(tmp_path, "a.log")
    read(files)
    append(tmp_path / "a.log", b"2\n")
    (tmp_path / "a.log").rename(tmp_path / name)
    (tmp_path / "a.log").write_bytes(b"3\n")
    files = files if is_running else later(files, tmp_path, "a.log")
    assert (read(files), read(files), files.lost) == ([b"2\n", b"3\n"], [], ())


def test_a_file_that_was_moved_away_or_removed_while_it_is_followed_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.log").write_bytes(b"1\n")
    files = followed(tmp_path, "a.log")
    read(files)
    append(tmp_path / "a.log", b"2\n")
    (tmp_path / "a.log").rename(tmp_path / "elsewhere" / "a.log")
    assert read(files) == [b"2\n"]
    append(tmp_path / "elsewhere" / "a.log", b"3\n")
    (tmp_path / "elsewhere" / "a.log").unlink()
    assert read(files) == [b"3\n"]


def test_a_file_that_went_before_its_known_end_was_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2")
    files = followed(tmp_path, "a.log")
    read(files)
    (tmp_path / "a.log").unlink()
    files = later(files, tmp_path, "a.log")
    assert (read(files), files.lost) == ([], (str(tmp_path / "a.log"),))


def test_another_file_of_the_folder_is_not_taken_for_one_that_went(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n")
    files = followed(tmp_path, "a.log")
    read(files)
    # what a removed file's number being given to a release in the same folder looks like
    (tmp_path / "a.log").rename(tmp_path / "release.csv")
    (tmp_path / "release.csv").write_bytes(b"private\n")
    assert read(later(files, tmp_path, "a.log")) == []


@pytest.mark.parametrize("left", [b"", b"9\n"])
@pytest.mark.parametrize("is_running", [True, False])
def test_a_file_that_was_emptied_in_place_is_refused(tmp_path: Path, left: bytes, is_running: bool) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\n")
    files = followed(tmp_path)
    read(files)
    (tmp_path / "a.log").write_bytes(left)
    with pytest.raises(DataError) as refused:
        read(files if is_running else later(files, tmp_path))
    assert refused.value.code == "stream-source-shortened"


def test_a_folder_of_many_files_is_looked_through_without_opening_what_has_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        (tmp_path / f"{number:04}.log").write_bytes(b"%d\n" % number)
    files = followed(tmp_path)
    assert len(read(files)) == 300
    asked = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *given: asked.append(given) or pread(*given))
    assert (read(files), asked) == ([], [])
    append(tmp_path / "0007.log", b"more\n")
    assert (read(files), len(files.position)) == ([b"more\n"], 300)


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("header", [b"who,age\n", b"x" * 9000 + b"\n"], ids=["short header", "long header"])
@pytest.mark.parametrize("more", [0, 500])
def test_a_file_that_was_emptied_and_has_grown_again_is_read_anew(tmp_path: Path, header: bytes, is_running: bool, more: int) -> None:
    old, new = (b"".join(b"%s%04d\n" % (name, number) for number in range(1000)) for name in (b"old", b"new"))
    new += b"more\n" * more
    (tmp_path / "a.log").write_bytes(header + old)
    files = followed(tmp_path)
    assert read(files) == [header + old]
    before = (tmp_path / "a.log").stat().st_ino
    # in place, as tools do that copy a log and empty it
    (tmp_path / "a.log").write_bytes(header + new)
    os.utime(tmp_path / "a.log", ns=(1, 1))
    assert (tmp_path / "a.log").stat().st_ino == before
    files = files if is_running else later(files, tmp_path)
    assert (read(files), read(files)) == ([header + new], [])
    append(tmp_path / "a.log", b"last\n")
    assert read(later(files, tmp_path)) == [b"last\n"]


def test_what_is_known_to_be_unread_of_a_file_that_was_emptied_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2\nhalf")
    files = followed(tmp_path)
    assert read(files) == [b"1\n2\n"]
    (tmp_path / "a.log").write_bytes(b"another\nfile\n")
    assert read(files) == [b"another\nfile\n"]
    assert (read(files), files.lost) == ([], (str(tmp_path / "a.log"),))


def test_a_file_that_is_emptied_between_two_looks_at_it_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_bytes(b"old 1\n")
    files = followed(tmp_path)
    assert read(files) == [b"old 1\n"]
    append(tmp_path / "a.log", b"old 2\n")
    looked = FollowedFiles._read

    def emptied(self: FollowedFiles, *given: object) -> Iterator[followed_files.Stretch]:
        (tmp_path / "a.log").write_bytes(b"new 1\nnew 2\n")
        yield from looked(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(FollowedFiles, "_read", emptied)
    assert read(files) == []
    monkeypatch.undo()
    assert read(files) == [b"new 1\nnew 2\n"]


def test_a_file_that_went_unread_is_lost_also_where_its_number_was_given_to_another(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"1\n2")
    files = followed(tmp_path)
    read(files)
    (tmp_path / "a.log").unlink()
    (tmp_path / "other.txt").write_bytes(b"nothing of it")
    status = (tmp_path / "other.txt").stat()
    files.close()
    position = {place: begun | {"file": f"{status.st_dev}:{status.st_ino}"} for place, begun in files.position.items()}

    found = followed(tmp_path, position=position)

    assert (read(found), found.lost) == ([], (str(tmp_path / "a.log"),))


def test_files_that_were_read_and_have_long_gone_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = {"now": 0}
    monkeypatch.setattr(followed_files.time, "time", lambda: 1e9 + 3600 * hours["now"])
    files = followed(tmp_path)
    known = []
    for day in range(4):
        for number in range(3):
            (tmp_path / f"{day}-{number}.log").write_bytes(f"{day} {number}\n".encode())
        assert len(read(files)) == 3
        known.append(set(files.position))
        for path in tmp_path.glob("*.log"):
            path.unlink()
        for _ in range(2):
            files = later(files, tmp_path)
            assert read(files) == []
            files.forget_gone()
            hours["now"] += 20

    assert [len(each) for each in known] == [3, 6, 6, 6]
    # no name is given twice, for what was read is known by it
    assert known[-1] - known[-2] == {"9", "10", "11"}


def test_a_file_that_is_away_with_its_folder_or_was_not_read_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = {"now": 0}
    monkeypatch.setattr(followed_files.time, "time", lambda: 1e9 + 3600 * hours["now"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_bytes(b"1\n")
    (tmp_path / "in" / "b.log").write_bytes(b"2\nhalf")
    (tmp_path / "in" / "c.log").write_bytes(b"3\n")
    files = followed(tmp_path / "in")
    assert len(read(files)) == 3
    (tmp_path / "in").rename(tmp_path / "away")
    for _ in range(3):
        files = later(files, tmp_path / "in")
        assert read(files) == []
        files.forget_gone()
        hours["now"] += 30
    (tmp_path / "away").rename(tmp_path / "in")
    assert read(files) == []
    (tmp_path / "in" / "b.log").unlink()
    for _ in range(3):
        files = later(files, tmp_path / "in")
        assert read(files) == []
        files.forget_gone()
        hours["now"] += 30

    assert set(files.position) == {"0", "1", "2"}
    assert files.lost == (str(tmp_path / "in" / "b.log"),)

"""What comes by a pipe is kept until nobody needs it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from sfumato.core.followed_files import whole_lines
from sfumato.engine.stream import spool
from sfumato.engine.stream.spool import Spool, is_cut
from sfumato.errors import DataError, SfumatoError


class Pipe:
    """Both ends of a pipe."""

    def __init__(self) -> None:
        out, into = os.pipe()
        self.out: IO[bytes] = os.fdopen(out, "rb", buffering=0)
        self.into: IO[bytes] = os.fdopen(into, "wb", buffering=0)
        PIPES.append(self)


PIPES: list[Pipe] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while PIPES:
        pipe = PIPES.pop()
        pipe.into.close()
        pipe.out.close()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def spooled(folder: Path, content: bytes, position: dict | None = None) -> Spool:
    """Return a spool whose pipe has brought something and is closed."""
    pipe = Pipe()
    made = Spool(folder, pipe.out, whole_lines, position)
    pipe.into.write(content)
    pipe.into.close()
    until(lambda: made.closed)
    return made


def test_whole_records_are_read_and_the_last_when_nothing_follows(tmp_path: Path) -> None:
    made = spooled(tmp_path, b"1\n2\n3")
    assert [stretch.content for stretch in made.stretches()] == [b"1\n2\n"]
    assert [stretch.content for stretch in made.stretches(ended=True)] == [b"3"]
    assert [stretch.content for stretch in made.stretches(ended=True)] == []


def test_records_that_lie_in_two_files_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "FILE", 5)
    monkeypatch.setattr(spool, "READ", 3)
    made = spooled(tmp_path, b"".join(b"%d\n" % number for number in range(95, 120)))
    content = b"".join(stretch.content for stretch in made.stretches(ended=True))
    assert content.split() == [b"%d" % number for number in range(95, 120)]
    assert len(list(tmp_path.iterdir())) > 10
    assert made.again("0", 3, 9) == content[3:9]


def test_a_record_that_does_not_end_is_refused_and_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("READ", 4), ("BLOCK", 4), ("LARGEST_RECORD", 16), ("MOST_AHEAD", 24)):
        monkeypatch.setattr(spool, name, size)
    pipe = Pipe()
    made = Spool(tmp_path, pipe.out, whole_lines)
    pipe.into.write(b"1\n" + b"x" * 40)
    until(lambda: int(made._end) > 24)
    stretches = made.stretches()
    assert next(stretches).content == b"1\n"

    with pytest.raises(DataError) as refused:
        next(stretches)

    assert (refused.value.code, refused.value.message) == ("stream-record-large", "standard input has a record of more than 64 MiB at byte 2")
    # nobody can mend what is spooled: the rest of a pipe that has ended is one record
    made.close()
    pipe.into.close()
    until(lambda: made.closed)
    monkeypatch.setattr(spool, "MOST_AHEAD", 1000)
    again = spooled(tmp_path, b"2\n", made.position)
    assert [stretch.content[:1] for stretch in again.stretches(ended=True)] == [b"x", b"2"]


def test_what_is_no_whole_record_is_told(tmp_path: Path) -> None:
    made = spooled(tmp_path, b"1\n2\nhalf")
    list(made.stretches())
    assert made.unfinished.size == 4
    list(made.stretches(ended=True))
    assert made.unfinished.size == 0


def test_what_an_earlier_pipe_left_is_read_first_and_does_not_run_into_the_next(tmp_path: Path) -> None:
    first = spooled(tmp_path, b"1\n2\nhalf")
    next(first.stretches())
    second = spooled(tmp_path, b"3\n", first.position)
    found = [(stretch.place, stretch.start, stretch.content) for stretch in second.stretches(ended=True)]
    assert found == [("0", 4, b"half"), ("8", 0, b"3\n")]


def test_pipes_of_which_nothing_was_committed_are_read_each_by_itself(tmp_path: Path) -> None:
    for content in (b"1\nhalf", b"2\nother half"):
        spooled(tmp_path, content)
    third = spooled(tmp_path, b"3\n")
    found = [(stretch.place, stretch.content) for stretch in third.stretches(ended=True)]
    assert found == [("0", b"1\nhalf"), ("6", b"2\nother half"), ("18", b"3\n")]


def test_files_that_nobody_will_read_again_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "FILE", 4)
    monkeypatch.setattr(spool, "READ", 2)
    made = spooled(tmp_path, b"1\n2\n3\n4\n5\n6\n")
    list(made.stretches())
    made.forget("0", 10)
    assert made.again("0", 10, 12) == b"6\n"
    with pytest.raises(DataError) as refused:
        made.again("0", 4, 6)
    assert refused.value.code == "stream-source-gone"


def test_a_pipe_that_is_faster_than_its_reader_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_AHEAD", 10)
    monkeypatch.setattr(spool, "READ", 4)
    pipe = Pipe()
    made = Spool(tmp_path, pipe.out, whole_lines)
    pipe.into.write(b"1\n" * 100)
    until(lambda: made._end > 10)
    time.sleep(0.05)
    assert made._end < 20
    read = b""
    while len(read) < 200:
        read += b"".join(stretch.content for stretch in made.stretches())
    assert read == b"1\n" * 100
    pipe.into.close()
    until(lambda: made.closed)


def test_files_and_their_folder_are_private(tmp_path: Path) -> None:
    spooled(tmp_path / "spool", b"1\n")
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "spool").iterdir()} == {0o600}
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def cut_off(folder: Path, content: bytes) -> Spool:
    """Return a spool whose pipe has brought something and was not closed when the process ended."""
    pipe = Pipe()
    made = Spool(folder, pipe.out, whole_lines)
    pipe.into.write(content)
    until(lambda: made.position["read"] + sum(path.stat().st_size for path in folder.iterdir()) >= len(content))
    return made


@pytest.mark.parametrize(("content", "cut"), [(b"1\n2\n3", b"3"), (b"1\n2\n", b""), (b"1", b"1")])
def test_half_a_record_with_which_a_pipe_was_cut_off_stands_by_itself(tmp_path: Path, content: bytes, cut: bytes) -> None:
    cut_off(tmp_path, content)
    made = spooled(tmp_path, b"4\n5")
    found = list(made.stretches(ended=True))
    assert [stretch.content for stretch in found if is_cut(stretch)] == ([cut] if cut else [])
    assert b"".join(stretch.content for stretch in found) == content + b"4\n5"
    assert [made.again(stretch.place, stretch.start, stretch.end) for stretch in found] == [stretch.content for stretch in found]
    for stretch in found:
        made.forget(stretch.place, stretch.end)


def test_the_last_record_of_a_pipe_that_was_closed_counts_in_the_next_run_too(tmp_path: Path) -> None:
    spooled(tmp_path, b"1\n2")
    found = list(spooled(tmp_path, b"3\n").stretches(ended=True))
    assert [(stretch.content, is_cut(stretch)) for stretch in found] == [(b"1\n2", False), (b"3\n", False)]


def test_a_pipe_that_was_closed_without_a_byte_closes_no_later_one(tmp_path: Path) -> None:
    spooled(tmp_path, b"")
    cut_off(tmp_path, b"1\n2")
    assert [stretch.content for stretch in spooled(tmp_path, b"3\n").stretches(ended=True) if is_cut(stretch)] == [b"2"]


def test_the_beginning_of_a_pipe_is_kept_as_long_as_something_of_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "FILE", 4)
    monkeypatch.setattr(spool, "READ", 4)
    made = spooled(tmp_path, b"".join(b"%03d\n" % number for number in range(20)))
    last = list(made.stretches())[-1]
    made.forget(last.place, last.end)
    assert made.again("0", 0, 4) == b"000\n"
    with pytest.raises(DataError):
        made.again("0", 8, 12)


def test_half_a_record_is_waited_for_and_not_looked_at_again_and_again(tmp_path: Path) -> None:
    made = cut_off(tmp_path, b"1\n2")
    until(lambda: [stretch.content for stretch in made.stretches()] == [b"1\n"])
    began = time.monotonic()
    made.wait(0.4)
    assert time.monotonic() - began >= 0.4


def test_a_pipe_that_could_not_be_copied_has_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "full")

    monkeypatch.setattr(spool.os, "fsync", full)
    pipe = Pipe()
    made = Spool(tmp_path, pipe.out, whole_lines)
    pipe.into.write(b"1\n2")
    with pytest.raises(SfumatoError) as caught:
        until(lambda: list(made.stretches()) == ["never"])
    assert (caught.value.code, made.closed) == ("disk-full", False)

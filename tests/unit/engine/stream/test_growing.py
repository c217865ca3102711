"""Files that a stream writes hold what was committed, and nothing else after the next start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.engine.stream.growing import GrowingFile, Manifest, SegmentFolder
from sfumato.engine.stream.run_journal import Segment
from sfumato.errors import DataError

FIRST, SECOND = Segment("a.jsonl", 0, 4, 2), Segment("a.jsonl", 4, 6, 1)


def test_what_was_written_beyond_the_last_commit_is_cut_off(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "a", 0)
    file.append(b"committed")
    file.append(b" and not")
    file.close()
    GrowingFile(tmp_path / "a", 9).close()
    assert (tmp_path / "a").read_bytes() == b"committed"


def test_a_file_that_somebody_shortened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    with pytest.raises(DataError) as refused:
        GrowingFile(tmp_path / "a", 3)
    assert refused.value.code == "stream-sink-shortened"


@pytest.mark.parametrize("done", ["removed", "replaced", "emptied"])
def test_a_file_that_is_taken_away_while_it_is_written_ends_the_stream(tmp_path: Path, done: str) -> None:
    file = GrowingFile(tmp_path / "a", 0)
    file.append(b"12")
    file.sync()
    if done == "emptied":
        (tmp_path / "a").write_bytes(b"")
    else:
        (tmp_path / "a").rename(tmp_path / "b")
    if done == "replaced":
        (tmp_path / "a").write_bytes(b"12")
    with pytest.raises(DataError) as refused:
        file.append(b"3") if done == "emptied" else file.sync()
    assert refused.value.code == "stream-sink-shortened"
    assert str(tmp_path / "a") in str(refused.value)


def test_a_file_that_is_gone_is_refused_and_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        GrowingFile(tmp_path / "a", 3)
    assert (refused.value.code, (tmp_path / "a").exists()) == ("stream-sink-shortened", False)


def test_a_private_file_may_be_deleted_while_it_is_written(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "private" / "a", 0, private=True)
    (tmp_path / "private" / "a").unlink()
    file.append(b"3")
    file.sync()
    assert not (tmp_path / "private" / "a").exists()


def test_a_manifest_is_never_written_through_a_link(tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.write_bytes(b"theirs")
    (tmp_path / "manifest").symlink_to(others)
    Manifest(tmp_path / "manifest", [FIRST]).close()
    assert others.read_bytes() == b"theirs"
    assert json.loads((tmp_path / "manifest").read_text())["to"] == 4


@pytest.mark.parametrize("left", [b"", b'{"segm', None])
def test_a_manifest_lists_what_was_committed_whatever_a_crash_has_left(tmp_path: Path, left: bytes | None) -> None:
    path = tmp_path / "manifest"
    Manifest(path, [FIRST]).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:10] if left is None else whole + left)
    manifest = Manifest(path, [FIRST, SECOND])
    manifest.list([Segment("a.jsonl", 6, 9, 4)])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["segment"], line["from"], line["to"], line["rows"]) for line in lines] == [(1, 0, 4, 2), (2, 4, 6, 1), (3, 6, 9, 4)]


def test_files_of_a_folder_that_were_not_committed_are_removed(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path / "out", [], ".arrow")
    one = folder.write(lambda path: path.write_bytes(b"one") and None, 1)
    folder.write(lambda path: path.write_bytes(b"two") and None, 1)
    SegmentFolder(tmp_path / "out", [one], ".arrow")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["segment-000001.arrow"]
    (tmp_path / "out" / "segment-000001.arrow").unlink()
    with pytest.raises(DataError) as refused:
        SegmentFolder(tmp_path / "out", [one], ".arrow")
    assert refused.value.code == "stream-sink-shortened"

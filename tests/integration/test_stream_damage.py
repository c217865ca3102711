"""Private files of a stream that somebody has damaged, and disks that are full: one clear sentence each, and never a fault of ours."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.engine.stream.growing import GrowingFile
from sfumato.engine.stream.released_rows import ReleasedRows
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import SfumatoError, UnreachableError
from tests.stream_policy import POLICY

PRIVATE = ("links/taken.jsonl", "links/release.references.jsonl", "dead_letters.jsonl")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY))
    lines = [json.dumps({"pid": number, "age": 20 + number % 20, "illness": "flu"}) for number in range(30)]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines, "no record", ""]))
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    return tmp_path / "policy.yaml"


@pytest.mark.parametrize("content", ["", "{}", "{x", "[]", '{"state": "ended", "at": 1.0}', "\udcff"])
@pytest.mark.parametrize("command", ["status", "check"])
def test_a_damaged_status_is_told_as_such(path: Path, content: str, command: str, sfumato_command: Callable[..., Any]) -> None:
    (path.parent / "state" / "status.json").write_bytes(content.encode(errors="surrogateescape"))
    ended = sfumato_command("stream", command, path)
    assert (ended.returncode, f"{path.parent / 'state' / 'status.json'} is damaged [stream-state-damaged]" in ended.stderr) == (5, True), ended.stderr


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("place", [0, 1, 12])
def test_a_private_file_that_lacks_a_byte_is_told_as_such(path: Path, name: str, place: int) -> None:
    file = path.parent / "state" / name
    content = file.read_bytes()
    file.write_bytes(content[:place] + content[place + 1 :])
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert (refused.value.code, refused.value.message) == ("stream-state-damaged", f"{file} is damaged")


@pytest.mark.parametrize("name", [*PRIVATE, "status.json"])
def test_a_private_file_that_is_deeper_than_anything_written_is_told_as_such(path: Path, name: str) -> None:
    file = path.parent / "state" / name
    file.write_bytes((b'{"a":' * 5000 + b"\n").ljust(file.stat().st_size))
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert (refused.value.code, refused.value.message) == ("stream-state-damaged", f"{file} is damaged")


def test_a_manifest_that_is_deeper_than_anything_written_is_not_as_it_was_released(path: Path) -> None:
    (path.parent / "release.jsonl.manifest.jsonl").write_bytes(b'{"a":' * 5000 + b"\n")
    assert sfumato.check_stream(path).sentences() == ["release: manifest: a segment is not listed as it was released, at segment 1"]


@pytest.mark.parametrize("change", [{"segment": 2}, {"segment": True}, {"rows": 30.0}, {"file": "other.jsonl"}, {"further": 1}])
def test_whatever_is_changed_in_a_line_of_a_manifest_is_found(path: Path, change: dict[str, Any]) -> None:
    manifest = path.parent / "release.jsonl.manifest.jsonl"
    (told,) = map(json.loads, manifest.read_text().splitlines())
    manifest.write_text(json.dumps(told | change) + "\n")
    assert sfumato.check_stream(path).sentences() == ["release: manifest: a segment is not listed as it was released, at segment 1"]


EVENTS: dict[str, Any] = {
    "columns": {name: {"role": "sensitive" if name == "illness" else "identifier"} for name in ("pid", "age", "illness")},
    "algorithm": {"z_anonymity": {"z": 3, "window": "1m", "time": "age", "path": "illness", "noise": {"diffmax": 1}, "tuning": {"every": "10s"}}},
}


@pytest.mark.parametrize("algorithm", ["windows", "events"])
@pytest.mark.parametrize("key", ["first", "records", "start"])
def test_pieces_of_the_source_that_do_not_follow_each_other_are_told_as_damaged(tmp_path: Path, algorithm: str, key: str) -> None:
    path = ran_in_pieces(tmp_path, algorithm)
    with pytest.raises(SfumatoError) as refused:
        check_after(path, "links/taken.jsonl", lambda lines: [lines[0], changed(json.loads(lines[1]), key)])
    assert (refused.value.code, refused.value.message) == ("stream-state-damaged", f"{path.parent / 'state' / 'links' / 'taken.jsonl'} is damaged")


@pytest.mark.parametrize("algorithm", ["windows", "events"])
def test_a_piece_that_was_taken_twice_is_told_as_damaged(tmp_path: Path, algorithm: str) -> None:
    path = ran_in_pieces(tmp_path, algorithm)
    with pytest.raises(SfumatoError) as refused:
        check_after(path, "links/taken.jsonl", lambda lines: [lines[0], lines[0]])
    assert refused.value.code == "stream-state-damaged"


@pytest.mark.parametrize("key", ["row", "rows"])
def test_references_of_other_rows_are_told_as_damaged(path: Path, key: str) -> None:
    with pytest.raises(SfumatoError) as refused:
        check_after(path, "links/release.references.jsonl", lambda lines: [changed(json.loads(lines[0]), key), *lines[1:]])
    assert refused.value.code == "stream-state-damaged"


@pytest.mark.parametrize("references", [{"illness": 3}, {"illness": [-1]}, {"illness": [10**400]}, {"illness": [True]}])
def test_references_that_no_records_have_are_told_as_damaged(path: Path, references: dict[str, Any]) -> None:
    with pytest.raises(SfumatoError) as refused:
        check_after(path, "links/release.references.jsonl", lambda lines: [referring(lines[0], references), *lines[1:]])
    assert refused.value.code == "stream-state-damaged"


@pytest.mark.parametrize("z", [3, True, {"3": 3}, [3]])
def test_thresholds_that_nobody_wrote_down_so_are_told_as_damaged(tmp_path: Path, z: Any) -> None:
    path = ran_in_pieces(tmp_path, "events")
    with pytest.raises(SfumatoError) as refused:
        check_after(path, "links/release.references.jsonl", lambda lines: [referring(lines[0], {"z": z}), *lines[1:]])
    assert refused.value.code == "stream-state-damaged"


def test_distances_from_nobody_are_not_checked_and_that_is_said(tmp_path: Path) -> None:
    search = {"algorithm": {"castle": {"delta": 10}}, "promises": [*POLICY["promises"], {"t_closeness": {"column": "illness", "t": 0.9}}]}
    told: dict[str, Any] = {key: value for key, value in POLICY.items() if key != "window"} | search
    told["columns"] = told["columns"] | {"age": told["columns"]["age"] | {"on_unknown": "suppress"}}
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    lines = [json.dumps({"pid": number, "age": 20 + number % 20, "illness": ("flu", "gout")[number % 2]}) for number in range(30)]
    (tmp_path / "events.jsonl").write_text("\n".join([*lines, ""]))
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    found = check_after(
        tmp_path / "policy.yaml", "links/release.references.jsonl", lambda lines: [referring(line, {"illness": [0, 0]}) for line in lines]
    )
    assert found.sentences() == []
    assert "t_closeness of illness: its equal distance is not measured here, or nothing says any more from what" in found.views[""].not_checked


@pytest.mark.parametrize("algorithm", ["windows", "events"])
def test_a_source_with_more_records_than_were_read_is_told_as_such(tmp_path: Path, algorithm: str) -> None:
    path = ran_in_pieces(tmp_path, algorithm)
    source = path.parent / "events.jsonl"
    lines = source.read_text().splitlines()
    # a file is known by its beginning and its end, which stay
    lines[20] = lines[20].replace(", ", ",\n", 1)
    source.write_text("".join(f"{line}\n" for line in lines))
    found = sfumato.check_stream(path)
    assert "release: accounts: the source has not as many records as were read of it, at record 15" in found.sentences()


def test_a_true_row_that_stands_alone_and_is_called_made_up_is_found(tmp_path: Path) -> None:
    path = ran_in_pieces(tmp_path, "events")
    links = np.fromfile(tmp_path / "state" / "links" / "release.rows", "<i8").reshape(-1, 2)
    records, rows = np.unique(links[:, 1], return_counts=True)
    links[np.isin(links[:, 1], records[rows == 1][:1]), 0] = -1
    links.tofile(tmp_path / "state" / "links" / "release.rows")
    found = sfumato.check_stream(path)
    assert "a record did not leave once, in the name of its own person" in {each.what for each in found.views[""].broken.values()}


@pytest.mark.parametrize("statement", ["UPDATE view SET accounts = '{x'", "UPDATE about SET value = '[1' WHERE name = 'position'"])
def test_a_damaged_state_is_told_as_such(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert refused.value.code == "stream-state-damaged"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE view SET accounts = ''",
        "UPDATE segment SET told = ''",
        """UPDATE segment SET told = '{"file": 1}'""",
        "UPDATE about SET value = '{' WHERE name LIKE 'told %'",
        "UPDATE about SET value = '[1' WHERE name = 'position'",
        "UPDATE about SET value = 'many' WHERE name = 'records'",
        "UPDATE measured SET told = '{'",
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_damaged_value_of_a_state_is_told_whoever_reads_it(path: Path, statement: str, command: str) -> None:
    change(path, statement)
    with (path.parent / "events.jsonl").open("a") as file:
        file.write('{"pid": 99, "age": 33, "illness": "flu"}\n')
    with pytest.raises(SfumatoError) as refused:
        run_stream(path, Running(once=True)) if command == "run" else sfumato.check_stream(path)
    assert refused.value.code == "stream-state-damaged"


def test_rows_that_may_not_be_read_break_no_promise(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*given: Any) -> None:
        raise UnreachableError("release.jsonl may not be read", code="file-permission", hint="")

    monkeypatch.setattr(ReleasedRows, "_read", closed)
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert refused.value.code == "file-permission"


def test_a_named_pipe_as_source_is_refused_with_what_helps(path: Path) -> None:
    pipe = path.parent / "pipe.jsonl"
    os.mkfifo(pipe)
    path.write_text(json.dumps(POLICY | {"source": "pipe.jsonl", "stream": {"state": "other"}, "sink": "other.jsonl"}))
    with pytest.raises(SfumatoError) as refused:
        run_stream(path, Running(once=True))
    assert (refused.value.code, refused.value.message) == ("file-not-regular", f"{pipe} is a pipe or a device")
    assert refused.value.hint == f"source: {{standard_input: {{format: json_lines}}}}, and sfumato stream run policy.yaml < {pipe}"


def test_a_state_of_another_version_is_not_checked(path: Path) -> None:
    change(path, "UPDATE about SET value = '0' WHERE name = 'version'")
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert refused.value.code == "stream-state-version"
    assert refused.value.hint == "finish the stream with the version that began it (--once --at-end flush), or name another state and begin anew"


def test_a_check_that_could_check_nothing_does_not_say_that_all_holds(path: Path, sfumato_command: Callable[..., Any]) -> None:
    ended = sfumato_command("stream", "check", path)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "holds     everything that was checked, 30 rows of 30")
    (path.parent / "events.jsonl").unlink()
    ended = sfumato_command("stream", "check", path)
    assert (ended.returncode, "no row of the release could be checked [stream-unchecked]" in ended.stderr) == (5, True), ended.stderr
    assert sfumato_command("stream", "check", path, "--format", "json").returncode == 5


def test_a_full_disk_does_not_say_that_nothing_has_been_published() -> None:
    file = GrowingFile(Path("/dev/full"), 0)
    try:
        with pytest.raises(SfumatoError) as refused:
            file.append(b"more")
    finally:
        file.close()
    assert (refused.value.code, refused.value.message) == ("disk-full", "there is no space left to write /dev/full")
    assert refused.value.hint == "free some space, then run again: the stream goes on where it was"


def change(path: Path, statement: str) -> None:
    database = sqlite3.connect(path.parent / "state" / "state.sqlite")
    with database:
        database.execute(statement)
    database.close()


def test_a_stream_goes_on_without_links_that_were_deleted_and_the_check_says_so(path: Path, sfumato_command: Callable[..., Any]) -> None:
    for more in (30, 60):
        shutil.rmtree(path.parent / "state" / "links", ignore_errors=True)
        with (path.parent / "events.jsonl").open("a") as file:
            file.write("".join(json.dumps({"pid": number, "age": 20 + number % 20, "illness": "flu"}) + "\n" for number in range(more, more + 30)))
        assert run_stream(path, Running(once=True)).views[""].accounts["released"] == more + 30
        assert not list((path.parent / "state" / "links").glob("*"))
        found = sfumato.check_stream(path)
        assert (found.holds, found.is_unchecked) == (True, True)
        assert found.views[""].not_checked == [
            "rows against records: the links have been deleted",
            "rows: nothing says any more which bytes of the source were which records (links/taken.jsonl)",
            "dead letters: the records that they are of cannot be read",
        ]
    assert sfumato_command("stream", "check", path).returncode == 5


@pytest.mark.parametrize("change", [lambda secret: secret[:16], lambda secret: bytes([secret[0] ^ 1]) + secret[1:]], ids=["half", "a bit"])
def test_a_damaged_secret_is_told_as_such(path: Path, change: Callable[[bytes], bytes]) -> None:
    secret = path.parent / "state" / "secret"
    secret.write_bytes(change(secret.read_bytes()))
    for command in (sfumato.check_stream, lambda path: run_stream(path, Running(once=True))):
        with pytest.raises(SfumatoError) as refused:
            command(path)
        assert (refused.value.code, refused.value.message) == ("stream-state-damaged", f"{secret} is damaged")


def test_a_state_without_its_status_is_still_one(path: Path, sfumato_command: Callable[..., Any]) -> None:
    (path.parent / "state" / "status.json").unlink()
    ended = sfumato_command("stream", "check", path)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "holds     everything that was checked, 30 rows of 30")
    ended = sfumato_command("stream", "status", path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("state     unknown")
    assert "30 released, 1 dead letter" in ended.stdout


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("search", [{"window": {"count": 10}}, {"algorithm": {"castle": {"delta": 12}}}], ids=["windows", "clusters"])
def test_rows_whose_source_is_still_there_are_checked_where_another_file_is_gone(tmp_path: Path, gone: int, search: dict[str, Any]) -> None:
    told = {key: value for key, value in POLICY.items() if key != "window"} | {"source": "in/", "sink": "release.jsonl"} | search
    told["promises"] = [{"k_anonymity": {"k": 3}}, {"t_closeness": {"column": "illness", "t": 0.9}}]
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    (tmp_path / "in").mkdir()
    for part in range(3):
        people = [{"pid": 40 * part + number, "age": 20 + number % 20, "illness": f"{'flu' if number % 2 else part}"} for number in range(40)]
        (tmp_path / "in" / f"{part}.jsonl").write_text("".join(json.dumps(person) + "\n" for person in people))
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    records = np.fromfile(tmp_path / "state" / "links" / "release.rows", "<i8")[::2]
    assert sfumato.check_stream(tmp_path / "policy.yaml").views[""].rows == len(records) > 100
    left = int((records // 40 != gone).sum())
    (tmp_path / "in" / f"{gone}.jsonl").rename(tmp_path / "away.jsonl")
    found = sfumato.check_stream(tmp_path / "policy.yaml")
    assert (found.sentences(), found.views[""].rows, "rows whose records are no longer in the source" in found.views[""].not_checked) == (
        [],
        left,
        True,
    )


def ran_in_pieces(folder: Path, algorithm: str) -> Path:
    """Run a stream that was taken in two pieces of 15 records, and return its policy."""
    path = folder / "policy.yaml"
    policy = POLICY | (EVENTS if algorithm == "events" else {})
    path.write_text(json.dumps({key: value for key, value in policy.items() if algorithm == "windows" or key not in ("promises", "window")}))
    for first in (0, 15):
        with (folder / "events.jsonl").open("a") as file:
            told = [{"pid": number % 7, "age": 20 + number % 20, "illness": "flu.a"} for number in range(first, first + 15)]
            file.writelines(json.dumps(record).ljust(1000) + "\n" for record in told)
        run_stream(path, Running(once=True))
    return path


def changed(told: dict[str, Any], key: str) -> str:
    """Return a line in which a number is another one; none is so large as the start of a piece behind its end."""
    return json.dumps(told | {key: told[key] + (10**6 if key == "start" else 1)})


def referring(line: str, references: dict[str, Any]) -> str:
    """Return a line that says what a release was tested against with something else in that place."""
    told = json.loads(line)
    return json.dumps(told | {"references": told["references"] | references})


def check_after(path: Path, name: str, change: Callable[[list[str]], list[str]]) -> sfumato.StreamCheck:
    """Check a stream after the lines of a private file were changed, which the state takes for the right ones."""
    file = path.parent / "state" / name
    file.write_text("".join(f"{line}\n" for line in change(file.read_text().splitlines())))
    with sqlite3.connect(path.parent / "state" / "state.sqlite") as database:
        database.execute("UPDATE file SET length = ? WHERE path = ?", (file.stat().st_size, name))
    database.close()
    return sfumato.check_stream(path)


def test_a_state_that_was_lost_is_told_by_the_check_also_after_a_run_that_was_refused(path: Path) -> None:
    shutil.rmtree(path.parent / "state")
    with pytest.raises(SfumatoError):
        run_stream(path, Running(once=True))
    with pytest.raises(SfumatoError) as refused:
        sfumato.check_stream(path)
    assert refused.value.code == "stream-state-older"

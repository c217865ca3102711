"""What a stream writes down: all of it or nothing, for one policy, by one process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from sfumato.core.stream import Accounts
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.run_journal import Commit, Journal, Piece, Point, Segment
from sfumato.engine.stream.state_errors import state_error
from sfumato.errors import SfumatoError


@pytest.fixture
def opened() -> Iterator[Callable[..., Journal]]:
    """Return what opens states that are closed after the test."""
    with ExitStack() as stack:
        yield lambda folder, identity="policy": stack.enter_context(Journal(folder, identity))


PIECE = Piece(0, 3, "0", 0, 12)
SEGMENT = Segment("a.jsonl", 0, 20, 2)


def done(**further: object) -> Commit:
    return Commit([PIECE], {"0": {"offset": 12}}, {"a": Accounts(released=2, held=1)}, {"a": [SEGMENT]}, {"a.jsonl": 20}, **further)  # type: ignore[arg-type]


def test_a_commit_is_there_after_the_next_start(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path / "s", "policy")
    state.commit(done(measured=[Point("a", 3, {"z": 3})]))
    state.close()
    again = opened(tmp_path / "s", "policy")
    assert (again.records, again.position, again.pieces(), again.segments("a")) == (3, {"0": {"offset": 12}}, [PIECE], [SEGMENT])
    assert (again.accounts("a"), again.length("a.jsonl"), again.measured("a")) == (Accounts(released=2, held=1), 20, [{"records": 3, "z": 3}])
    assert (again.secret, len(again.secret)) == (state.secret, 32)


def test_pieces_are_kept_until_states_are(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    state.commit(done())
    state.commit(Commit([Piece(3, 1, "0", 12, 16)], {}, {"a": Accounts(released=3, held=1)}, snapshots={"a": b"kept"}))
    assert (state.pieces(), state.snapshot("a"), state.records) == ([], b"kept", 4)


def test_a_commit_that_fails_changes_nothing(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    state.commit(done())
    with pytest.raises(SfumatoError) as refused:
        # a piece that was there already
        state.commit(done(snapshots={"a": b"never"}))
    assert refused.value.code == "stream-accounts"
    assert refused.value.message == f"what was to be written down stands in the state in {tmp_path} already"
    assert (state.records, state.segments("a"), state.snapshot("a")) == (3, [SEGMENT], None)


def test_a_state_whose_files_are_all_gone_has_begun_all_the_same(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    state.commit(Commit([PIECE], {}, {"a": Accounts(released=2, held=1)}, snapshots={"a": b"kept"}))
    state.tell("kinds", {"age": "integer"})
    state.close()
    again = opened(tmp_path, "policy")
    assert (again.has_begun, again.snapshot("a"), again.told("kinds")) == (True, b"kept", {"age": "integer"})
    again.close()
    with pytest.raises(SfumatoError) as refused:
        opened(tmp_path, "another policy")
    assert refused.value.code == "stream-state-policy"


def test_a_state_that_found_no_file_yet_may_go_to_another_policy(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    state.commit(Commit([], {}, {"a": Accounts()}, snapshots={"a": b"nothing"}))
    state.close()
    again = opened(tmp_path, "another policy")
    assert (again.has_begun, again.snapshot("a"), again.records) == (False, None, 0)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_nothing_is_written_down_where_nobody_would_find_it(tmp_path: Path, opened: Callable[..., Journal], is_replaced: bool) -> None:
    state = opened(tmp_path, "policy")
    state.commit(done())
    (tmp_path / "state.sqlite").rename(tmp_path / "elsewhere")
    if is_replaced:
        (tmp_path / "state.sqlite").write_bytes((tmp_path / "elsewhere").read_bytes())
    with pytest.raises(SfumatoError) as refused:
        state.commit(Commit([Piece(3, 1, "0", 12, 16)], {}, {"a": Accounts(released=3, held=1)}))
    assert refused.value.code == "stream-state-damaged"
    assert str(refused.value).startswith(f"the state in {tmp_path} was removed, or another put in its place")


def test_a_state_that_holds_a_piece_without_records_goes_on(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    state.commit(Commit([Piece(0, 0, "0", 0, 4)], {"0": {"offset": 4}}, {"a": Accounts()}))
    state.commit(done())
    assert (state.pieces(), state.records) == ([PIECE], 3)


def test_two_processes_do_not_share_a_state(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    state = opened(tmp_path, "policy")
    with pytest.raises(SfumatoError) as refused:
        opened(tmp_path, "policy")
    assert refused.value.code == "stream-running"
    state.close()
    opened(tmp_path, "policy").close()


def test_the_state_of_another_policy_or_version_is_refused(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    journal = opened(tmp_path, "policy")
    journal.commit(Commit([], {"events": 17}, {}))
    journal.close()
    with pytest.raises(SfumatoError) as refused:
        opened(tmp_path, "another")
    assert refused.value.code == "stream-state-policy"
    with sqlite3.connect(tmp_path / "state.sqlite") as database:
        database.execute("UPDATE about SET value = '0' WHERE name = 'version'")
    database.close()
    with pytest.raises(SfumatoError) as refused:
        opened(tmp_path, "policy")
    assert refused.value.code == "stream-state-version"


@pytest.mark.parametrize("name", ["state.sqlite", "secret"])
def test_a_damaged_state_is_refused_and_its_content_not_shown(tmp_path: Path, opened: Callable[..., Journal], name: str) -> None:
    opened(tmp_path, "policy").close()
    for each in tmp_path.glob("state.sqlite-*"):
        each.unlink()
    (tmp_path / name).write_bytes(b"Ada Lovelace" * 100)
    with pytest.raises(SfumatoError) as refused:
        opened(tmp_path, "policy")
    assert refused.value.code == "stream-state-damaged"
    assert "Ada" not in str(refused.value)


def test_folder_and_files_are_private(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    opened(tmp_path / "s", "policy").close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "s").iterdir() if path.name != "lock"}
    assert set(modes.values()) == {0o600}
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_the_folder_and_all_in_it_is_its_owners_alone_also_where_it_was_there_before(tmp_path: Path, opened: Callable[..., Journal]) -> None:
    (tmp_path / "s").mkdir(mode=0o755)
    opened(tmp_path / "s").commit(done())
    assert {path.name: path.stat().st_mode & 0o077 for path in [tmp_path / "s", *(tmp_path / "s").iterdir()] if path.stat().st_mode & 0o077} == {}


@pytest.mark.parametrize("limit", [0, 16, 3_000, 5_000, 20_000])
def test_a_disk_that_is_nearly_full_damages_nothing(tmp_path: Path, opened: Callable[..., Journal], limit: int) -> None:
    script = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from sfumato.engine.stream.run_journal import Journal\nfrom sfumato.errors import SfumatoError\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "try: Journal(Path(sys.argv[1]), 'policy')\n"
        "except SfumatoError as error: print(error.code)"
    )
    ended = subprocess.run([sys.executable, "-c", script, tmp_path / "s"], capture_output=True, text=True, check=False, timeout=60)

    assert (ended.stdout, ended.stderr) == ("disk-full\n", "")
    with pytest.raises(SfumatoError) as refused:
        KeptState(tmp_path / "s")
    assert refused.value.code == "stream-unknown"
    opened(tmp_path / "s").commit(done())
    assert KeptState(tmp_path / "s").records == 3


@pytest.mark.parametrize(
    ("name", "free", "code"),
    [
        ("SQLITE_FULL", 1 << 30, "disk-full"),
        ("SQLITE_IOERR_SHMSIZE", 1 << 30, "disk-full"),
        ("SQLITE_CANTOPEN", 0, "disk-full"),
        ("SQLITE_IOERR_SHMMAP", 0, "disk-full"),
        ("SQLITE_CANTOPEN", 1 << 30, "file-unreachable"),
        ("SQLITE_IOERR_READ", 1 << 30, "file-unreachable"),
        ("SQLITE_CORRUPT", 0, "stream-state-damaged"),
        ("SQLITE_NOTADB", 0, "stream-state-damaged"),
    ],
)
def test_a_state_is_damaged_only_where_its_content_is(name: str, free: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = SimpleNamespace(f_bavail=free, f_frsize=1, f_files=0, f_favail=0)
    monkeypatch.setattr("sfumato.engine.stream.state_errors.os.statvfs", lambda _: room)
    error = sqlite3.OperationalError("Ada Lovelace")
    error.sqlite_errorname = name

    found = state_error(tmp_path, error)

    assert found.code == code
    assert "Ada" not in str(found)

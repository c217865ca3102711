"""The journal of a stream: a private folder that says how far it has come, so that after any crash it goes on as if there had been none.

One transaction says together what was read, what became of it and how long every file of the release is. Whatever was written beyond that is no
part of the release, and is cut off by the next start, which makes the same bytes again: all chance comes from the secret that lies here and from
how the records were cut into pieces, which is planned here before anybody sees a row of them.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from sfumato.core.files import is_regular, status_of
from sfumato.core.stream import Accounts
from sfumato.engine.stream.private_files import damaged, mark_of, written_errors
from sfumato.engine.stream.state_errors import sound, state_error
from sfumato.errors import SfumatoError, UnreachableError

VERSION = 1
_LOOKS, _LOOK_SECONDS = 4, 0.05
_SECRET = 32
_STATE = "state.sqlite"
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE piece (first INTEGER PRIMARY KEY, records INTEGER NOT NULL, place TEXT NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL);
CREATE TABLE view (name TEXT PRIMARY KEY, accounts TEXT NOT NULL, snapshot BLOB) WITHOUT ROWID;
CREATE TABLE segment (view TEXT, number INTEGER, told TEXT NOT NULL, PRIMARY KEY (view, number)) WITHOUT ROWID;
CREATE TABLE measured (view TEXT, records INTEGER, told TEXT NOT NULL, PRIMARY KEY (view, records)) WITHOUT ROWID;
CREATE TABLE file (path TEXT PRIMARY KEY, length INTEGER NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Piece:
    """Records that were taken together: the number of the first, how many, and where they stand in the source."""

    first: int
    records: int
    place: str
    start: int
    finish: int


@dataclass(frozen=True)
class Segment:
    """Rows of a release that became part of it in one step: a stretch of a file, or a file."""

    file: str
    start: int
    finish: int
    rows: int


@dataclass(frozen=True)
class Point:
    """What was measured of a view when so many records had come."""

    view: str
    records: int
    told: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Commit:
    """What one transaction writes down. ``snapshots`` are the states of all views after the last piece, where they are to be kept."""

    pieces: Sequence[Piece]
    position: Mapping[str, Any]
    accounts: Mapping[str, Accounts]
    segments: Mapping[str, Sequence[Segment]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    measured: Sequence[Point] = ()
    snapshots: Mapping[str, bytes] | None = None


@dataclass(frozen=True)
class Planned:
    """What the next commit will hold, written down before a row of it can be seen: pieces, whether what waits is ended, and what was read then."""

    pieces: Sequence[Piece]
    flush: bool
    position: Mapping[str, Any]


class Journal:
    """What a stream has written down. Only one process works with it at a time."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        with written_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # one that was there before may be open to others
            folder.chmod(0o700)
            self._lock = _locked(folder)
        try:
            with written_errors(folder / "secret"):
                self.secret = _secret(folder / "secret")
            with self._errors():
                self._database = sqlite3.connect(folder / _STATE, isolation_level=None)
                (folder / _STATE).chmod(0o600)
                self._opened = (folder / _STATE).stat()
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = FULL")
                self._begin(identity)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others work with it."""
        self._database.close()
        self._lock.close()

    @property
    def records(self) -> int:
        """How many records have been read: the number of the next one."""
        with sound(self.folder):
            return int(self._about("records") or 0)

    @property
    def has_begun(self) -> bool:
        """Whether anything was taken: before that the policy, and what it names, may still be mended."""
        # no file is known where there was none yet, and where all that were read have been removed since
        return self.records > 0 or self._about("position") not in (None, "{}") or self.planned is not None

    @property
    def position(self) -> dict[str, Any]:
        """What was read of each file, also of what is planned and not yet committed."""
        planned = self.planned
        with sound(self.folder):
            return dict(json.loads(self._about("position") or "{}") if planned is None else planned.position)

    @property
    def planned(self) -> Planned | None:
        """What a process that died had begun to release: the next one has to take it in the same pieces."""
        told = self.told("planned")
        with sound(self.folder):
            return None if told is None else Planned([Piece(**piece) for piece in told["pieces"]], told["flush"], told["position"])

    def plan(self, planned: Planned) -> None:
        """Write down, for the next commit, how its records are cut into pieces."""
        self.tell("planned", asdict(planned))

    def told(self, name: str) -> Any:
        """Return what was once written down for good under a name, such as the columns of the stream; None where nothing was."""
        text = self._about(f"told {name}")
        with sound(self.folder):
            return None if text is None else json.loads(text)

    def tell(self, name: str, value: Any) -> None:
        """Write something down for good."""
        with self._errors():
            self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (f"told {name}", json.dumps(value)))

    def accounts(self, view: str) -> Accounts:
        """Return what became of the records of a view."""
        rows = self._rows("SELECT accounts FROM view WHERE name = ?", view)
        with sound(self.folder):
            return Accounts(**json.loads(rows[0][0])) if rows else Accounts()

    def snapshot(self, view: str) -> bytes | None:
        """Return the state of a view when it was last kept."""
        rows = self._rows("SELECT snapshot FROM view WHERE name = ?", view)
        return rows[0][0] if rows else None

    def pieces(self) -> list[Piece]:
        """Return what was read since states were last kept, in order."""
        return [Piece(*row) for row in self._rows("SELECT first, records, place, start, finish FROM piece ORDER BY first")]

    def segments(self, view: str) -> list[Segment]:
        """Return what the release of a view consists of."""
        rows = self._rows("SELECT told FROM segment WHERE view = ? ORDER BY number", view)
        with sound(self.folder):
            return [Segment(**json.loads(told)) for (told,) in rows]

    def length(self, path: str) -> int:
        """Return how much of a file belongs to what was written down."""
        rows = self._rows("SELECT length FROM file WHERE path = ?", path)
        return int(rows[0][0]) if rows else 0

    def measured(self, view: str) -> list[dict[str, Any]]:
        """Return what was measured of a view over time."""
        rows = self._rows("SELECT records, told FROM measured WHERE view = ?", view)
        with sound(self.folder):
            return [{"records": records, **json.loads(told)} for records, told in rows]

    def last_measured(self) -> dict[str, dict[str, Any]]:
        """Return what was last measured of each view."""
        with self._errors(), sound(self.folder):
            return last_measured(self._database)

    def commit(self, done: Commit) -> None:
        """Write down what was read and what became of it, together or not at all."""
        self._refuse_moved()
        last = done.pieces[-1] if done.pieces else None
        with self._errors(), self._transaction() as database:
            if last is not None:
                self._put("records", str(last.first + last.records))
            self._put("position", json.dumps(done.position))
            database.execute("DELETE FROM about WHERE name = 'told planned'")
            # an earlier version wrote down pieces without records, whose number the next piece has too
            database.execute("DELETE FROM piece WHERE records = 0")
            database.executemany("INSERT INTO piece VALUES (?, ?, ?, ?, ?)", [tuple(asdict(piece).values()) for piece in done.pieces])
            for view, accounts in done.accounts.items():
                text = json.dumps(accounts.as_mapping())
                database.execute("INSERT INTO view (name, accounts) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET accounts = ?", (view, text, text))
            for view, segments in done.segments.items():
                number = database.execute("SELECT COALESCE(MAX(number), 0) FROM segment WHERE view = ?", (view,)).fetchone()[0]
                rows = [(view, number + place, json.dumps(asdict(segment))) for place, segment in enumerate(segments, start=1)]
                database.executemany("INSERT INTO segment VALUES (?, ?, ?)", rows)
            database.executemany("INSERT OR REPLACE INTO file VALUES (?, ?)", list(done.files.items()))
            measured = [(point.view, point.records, json.dumps(point.told)) for point in done.measured]
            database.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", measured)
            if done.snapshots is not None:
                kept = [(state, view) for view, state in done.snapshots.items()]
                database.executemany("UPDATE view SET snapshot = ? WHERE name = ?", kept)
                database.execute("DELETE FROM piece")

    def _refuse_moved(self) -> None:
        """Refuse to write down what nobody would find again."""
        found = status_of(self.folder / _STATE)
        if found is None or not os.path.samestat(found, self._opened):
            raise UnreachableError(
                f"the state in {self.folder} was removed, or another put in its place, while the stream wrote to it",
                code="stream-state-damaged",
                hint="put back what was there; without it name another state and another sink, and begin anew",
            )

    def _begin(self, identity: str) -> None:
        database = self._database
        if not self._rows("SELECT name FROM sqlite_master WHERE name = 'about'"):
            with self._transaction():
                for statement in filter(str.strip, _TABLES.split(";")):
                    database.execute(statement)
                self._put("version", str(VERSION))
                self._put("identity", identity)
        refuse_other_version(self._about("version"), self.folder)
        if self._about("secret") is None:
            with self._transaction():
                self._put("secret", mark_of(self.secret))
        refuse_other_secret(self._about("secret"), self.secret, self.folder)
        if not self.has_begun:
            # nothing was taken yet: a policy that was refused may be mended, and so may what it names and what it reads
            with self._transaction():
                database.execute("DELETE FROM about WHERE name LIKE 'told %'")
                database.execute("DELETE FROM view")
                self._put("identity", identity)
        if self._about("identity") != identity:
            raise UnreachableError(
                f"the state in {self.folder} belongs to another policy, or to this one before it was changed",
                code="stream-state-policy",
                hint="name another state and another sink for the changed policy, or change it back: what is held was promised by the old one",
            )

    def _about(self, name: str) -> str | None:
        rows = self._rows("SELECT value FROM about WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def _put(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
            self._database.execute("COMMIT")
        except BaseException:
            # what cannot be undone now is when it is opened next, and why it failed is said by the first error
            with suppress(sqlite3.Error):
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what the database says into one clear error; its own words may hold what is stored."""
        try:
            yield
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.IntegrityError):
                raise SfumatoError(
                    f"what was to be written down stands in the state in {self.folder} already",
                    code="stream-accounts",
                    hint="report it; the state was left as it is, and so was what has been published",
                ) from None
            raise state_error(self.folder, error) from None


def last_measured(database: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """Return what was last measured of each view."""
    # of the columns that are not grouped the database gives those of the largest
    return {view: json.loads(told) for view, told, _ in database.execute("SELECT view, told, MAX(records) FROM measured GROUP BY view")}


def refuse_other_version(found: str | None, folder: Path) -> None:
    """Refuse a state that another version has written."""
    if found != str(VERSION):
        raise UnreachableError(
            f"the state in {folder} is of version {found}, and this is version {VERSION}",
            code="stream-state-version",
            hint="finish the stream with the version that began it (--once --at-end flush), or name another state and begin anew",
        )


def refuse_other_secret(mark: str | None, secret: bytes, folder: Path) -> None:
    """Refuse a secret that is not the one that the state was begun with; ``mark`` is None where that was not written down yet."""
    if len(secret) != _SECRET or (mark is not None and not hmac.compare_digest(mark, mark_of(secret))):
        raise damaged(folder / "secret")


def is_running(folder: Path) -> bool:
    """Return whether a process works with the state in a folder: its lock says so, whatever has become of the number of the process."""
    if not is_regular(folder / "lock"):
        return False
    with written_errors(folder / "lock", "read"), (folder / "lock").open("rb") as lock:
        return not _has(lock, fcntl.LOCK_SH)


def _locked(folder: Path) -> IO[bytes]:
    lock = os.fdopen(os.open(folder / "lock", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
    for _ in range(_LOOKS):
        if _has(lock, fcntl.LOCK_EX):
            return lock
        # somebody may only be looking whether the stream runs
        time.sleep(_LOOK_SECONDS)
    lock.close()
    raise UnreachableError(
        f"another process works on the stream whose state is in {folder}",
        code="stream-running",
        hint="wait for it, or stop it; sfumato stream status tells how it goes",
    )


def _has(lock: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _secret(path: Path) -> bytes:
    if not path.exists():
        # under another name first: half a secret, of a disk that is full, would be a damaged one
        begun = path.with_name(f"{path.name}.new")
        with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET))
            file.flush()
            os.fsync(file.fileno())
        begun.rename(path)
    return path.read_bytes()

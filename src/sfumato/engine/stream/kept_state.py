"""The state of a stream as others may look at it, beside the process that runs it: nothing is locked, and nothing is written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sfumato.core.files import file_errors, is_regular
from sfumato.core.stream import Accounts
from sfumato.engine.stream.last_word import word_left
from sfumato.engine.stream.private_files import damaged, mapping_of
from sfumato.engine.stream.progress import as_numbers
from sfumato.engine.stream.run_journal import Segment, is_running, last_measured, refuse_other_secret, refuse_other_version
from sfumato.engine.stream.state_errors import sound, state_error
from sfumato.errors import UnreachableError, UsageError
from sfumato.policy.identity import policy_hash
from sfumato.policy.load import Loaded

STATE, STATUS = "state.sqlite", "status.json"


def existing(folder: Path, name: str) -> Path:
    """Return a file of a state; refuse where the stream has none."""
    if not is_regular(folder / name):
        raise _unknown(folder)
    return folder / name


def _unknown(folder: Path) -> UsageError:
    return UsageError(f"there is no state of this stream in {folder}", code="stream-unknown", hint="sfumato stream run policy.yaml begins it")


def told_status(folder: Path) -> dict[str, Any]:
    """Return what a stream last said of itself, with the numbers of its last commit, which it may not have come to say, and whether it runs.

    Where what it said is gone, it is what the state says.
    """
    told = _last_words(folder) if is_regular(folder / STATUS) else None
    kept = KeptState(folder)
    if told is None:
        return _status_of(kept)
    if told["state"] == "running" and not is_running(folder):
        code = word_left(folder)
        told |= {"state": "interrupted"} if code is None else {"state": "failed", "error": code}
    told["records"] = kept.records
    for name, found in _views(kept).items():
        if told["views"].get(name, {}).get("accounts") != found["accounts"]:
            told["views"][name] = told["views"].get(name, {}) | found
    return told


def _last_words(folder: Path) -> dict[str, Any]:
    with file_errors(folder / STATUS):
        content = existing(folder, STATUS).read_bytes()
    told = mapping_of(content, folder / STATUS, state=str, at=float, process=int, records=int, records_per_second=float, views=dict)
    if not all(isinstance(view, dict) and {"accounts", "measured"} <= view.keys() for view in told["views"].values()):
        raise damaged(folder / STATUS)
    return told


def _status_of(kept: KeptState) -> dict[str, Any]:
    """Return what is known of a stream whose status is gone: how it ended is not."""
    state, at = "running" if is_running(kept.folder) else "unknown", (kept.folder / STATE).stat().st_mtime
    return {"state": state, "error": None, "process": 0, "records": kept.records, "records_per_second": 0.0, "views": _views(kept), "at": at}


def _views(kept: KeptState) -> dict[str, dict[str, Any]]:
    measured = kept.last_measured
    return {view: {"accounts": each.as_mapping(), "measured": as_numbers(measured.get(view, {}))} for view, each in kept.all_accounts.items()}


class KeptState:
    """What the last commit of a stream says: how many records, what became of them, and how much of every file counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        existing(folder, STATE)
        with file_errors(folder / "secret"):
            self.secret = (folder / "secret").read_bytes()
        with self._read() as database:
            # one transaction: all of it is of one commit, also while the stream goes on
            database.execute("BEGIN")
            if not database.execute("SELECT name FROM sqlite_master").fetchall():
                # made, and nothing written to it yet
                raise _unknown(folder)
            self._about = dict(database.execute("SELECT name, value FROM about"))
            refuse_other_version(self._about.get("version"), folder)
            refuse_other_secret(self._about.get("secret"), self.secret, folder)
            self._position = dict(json.loads(self._about.get("position", "{}")))
            self._accounts = {view: Accounts(**json.loads(told)) for view, told in database.execute("SELECT name, accounts FROM view")}
            self.last_measured = last_measured(database)
            self._lengths: dict[str, int] = dict(database.execute("SELECT path, length FROM file"))
            self._segments: dict[str, list[Segment]] = {}
            for view, told in database.execute("SELECT view, told FROM segment ORDER BY view, number"):
                self._segments.setdefault(view, []).append(Segment(**json.loads(told)))

    @property
    def identity(self) -> str:
        """Which policy the stream was begun with."""
        return str(self._about.get("identity", ""))

    def refuse_other_policy(self, loaded: Loaded, hint: str) -> None:
        """Refuse a policy that the stream was not begun with."""
        if self.identity != policy_hash(loaded.policy):
            message = f"the state in {self.folder} belongs to another policy, or to this one before it was changed"
            raise UnreachableError(message, code="stream-state-policy", hint=hint)

    @property
    def records(self) -> int:
        """How many records have been read."""
        with sound(self.folder):
            return int(self._about.get("records", 0))

    @property
    def position(self) -> dict[str, Any]:
        """What was read of each file."""
        return self._position

    def told(self, name: str) -> Any:
        """Return what was once written down for good under a name; None where nothing was."""
        text = self._about.get(f"told {name}")
        with sound(self.folder):
            return None if text is None else json.loads(text)

    def tell(self, name: str, value: Any) -> None:
        """Nothing is written here: what a reader settles for itself it need not remember."""

    def accounts(self, view: str) -> Accounts:
        """Return what became of the records of a view."""
        return self._accounts.get(view, Accounts())

    @property
    def all_accounts(self) -> Mapping[str, Accounts]:
        """What became of the records, by view."""
        return self._accounts

    def segments(self, view: str) -> list[Segment]:
        """Return what the release of a view consists of."""
        return self._segments.get(view, [])

    def length(self, name: str) -> int:
        """Return how much of a private file counts."""
        return self._lengths.get(name, 0)

    def measured(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the views and what was measured of them at every commit, in order."""
        with self._read() as database:
            for view, records, told in database.execute("SELECT view, records, told FROM measured ORDER BY view, records"):
                yield view, {"records": records, **json.loads(told)}

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"file:{self.folder / STATE}?mode=ro", uri=True)) as database:
                yield database
        except (sqlite3.Error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise state_error(self.folder, error, "read") from None

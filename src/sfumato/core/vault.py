"""A vault of tokens: which token stands for which value, kept for ever in one private SQLite file.

The file is 0600 and holds the values, as they are or as the mask that fills it has encrypted them, each with a mark by which damage is found. Every
call is one transaction: what an aborted run has numbered stays so, which harms nobody. SQLite's own locks let one process write at a time. A
rehearsal reads the file and leaves it as it is.

Marks say of what is found that it is whole. Of what is not found, a value or a namespace, only the whole table can say that it was never there: it is
looked through then, once for as long as nobody else writes the file.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.files import file_errors, others_may
from sfumato.core.rehearsal import Rehearsal, RehearsedNamespace
from sfumato.core.vault_namespace import Namespace, NamespaceRow, Numbering, OpenVault, TokenRange, VaultKey, damaged, shown_path
from sfumato.errors import UnreachableError

_MARK = 0x5346554D
_VERSION = 4
_SECONDS = 10.0
_PIECE = 1 << 18
_CACHE_KIB = 1 << 17
_TABLES = """
CREATE TABLE namespaces (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, start INTEGER NOT NULL, step INTEGER NOT NULL, size INTEGER NOT NULL,
    secret BLOB, key_id TEXT, key_check BLOB, mark BLOB NOT NULL, taken INTEGER NOT NULL DEFAULT 0
)
"""
# the tables that were looked through, by the file and how it was left
_looked_through: dict[Path, tuple[tuple[int, ...], set[str]]] = {}


class Vault:
    """One file of namespaces, each with its range and its values; in a rehearsal nothing is written into it."""

    def __init__(self, path: Path, rehearsal: Rehearsal | None = None) -> None:
        self._path = path
        self._shown = shown_path(path)
        self._rehearsal = rehearsal

    def key_id(self, namespace: str) -> str | None:
        """Return the id of the key under which a namespace was begun; None where there is no such namespace yet, or no key."""
        if not self._path.exists():
            return None
        with self._opened(writing=False) as opened:
            found = NamespaceRow.found(opened, namespace)
        return found.key_id if found is not None else None

    def tokens(self, namespace: str, wanted: TokenRange, key: VaultKey | None, values: pa.Array) -> NDArray[np.int64]:
        """Return the token of each value; new values get new ones."""
        found = [np.empty(0, np.int64)]
        with ExitStack() as opened:
            space = self._numbering(namespace, wanted, key, opened)
            for start in range(0, len(values), _PIECE):
                found.append(space.tokens_of(space.numbers(values.slice(start, _PIECE))))
        return np.concatenate(found)

    def _numbering(self, namespace: str, wanted: TokenRange, key: VaultKey | None, opened: ExitStack) -> Numbering:
        """Return what numbers the values of a namespace until the file is closed."""
        if self._rehearsal is None:
            self._make()
            return Namespace.begun(opened.enter_context(self._opened()), namespace, wanted, key)
        kept = None
        if self._path.exists():
            kept = Namespace.found(opened.enter_context(self._opened(writing=False)), namespace, wanted, key)
        return RehearsedNamespace(kept, namespace, wanted, self._rehearsal.drawn(self._path, namespace, wanted))

    def values(self, namespace: str, wanted: TokenRange, key: VaultKey | None, tokens: NDArray[np.int64]) -> list[bytes | None]:
        """Return the value of each token; None for one that was never given out."""
        if not self._path.exists():
            raise UnreachableError(f"the vault {self._shown} is not there", code="vault-missing", hint="look at the path: tokens live only there")
        with self._opened() as opened:
            space = Namespace.found(opened, namespace, wanted, key)
            return [None] * len(tokens) if space is None else space.values(space.numbers_of(tokens))

    def _make(self) -> None:
        """Make the file, whole or not at all: an empty one would be taken for one that has lost its tokens."""
        if self._path.exists():
            return
        with file_errors(shown_path(self._path.parent), "made"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        with file_errors(self._shown, "written"):
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            try:
                with closing(sqlite3.connect(beside, isolation_level=None)) as connection:
                    connection.executescript(f"PRAGMA application_id = {_MARK}; PRAGMA user_version = {_VERSION}; {_TABLES};")
                os.link(beside, self._path)
            except FileExistsError:
                pass
            finally:
                beside.unlink(missing_ok=True)

    @contextmanager
    def _opened(self, writing: bool = True) -> Iterator[OpenVault]:
        """Open the file for one transaction; what SQLite says of it may quote a value and is never passed on."""
        with file_errors(self._shown):
            self._refuse_readers()
        try:
            with closing(sqlite3.connect(self._path, timeout=_SECONDS, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                self._refuse_damage(connection)
                opened = OpenVault(connection, self._path, self._whole())
                yield opened
                connection.execute("COMMIT")
            _looked_through[self._path.absolute()] = _state(self._path), opened.whole
        except UnicodeDecodeError:
            # SQLite quotes the damaged name of a table
            raise damaged(self._path) from None
        except sqlite3.Error as error:
            raise self._told(error) from None

    def _whole(self) -> set[str]:
        """Return the tables that were looked through since somebody else has written the file."""
        state, tables = _looked_through.get(self._path.absolute(), ((), set()))
        return set(tables) if state == _state(self._path) else set()

    def _refuse_readers(self) -> None:
        status = self._path.stat()
        # a folder has other permissions than files, and a pipe would be waited for
        if not stat.S_ISREG(status.st_mode):
            raise UnreachableError(
                f"the vault {self._shown} is no regular file", code="vault-file", hint="name a file: a new one is made where there is none"
            )
        others = others_may(status)
        if others is not None:
            raise UnreachableError(f"others may {others} the vault {self._shown}", code="vault-permission", hint=f"chmod 600 {self._shown}")

    def _refuse_damage(self, connection: sqlite3.Connection) -> None:
        (mark,), (version,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
        (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if mark == _MARK and version != _VERSION and 0 < version < 1000:
            raise UnreachableError(
                f"the vault {self._shown} is of format {version}, and this version of sfumato keeps format {_VERSION}",
                code="vault-version",
                hint="reveal its tokens with the version that wrote it, or name another vault",
            )
        if mark != _MARK or version != _VERSION or pages * size > self._path.stat().st_size:
            raise damaged(self._path)

    def _told(self, error: sqlite3.Error) -> UnreachableError:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return UnreachableError(
                f"another process has held the vault {self._shown} for more than {_SECONDS:.0f} seconds",
                code="vault-busy",
                hint="wait until it has ended, then run again",
            )
        if name.startswith("SQLITE_FULL"):
            return UnreachableError(
                f"there is no space left to write {self._shown}; nothing has been published", code="disk-full", hint="free some space, then run again"
            )
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return UnreachableError(
                f"the vault {self._shown} may not be written", code="file-permission", hint="ask for the permission, or name another vault"
            )
        return damaged(self._path)


def _state(path: Path) -> tuple[int, ...]:
    """Return what says whether somebody has written a file."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

"""A database file of DuckDB, as this process has it open.

A process has one instance of DuckDB a file, and whoever works on that file shares it: a source and a sink may be the same file. It is opened to
read as long as nobody writes, so that a source is never changed and others may read it too; the first who writes opens it anew. Its memory is
bounded, what goes beyond it waits in a private folder, and nothing outside of the file can be reached by what is within it.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.core.files import file_errors
from sfumato.core.workplace import Workplace
from sfumato.databases.duckdb_errors import HELD, MISSING, SHADOWED, duckdb_errors, not_opened

MEMORY, THREADS = 512 << 20, 2
"""Bytes and threads that DuckDB may use for the work on one file."""

_FUNCTIONS = "FROM system.main.duckdb_functions()"
_OPEN: dict[str, DuckdbFile] = {}
_LOCK = threading.RLock()


class DuckdbFile:
    """The instance of DuckDB for one file. Those who use it are counted; it is closed with the last."""

    def __init__(self, path: str, shown: str) -> None:
        self._path, self._shown = Path(path), shown
        self._users = 0
        self._instance: Any = None
        self._writable = self._is_new = False
        self._cursors: list[Any] = []
        self._held: set[int] = set()
        self._workplace: Workplace | None = None
        self.names: set[str] = set()

    @property
    def is_there(self) -> bool:
        """Whether there is such a file."""
        return self._path.exists()

    def place(self) -> str:
        """Return what tells the file from all others, whatever it is called."""
        status = self._path.stat()
        return f"{status.st_dev}:{status.st_ino}"

    def cursor(self, writing: bool) -> Any:
        """Return a session, opening the file if need be; sessions that only read end where the file is opened anew to write to it."""
        with _LOCK:
            if self._instance is None or (writing and not self._writable):
                if self._held:
                    raise HELD.error(self._shown)
                self._close()
                self._open(writing)
            with duckdb_errors(self._shown):
                cursor = self._instance.cursor()
                cursor.execute("SET TimeZone = 'UTC'")
            self._cursors.append(cursor)
            return cursor

    def serves(self, cursor: Any, writing: bool) -> bool:
        """Return whether a session is still open, and good for writing where that is asked."""
        return any(cursor is each for each in self._cursors) and (self._writable or not writing)

    def hold(self, cursor: Any) -> None:
        """Keep the file from being opened anew, as long as a session is in a transaction."""
        self._held.add(id(cursor))

    def free(self, cursor: Any, committed: bool = False) -> None:
        """Say that the transaction of a session has ended."""
        self._held.discard(id(cursor))
        self._is_new = self._is_new and not committed

    def end(self, cursor: Any) -> None:
        """End a session; what it did not commit is undone."""
        with _LOCK:
            self._held.discard(id(cursor))
            self._cursors = [each for each in self._cursors if each is not cursor]
            with suppress(Exception):
                cursor.close()

    def join(self) -> None:
        """Count one more who uses it."""
        self._users += 1

    def leave(self) -> None:
        """Count one less; the last one closes it, and a file that was made for nothing goes."""
        with _LOCK:
            self._users -= 1
            if self._users:
                return
            for key in [key for key, file in _OPEN.items() if file is self]:
                del _OPEN[key]
            self._close()
            if self._workplace is not None:
                self._workplace.close()
            if self._is_new:
                for path in (self._path, self._path.with_name(f"{self._path.name}.wal")):
                    path.unlink(missing_ok=True)

    def _open(self, writing: bool) -> None:
        import duckdb

        self._workplace = self._workplace or Workplace()
        if not self.is_there:
            if not writing:
                raise MISSING.error(self._shown)
            self._make()
        folder = self._workplace.folder / "duckdb"
        folder.mkdir(mode=0o700, exist_ok=True)
        settings: dict[str, Any] = {
            "memory_limit": f"{MEMORY}B",
            "threads": THREADS,
            "temp_directory": str(folder),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        try:
            self._instance = duckdb.connect(str(self._path), read_only=not writing, config=settings)
            self._instance.execute("SET enable_external_access = false")
        except duckdb.Error as error:
            raise not_opened(self._shown, self._path, error) from None
        self._writable = writing
        try:
            self._refuse_macros()
        except BaseException:
            self._close()
            raise

    def _refuse_macros(self) -> None:
        """Refuse a file in which a sum or a hash is what somebody wrote into it: what was verified by these would be verified by nothing."""
        with duckdb_errors(self._shown):
            # the statements have no operator and no function but one that is qualified: all others may be macros
            made = self._instance.execute(f"SELECT function_name {_FUNCTIONS} WHERE NOT internal").fetchall()
            built_in = {name for (name,) in self._instance.execute(f"SELECT function_name {_FUNCTIONS} WHERE internal").fetchall()} if made else set()
        shadowed = sorted({name for (name,) in made if name.lower() in built_in})
        if shadowed:
            raise SHADOWED.error(self._shown, ", ".join(shadowed))

    def _make(self) -> None:
        """Make a database without tables: under a hidden name first, so that a process that dies leaves none that is half made."""
        import duckdb

        hidden = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        if self._workplace is not None:
            self._workplace.note([str(hidden)])
        try:
            with file_errors(self._path, "written"):
                duckdb.connect(str(hidden)).close()
                os.link(hidden, self._path)
        except duckdb.Error as error:
            raise not_opened(self._shown, self._path.parent, error) from None
        finally:
            hidden.unlink(missing_ok=True)
        self._is_new = True
        _OPEN[self.place()] = self

    def _close(self) -> None:
        for cursor in self._cursors:
            with suppress(Exception):
                cursor.close()
        self._cursors = []
        if self._instance is not None:
            with suppress(Exception):
                self._instance.close()
        self._instance, self._writable = None, False


def opened(path: str, shown: str) -> DuckdbFile:
    """Return the instance for a file, whatever it is called; nothing is opened before somebody reads or writes.

    Two instances of one file would not see each other, and the second to be closed would take the locks of the first away.
    """
    with _LOCK:
        real = os.path.realpath(path)
        file = DuckdbFile(real, shown)
        file = _OPEN.setdefault(file.place() if file.is_there else real, file)
        file.join()
        return file

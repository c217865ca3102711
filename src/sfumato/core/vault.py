"""A vault of tokens: which token stands for which value, kept for ever in one private SQLite file.

Values of a namespace are numbered as they come, and the number of a value becomes its token: in order where a sequence is asked for, else by a secret
permutation of the whole range (FF1 over its numbers, cycle walking; Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). So tokens
are spread over the range as if drawn by lot, no two values can have one, the last free one is found as quickly as the first, and a token leads back
to its value without an index of its own.

The file is 0600 and holds the values, as they are or as the mask that fills it has encrypted them. Every call is one transaction: what an aborted run
has numbered stays so, which harms nobody. SQLite's own locks let one process write at a time.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.ff1 import FF1
from sfumato.core.files import file_errors
from sfumato.errors import DataError, UnreachableError, UsageError

_MARK = 0x5346554D
_VERSION = 2
_SECONDS = 10.0
_PIECE = 1 << 18
_CACHE_KIB = 1 << 17
_FEWEST_BITS = 8
_TABLES = """
CREATE TABLE namespaces (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, start INTEGER NOT NULL, step INTEGER NOT NULL, size INTEGER NOT NULL,
    secret BLOB, key_id TEXT, key_check BLOB
)
"""


@dataclass(frozen=True)
class TokenRange:
    """The tokens of a namespace: where they start, how far apart they are, how many there are, and whether they come in order."""

    start: int
    step: int
    size: int
    ordered: bool


@dataclass(frozen=True)
class VaultKey:
    """The key under which values of a namespace are kept: its id, and a value derived from it that tells it from others and does not lead back."""

    id: str
    check: bytes


class Vault:
    """One file of namespaces, each with its range and its values."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def key_id(self, namespace: str) -> str | None:
        """Return the id of the key under which a namespace was begun; None where there is no such namespace yet, or no key."""
        if not self._path.exists():
            return None
        with self._opened() as connection:
            found = connection.execute("SELECT key_id FROM namespaces WHERE name = ?", (namespace,)).fetchone()
        return found[0] if found else None

    def tokens(self, namespace: str, wanted: TokenRange, key: VaultKey | None, values: pa.Array) -> NDArray[np.int64]:
        """Return the token of each value; new values get new ones."""
        self._make()
        found = [np.empty(0, np.int64)]
        with self._opened() as connection:
            space = _Namespace.begun(connection, namespace, wanted, key, self._path)
            for start in range(0, len(values), _PIECE):
                found.append(space.tokens_of(space.numbers(values.slice(start, _PIECE))))
        return np.concatenate(found)

    def values(self, namespace: str, wanted: TokenRange, key: VaultKey | None, tokens: NDArray[np.int64]) -> list[bytes | None]:
        """Return the value of each token; None for one that was never given out."""
        if not self._path.exists():
            raise UnreachableError(f"the vault {self._path} is not there", code="vault-missing", hint="look at the path: tokens live only there")
        with self._opened() as connection:
            space = _Namespace.found(connection, namespace, wanted, key, self._path)
            return [None] * len(tokens) if space is None else space.values(space.numbers_of(tokens))

    def _make(self) -> None:
        """Make the file, whole or not at all: an empty one would be taken for one that has lost its tokens."""
        if self._path.exists():
            return
        with file_errors(self._path.parent, "made"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        with file_errors(self._path, "written"):
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
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; what SQLite says of it may quote a value and is never passed on."""
        with file_errors(self._path):
            self._refuse_readers()
        try:
            with closing(sqlite3.connect(self._path, timeout=_SECONDS, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute("BEGIN IMMEDIATE")
                self._refuse_damage(connection)
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._told(error) from None

    def _refuse_readers(self) -> None:
        status = self._path.stat()
        if stat.S_IMODE(status.st_mode) & 0o077 and os.name == "posix":
            raise UsageError(f"others may read the vault {self._path}", code="vault-permission", hint=f"chmod 600 {self._path}")

    def _refuse_damage(self, connection: sqlite3.Connection) -> None:
        (mark,), (version,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
        (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if mark != _MARK or version != _VERSION or pages * size > self._path.stat().st_size:
            raise self._damaged()

    def _told(self, error: sqlite3.Error) -> UnreachableError:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return UnreachableError(
                f"another process has held the vault {self._path} for more than {_SECONDS:.0f} seconds",
                code="vault-busy",
                hint="wait until it has ended, then run again",
            )
        if name.startswith("SQLITE_FULL"):
            return UnreachableError(
                f"there is no space left to write {self._path}; nothing has been published", code="disk-full", hint="free some space, then run again"
            )
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return UnreachableError(
                f"the vault {self._path} may not be written", code="file-permission", hint="ask for the permission, or name another vault"
            )
        return self._damaged()

    def _damaged(self) -> UnreachableError:
        return UnreachableError(f"{self._path} is damaged or no vault", code="vault-damaged", hint="put the last good copy in its place")


class _Namespace:
    """One namespace of an open vault."""

    def __init__(self, connection: sqlite3.Connection, number: int, name: str, wanted: TokenRange, secret: bytes | None) -> None:
        self._connection = connection
        self._name = name
        self._range = wanted
        self._table = f"tokens_{number}"
        self._order = _Permutation(secret, wanted.size) if secret is not None else None

    @classmethod
    def begun(cls, connection: sqlite3.Connection, name: str, wanted: TokenRange, key: VaultKey | None, path: Path) -> _Namespace:
        """Return a namespace, made where it is not there."""
        found = cls.found(connection, name, wanted, key, path)
        if found is not None:
            return found
        secret = None if wanted.ordered else secrets.token_bytes(32)
        under = (key.id, key.check) if key is not None else (None, None)
        given = (name, wanted.start, wanted.step, wanted.size, secret, *under)
        connection.execute("INSERT INTO namespaces (name, start, step, size, secret, key_id, key_check) VALUES (?, ?, ?, ?, ?, ?, ?)", given)
        (number,) = connection.execute("SELECT id FROM namespaces WHERE name = ?", (name,)).fetchone()
        connection.execute(f"CREATE TABLE tokens_{number} (number INTEGER PRIMARY KEY, value BLOB NOT NULL UNIQUE)")
        return cls(connection, number, name, wanted, secret)

    @classmethod
    def found(cls, connection: sqlite3.Connection, name: str, wanted: TokenRange, key: VaultKey | None, path: Path) -> _Namespace | None:
        """Return a namespace, None where it is not there; refuse one that was begun otherwise."""
        row = connection.execute("SELECT id, start, step, size, secret, key_id, key_check FROM namespaces WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        number, start, step, size, secret, begun_under, check = row
        if (start, step, size, secret is None) != (wanted.start, wanted.step, wanted.size, wanted.ordered):
            raise UsageError(
                f"the vault {path} has other tokens for {name}: {size} from {start} on, {'in order' if secret is None else 'at random'}",
                code="vault-range",
                hint="the same start, size, step and order as before, or another namespace",
            )
        if begun_under != (key.id if key is not None else None):
            was = f"under the key {begun_under}" if begun_under else "without a key"
            raise UsageError(f"the vault {path} was begun for {name} {was}", code="vault-key", hint="the same key as before, or another namespace")
        if key is not None and check != key.check:
            raise UsageError(
                f"the vault {path} was begun for {name} under another key of the id {key.id}",
                code="vault-key",
                hint="the very key as before; keys of one id must be one key",
            )
        return cls(connection, number, name, wanted, secret)

    def numbers(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the number of each value, from 0; new values get the next ones, in a sequence in the order in which they first come."""
        coded = values.dictionary_encode()
        # side by side in the index they are found, and put in, far more quickly
        order = pc.sort_indices(coded.dictionary).to_numpy(zero_copy_only=False).astype(np.int64)
        ordered = coded.dictionary.take(pa.array(order)).to_pylist()
        found = self._known(ordered)
        new = np.flatnonzero(found < 0)
        # a permutation leaves nothing to be seen of the order of values
        ranks = np.arange(len(new)) if self._order is not None else np.argsort(np.argsort(order[new]))
        found[new] = self._next(len(new)) + ranks
        self._connection.executemany(
            f"INSERT INTO {self._table} (number, value) VALUES (?, ?)",  # noqa: S608 - a name of our own
            zip((found[new] + 1).tolist(), [ordered[place] for place in new.tolist()], strict=True),
        )
        of_code = np.empty(len(order), np.int64)
        of_code[order] = found
        numbers: NDArray[np.int64] = of_code[coded.indices.to_numpy(zero_copy_only=False)]
        return numbers

    def _known(self, values: list[bytes]) -> NDArray[np.int64]:
        """Return the numbers of values; -1 for those that have none yet."""
        run = self._connection.execute
        run("CREATE TEMP TABLE IF NOT EXISTS asked (place INTEGER PRIMARY KEY, value BLOB NOT NULL)")
        run("DELETE FROM asked")
        self._connection.executemany("INSERT INTO asked VALUES (?, ?)", enumerate(values))
        rows = run(f"SELECT ifnull({self._table}.number, 0) - 1 FROM asked LEFT JOIN {self._table} USING (value) ORDER BY place")  # noqa: S608 - our own names
        return np.fromiter((number for (number,) in rows), np.int64, len(values))

    def _next(self, wanted: int) -> int:
        """Return the next number; refuse where there are not so many left."""
        (taken,) = self._connection.execute(f"SELECT ifnull(max(number), 0) FROM {self._table}").fetchone()  # noqa: S608 - a name of our own
        if taken + wanted > self._range.size:
            raise DataError(
                f"the {self._range.size} tokens of {self._name} are used up", code="vault-full", hint="another namespace with a larger size or end"
            )
        return int(taken)

    def tokens_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tokens that numbers stand for."""
        places = self._order.forth(numbers) if self._order is not None else numbers
        return self._range.start + places * self._range.step

    def numbers_of(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers that tokens stand for; -1 for what is outside the range."""
        places, rest = np.divmod(tokens - self._range.start, self._range.step)
        inside = (rest == 0) & (places >= 0) & (places < self._range.size) & (tokens >= self._range.start)
        places = np.where(inside, places, 0)
        return np.where(inside, self._order.back(places) if self._order is not None else places, -1)

    def values(self, numbers: NDArray[np.int64]) -> list[bytes | None]:
        """Return the values that have these numbers; None where there is none."""
        query = f"SELECT value FROM {self._table} WHERE number = ?"  # noqa: S608 - a name of our own
        rows = (self._connection.execute(query, (number + 1,)).fetchone() for number in numbers.tolist())
        return [row[0] if row is not None else None for row in rows]


class _Permutation:
    """A secret order of the numbers below a size."""

    def __init__(self, secret: bytes, size: int) -> None:
        self._size = size
        self._bits = max(_FEWEST_BITS, (size - 1).bit_length())
        self._cipher = FF1(secret, b"tokens", 2)

    def forth(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of each number in the order."""
        return self._walked(numbers, decrypt=False)

    def back(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number that is at each place of the order."""
        return self._walked(places, decrypt=True)

    def _walked(self, numbers: NDArray[np.int64], decrypt: bool) -> NDArray[np.int64]:
        """Permute numbers of whole bits until they are below the size again: that is a permutation of those below it."""
        found = self._cipher.permuted_numbers(numbers.astype(np.uint64), self._bits, decrypt)
        while (outside := found >= self._size).any():
            found[outside] = self._cipher.permuted_numbers(found[outside], self._bits, decrypt)
        return found.astype(np.int64)

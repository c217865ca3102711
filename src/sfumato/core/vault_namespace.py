"""A namespace of a vault: its values, the numbers they have, and the tokens that these become.

Values are numbered as they come, and the number of a value becomes its token: in order where a sequence is asked for, else by a secret permutation
of the whole range (FF1 over its numbers, cycle walking; Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). So tokens are spread
over the range as if drawn by lot, no two values can have one, the last free one is found as quickly as the first, and a token leads back to its
value without an index of its own. Every row that is read is held against its mark, see ``vault_marks``.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.ff1 import FF1
from sfumato.core.vault_marks import RowMarks
from sfumato.errors import DataError, UnreachableError
from sfumato.key_material import named

_FEWEST_BITS = 8
_SECRET_BYTES, _MARK_BYTES = 32, 16


@dataclass(frozen=True)
class TokenRange:
    """The tokens of a namespace: where they start, how far apart they are, how many there are, and whether they come in order."""

    start: int
    step: int
    size: int
    ordered: bool


@dataclass(frozen=True)
class VaultKey:
    """The key under which values of a namespace are kept: its id, and a value derived from it that tells it from others and does not lead back.

    ``binding`` is a secret derived from it, under which the rows of the namespace are marked.
    """

    id: str
    check: bytes
    binding: bytes = field(repr=False)


@dataclass(frozen=True)
class OpenVault:
    """A file of namespaces that is open for one transaction, and the tables that are known to be ``whole``."""

    connection: sqlite3.Connection
    path: Path
    whole: set[str]

    def refuse_lost_rows(self, table: str) -> None:
        """Refuse a table unless it and its index say the same: what is not found in it was never there. Cost: all its rows, once."""
        if table not in self.whole:
            found = self.connection.execute(f"PRAGMA integrity_check({table})").fetchall()
            if found != [("ok",)]:
                raise damaged(self.path)
            self.whole.add(table)


@dataclass(frozen=True)
class NamespaceRow:
    """What the file says of a namespace, with a mark over all of it."""

    id: int
    name: str
    start: int
    step: int
    size: int
    secret: bytes | None
    key_id: str | None
    key_check: bytes | None

    @classmethod
    def found(cls, opened: OpenVault, name: str) -> NamespaceRow | None:
        """Return the row of a namespace; None where there never was one. No index is asked: there are few, and each must be whole."""
        rows = opened.connection.execute("SELECT id, name, start, step, size, secret, key_id, key_check, mark FROM namespaces NOT INDEXED")
        every = {}
        for *given, mark in rows.fetchall():
            row = cls(*given)
            if mark != row.mark():
                raise damaged(opened.path)
            every[row.name] = row
        if name not in every:
            opened.refuse_lost_rows("namespaces")
        return every.get(name)

    def mark(self) -> bytes:
        """Return the mark of the row."""
        return hashlib.sha256(repr(astuple(self)).encode()).digest()[:_MARK_BYTES]


class Numbering(ABC):
    """Numbers values and makes tokens of the numbers; where the numbers are kept is for others to say."""

    def __init__(self, name: str, wanted: TokenRange, secret: bytes | None) -> None:
        self.secret = secret
        self._name = name
        self._range = wanted
        self._order = _Permutation(secret, wanted.size) if secret is not None else None

    @abstractmethod
    def known(self, values: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the numbers of values; -1 for those that have none yet."""

    @abstractmethod
    def taken(self) -> int:
        """Return how many numbers are taken."""

    @abstractmethod
    def record(self, numbers: Sequence[int], values: Sequence[bytes]) -> None:
        """Remember the numbers of new values."""

    def numbers(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the number of each value, from 0; new values get the next ones, in a sequence in the order in which they first come."""
        coded = values.dictionary_encode()
        # side by side in the index they are found, and put in, far more quickly
        order = pc.sort_indices(coded.dictionary).to_numpy(zero_copy_only=False).astype(np.int64)
        ordered = coded.dictionary.take(pa.array(order)).to_pylist()
        found = self.known(ordered)
        new = np.flatnonzero(found < 0)
        # a permutation leaves nothing to be seen of the order of values
        ranks = np.arange(len(new)) if self._order is not None else np.argsort(np.argsort(order[new]))
        found[new] = self._next(len(new)) + ranks
        self.record(found[new].tolist(), [ordered[place] for place in new.tolist()])
        of_code = np.empty(len(order), np.int64)
        of_code[order] = found
        numbers: NDArray[np.int64] = of_code[coded.indices.to_numpy(zero_copy_only=False)]
        return numbers

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

    def _next(self, wanted: int) -> int:
        """Return the next number; refuse where there are not so many left."""
        taken = self.taken()
        if taken + wanted > self._range.size:
            raise DataError(
                f"the {self._range.size} tokens of {self._name} are used up", code="vault-full", hint="another namespace with a larger size or end"
            )
        return taken


class Namespace(Numbering):
    """One namespace of an open vault."""

    def __init__(self, opened: OpenVault, number: int, name: str, wanted: TokenRange, secret: bytes | None, key: VaultKey | None) -> None:
        super().__init__(name, wanted, secret)
        self._opened, self._connection, self._path = opened, opened.connection, opened.path
        self._number, self._table = number, f"tokens_{number}"
        begun = [number, name, wanted.start, wanted.step, wanted.size, secret]
        self._marks = RowMarks(begun, key.binding if key is not None else None)

    @classmethod
    def begun(cls, opened: OpenVault, name: str, wanted: TokenRange, key: VaultKey | None) -> Namespace:
        """Return a namespace, made where it is not there."""
        connection, found = opened.connection, cls.found(opened, name, wanted, key)
        if found is not None:
            return found
        secret = None if wanted.ordered else secrets.token_bytes(_SECRET_BYTES)
        under = (key.id, key.check) if key is not None else (None, None)
        (number,) = connection.execute("SELECT ifnull(max(id), 0) + 1 FROM namespaces").fetchone()
        row = NamespaceRow(number, name, wanted.start, wanted.step, wanted.size, secret, *under)
        query = "INSERT INTO namespaces (id, name, start, step, size, secret, key_id, key_check, mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        connection.execute(query, (*astuple(row), row.mark()))
        connection.execute(f"CREATE TABLE tokens_{number} (number INTEGER PRIMARY KEY, value BLOB NOT NULL UNIQUE, mark BLOB NOT NULL)")
        return cls(opened, number, name, wanted, secret, key)

    @classmethod
    def found(cls, opened: OpenVault, name: str, wanted: TokenRange, key: VaultKey | None) -> Namespace | None:
        """Return a namespace, None where it is not there; refuse one that was begun otherwise."""
        path = opened.path
        row = NamespaceRow.found(opened, name)
        if row is None:
            return None
        if (begun := TokenRange(row.start, row.step, row.size, row.secret is None)) != wanted:
            raise other_range(path, name, begun)
        if row.key_id != (key.id if key is not None else None):
            was = f"under the key {row.key_id}" if row.key_id else "without a key"
            raise UnreachableError(
                f"the vault {shown_path(path)} was begun for {_shown_name(name)} {was}",
                code="vault-key",
                hint="the same key as before, or another namespace",
            )
        if key is not None and row.key_check != key.check:
            raise UnreachableError(
                f"the vault {shown_path(path)} was begun for {_shown_name(name)} under another key of the id {key.id}",
                code="vault-key",
                hint="the very key as before; keys of one id must be one key",
            )
        return cls(opened, row.id, name, wanted, row.secret, key)

    def known(self, values: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the numbers of values; -1 for those that have none yet."""
        run = self._connection.execute
        run("CREATE TEMP TABLE IF NOT EXISTS asked (place INTEGER PRIMARY KEY, value BLOB NOT NULL)")
        run("DELETE FROM asked")
        self._connection.executemany("INSERT INTO asked VALUES (?, ?)", enumerate(values))
        rows = run(f"SELECT kept.number, kept.mark FROM asked LEFT JOIN {self._table} AS kept USING (value) ORDER BY place")  # noqa: S608 - our own names
        found = np.full(len(values), -1, np.int64)
        for place, (number, mark) in enumerate(rows):
            if number is not None:
                self._refuse_damage(number, values[place], mark)
                found[place] = number - 1
        if (found < 0).any():
            self._refuse_lost_rows()
        return found

    def taken(self) -> int:
        """Return how many numbers are taken; a lost one must not be given out again."""
        (last,) = self._connection.execute(f"SELECT ifnull(max(number), 0) FROM {self._table}").fetchone()  # noqa: S608 - a name of our own
        (taken,) = self._connection.execute("SELECT taken FROM namespaces WHERE id = ?", (self._number,)).fetchone()
        if taken != last:
            raise damaged(self._path)
        return int(taken)

    def record(self, numbers: Sequence[int], values: Sequence[bytes]) -> None:
        """Remember the numbers of new values."""
        given = [number + 1 for number in numbers]
        query = f"INSERT INTO {self._table} (number, value, mark) VALUES (?, ?, ?)"  # noqa: S608 - a name of our own
        self._connection.executemany(query, zip(given, values, self._marks.of_all(given, values), strict=True))
        self._connection.execute("UPDATE namespaces SET taken = taken + ? WHERE id = ?", (len(given), self._number))

    def values(self, numbers: NDArray[np.int64]) -> list[bytes | None]:
        """Return the values that have these numbers; None where there is none."""
        query = f"SELECT value, mark FROM {self._table} WHERE number = ?"  # noqa: S608 - a name of our own
        found: list[bytes | None] = []
        for number in (numbers + 1).tolist():
            row = self._connection.execute(query, (number,)).fetchone()
            if row is not None:
                self._refuse_damage(number, *row)
            found.append(row[0] if row is not None else None)
        if None in found:
            self._refuse_lost_rows()
        return found

    def _refuse_lost_rows(self) -> None:
        if self._table not in self._opened.whole:
            self._opened.refuse_lost_rows(self._table)
            (rows,) = self._connection.execute(f"SELECT count(*) FROM {self._table}").fetchone()  # noqa: S608 - a name of our own
            if rows != self.taken():
                raise damaged(self._path)

    def _refuse_damage(self, number: int, value: bytes, mark: bytes) -> None:
        if not self._marks.hold(number, value, mark):
            raise damaged(self._path)


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


def shown_path(path: Path) -> str:
    """Return the path of a vault as it is shown: not where a key may have been pasted in its place."""
    return named(str(path), "(not shown: it could be a key)")


def damaged(path: Path) -> UnreachableError:
    """Return the error for a file that is no vault, or no longer what was written."""
    return UnreachableError(f"{shown_path(path)} is damaged or no vault", code="vault-damaged", hint="put the last good copy in its place")


def other_range(path: Path, name: str, begun: TokenRange) -> UnreachableError:
    """Return the error for a namespace that was begun with other tokens."""
    return UnreachableError(
        f"the vault {shown_path(path)} has other tokens for {_shown_name(name)}: "
        f"{begun.size} from {begun.start} on, {'in order' if begun.ordered else 'at random'}",
        code="vault-range",
        hint="the same start, size, step and order as before, or another namespace",
    )


def _shown_name(name: str) -> str:
    return named(name, "a namespace that is not shown")

"""Secret keys, by name: where they come from, which of them is current, and the keys that are derived from them.

A key is written ``id:base64`` and has 32 bytes. A file, a variable or a command may give several, one a line: the first is the one in use, the
others undo what was done under them. No key and no part of one is ever shown: not in messages, records, plans or by ``repr``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import signal
import stat
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from sfumato.core.files import file_errors, others_may
from sfumato.core.settings import Settings
from sfumato.errors import UnreachableError, number_of, suggestion
from sfumato.key_material import could_be_a_key, named

BYTES = 32
_LARGEST = 1 << 16
_READ = 1 << 17
_SECONDS = 60
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_LINE = re.compile(rf"(?P<id>{_ID}):(?P<key>[A-Za-z0-9+/_=-]+)")
_PASTED = "put the key into a file that only you may read, and name that file"
# so many signs of base64 in a row, with capitals, small letters and digits among them, are no name that anybody would give
_LIKE_A_KEY = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


NO_KEY = "password of the database"
"""The name of what is kept as keys are, and is none."""


class KeySource(Settings):
    """Where a key is read from when a run begins: one of a variable of the environment, a file that only its owner may read, or a command."""

    environment: Annotated[str | None, Field(min_length=1, description="the variable of the environment that holds it")] = None
    file: Annotated[str | None, Field(min_length=1, description="the file that holds it, which nobody else may read")] = None
    command: Annotated[list[str] | None, Field(min_length=1, description="the command that prints it, and its arguments")] = None

    @field_validator("environment", "file", "command")
    @classmethod
    def _can_be_asked_for(cls, value: str | list[str] | None) -> str | list[str] | None:
        if value is not None and any("\0" in part for part in ([value] if isinstance(value, str) else value)):
            raise ValueError("has a zero character in it, which nothing that the system knows is called by; leave it out")
        return value

    @model_validator(mode="after")
    def _one(self) -> KeySource:
        if sum(way is not None for way in (self.environment, self.file, self.command)) != 1:
            raise ValueError("needs one of environment, file, command")
        return self

    _example: ClassVar[str] = "$(cat key)"

    def read(self, name: str, folder: Path | None = None) -> tuple[Key, ...]:
        """Return the keys, the current one first; a relative path starts from the folder, that of the policy."""
        return parse_keys(self.secret_text(name, folder), name)

    def secret_text(self, name: str, folder: Path | None = None) -> str:
        """Return what the variable, the file or the command holds."""
        if self.environment is not None:
            text = os.environ.get(self.environment, "")
            if not text:
                shown = _shown(self.environment)
                raise _missing(name, f"the variable {shown} is not set", self._how_to_set(shown))
            return text
        if self.file is not None:
            return _private_text(str((folder or Path()) / self.file), name)
        return _printed(self.command or [], name)

    def _how_to_set(self, shown: str) -> str:
        if shown != self.environment:
            return _PASTED
        if "=" in shown:
            return "the name of the variable alone: none has = in it"
        return f"export {shown}={self._example}, or name a file"


@dataclass(frozen=True, repr=False)
class Key:
    """One key and its public name."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        """Name it, and show nothing of it."""
        return f"Key({self.id})"

    def derived(self, purpose: str) -> bytes:
        """Return the key that HKDF with SHA-256 (RFC 5869) derives for a purpose."""
        return derived_key(self.secret, purpose.encode())


@dataclass(frozen=True, repr=False)
class Keys:
    """The named keys of a run; of each the current one and those that were current before."""

    known: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name them, and show nothing of them."""
        return f"Keys({', '.join(self.known)})"

    def __reduce__(self) -> tuple[type[Keys], tuple[()]]:
        """Let no key into what is kept elsewhere: they are read anew where they are needed."""
        return Keys, ()

    def current(self, name: str) -> Key:
        """Return the key in use."""
        return self.every(name)[0]

    def every(self, name: str) -> tuple[Key, ...]:
        """Return all keys of a name, the current one first."""
        if name not in self.known:
            raise _missing(name, "the policy names no such key", suggestion(name, self.known) or f"keys: {{{name}: {{environment: SFUMATO_KEY}}}}")
        return self.known[name]

    def of_id(self, name: str, wanted: str) -> Key:
        """Return the key that has an id."""
        for key in self.every(name):
            if key.id == wanted:
                return key
        known = ", ".join(key.id for key in self.every(name))
        raise UnreachableError(
            f"key {name}: there is none with the id {named(wanted, 'that is asked for')}, only {known}",
            code="key-id",
            hint="add the older key below the current one",
        )

    def preferring(self, wanted: Mapping[str, str]) -> Keys:
        """Return the keys with others as the current ones: by their names, the ids of those that are."""
        chosen = {name: self.of_id(name, key_id) for name, key_id in wanted.items()}
        return Keys({**self.known, **{name: (one, *(key for key in self.known[name] if key != one)) for name, one in chosen.items()}})

    def derived(self, name: str, purpose: str) -> bytes:
        """Return what the current key of a name derives for a purpose."""
        return self.current(name).derived(purpose)


def is_key_id(text: str) -> bool:
    """Return whether a text could be the id of a key: letters, digits, point, hyphen and underscore, 63 at most.

    >>> is_key_id("2026-01"), is_key_id("my key")
    (True, False)
    """
    return re.fullmatch(_ID, text) is not None


def new_key(identity: str | None = None) -> str:
    """Return a new key as it is written to a file, with a random id where none is given."""
    return f"{identity or secrets.token_hex(4)}:{base64.b64encode(secrets.token_bytes(BYTES)).decode()}"


def derived_key(secret: bytes, purpose: bytes, salt: bytes = b"", size: int = BYTES) -> bytes:
    """Return a key derived by HKDF with SHA-256, RFC 5869.

    >>> derived_key(bytes([11] * 22), bytes(range(0xF0, 0xFA)), bytes(range(13)), 8).hex()
    '3cb25f25faacd57a'
    """
    extracted = hmac.digest(salt or bytes(hashlib.sha256().digest_size), secret, "sha256")
    found = block = b""
    number = 1
    while len(found) < size:
        block = hmac.digest(extracted, block + purpose + bytes([number]), "sha256")
        found += block
        number += 1
    return found[:size]


def parse_keys(text: str, name: str) -> tuple[Key, ...]:
    """Read keys, one a line; lines that begin with # are comments."""
    keys: list[Key] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        secret = _decoded(found["key"]) if found else None
        if found is None or secret is None:
            raise _unreadable(name, f"line {number} is not of the form id:base64")
        if len(secret) < BYTES:
            raise UnreachableError(
                f"key {name}: the key on line {number} has {number_of(len(secret), 'byte')}, and {BYTES} are needed",
                code="key-short",
                hint="make one with: sfumato keys new",
            )
        if len(set(secret)) == 1:
            raise UnreachableError(
                f"key {name}: the key on line {number} is one byte again and again, which anybody could guess",
                code="key-weak",
                hint="make one with: sfumato keys new",
            )
        if any(key.id == found["id"] for key in keys):
            raise _unreadable(name, f"line {number} has the id of another line", "remove one of the two lines, or give one of the keys another id")
        keys.append(Key(found["id"], secret))
    if not keys:
        raise _unreadable(name, "it is empty")
    return tuple(keys)


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None


def _private_text(path: str, name: str) -> str:
    # a file may have any name: what could be a key is one where it is there, and is not shown where it is not
    if _may_be_pasted(path) and not os.path.lexists(path):
        raise _missing(name, "there is no file of the name that is given, which is not shown: it could be a key", _PASTED)
    shown = "the file that is named" if _may_be_pasted(path) else path
    # a pipe that nobody writes into would be waited for, for ever
    with file_errors(shown), os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnreachableError(
                f"key {name}: {shown} is no regular file", code="key-file", hint="a file, or command: [cat, ...] where it is a pipe"
            )
        others = others_may(status)
        if others is not None:
            raise UnreachableError(
                f"key {name}: others may {others} {shown}", code="key-permission", hint=f"chmod 600 {path if shown == path else '...'}"
            )
        return _short_enough(file.read(_READ), name)


def _printed(command: list[str], name: str) -> str:
    """Return what a command prints; what it complains of is shown to nobody, for the key may be in it."""
    try:
        printed, status = _ended(command)
    except FileNotFoundError:
        raise _missing(name, f"there is no command {_shown(command[0])}", "look at its name, or give its whole path") from None
    except (OSError, subprocess.TimeoutExpired):
        raise _missing(name, f"the command {_shown(command[0])} could not be run, or took more than {_SECONDS} seconds", "run it by hand") from None
    text = _short_enough(printed, name)
    if status:
        raise _missing(name, f"the command {_shown(command[0])} ended with status {status}", "run it by hand: what it complains of is not shown here")
    return text


def _ended(command: list[str]) -> tuple[bytes, int]:
    """Return what a command prints, at most twice what keys may have, and its status; it and what it started are ended when that is too much."""
    nothing = subprocess.DEVNULL
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=nothing, stdin=nothing, start_new_session=True)  # noqa: S603 - the policy's own
    too_long = threading.Event()

    def end() -> None:
        too_long.set()
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)

    late = threading.Timer(_SECONDS, end)
    late.start()
    try:
        with running:
            printed = running.stdout.read(_READ) if running.stdout is not None else b""
            if len(printed) > _LARGEST:
                end()
    finally:
        late.cancel()
    if too_long.is_set() and len(printed) <= _LARGEST:
        raise subprocess.TimeoutExpired(command, _SECONDS)
    return printed, running.returncode


def _short_enough(secret: bytes, name: str) -> str:
    if len(secret) > _LARGEST:
        raise _unreadable(name, f"it has more than {_LARGEST} bytes")
    return secret.decode("utf-8", "replace")


def _shown(text: str) -> str:
    """Return the name of a variable or command; not what could be a key that was put in its place."""
    return "of that name (not shown: it could be a key)" if _may_be_pasted(text) else text


def _may_be_pasted(text: str) -> bool:
    return looks_like_a_key(text) or could_be_a_key(text)


def looks_like_a_key(text: str) -> bool:
    """Return whether a text may be a key, or end with one, that stands where a name should.

    >>> looks_like_a_key("k1:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg="), looks_like_a_key("patients")
    (True, False)
    """
    if _LINE.fullmatch(text.strip()) or _LINE.fullmatch(Path(text).name):
        return True
    # a path has strokes too, and hardly ends with the sign that fills up a key
    long = [part for part in _LIKE_A_KEY.findall(text) if "/" not in part or part.endswith("=")]
    return any(all(re.search(signs, part) for signs in ("[A-Z]", "[a-z]", "[0-9]")) for part in long)


def _missing(name: str, words: str, hint: str) -> UnreachableError:
    return UnreachableError(f"{_named(name)}: {words}", code="key-missing", hint=hint)


def _named(name: str) -> str:
    return f"the {name}" if name is NO_KEY else f"key {name}"


def _unreadable(name: str, words: str, hint: str = "make one with: sfumato keys new") -> UnreachableError:
    return UnreachableError(f"key {name}: {words}", code="key-unreadable", hint=hint)

"""The address of a database: ``postgresql://reader@host:5432/hospital``, or ``duckdb:///hospital.duckdb`` for a file.

It never holds a password, and can be shown to anybody.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from pydantic import AfterValidator, ValidationInfo

Kind = Literal["postgresql", "mysql", "spark", "duckdb"]
_KINDS: dict[str, Kind] = {"postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}
_PORTS: dict[Kind, int] = {"postgresql": 5432, "mysql": 3306}
_OPTIONS: dict[Kind, tuple[str, ...]] = {
    "postgresql": ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "target_session_attrs"),
    "mysql": ("ssl_ca", "ssl_cert", "ssl_key", "unix_socket", "connect_timeout"),
}
# with them a driver would speak with another server, or as another user, than the one that is shown and that a key may go to
_ELSEWHERE = frozenset(
    {"host", "hostaddr", "port", "dbname", "database", "db", "user", "service", "servicefile", "passfile", "options", "read_default_file"}
)
_UNVERIFIED = ("disable", "allow", "prefer")
_FILE: Final = "duckdb"
_FILE_HINT = "write it as in duckdb:///hospital.duckdb, or with four slashes for a path that begins at the root"
_HINT = "write it as in postgresql://reader@host:5432/hospital"


@dataclass(frozen=True)
class Address:
    """Where a database is, who asks, and the options of its driver."""

    kind: Kind
    host: str
    port: int
    user: str
    database: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The database in words that anybody may read."""
        if self.kind == "spark":
            return "Spark"
        if self.kind == "duckdb":
            return f"the database file {self.database}"
        return f"the database {self.database} on {self.socket or f'{self.host}:{self.port}'}"

    @property
    def socket(self) -> str:
        """The socket of this machine by which one goes there; nothing where it is host and port."""
        return self.options.get("unix_socket", "")

    @property
    def unowned(self) -> str:
        """The address without a user, as a key names the databases that may have it.

        >>> parsed("postgresql://reader@db.example.org/hospital").unowned
        'postgresql://db.example.org:5432/hospital'
        """
        if self.kind == "spark":
            return "spark"
        host, socket = f"[{self.host}]" if ":" in self.host else self.host, f"?unix_socket={quote(self.socket)}" if self.socket else ""
        return f"{self.kind}://{host}:{self.port}/{quote(self.database, safe='')}{socket}"

    @property
    def place(self) -> tuple[str, str, int, str]:
        """What tells a database from others, whoever goes there; a driver that has a socket heeds neither host nor port."""
        return (self.kind, self.socket, 0, self.database) if self.socket else (self.kind, self.host.lower(), self.port, self.database)


SPARK = Address("spark", "", 0, "", "")
"""Spark is where its session is, of which a process has one."""


def parsed(url: str) -> Address:
    """Return an address; raise a ValueError that says what is wrong with a text that is none, and never repeats it.

    >>> parsed("postgresql://reader@db.example.org/hospital")
    Address(kind='postgresql', host='db.example.org', port=5432, user='reader', database='hospital', options={})
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"is no address of a database; {_HINT}") from None
    if parts.scheme == _FILE:
        return Address(_FILE, "", 0, "", _path(url, parts))
    if parts.scheme not in _KINDS:
        raise ValueError(f"is no address of a database that is known, {', '.join([*_KINDS, _FILE])}; {_HINT}")
    if parts.password is not None:
        raise ValueError("holds a password: take it out, and say where it is with password: {environment: NAME}, {file: path} or {command: [...]}")
    if "\0" in unquote(url) or "," in (parts.hostname or ""):
        raise ValueError(f"is no address of one database; {_HINT}")
    kind, database = _KINDS[parts.scheme], unquote(parts.path.lstrip("/"))
    if not database or "/" in database:
        raise ValueError(f"names no database; {_HINT}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    elsewhere = sorted(_ELSEWHERE & set(options))
    if elsewhere:
        raise ValueError(f"has options that say where to go, {', '.join(elsewhere)}, which its own parts say; {_HINT}")
    unknown = sorted(set(options) - set(_OPTIONS[kind]))
    if unknown or parts.fragment:
        raise ValueError(f"has options that are not known: {', '.join(unknown) or 'a fragment'}; known: {', '.join(_OPTIONS[kind])}")
    if "sslrootcert" in options and options.setdefault("sslmode", "verify-full") in _UNVERIFIED:
        # the library would go on without a word, and look at no certificate
        raise ValueError("names an authority (sslrootcert) and a way by which no certificate is looked at; sslmode=verify-full, or leave sslmode out")
    return Address(kind, parts.hostname or "localhost", port or _PORTS[kind], unquote(parts.username or ""), database, options)


def _checked(url: str, info: ValidationInfo) -> str:
    """Return an address as a policy writes it; the path of a file begins at the policy's own folder."""
    address = parsed(url)
    if address.kind != _FILE:
        return url
    folder = (info.context or {}).get("folder") if isinstance(info.context, dict) else None
    path = os.path.normpath(Path(folder or ".") / address.database)
    return f"{_FILE}:///{quote(path)}"


def _path(url: str, parts: SplitResult) -> str:
    """Return the path of a database file, which is all that its address holds."""
    if parts.netloc or parts.query or parts.fragment or not url.lower().startswith(f"{_FILE}:///"):
        raise ValueError(f"holds more than a path; {_FILE_HINT}")
    path = unquote(parts.path[1:])
    if not path or path.startswith(":memory:") or "\0" in path:
        raise ValueError(f"names no file; {_FILE_HINT}")
    return path


AddressText = Annotated[str, AfterValidator(_checked)]
"""An address as a policy writes it."""

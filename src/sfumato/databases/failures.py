"""What a server says when something does not work, in our words: by its code, never by its text, which may quote a value or a password."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sfumato.databases.table import TableName
from sfumato.errors import DataError, SfumatoError, UnreachableError, UsageError

_NO_SERVER = "look at host and port, and whether the server runs and lets this machine in"


@dataclass(frozen=True)
class Failure:
    """A kind of failure: what it is, its code, and what to do."""

    words: str
    code: str
    hint: str
    of_data: bool = False

    def error(self, server: str, detail: str = "") -> SfumatoError:
        """Return the error for a server."""
        kind = DataError if self.of_data else UnreachableError
        return kind(f"{server} {self.words}{f' ({detail})' if detail else ''}", code=self.code, hint=self.hint)


GONE = Failure("cannot be reached, or has ended the connection", code="database-unreachable", hint=_NO_SERVER)
REFUSED = Failure(
    "refuses the user or the password",
    code="database-refused",
    hint="the user in the address; password: {environment: NAME}, {file: path} or {command: [...]}",
)
NO_DATABASE = Failure(
    "has no such database, or does not show it to this user", code="database-missing", hint="look at the name at the end of the address"
)
NO_SCHEMA = Failure(
    "has no such schema, or does not show it to this user",
    code="database-missing",
    hint="CREATE SCHEMA ..., or look at schema: in the source or the sink",
)
NO_RIGHT = Failure(
    "does not allow this user to do that",
    code="database-rights",
    hint="GRANT SELECT on the source; for a sink USAGE and CREATE on its schema, and TEMPORARY on the database",
)
NO_MYSQL_RIGHT = replace(
    NO_RIGHT,
    hint="GRANT SELECT on the source; for a sink CREATE, DROP, ALTER, INSERT and SELECT in its database, and with CREATE TEMPORARY TABLES in the "
    "database sfumato_staging_ and the name of the user",
)
WHERE_RIGHTS_ARE = "docs/databases.md has the rights that a run needs"
CROWDED = Failure(
    "lets in no further connection of this user",
    code="database-unreachable",
    hint="end other sessions, or raise CONNECTION LIMIT of the user or max_connections of the server; two are enough",
)
ONLY_READ = Failure(
    "lets this session only read",
    code="database-rights",
    hint="name the server that is written to, not one that follows it; or ALTER ROLE ... RESET default_transaction_read_only",
)
UNMET = Failure(
    "has a constraint on the table that is replaced which the release does not meet",
    code="database-value",
    hint="drop the constraint or the unique index, or name another table",
    of_data=True,
)
REFERRED_TO = Failure(
    "has rows that refer to some that are to be deleted, by a foreign key, or another constraint that keeps these",
    code="retention-referenced",
    hint="delete what refers to the rows, or retain it first; what is archived by then is finished by the next run",
)
TOO_FAR = Failure(
    "follows foreign keys to so many tables or rows only when rows are deleted, and these would go further",
    code="retention-cascade",
    hint="delete rows that refer to others yourself, the last ones first; what is archived by then is finished by the next run",
)
FULL = Failure("has no room left on its disk", code="database-full", hint="make room there, and run again")
LOCKED = Failure("did not get a lock in time", code="database-locked", hint="run again when nobody else works on the table")
DEADLOCK = Failure(
    "has ended what this run was doing, because it and somebody else waited for each other", code=LOCKED.code, hint="run again: it goes on from there"
)
VALUE = Failure(
    "cannot hold a value that would be written",
    code="database-value",
    hint="mask or remove zero bytes in text, and numbers beyond a type",
    of_data=True,
)
CHARACTER = Failure(
    "has a character that UTF-8 has not, or was to hold one that its own encoding has not",
    code="database-encoding",
    hint="mask or map the texts that have it, or write to a database that was made with ENCODING 'UTF8'",
)
UNCLEAR_TEXTS = Failure(
    "keeps texts in an encoding that is not to be had as UTF-8, each character as one",
    code="database-encoding",
    hint="CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0, and restore a dump there (of SQL_ASCII with the right SET client_encoding in it)",
)
COMPUTED = Failure(
    "cannot compute a value of the source, such as one that is divided by zero",
    code="database-value",
    hint="look at what the view that is read computes, and let it give null there",
    of_data=True,
)


def computed_by(table: TableName) -> Failure:
    """Return that failure of a table or a view that is known by its name."""
    hint = f"look at what {table} computes, as a view or in columns of its own, and let it give null there"
    return replace(COMPUTED, words=f"cannot compute a value of {table}, such as a number or a time that is none or too large", hint=hint)


ALTERED = Failure(
    "has a table that somebody has altered while the run worked with it",
    code="database-changed",
    hint="run again when nobody changes the tables; sfumato drift says what has become of the columns",
    of_data=True,
)
CHANGED = Failure(
    "no longer has a table or a column that was there when the run began",
    code="database-changed",
    hint="run again when nobody changes the tables; sfumato drift says what has become of the columns",
    of_data=True,
)
PARTS_CHANGED = Failure(
    "has given the table other parts since the run began to read it",
    code="database-changed",
    hint="run again when nobody attaches or detaches partitions, or lets tables inherit",
    of_data=True,
)
FAILED = Failure("could not do what it was asked", code="database-failed", hint="the server's own log says more")


def named_in(statement: str, name: str, quoted: Callable[[str], str]) -> str | None:
    """Return a name of which a server speaks, as people write it, where the statement has it too: else it may be anything, also a value.

    >>> named_in('SELECT 1 FROM "ward"."visits"', "visits", lambda name: f'"{name}"')
    'ward.visits'
    >>> named_in('SELECT 1 FROM "visits"', "Ann", lambda name: f'"{name}"') is None
    True
    """
    mark = re.escape(quoted("")[:1])
    found = re.search(rf"(?:{mark}([^{mark}]+){mark}\.)?{re.escape(quoted(name))}", statement)
    if found is None or not name:
        return None
    return f"{found[1]}.{name}" if found[1] else name


def of_code(code: str | None, known: Mapping[str, Failure]) -> Failure:
    """Return the failure that a code, or the beginning of one, stands for."""
    text = code or ""
    return next((known[text[:length]] for length in range(5, 0, -1) if text[:length] in known), FAILED)


NO_TABLES = "look at schema: and at the rights of the user, to whom no table of it is shown"
"""What is tried where a table is not found among none."""


def busy(server: str) -> UsageError:
    """Return what is said where another run does the same."""
    return UsageError(f"another run is doing this on {server}", code="database-busy", hint="wait until it has ended")

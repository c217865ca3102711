"""Sessions of PostgreSQL: how they are opened, and what goes wrong in one, in our words.

Whoever may make a function or an operator in a schema where a session looks can have it called in the place of one of the server's own, wherever the
types of that do not fit exactly. So a session looks nowhere but among the server's own, from its beginning; tables have the names of their schemas,
and where a policy gives none it is looked for where the session would have looked.

Nor may row-level security hide anything without a word: a statement that would see a part of a table fails.

Texts come and go in UTF-8, whatever the encoding of the database is and whatever a role, a database or the environment says: the server makes the one
of the other. Where it does not know its own (SQL_ASCII), or one character of UTF-8 stands for several there, texts that are two inside would be one
here, and nothing is done there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from sfumato.databases.address import Address
from sfumato.databases.failures import (
    CHANGED,
    CHARACTER,
    COMPUTED,
    CROWDED,
    DEADLOCK,
    FULL,
    GONE,
    LOCKED,
    NO_DATABASE,
    NO_RIGHT,
    NO_SCHEMA,
    ONLY_READ,
    REFUSED,
    UNCLEAR_TEXTS,
    UNMET,
    VALUE,
    Failure,
    named_in,
    of_code,
)
from sfumato.databases.postgresql_types import quoted_name
from sfumato.errors import SfumatoError, UnreachableError

_LOCK = "10s"
# qualified, for it is the one statement of a session that looks where the user's do
_PATH = "SELECT pg_catalog.unnest(pg_catalog.current_schemas(false))"
FIXED = {
    "search_path": "pg_catalog,pg_temp",
    "row_security": "off",
    # how values are written as text, and texts are read, must not depend on whose session it is
    "DateStyle": "ISO,YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
}
"""How sessions are set, whatever the settings of a user or a server are."""
# of the other encodings that a database may have each character is one of UTF-8 that no other is
_UNCLEAR = ("SQL_ASCII", "EUC_JP", "EUC_TW", "MULE_INTERNAL")
DENIED = re.compile("(permission denied for|must be owner of) (schema|table|view|database|materialized view|foreign table|sequence)")
"""What this user may not do, of which kind it is, in words of the server."""
_DENIED_WHERE = re.compile(f"{DENIED.pattern}(?: (.+))?")
VALUES = "22"
"""How codes begin of values that the server cannot compute, or hold."""
_FAILURES = {
    "3F000": NO_SCHEMA,
    "08": GONE,
    "57P": GONE,
    "28": REFUSED,
    "3D000": NO_DATABASE,
    "42501": NO_RIGHT,
    "25006": ONLY_READ,
    "23": UNMET,
    # a foreign key between columns of two types
    "42804": UNMET,
    "42830": UNMET,
    "53300": CROWDED,
    "53100": FULL,
    "53400": FULL,
    "42P01": CHANGED,
    "42703": CHANGED,
    "55P03": LOCKED,
    "40P01": DEADLOCK,
    "22012": COMPUTED,
    "2201E": COMPUTED,
    "2201F": COMPUTED,
    "22P05": CHARACTER,
    VALUES: VALUE,
}


def catalogue_session(address: Address, password: str | None) -> tuple[Any, list[str]]:
    """Open a session that is asked what the catalogue says; return the schemas too in which it would have looked for tables."""
    psycopg, _ = _drivers()
    with postgresql_errors(address.shown):
        session = psycopg.connect(_uri(address, password), autocommit=True)
        try:
            encoding = session.info.parameter_status("server_encoding")
            if encoding in _UNCLEAR:
                raise UNCLEAR_TEXTS.error(address.shown, str(encoding))
            path = [schema for (schema,) in session.execute(_PATH).fetchall() if schema not in ("pg_catalog", "information_schema")]
            for name, value in (FIXED | {"lock_timeout": _LOCK}).items():
                session.execute(f"SET {name} = {', '.join(repr(part) for part in value.split(','))}")
        except BaseException:
            session.close()
            raise
    return session, path


def working_session(address: Address, password: str | None) -> Any:
    """Open a session in which rows come and go. Its driver asks for something as soon as it is there, so it is told before where to look."""
    _, dbapi = _drivers()
    fixed = " ".join(f"-c{name}={value}" for name, value in FIXED.items())
    with postgresql_errors(address.shown):
        session = dbapi.connect(_uri(address, password, options=fixed))
        with session.cursor() as cursor:
            # a session waits while other tables are worked on
            for setting in (f"SET lock_timeout = '{_LOCK}'", "SET idle_in_transaction_session_timeout = 0"):
                cursor.execute(setting)
        session.commit()
    return session


@contextmanager
def stated(session: Any) -> Iterator[Any]:
    """Yield a cursor of a session in which rows come and go.

    While the server works the driver takes an interrupt for itself, and only cancels the statement, if that still goes on: nobody would hear of it.
    """
    with session.cursor() as cursor:
        cursor._stmt.close()
        cursor._stmt = heard = _heard()(session._conn)
        try:
            yield cursor
        except Exception:
            if heard.interrupted:
                raise KeyboardInterrupt from None
            raise
        if heard.interrupted:
            raise KeyboardInterrupt


_INTERNAL = "XX000"
# a statement that is told with what went wrong in it may name these words too, as a pattern
_AT_ONCE = re.compile("tuple concurrently [a-z]")


@cache
def _heard() -> Any:
    """Return the kind of statement that notes when it is cancelled."""
    from adbc_driver_manager._lib import AdbcStatement

    class Heard(AdbcStatement):
        interrupted = False

        def cancel(self) -> None:
            self.interrupted = True
            super().cancel()

    return Heard


def _uri(address: Address, password: str | None, **more: str) -> str:
    secret = f":{quote(password, safe='')}" if password is not None else ""
    who = f"{quote(address.user, safe='')}{secret}@" if address.user else ""
    # said to be none, or a variable of the environment would send us to another server than the one that is named
    options = {"connect_timeout": "10", **address.options, "hostaddr": "", "client_encoding": "UTF8", **more}
    return f"postgresql://{who}{address.host}:{address.port}/{quote(address.database, safe='')}?{urlencode(options, quote_via=quote)}"


@contextmanager
def postgresql_errors(server: str, statement: str = "", meaning: Mapping[str, Failure] | None = None) -> Iterator[None]:
    """Turn what the drivers say into our errors: their own words may quote a value. ``meaning`` is what codes mean in this statement alone."""
    import adbc_driver_manager
    import psycopg

    try:
        yield
    except (psycopg.Error, adbc_driver_manager.Error) as error:
        code = error.sqlstate
        # somebody else gives or takes rights, or alters the same table: the server's own words, which quote nothing
        at_once = code == _INTERNAL and _AT_ONCE.search(str(error))
        failure = LOCKED if at_once else of_code(code, {**_FAILURES, **(meaning or {})}) if code else _without_code(error)
        detail = f"SQLSTATE {code}{_denied(str(error), statement) if failure is NO_RIGHT else ''}"
        raise failure.error(server, detail if code else "") from None


def _denied(said: str, statement: str) -> str:
    """Return what is not allowed, and where; no name that the statement has not, for a function of somebody's may say anything."""
    denied = _DENIED_WHERE.search(said)
    if denied is None:
        return ""
    # as the server has it in its words, with or without marks around it
    named = next((found for name in _names(denied[3] or "") if (found := named_in(statement, name, quoted_name))), None)
    return f", {denied[1]} {denied[2]}{f' {named}' if named else ''}"


def _names(said: str) -> Iterator[str]:
    """Yield what may be the name at the beginning of some words: the driver has a code behind it, on the same line or the next."""
    line = said.splitlines()[0] if said else ""
    yield from dict.fromkeys((line, line.partition(" ")[0], line.rstrip(".")))


def while_reading(server: str, error: Exception, meaning: Mapping[str, Failure]) -> SfumatoError:
    """Return our error for one that came while rows were read, which has its code within its words."""
    found = re.search(r"SQLSTATE:? ?([0-9A-Z]{5})", str(error))
    code = found[1] if found else None
    return of_code(code, {**_FAILURES, **meaning}).error(server, f"SQLSTATE {code}" if code else "")


def _drivers() -> tuple[Any, Any]:
    try:
        import psycopg
        from adbc_driver_postgresql import dbapi
    except ImportError:
        words = "PostgreSQL needs the libraries psycopg and adbc-driver-postgresql"
        raise UnreachableError(words, code="sql-missing", hint="pip install 'sfumato[sql]'") from None
    return psycopg, dbapi


def _without_code(error: Exception) -> Failure:
    """Return the failure of a connection that was never made: libpq gives no code, but says whether the server answered."""
    said = str(error)
    if "too many" in said or "remaining connection slots" in said:
        return CROWDED
    if "conversion between" in said:
        return UNCLEAR_TEXTS
    refused = "authentication failed" in said or "no password supplied" in said or "no pg_hba.conf entry" in said or "role" in said
    return REFUSED if refused else NO_DATABASE if "does not exist" in said else GONE

"""Sessions of MySQL and MariaDB: how they are opened, and what goes wrong in one, in our words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from sfumato.databases.address import Address
from sfumato.databases.failures import (
    ALTERED,
    CHANGED,
    COMPUTED,
    DEADLOCK,
    FULL,
    GONE,
    LOCKED,
    NO_DATABASE,
    NO_MYSQL_RIGHT,
    REFUSED,
    TOO_FAR,
    VALUE,
    WHERE_RIGHTS_ARE,
    Failure,
    named_in,
    of_code,
)
from sfumato.databases.mysql_types import quoted_name
from sfumato.errors import UnreachableError

SECONDS = 10
"""How long a session waits, for a server and for tables that others work on."""
_DEEPEST = 4294967295
# what a server may have set for all, or a user for themselves: rows would be left out, also by recursive queries that are ended early without a word,
# texts and numbers be read or written in another way, or tables be made that know no transactions. A session waits while other tables are worked
# on. Each of the two servers takes what the other alone has for a comment
SETTINGS = f"""\
SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES', lock_wait_timeout = {SECONDS}, wait_timeout = 86400,
    sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, default_storage_engine = 'InnoDB',
    foreign_key_checks = 1, unique_checks = 1, div_precision_increment = 4, lc_time_names = 'en_US' /*M!100005 , default_regex_flags = '' */
    /*M!100202 , max_recursive_iterations = {_DEEPEST} */ /*!80003 , cte_max_recursion_depth = {_DEEPEST} */
"""
_COMMANDS = "SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|INDEX|CREATE VIEW|SHOW VIEW"
_DENIED = re.compile(f"({_COMMANDS})[A-Z, ]{{0,60}} command denied(?: to user .* for table .*?([^`'.]+)[`']?$)?")
_NO_DATABASE = re.compile("to database [`']([^`']+)[`']$")
_ON_DATABASE = "1044"
_FAILURES = {
    "1045": REFUSED,
    "1698": REFUSED,
    "1049": NO_DATABASE,
    "1044": NO_MYSQL_RIGHT,
    "1142": NO_MYSQL_RIGHT,
    "1227": NO_MYSQL_RIGHT,
    "1370": NO_MYSQL_RIGHT,
    "1021": FULL,
    "1114": FULL,
    "1051": CHANGED,
    "1054": CHANGED,
    "1146": CHANGED,
    "1412": ALTERED,
    "1205": LOCKED,
    "1213": DEADLOCK,
    "1264": VALUE,
    "1265": VALUE,
    "1366": VALUE,
    "1406": VALUE,
    "1365": COMPUTED,
    "1411": COMPUTED,
    "1690": COMPUTED,
    "3141": COMPUTED,
    "1053": GONE,
    "1317": GONE,
    "1927": GONE,
    "2": GONE,
    # the driver says so of a connection that it has given up
    "0": GONE,
}
WHILE_READING = ("1292", "1365", "1411", "1690", "3141")
"""What a server says of values that a view or a column computes from others; by the first also of a time that a column cannot hold."""
# what goes wrong with a file has one code, and the system's own behind it
_OF_A_FILE, _NO_ROOM = ("3", "1026", "1030"), re.compile(r"\b(28|122)\b")
# an engine's errors have one code too; of this one it says in words that foreign keys are followed 15 rows deep
_OF_AN_ENGINE, _DEEP = "1296", re.compile(r"\b193\b")
# not among the beginnings above: codes of the client begin with it too
_DISK_FULL = "20"


@contextmanager
def mysql_errors(server: str, statement: str = "", meaning: Mapping[str, Failure] | None = None) -> Iterator[None]:
    """Turn what the driver says into our errors: its own words may quote a value. ``meaning`` is what codes mean in this statement alone."""
    try:
        yield
    except (driver().Error, OSError) as error:
        code = str(error.args[0]) if error.args and isinstance(error.args[0], int) else None
        full = code == _DISK_FULL or (code in _OF_A_FILE and _NO_ROOM.search(str(error)))
        deep = code == _OF_AN_ENGINE and _DEEP.search(str(error))
        failure = FULL if full else TOO_FAR if deep else of_code(code, {**_FAILURES, **(meaning or {})})
        denied, grant = _denied(code, str(error.args[-1]), statement) if failure is NO_MYSQL_RIGHT else ("", None)
        failure = failure if grant is None else replace(failure, hint=f"{grant}; {WHERE_RIGHTS_ARE}")
        detail = f"error {code}{denied}"
        raise failure.error(server, detail if code else "") from None


def _denied(code: str | None, said: str, statement: str) -> tuple[str, str | None]:
    """Return what is not allowed, and where, and what would allow it; no name that the statement has not, which may be anything."""
    if code == _ON_DATABASE:
        database = _NO_DATABASE.search(said)
        named = named_in(statement, database[1], quoted_name) if database else None
        return f", on the database {named}" if named else ", on a database", None
    denied = _DENIED.search(said)
    if denied is None:
        return "", None
    named = named_in(statement, denied[2], quoted_name) if denied[2] else None
    return f", no {denied[1]} on {named or 'a table'}", f"GRANT {denied[1]} ON {named}" if named else None


def opened(address: Address, password: str | None) -> Any:
    """Open a session."""
    options = dict(address.options)
    return connections()(
        host=address.host,
        port=address.port,
        user=address.user or None,
        password=password or "",
        database=address.database,
        charset="utf8mb4",
        autocommit=True,
        local_infile=True,
        connect_timeout=int(options.pop("connect_timeout", SECONDS)),
        # who names an authority wants the server to be held to it, which the driver does not do by itself
        **({"ssl_verify_cert": True, "ssl_verify_identity": True} if "ssl_ca" in options else {}),
        **options,
    )


@cache
def connections() -> Any:
    """Return the class of the driver's connections, which here share what they need to encrypt where an address names no authority.

    The driver verifies nobody then, and yet each of its connections would read all authorities that the machine knows: 20 milliseconds.
    """
    known: list[Any] = []

    class Connection(driver().connections.Connection):  # type: ignore[misc]
        def _create_ssl_ctx(self, settings: Any) -> Any:
            if settings:
                return super()._create_ssl_ctx(settings)
            known[:] = known or [super()._create_ssl_ctx(settings)]
            return known[0]

    return Connection


def driver() -> Any:
    """Return the library that speaks with these servers."""
    try:
        import pymysql
    except ImportError:
        raise UnreachableError("MySQL and MariaDB need the library pymysql", code="sql-missing", hint="pip install 'sfumato[sql]'") from None
    return pymysql

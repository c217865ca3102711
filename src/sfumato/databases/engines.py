"""Which engine a server is, as far as its settings let expressions mean there what they mean everywhere."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sfumato.databases.dialects import Engine
from sfumato.databases.table import TableColumn

_LEAST_PACKET = 1 << 20
# numbers that do not fit are an error, and a backslash stands before what is meant by it
_SPARK = {"spark.sql.ansi.enabled": "true", "spark.sql.parser.escapedStringLiterals": "false"}


def engine_of(connection: Any, kind: str) -> Engine | None:
    """Return the engine behind a connection; None where characters are bytes, or literals and expressions are read otherwise: rows then come here.

    The longest text that is masked in MySQL or MariaDB has 64 KiB, and four times as many at most once it is masked: a packet must hold it.
    """
    if kind == "duckdb":
        return "duckdb"
    if kind == "spark":
        return "spark" if all(connection.session.conf.get(name) == value for name, value in _SPARK.items()) else None
    if kind == "postgresql":
        settings = "current_setting('server_encoding'), current_setting('standard_conforming_strings')"
        return "postgresql" if _row(connection, f"SELECT {settings}", 2) == ["UTF8", "on"] else None
    packet, mode = _row(connection, "SELECT CAST(@@max_allowed_packet AS CHAR), @@sql_mode", 2)
    ours = int(packet) >= _LEAST_PACKET and "NO_BACKSLASH_ESCAPES" not in mode and "PAD_CHAR_TO_FULL_LENGTH" not in mode
    # MariaDB alone has these flags, and MySQL alone knows no such variable
    (version,) = _row(connection, "SELECT VERSION()", 1)
    (flags,) = _row(connection, "SELECT @@default_regex_flags", 1) if "MariaDB" in version else ("",)
    return "mysql" if ours and not flags else None


def _row(connection: Any, query: str, number: int) -> list[str]:
    columns = [TableColumn(f"c{place}", "text", pa.string()) for place in range(number)]
    (batch,) = connection.select(query, columns)
    return [str(column[0].as_py()) for column in batch.columns]

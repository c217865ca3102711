"""A release takes its place: a path gets a new version and a pointer to it, a table is written under another name and renamed.

A reader who follows the pointer sees the old version or the new one, whole. No catalogue exchanges two tables in one step: for a moment between two
renames there is none, and whoever writes next puts the old one back should this process die in it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from contextlib import suppress
from typing import Any

from sfumato.databases.spark_connection import SparkConnection
from sfumato.databases.spark_files import files_of
from sfumato.databases.spark_session import spark_errors
from sfumato.databases.spark_table import POINTER, VERSION, SparkTable
from sfumato.databases.spark_types import quoted_name
from sfumato.errors import SfumatoError, UnreachableError, UsageError


def refuse_place(connection: SparkConnection, target: SparkTable) -> None:
    """Refuse a place that no release can take, before anything is done."""
    session = connection.session
    if target.is_path:
        files, uri = files_of(session, target.name)
        if files.is_file(uri):
            raise UnreachableError(f"{target} is a file", code="sink-not-folder", hint="name a folder: a release has several files")
        strange = [name for name in files.names(uri) if name != POINTER and not VERSION.fullmatch(name) and not name.startswith(".")]
        if strange:
            hint = "name another folder, or remove it yourself"
            raise UnreachableError(f"{target} is a folder that holds other things than releases", code="sink-not-release", hint=hint)
        return
    if not re.fullmatch(r"[A-Za-z0-9_]+", target.name):
        raise UsageError(
            "the catalogue of Spark has only letters, digits and _ in the names of tables", code="database-name", hint="name it otherwise"
        )
    with spark_errors(str(target)):
        name = target.written(quoted_name)
        if session.catalog.tableExists(name) and session.catalog.getTable(name).tableType not in ("MANAGED", "EXTERNAL"):
            raise UnreachableError(f"{target} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")


def publish(connection: SparkConnection, staged: str, target: SparkTable) -> None:
    """Let Parquet files of a private folder take their place."""
    if target.is_path:
        _publish_path(connection.session, staged, target.name)
    else:
        _publish_table(connection.session, staged, target)


def _publish_path(session: Any, staged: str, path: str) -> None:
    files, uri = files_of(session, path)
    version = f"v-{secrets.token_hex(8)}"
    try:
        files.move(staged, f"{uri}/{version}")
        files.write(f"{uri}/{POINTER}", f"{version}\n")
    except BaseException:
        with suppress(SfumatoError):
            # what can fail after the pointer has moved leaves the release whole
            if (files.read(f"{uri}/{POINTER}") or "").strip() != version:
                files.remove(f"{uri}/{version}")
        raise
    with suppress(SfumatoError):
        # what is older, and what a process left behind that died
        for name in files.names(uri):
            if name != version and (VERSION.fullmatch(name) or name.startswith(f".{POINTER}.")):
                files.remove(f"{uri}/{name}")


def _publish_table(session: Any, staged: str, target: SparkTable) -> None:
    mark = hashlib.sha256(repr((target.schema, target.name)).encode()).hexdigest()[:16]
    new, old = (SparkTable(f"sfumato_{mark}_{word}", target.schema) for word in ("new", "old"))
    with spark_errors(str(target)):
        _settle(session, target, new, old)
        frame = session.read.option("__globPaths__", "false").parquet(staged)
        try:
            frame.write.saveAsTable(new.written(quoted_name))
            if _totals(session.table(new.written(quoted_name))) != _totals(frame):
                raise UnreachableError(f"{target} was not written as it was verified", code="spark-failed", hint="Spark's own log says more")
            if _is_there(session, target):
                _rename(session, target, old)
            _rename(session, new, target)
        except BaseException:
            with suppress(Exception):
                _settle(session, target, new, old)
            raise
        with suppress(Exception):
            _drop(session, old)


def _settle(session: Any, target: SparkTable, new: SparkTable, old: SparkTable) -> None:
    """Undo what a process has left that died between two steps."""
    if _is_there(session, old) and not _is_there(session, target):
        _rename(session, old, target)
    _drop(session, new)
    _drop(session, old)


def _is_there(session: Any, table: SparkTable) -> bool:
    return bool(session.catalog.tableExists(table.written(quoted_name)))


def _rename(session: Any, table: SparkTable, name: SparkTable) -> None:
    session.sql(f"ALTER TABLE {table.written(quoted_name)} RENAME TO {name.written(quoted_name)}")


def _drop(session: Any, table: SparkTable) -> None:
    session.sql(f"DROP TABLE IF EXISTS {table.written(quoted_name)}")


def _totals(frame: Any) -> tuple[int, str]:
    """Return how many rows there are, and the sum of their fingerprints."""
    from sfumato.databases.spark_prints import counted, printed

    short = frame.toDF(*(f"s{place}" for place in range(len(frame.columns))))
    ((rows, told),) = short.agg(counted(), printed(short.columns)).collect()
    return int(rows), str(told)

"""Where rows are that Spark sees: a table or view of its catalogue, Parquet files under a path, or a data frame of the program that calls us.

A path that a release was put under holds versions, and a pointer that says which of them is the release: it is followed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from sfumato.databases.spark_files import files_of
from sfumato.databases.spark_session import spark_errors
from sfumato.databases.spark_types import column_of, quoted_name
from sfumato.databases.table import TableColumn, TableName
from sfumato.errors import SfumatoError

POINTER = "_current"
VERSION = re.compile(r"v-[0-9a-f]{16}")


@dataclass(frozen=True)
class SparkTable(TableName):
    """A table by its name, or by a path, or a data frame that is here already."""

    is_path: bool = False
    frame: Any = field(default=None, compare=False)

    @property
    def shown(self) -> str:
        """It in words."""
        return str(self) if self.is_path else "the data frame" if self.frame is not None else f"table {self} of Spark"


def frame_of(session: Any, table: SparkTable) -> Any:
    """Return the rows, of which nothing is read yet."""
    if table.frame is not None:
        return table.frame
    with spark_errors(str(table)):
        if table.is_path:
            return session.read.parquet(released(session, table.name))
        return session.table(table.written(quoted_name))


def columns_of(session: Any, table: SparkTable) -> list[TableColumn]:
    """Return the columns, in their order."""
    frame = frame_of(session, table)
    with spark_errors(str(table)):
        return [column_of(each) for each in frame.schema.fields]


def released(session: Any, path: str) -> str:
    """Return the version that the pointer under a path names; the path itself, where there is none."""
    try:
        files, uri = files_of(session, path)
        told = files.read(f"{uri}/{POINTER}")
    except SfumatoError:
        # what is wrong with it Spark says when it reads
        return path
    return f"{uri}/{told.strip()}" if told is not None and VERSION.fullmatch(told.strip()) else path


def identity_of(session: Any, table: SparkTable) -> str | None:
    """Return what tells a place from all others, whatever it is called; None where there is nothing to tell."""
    if table.frame is not None:
        return None
    if table.is_path:
        with spark_errors(table.name):
            found = session._jvm.org.apache.hadoop.fs.Path(table.name)
            uri = str(found.getFileSystem(session._jsc.hadoopConfiguration()).makeQualified(found).toString())
        return f"file:{os.path.realpath(uri.removeprefix('file:'))}" if uri.startswith("file:") else uri.rstrip("/")
    with spark_errors(str(table)):
        if not session.catalog.tableExists(table.written(quoted_name)):
            return None
        known = session.catalog.getTable(table.written(quoted_name))
        return f"{known.catalog}/{known.namespace}/{known.name}"


def reads_files_of(session: Any, table: SparkTable, replaced: SparkTable) -> bool:
    """Return whether a view or a frame is made of files of a place, or of those of a table."""
    if not replaced.is_path and identity_of(session, replaced) is None:
        return False
    files = {_plain(file) for file in _files(session, table)}
    if replaced.is_path:
        # of a place nothing is removed but older versions
        beneath = re.compile(f"{re.escape(_plain(str(identity_of(session, replaced))))}/{VERSION.pattern}/")
        return any(beneath.match(file) for file in files)
    return not files.isdisjoint(map(_plain, _files(session, replaced)))


def _files(session: Any, table: SparkTable) -> list[str]:
    frame = frame_of(session, table)
    with spark_errors(str(table)):
        return list(frame.inputFiles())


def _plain(uri: str) -> str:
    """Return the address of a file in one of its writings."""
    return f"file:{os.path.realpath(unquote(re.sub('^file:/*', '/', uri)))}" if uri.startswith("file:") else uri

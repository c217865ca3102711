"""A dump: a script of SQL that makes a table in an empty database and fills it, for PostgreSQL, or for MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, ClassVar

import pyarrow as pa
from pydantic import Field, PrivateAttr, model_validator

from sfumato.core.class_numbers import CLASS_ID, CLASS_SIZE, ClassNumbers, refused_classes
from sfumato.core.compression import Compression, plain_name
from sfumato.core.file_writer import TextWriter
from sfumato.core.files import PolicyPath
from sfumato.core.interfaces import Identified, Source, Writer
from sfumato.core.settings import Settings
from sfumato.databases.column_names import refused_columns
from sfumato.databases.dump_script import Dialect, refused_names, script_of
from sfumato.databases.mysql_types import made_kind
from sfumato.databases.postgresql_types import plain
from sfumato.sinks._dumped import Dumped
from sfumato.sinks._dumped_classes import DumpedClasses
from sfumato.sinks._dumps_together import DumpsTogether, TableOfDumps


class SqlDump(Settings):
    """A file that psql, or the program mariadb or mysql, restores: the released rows, in columns of their types."""

    record_beside: ClassVar[bool] = True
    """Where no record is named it stands beside the file."""

    path: Annotated[PolicyPath, Field(description="the file, relative to the policy; its ending may say how it is compressed")]
    table: Annotated[str | None, Field(min_length=1, description="what the table is called; as the file where nothing is said")] = None
    classes: Annotated[
        str | None, Field(min_length=1, description="a second table, for the equivalence classes; the rows then have their numbers only")
    ] = None
    dialect: Annotated[Dialect, Field(description="whose SQL it is; that of MySQL is MariaDB's too")] = "postgresql"
    compression: Annotated[Compression, Field(description="how the file is compressed; by the ending of its name where nothing is said")] = "infer"
    record: Annotated[
        PolicyPath | None, Field(description="the file that the record goes to, with tables the folder; beside the dump where it is not given")
    ] = None

    _together: DumpsTogether | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _can_be_called_so(self) -> SqlDump:
        if self.classes == self.table_name:
            raise ValueError("needs another table for the classes than for the rows")
        wrong = refused_names(self.dialect, [self.table_name, *([self.classes] if self.classes is not None else [])])
        if wrong is not None:
            raise ValueError(f"needs another name for its table: {wrong}")
        return self

    @property
    def table_name(self) -> str:
        """What the table is called."""
        return self.table or PurePath(plain_name(self.path)).stem

    @property
    def has_ranges(self) -> bool:
        """Whether the server has types for ranges: PostgreSQL has."""
        return self.dialect == "postgresql"

    def places(self) -> Sequence[str]:
        """Return the file."""
        return (self.path,)

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return what is wrong with a release of some columns; None where nothing is."""
        made = names if self.classes is None else [*names, CLASS_ID, CLASS_SIZE]
        return refused_names(self.dialect, made) or refused_classes(self.classes, names) or refused_columns(self.dialect, names)

    def parts(self) -> Sequence[Identified]:
        """Return nothing: no table of a database is replaced."""
        return ()

    def within(self, together: DumpsTogether) -> SqlDump:
        """Return the sink of one of several tables of one file."""
        sink = self.model_copy()
        sink._together = together
        return sink

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file as it is written here."""
        del names
        if self.classes is not None:
            return DumpedClasses(path=path, table=self.table_name, classes=self.classes, dialect=self.dialect, compression=self.compression)
        return Dumped(path=path, table=self.table_name, dialect=self.dialect, compression=self.compression)

    def open(self, schema: pa.Schema) -> Writer:
        """Begin a file under a private name, or a further table of one."""
        if self._together is not None:
            return TableOfDumps(self._together, self.table_name, schema, kinds_of(self.dialect, schema))
        return DumpWriter(self, schema) if self.classes is None else DumpOfClasses(self, self.classes, schema)


class DumpWriter(TextWriter):
    """A dump that nobody can see yet."""

    def __init__(self, sink: SqlDump, schema: pa.Schema) -> None:
        super().__init__(sink.path, sink.compression)
        self._sink, self._schema = sink, schema
        self._script = script_of(sink.dialect)
        try:
            self._put(self._script.beginning + self._script.table(sink.table_name, schema))
        except BaseException:
            self.abort()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        self._put(self._script.rows(self._sink.table_name, batch))

    def finish(self) -> Source:
        """Sync the file and return the source that reads it back."""
        self._put(self._script.end())
        self._end()
        sink = self._sink
        source = Dumped(path=str(self._file.path), table=sink.table_name, dialect=sink.dialect, compression=self._compression)
        return source.remember(kinds_of(sink.dialect, self._schema))


class DumpOfClasses(DumpWriter):
    """A dump of two tables: the rows as they come, then the classes that they belong to."""

    def __init__(self, sink: SqlDump, classes: str, schema: pa.Schema) -> None:
        self._numbers, self._classes = ClassNumbers(schema), classes
        self._kinds = kinds_of(sink.dialect, pa.schema([*schema, *(pa.field(name, pa.int64()) for name in (CLASS_ID, CLASS_SIZE))]))
        super().__init__(sink, self._numbers.rows)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows with the numbers of their classes."""
        super().write(self._numbers.numbered(batch))

    def finish(self) -> Source:
        """Write the classes, sync the file and return the source that reads both back, joined."""
        script, sink = self._script, self._sink
        self._put(script.end())
        self._put(script.table(self._classes, self._numbers.classes) + script.rows(self._classes, self._numbers.shown()) + script.end())
        self._end()
        source = DumpedClasses(
            path=str(self._file.path), table=sink.table_name, classes=self._classes, dialect=sink.dialect, compression=self._compression
        )
        return source.remember(self._kinds)


def kinds_of(dialect: Dialect, schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the types in which the columns of a dump are read back."""
    if dialect == "postgresql":
        return {field.name: plain(pa.nulls(0, field.type)).type for field in schema}
    return {field.name: made_kind(field) for field in schema}

"""One table in one file or in several: what the sources of all file formats do alike."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

import pyarrow as pa
from pydantic import Field

from sfumato.core.file_set import files_of, is_several
from sfumato.core.files import PolicyPath, file_errors, source_changed, state_of
from sfumato.core.formats import is_of
from sfumato.core.interfaces import Scan
from sfumato.core.nested_types import nested_type
from sfumato.core.settings import Settings
from sfumato.errors import DataError, number_of


class TableFiles(Settings):
    """A source whose path is a file, a folder of files or a pattern of their names.

    A format says how one file is read: in the methods that begin with ``file_``, ``path`` is that of one file.
    """

    path: Annotated[PolicyPath, Field(description="the file, a folder of files, or a pattern such as data/*.csv, relative to the policy")]

    @abstractmethod
    def file_schema(self) -> pa.Schema:
        """Return the columns of one file and their types."""

    @abstractmethod
    def file_batches(self, columns: Sequence[str], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of one file; refuse one that changes meanwhile."""

    def file_about(self) -> int | None:
        """Return about how many rows one file has; None where nobody knows."""
        return None

    def refuse_other_columns(self, first: Self, expected: pa.Schema, found: pa.Schema) -> None:
        """Refuse a file whose columns are not those of the first one, in the same order and of the same types."""
        refuse_other_names(self.path, first.path, expected, found)
        if expected.names != found.names:
            raise _differ(self.path, f"has its columns in another order than {first.path}", "write both in one order")
        other = [field.name for field in expected if _type_of(field) != _type_of(found.field(field.name))]
        if other:
            raise _differ(self.path, f"has columns of other types than {first.path}: {', '.join(other)}", "write both with the same types")

    def files(self) -> list[str]:
        """Return the files in the order in which they are read."""
        name = self.component_name()
        return files_of(self.path, lambda file: is_of(file, name), f"of the format {name}")

    def parts(self) -> list[Self]:
        """Return one source a file."""
        return [self.model_copy(update={"path": file}) for file in self.files()]

    def describe(self) -> pa.Schema:
        """Return the columns and their types; refuse files that do not have the same."""
        first, *others = self.parts()
        expected = first.file_schema()
        for part in others:
            found = part.file_schema()
            part.refuse_other_columns(first, expected, found)
            expected = pa.schema([found.field(field.name) if pa.types.is_string(field.type) else field for field in expected])
        return expected

    def state(self) -> str:
        """Return a token that changes when a file does, and when one appears or vanishes."""
        if not is_several(self.path):
            return state_of(self.path)
        told = hashlib.sha256()
        for file in self.files():
            told.update(f"{file}\0{state_of(file)}\0".encode(errors="surrogateescape"))
        return told.hexdigest()

    def about(self) -> int | None:
        """Return about how many rows there are: of several files, if all are as densely filled as the first."""
        first, *others = self.parts()
        rows = first.file_about()
        if rows is None or not others:
            return rows
        sizes = []
        for file in self.files():
            with file_errors(file):
                sizes.append(Path(file).stat().st_size)
        return rows * sum(sizes) // max(1, sizes[0])

    def scan(self) -> Scan:
        """Return the path and how its files are to be read."""
        return Scan(self.component_name(), (self.path,), self.model_dump(exclude={"path"}))

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns, file by file in the order of their names."""
        before = self.state()
        # looked at before the first row: a file that does not fit must not be met in the middle
        schema = self.describe() if is_several(self.path) else None
        for part in self.parts():
            for batch in part.file_batches(columns, coded):
                yield batch if schema is None else _widened(batch, schema)
        if self.state() != before:
            raise source_changed(self.path)


def _type_of(field: pa.Field) -> pa.DataType:
    """Return the type by which files are compared: texts of both widths are texts."""
    return nested_type(field) or (pa.string() if pa.types.is_large_string(field.type) else field.type)


def _widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of one file with their texts as wide as those of all files together."""
    columns = [_wide(batch.column(name)) if pa.types.is_large_string(schema.field(name).type) else batch.column(name) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names) if columns else batch


def _wide(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
    return column.cast(pa.large_string())


def refuse_other_names(path: str, first: str, expected: pa.Schema, found: pa.Schema) -> None:
    """Refuse a file that has other columns than the first one, whatever their order."""
    lacking = [name for name in expected.names if name not in found.names]
    further = [name for name in found.names if name not in expected.names]
    if 2 * len(lacking) > len(expected.names):
        # perhaps one of them has no header, and what looks like names are cells
        shared = len(expected.names) - len(lacking)
        agree = f"{shared or 'none'} of which {'is' if shared < 2 else 'are'} among the {len(expected.names)} of {first}"
        what = f"has {number_of(len(found.names), 'column')}, {agree}"
        raise _differ(path, what, "look at the first line of both, or name the files that belong together by a pattern")
    parts = [f"lacks columns that {first} has: {', '.join(lacking)}"] if lacking else []
    parts += [f"has columns that {first} does not have: {', '.join(further)}"] if further else []
    if parts:
        raise _differ(path, "; it ".join(parts), "write all files with the same columns, or name those that belong together by a pattern")


def _differ(path: str, what: str, hint: str) -> DataError:
    return DataError(f"{path} {what}", code="files-differ", hint=hint)

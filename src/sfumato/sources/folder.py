"""A folder of files of one format, which the endings of their names say: what a policy means by a bare path that ends with a slash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from sfumato.core.file_set import files_now, files_of
from sfumato.core.files import PolicyPath
from sfumato.core.formats import ENDINGS, format_of
from sfumato.core.interfaces import Scan
from sfumato.core.settings import Settings
from sfumato.core.table_files import TableFiles
from sfumato.errors import DataError
from sfumato.registry import find


class Folder(Settings):
    """All files of a folder and of those within it, as one table. Several formats in one folder are refused. Cost: that of the format."""

    path: Annotated[PolicyPath, Field(description="the folder, relative to the policy")]

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self._files().describe()

    def state(self) -> str:
        """Return a token that changes when a file does, and when one appears or vanishes."""
        return self._files().state()

    def about(self) -> int | None:
        """Return about how many rows there are; None where nobody knows."""
        return self._files().about()

    def scan(self) -> Scan:
        """Return the folder, whatever is in it."""
        return Scan("folder", (self.path,))

    def files(self) -> list[str]:
        """Return the files in the order in which they are read."""
        return self._files().files()

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read some columns, file by file in the order of their names."""
        return self._files().batches(columns, coded)

    def followed(self) -> TableFiles:
        """Return the source of the format for those who follow the folder: whatever is made in it later does not stop them."""
        known = files_now(self.path, _is_known)
        return self._of_format(known) if known else self._files()

    def _files(self) -> TableFiles:
        """Return the source of the format that the files have."""
        return self._of_format(files_of(self.path, _is_known, f"with one of the endings {ENDINGS}"))

    def _of_format(self, known: Sequence[str]) -> TableFiles:
        first, *others = [(file, format_of(file)) for file in known]
        other = next((file for file, kind in others if kind != first[1]), None)
        if other is not None:
            raise DataError(
                f"{self.path} holds files of several formats, such as {first[0]} and {other}",
                code="folder-formats",
                hint="name those of one format, as in source: data/*.csv",
            )
        name, settings = first[1] or ("delimited", {})
        source: TableFiles = find("sources", name)(path=self.path, **settings)
        return source


def _is_known(name: str) -> bool:
    return format_of(name) is not None

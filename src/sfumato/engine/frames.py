"""Data frames of other libraries: taken by Arrow's interface, given back as what they were. None of them is imported before it is needed."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, UsageError


def kind_of_frame(data: Any) -> str:
    """Return the library that a data frame is of: ``pandas``, ``polars``, or ``arrow`` for everything else."""
    library = type(data).__module__.partition(".")[0]
    return library if library in ("pandas", "polars") and library in sys.modules else "arrow"


def is_spark_frame(data: Any) -> bool:
    """Return whether a data frame is one of Spark, whose rows are not here."""
    return type(data).__module__.startswith("pyspark.sql.") and type(data).__name__ == "DataFrame"


def as_table(data: Any) -> pa.Table:
    """Return a data frame as an Arrow table. The index of a pandas frame is no column: it says which row is whose."""
    if not hasattr(data, "__arrow_c_stream__") or (kind_of_frame(data) != "arrow" and not hasattr(data, "columns")):
        hint = "a pyarrow.Table, a pandas or polars DataFrame; a LazyFrame after .collect()"
        raise UsageError(f"data is of the type {type(data).__name__}, which is no table", code="data-kind", hint=hint)
    try:
        table = pa.Table.from_pandas(data, preserve_index=False) if kind_of_frame(data) == "pandas" else pa.table(data)
        return pa.table([_readable(column) for column in table.columns], names=table.column_names)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # what the libraries say quotes cells
        raise _unreadable(data) from None


def _unreadable(data: Any) -> DataError:
    """Return the error of a data frame that is no Arrow table, with the columns that are to blame where that can be told."""
    names = [str(name) for name in getattr(data, "columns", [])]
    double = [name for name, times in Counter(names).items() if times > 1]
    mixed = [] if double or kind_of_frame(data) != "pandas" else [name for name in data.columns if not _is_of_one_type(data[name])]
    blamed = f": {', '.join(map(str, double or mixed))}" if double or mixed else ""
    what = "two columns have one name" if double else "values of several types are in one column"
    return DataError(
        f"the data frame cannot be read as an Arrow table: {what}{blamed}",
        code="frame-columns",
        hint="give each column one type, as in frame.astype({'age': 'string'}), and a name of its own",
    )


def _is_of_one_type(column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return False
    return True


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without views of text in a dictionary, which Arrow itself cannot look up."""
    kind = column.type
    if not (pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type)):
        return column
    chunks = [pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string())) for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.string()))


def as_frame(table: pa.Table, kind: str) -> Any:
    """Return an Arrow table as a data frame of a library."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table

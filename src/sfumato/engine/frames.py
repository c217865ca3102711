"""Data frames of other libraries: taken by Arrow's interface, given back as what they were. None of them is imported before it is needed."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa


def kind_of_frame(data: Any) -> str:
    """Return the library that a data frame is of: ``pandas``, ``polars``, or ``arrow`` for everything else."""
    library = type(data).__module__.partition(".")[0]
    return library if library in ("pandas", "polars") and library in sys.modules else "arrow"


def as_frame(table: pa.Table, kind: str) -> Any:
    """Return an Arrow table as a data frame of a library."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    return table

"""What masks have in common that look at groups of rows: those alike in some columns, or in one window of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Operation, Scope
from sfumato.core.number_columns import numbers_of
from sfumato.core.row_groups import row_groups
from sfumato.core.windows import Length, divides

KeptDecimals = Annotated[
    int | None, Field(ge=0, le=15, description="how many decimals are kept; none: as many as the column has, and all digits of floats, as in JSON")
]
"""The setting of masks that tell numbers of groups."""


class GroupedMask(Operation):
    """A mask within groups of rows, or within the whole table where no columns make groups."""

    every: Annotated[
        dict[str, Length],
        Field(description="the length of the windows into which a column of these is divided, rows of one window being alike: {day: 1w}, {age: 10}"),
    ] = {}

    @property
    @abstractmethod
    def alike(self) -> Sequence[str]:
        """The columns in which rows of a group are alike."""

    @model_validator(mode="after")
    def _known_columns(self) -> GroupedMask:
        if not set(self.every) <= set(self.alike):
            raise ValueError("divides a column into windows that makes no groups; name it with those that do")
        return self

    @property
    def reads(self) -> Sequence[str]:
        """The columns that make groups."""
        return self.alike

    @property
    def scope(self) -> Scope:
        """How many rows it looks at."""
        return "group" if self.alike else "table"

    def window_misfit(self, types: Mapping[str, ValueType | None]) -> str | None:
        """Return what is wrong with windows of columns whose types are known, as a clause; None where nothing is."""
        wrong = (name for name, length in self.every.items() if (kind := types.get(name)) is not None and not divides(kind, length))
        return next((f"makes windows of {self.every[name]} of the column {name}, which is of type {types[name]}" for name in wrong), None)

    def groups(self, columns: pa.RecordBatch) -> tuple[NDArray[np.int32], int]:
        """Return the group of each row, and how many there are."""
        return row_groups(columns, self.alike, self.every)


def one_as_list(value: object) -> object:
    """Return the name of a single column as the list that it stands for.

    >>> one_as_list("unit"), one_as_list(["unit", "ward"])
    (['unit'], ['unit', 'ward'])
    """
    return [value] if isinstance(value, str) else value


def told_apart(made: pa.Array, original: pa.Array) -> Mapping[str, NDArray[np.bool_]]:
    """Return the rows of which an operation on numbers made nothing: those whose groups it refuses, and those that hold no number."""
    gone, strange = missing(made), np.isnan(numbers_of(original))
    return {"": gone & ~strange, ", which takes numbers,": gone & strange}


def missing(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are missing."""
    found: NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    return found

"""Choice: every value becomes one of a given few, by chance or in turn. Taken in turn it is also called circular substitution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from sfumato.core import canonical
from sfumato.core.by_chance import ByChance
from sfumato.core.canonical import ValueType
from sfumato.core.draws import fractions
from sfumato.core.files import PolicyPath
from sfumato.core.mask import NOTHING, Card, MaskContext, text_of
from sfumato.core.policy_files import lines_of
from sfumato.core.row_groups import permuted
from sfumato.errors import DataError

_REVEALS = "That rows with different results had different values."


def _texts(given: Any) -> Any:
    """Return a list of texts; whole numbers are taken as they are written."""
    if not isinstance(given, list):
        return given
    if any(isinstance(one, bool) or not isinstance(one, str | int) for one in given):
        raise ValueError("needs texts or whole numbers; put other values in quotes")
    return [str(one) for one in given]


class Choice(ByChance):
    """Replaces every value by one of a list in the policy or in a file, one a line, each as likely as any other or by ``weights``.

    Chance comes from the operating system; with a ``key`` the choice is a function of the value, so that equal values stay equal. With ``turn`` the
    list is gone through from its beginning to its end and over again, for rows in an order that chance makes: each row takes the next one (``row``),
    or each distinct value, which then keeps it for this run, on a stream for the window (``value``); the column is held in memory. Missing values
    stay missing unless the policy says ``on_null: generate``; under a key they all become the same.

    >>> from sfumato.core.mask import MaskContext
    >>> towns = pa.RecordBatch.from_pydict({"town": ["Bremen", "Bonn"]})
    >>> set(Choice(values=["here", "there"]).apply(towns, MaskContext("town")).to_pylist()) <= {"here", "there"}
    True
    """

    values: Annotated[list[str] | None, BeforeValidator(_texts), Field(min_length=1, description="the values of which one is chosen")] = None
    path: Annotated[PolicyPath | None, Field(min_length=1, description="a file with one value a line, instead of a list")] = None
    weights: Annotated[list[float | int] | None, Field(description="how likely each value of the list is beside the others; none: all alike")] = None
    turn: Annotated[
        Literal["row", "value"] | None,
        Field(description="values are taken in turn, the next one for each row, or for each value, which then keeps it; none: by chance"),
    ] = None

    @model_validator(mode="after")
    def _fit_together(self) -> Choice:
        if (self.values is None) == (self.path is None):
            raise ValueError("needs a list of values or the path of a file, one of them")
        if self.turn is not None and (self.weights is not None or self.key is not None):
            raise ValueError("turn: takes neither weights nor a key, which decide what is chosen")
        if self.weights is None:
            return self
        if self.values is None or len(self.weights) != len(self.values):
            raise ValueError("weights: needs one for each value of a list")
        if not all(math.isfinite(weight) and weight > 0 for weight in self.weights):
            raise ValueError("weights: must be more than 0")
        return self

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            uniqueness="lossy",
            changes_type=True,
            scope="value" if self.turn is None else "table",
            generates=True,
            keyed=self.key is not None,
            reveals=_REVEALS if self.key is not None else f"{_REVEALS[:-1]}, about as many for each result." if self.turn == "value" else NOTHING,
        )

    @property
    def makes(self) -> ValueType | None:
        """Text, unless a value looks like a number or a date, or they are in a file: what is chosen an operation after it may take."""
        is_text = self.values is not None and all(canonical.infer(pa.array([value], pa.string())) == "text" for value in self.values)
        return "text" if is_text else None

    @property
    def outcomes(self) -> Sequence[str] | None:
        """The values of the list."""
        return self.values

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return one of the values for every row."""
        values = columns.column(context.column)
        if self.turn is not None:
            return self._values.take(pa.array(_turns(text_of(columns, context), self.turn) % len(self._values)))
        drawn = fractions(self.drawn(values, context)[:, 0])
        # the last bound is 1 but for rounding, and every fraction is below 1
        places = np.searchsorted(self._bounds[:-1], drawn, side="right")
        return self.of_type(self._values.take(pa.array(places)), values, context.kind)

    def read_files(self) -> None:
        """Read the values where they stand in a file, so that what is wrong with it is told with the policy."""
        _ = self._values

    @cached_property
    def _values(self) -> pa.Array:
        """The values to choose from; a file is read once, so that all rows see the same."""
        found = self.values if self.path is None else lines_of(self.path, self._broken)
        if not found:
            raise self._broken("", "has no lines", "write one value a line")
        return pa.array(found, pa.string())

    @property
    def _bounds(self) -> NDArray[np.float64]:
        weights = np.ones(len(self._values)) if self.weights is None else np.array(self.weights, np.float64)
        # by the largest first: the sum of very large ones would be none
        shares = weights / weights.max()
        bounds: NDArray[np.float64] = np.cumsum(shares) / shares.sum()
        return bounds

    def _broken(self, place: str, what: str, hint: str) -> DataError:
        return DataError(f"list of values {self.path}{place} {what}", code="mask-file", hint=hint)


def _turns(texts: pa.Array, turn: Literal["row", "value"]) -> NDArray[np.int64]:
    """Return whose turn it is, from 0: rows or distinct values in an order by chance, since that in which they come may tell the source's."""
    if turn == "value":
        coded = texts.dictionary_encode()
        number = len(coded.dictionary)
        turns: NDArray[np.int64] = np.append(permuted(number), number)[coded.indices.fill_null(number).to_numpy(zero_copy_only=False)]
        return turns
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    places = np.empty(len(texts), np.int64)
    places[~missing] = permuted(int((~missing).sum()))
    places[missing] = np.arange((~missing).sum(), len(texts))
    return places

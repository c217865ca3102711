"""Random date: every value becomes a day or an instant between two others, all equally likely."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.by_chance import ByChance
from sfumato.core.canonical import ValueType
from sfumato.core.draws import below
from sfumato.core.mask import NOTHING, Card, MaskContext, type_of_arrow
from sfumato.core.policy_bounds import PolicyTime, first_moment, is_day, last_moment
from sfumato.core.typed_column import DAY, Times

_SECOND = 1_000_000


class RandomDate(ByChance):
    """Replaces every value by a time between ``first`` and ``last``, both included: days where both are days, else instants in whole seconds.

    Columns of dates and timestamps keep their type, others are text. With a ``key`` the same value always becomes the same time. Missing values
    stay missing unless the policy says ``on_null: generate``; under a key they all become the same. Cost: 100 nanoseconds a value, two microseconds
    under a key.

    >>> from sfumato.core.mask import MaskContext
    >>> births = pa.RecordBatch.from_pydict({"born": ["1984-05-17"]})
    >>> RandomDate(first="1980-01-01", last="1989-12-31").apply(births, MaskContext("born"))[0].as_py()[:3]
    '198'
    """

    first: Annotated[PolicyTime, Field(description="the earliest, a date or an instant")]
    last: Annotated[PolicyTime, Field(description="the latest, a date or an instant")]

    @model_validator(mode="after")
    def _consistent(self) -> RandomDate:
        if first_moment(self.first) >= first_moment(self.last):
            raise ValueError("needs a first before the last")
        return self

    @property
    def _days(self) -> bool:
        return is_day(self.first) and is_day(self.last)

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        return Card(
            deterministic=self.key is not None,
            uniqueness="not guaranteed",
            changes_type=False,
            scope="value",
            generates=True,
            keyed=self.key is not None,
            types=("text", "date", "timestamp", "ip"),
            reveals=NOTHING if self.key is None else "Which rows have the same value, and how often each occurs.",
        )

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type: days are no instants."""
        if not self._days and (declared or type_of_arrow(kind)) == "date":
            return "makes instants, and the column is of type date"
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return a time for every row."""
        values = columns.column(context.column)
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        instants = pa.types.is_timestamp(kind) or not self._days
        step = _SECOND if instants else DAY
        number = (last_moment(self.last) - first_moment(self.first)) // step + 1
        found = first_moment(self.first) + below(self.drawn(values, context)[:, 0], number) * step
        every = np.ones(len(values), bool)
        return self.of_type(Times(kind, found, np.full(len(values), not instants), every).put(found, every), values, context.kind)

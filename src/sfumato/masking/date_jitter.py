"""Date jitter: each day or instant moves by a random stretch of time, both ways."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from sfumato.core.by_chance import ByChance
from sfumato.core.canonical import ValueType
from sfumato.core.draws import below
from sfumato.core.mask import Card, MaskContext, type_of_arrow
from sfumato.core.policy_bounds import PolicyTime, first_moment, last_moment
from sfumato.core.typed_column import DAY, FIRST, LAST, Times

_SECOND = 1_000_000


class DateJitter(ByChance):
    """Moves dates by whole days and instants by seconds, each by its own stretch: as many back as forth, all equally likely.

    Order and intervals between the dates of one person are lost within twice the stretch; ``date_shift`` keeps them. Days cannot move by less than
    a day. What leaves the bounds, or the years 1 to 9999, stands at their end. Cost: 100 nanoseconds a value, a microsecond in text columns.

    >>> from sfumato.core.mask import MaskContext
    >>> visits = pa.RecordBatch.from_pydict({"seen": ["2024-05-17"]})
    >>> "2024-05-14" <= DateJitter(days=3).apply(visits, MaskContext("seen"))[0].as_py() <= "2024-05-20"
    True
    """

    days: Annotated[int, Field(ge=0, le=36_525, description="up to so many days")] = 0
    hours: Annotated[int, Field(ge=0, le=876_600, description="and so many hours")] = 0
    minutes: Annotated[int, Field(ge=0, le=52_596_000, description="and so many minutes")] = 0
    first: Annotated[PolicyTime | None, Field(description="the earliest result, a date or an instant")] = None
    last: Annotated[PolicyTime | None, Field(description="the latest result, a date or an instant")] = None

    @model_validator(mode="after")
    def _consistent(self) -> DateJitter:
        if not self._seconds:
            raise ValueError("needs days, hours or minutes")
        if self.first is not None and self.last is not None and first_moment(self.first) > last_moment(self.last):
            raise ValueError("needs a first that is not after the last")
        return self

    @property
    def _seconds(self) -> int:
        return (self.days * 24 + self.hours) * 3_600 + self.minutes * 60

    @property
    def card(self) -> Card:
        """What it does; without a key chance decides."""
        about = "About when it was; of instants without a fraction of a second that they had none"
        return Card(
            deterministic=self.key is not None,
            uniqueness="not guaranteed",
            changes_type=False,
            scope="value",
            types=("date", "timestamp"),
            perturbs=True,
            reveals=f"{about}." if self.key is None else f"{about}; which rows have the same value, and how often each occurs.",
        )

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type: days do not move by hours."""
        if (declared or type_of_arrow(kind)) == "date" and self._seconds * _SECOND < DAY:
            return "moves by less than a day, and the column is of type date"
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return each day or instant moved; null for what is none, and for a day that cannot move."""
        values = columns.column(context.column)
        times = Times.of(values)
        step = np.where(times.days, DAY, np.where(times.microseconds % _SECOND, 1, _SECOND))
        most = self._seconds * _SECOND // step
        moved = below(self.drawn(values, context, kind=_told_by(values.type, context.kind))[:, 0], (2 * most + 1).astype(np.uint64)) - most
        low = FIRST if self.first is None else first_moment(self.first)
        high = LAST if self.last is None else last_moment(self.last)
        return times.put(np.clip(times.microseconds + moved * step, low, high), times.valid & (most > 0))


def _told_by(kind: pa.DataType, declared: ValueType | None) -> ValueType | None:
    """Return the type by which values are told apart under a key."""
    if not pa.types.is_string(kind):
        # days of a column of instants move by hours
        return "timestamp"
    return declared if declared in ("date", "timestamp") else None

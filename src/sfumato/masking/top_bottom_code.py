"""Top and bottom coding: values beyond a limit become the limit, or say no more than that they are beyond it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.policy_bounds import PolicyBound, bound_text, first_moment, is_day, last_moment
from sfumato.core.typed_column import DAY, Numbers, Times, bound_at, decimals_of, exact

if TYPE_CHECKING:
    import ibis

_SECOND = 1_000_000
Beyond = tuple[NDArray[np.bool_], NDArray[np.bool_]]


class TopBottomCode(Operation):
    """Hides how far the extreme values of numbers, dates or instants lie out. Values between the limits stay as they are.

    A day as a limit of instants is its first second as the ``bottom``, its last as the ``top``. With ``beyond: label`` the column becomes text,
    ``< 18`` or ``> 90``. The few who are beyond share one value; those just within are as visible as before. Cost: 10 nanoseconds a value, a
    microsecond in text columns.

    >>> from sfumato.core.mask import MaskContext
    >>> ages = pa.RecordBatch.from_pydict({"age": ["17", "44", "103"]})
    >>> TopBottomCode(bottom=18, top=90, beyond="label").apply(ages, MaskContext("age")).to_pylist()
    ['< 18', '44', '> 90']
    """

    types_with_any_settings: ClassVar[tuple[ValueType, ...]] = ("integer", "decimal", "date", "timestamp")

    bottom: Annotated[PolicyBound | None, Field(description="the smallest value that is shown: a number, a date or an instant")] = None
    top: Annotated[PolicyBound | None, Field(description="the largest value that is shown")] = None
    beyond: Annotated[Literal["limit", "label"], Field(description="what stands for a value beyond: the limit itself, or a label such as > 90")] = (
        "limit"
    )

    @model_validator(mode="after")
    def _consistent(self) -> TopBottomCode:
        limits = [limit for limit in (self.bottom, self.top) if limit is not None]
        if not limits:
            raise ValueError("needs a bottom or a top")
        if len({isinstance(limit, str) for limit in limits}) > 1:
            raise ValueError("needs two numbers, or two dates or instants")
        if len(limits) > 1 and not self._rise:
            raise ValueError("needs a bottom below the top")
        return self

    @property
    def _rise(self) -> bool:
        if isinstance(self.bottom, str) and isinstance(self.top, str):
            return first_moment(self.bottom) < last_moment(self.top)
        bottom: Any = self.bottom
        return bool(bottom < self.top)

    @property
    def _of_times(self) -> bool:
        return isinstance(self.top if self.bottom is None else self.bottom, str)

    @property
    def card(self) -> Card:
        """What it does: labels are text."""
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=self.beyond == "label",
            scope="value",
            engines=("arrow", "sql"),
            types=("date", "timestamp") if self._of_times else ("integer", "decimal"),
            reveals="Every value between the limits, and who is beyond them.",
        )

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type: it must be able to hold the limits."""
        held = 0 if pa.types.is_integer(kind) else kind.scale if pa.types.is_decimal(kind) else None
        digits = max(decimals_of(limit) for limit in (self.bottom, self.top) if isinstance(limit, float | int)) if not self._of_times else 0
        if self.beyond == "limit" and held is not None and digits > held:
            return f"has a limit with {digits} decimals, and the column's type {kind} has {held}"
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return each value, or what stands for those beyond; null for what is of another type than the limits."""
        values = columns.column(context.column)
        beyond, column = self._times(Times.of(values)) if self._of_times else self._numbers(Numbers.of(values))
        if self.beyond == "limit":
            return column
        texts = canonical.render(canonical.parse(column, "timestamp") if pa.types.is_timestamp(column.type) else column)
        for where, sign, limit in zip(beyond, "<>", (self.bottom, self.top), strict=True):
            if limit is not None:
                texts = pc.if_else(pa.array(where & column.is_valid().to_numpy(zero_copy_only=False)), f"{sign} {bound_text(limit)}", texts)
        return texts

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return each value, or what stands for those beyond; None for text and binary fractions, and for limits that the type does not hold."""
        value = columns[context.column]
        if self._of_times:
            return self._times_expressed(value) if value.type().is_date() else None
        return self._numbers_expressed(value)

    def _numbers_expressed(self, value: Any) -> Any | None:
        from sfumato.databases.server_functions import number_of
        from sfumato.masking._number_expressions import largest, whole_within

        found = whole_within(value)
        if found is None:
            return None
        low, high = largest(found.kind)
        ends = [None if limit is None else exact(limit) * 10**found.scale for limit in (self.bottom, self.top) if not isinstance(limit, str)]
        if any(end is not None and (end.denominator != 1 or not low <= end <= high) for end in ends):
            return None
        bottom, top = (None if end is None else int(end) for end in ends)
        return self._between(value, found.number, bottom, top, found.fits, lambda end: number_of(end, found.kind))

    def _times_expressed(self, value: Any) -> Any:
        from sfumato.databases.server_functions import day, days

        number = days(value)
        bottom = None if self.bottom is None else first_moment(str(self.bottom))
        top = None if self.top is None else (first_moment(str(self.top)), last_moment(str(self.top)))
        # a day is below an instant within it, for it begins before
        within = (None if bottom is None else -(-bottom // DAY), None if top is None else top[1] // DAY)
        shown = (None if bottom is None else bottom // DAY, None if top is None else top[0] // DAY)
        return self._between(value, number, *within, value.notnull(), day, shown)

    def _between(
        self, value: Any, number: Any, bottom: int | None, top: int | None, fits: Any, typed: Callable[[Any], Any], shown: Any = None
    ) -> Any | None:
        import ibis

        from sfumato.databases.server_functions import text_of

        label = self.beyond == "label"
        stands = [
            ibis.literal(f"{sign} {bound_text(limit)}") if label else typed(ibis.literal(end))
            for sign, limit, end in zip("<>", (self.bottom, self.top), shown or (bottom, top), strict=True)
            if limit is not None
        ]
        beyond = [test for test in (None if bottom is None else number < bottom, None if top is None else number > top) if test is not None]
        kept = text_of(value) if label else value
        return fits.ifelse(ibis.cases(*zip(beyond, stands, strict=True), else_=kept), ibis.null())

    def _numbers(self, numbers: Numbers) -> tuple[Beyond, pa.Array]:
        """Return which numbers are beyond a limit, and the column with the limits in their place."""
        low, high = _beyond(numbers, self.bottom, self.top)
        column = numbers.put_floats(numbers.as_floats()) if numbers.floats is not None else numbers.put(numbers.words, numbers.scale, numbers.valid)
        for where, limit in ((low, self.bottom), (high, self.top)):
            if limit is not None and where.any():
                stands = _in_type(bound_text(limit), column.type)
                column = pc.if_else(pa.array(where & numbers.valid), stands, column)
        return (low, high), column

    def _times(self, times: Times) -> tuple[Beyond, pa.Array]:
        nowhere = np.zeros(len(times.valid), bool)
        low = nowhere if self.bottom is None else times.microseconds < first_moment(str(self.bottom))
        high = nowhere if self.top is None else times.microseconds > last_moment(str(self.top))
        found = np.where(low, first_moment(str(self.bottom)), times.microseconds) if self.bottom is not None else times.microseconds
        if self.top is not None and self.beyond == "limit":
            # of a day its last whole second: what was beyond it must not stand before what is shown
            found = np.minimum(found, last_moment(str(self.top)) - (_SECOND - 1 if is_day(str(self.top)) else 0))
        return (low, high), times.put(found, times.valid)


def _beyond(numbers: Numbers, bottom: Any, top: Any) -> Beyond:
    nowhere = np.zeros(len(numbers.valid), bool)
    if numbers.floats is not None:
        return nowhere if bottom is None else numbers.floats < bottom, nowhere if top is None else numbers.floats > top
    low = nowhere if bottom is None else numbers.words < bound_at(bottom, numbers.scale, up=True)
    return low, nowhere if top is None else numbers.words > bound_at(top, numbers.scale, up=False)


def _in_type(text: str, kind: pa.DataType) -> pa.Scalar:
    """Return a limit in the type of a column; null where it holds no such number."""
    try:
        return pc.cast(pa.scalar(text), kind)
    except pa.ArrowInvalid:
        return pa.scalar(None, kind)

"""Generalise: each value becomes the interval, the group or the stretch of time that holds it.

Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression" (2002). Here one column is coarsened by a fixed rule, and
nothing is promised; what a search does to the quasi-identifiers of a promise is another thing.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core import canonical
from sfumato.core.calendar_labels import calendar_labels
from sfumato.core.canonical import ValueType
from sfumato.core.encoding import encode
from sfumato.core.mask import Card, MaskContext, Operation, type_of_arrow
from sfumato.core.policy_bounds import PolicyBound, bound_text, first_moment, is_day
from sfumato.core.typed_column import DAY, FIRST, LAST, Numbers, Times, decimals_of, exact, number_texts
from sfumato.errors import DataError
from sfumato.masking._buckets import cut_labels, even_labels, interval_labels
from sfumato.masking._prefixes import code_prefixes, is_address, networks

_WAYS = ("size", "intervals", "bins", "level", "keep", "prefix")
_BEGINNING = -(2**62)
Whole = NDArray[np.int64]


class Generalise(Operation):
    """Makes values coarser, in one of six ways. The column becomes text; missing values stay missing.

    ``size`` and ``intervals`` write closed intervals, ``[20, 29]``, ``bins`` also ``< 18`` and ``>= 65`` at the open ends: no value is lost between
    two of them. Numbers are cut to their ``decimals`` first, so that 29.9 is among ``[20, 29]``; with date bounds instants are cut to their day, in
    UTC. A value beyond ``minimum`` or ``maximum`` cannot be masked, nor one that the hierarchy does not know, nor a code that is no longer than its
    ``prefix``. Cost: 20 nanoseconds a number; other values are worked out once for each distinct one.

    >>> from sfumato.core.mask import MaskContext
    >>> ages = pa.RecordBatch.from_pydict({"age": ["17", "30.5", "99"]})
    >>> Generalise(size=10).apply(ages, MaskContext("age")).to_pylist()
    ['[10, 19]', '[30, 39]', '[90, 99]']
    >>> Generalise(bins=[18, 65]).apply(ages, MaskContext("age")).to_pylist()
    ['< 18', '[18, 64]', '>= 65']
    """

    types_with_any_settings: ClassVar[tuple[ValueType, ...]] = ()

    size: Annotated[
        float | int | None, Field(gt=0, le=1e15, allow_inf_nan=False, description="intervals of this size; days where the bounds are dates")
    ] = None
    intervals: Annotated[int | None, Field(ge=1, le=100_000, description="so many equally wide intervals from minimum to maximum")] = None
    bins: Annotated[list[PolicyBound] | None, Field(min_length=1, max_length=10_000, description="where one interval ends and the next begins")] = (
        None
    )
    labels: Annotated[list[str] | None, Field(description="what the intervals of bins are called: one label more than there are bins")] = None
    minimum: Annotated[PolicyBound | None, Field(description="the smallest value: a number or a date; intervals of a size begin there")] = None
    maximum: Annotated[PolicyBound | None, Field(description="the largest value")] = None
    decimals: Annotated[int | None, Field(ge=0, le=12, description="the decimals of numbers; none: as many as sizes and bounds are written with")] = (
        None
    )
    level: Annotated[int | None, Field(ge=1, le=1000, description="the level of the column's own hierarchy whose labels are shown")] = None
    keep: Annotated[
        Literal["year", "quarter", "month", "week", "day"] | None, Field(description="the stretch of the calendar that dates are cut to")
    ] = None
    prefix: Annotated[int | None, Field(ge=1, le=1000, description="the first characters of a code, or the leading bits of an IPv4 address")] = None
    prefix_ipv6: Annotated[int, Field(ge=1, le=128, description="the leading bits of an IPv6 address, where prefix is given")] = 48

    @model_validator(mode="after")
    def _consistent(self) -> Generalise:
        if sum(getattr(self, way) is not None for way in _WAYS) != 1:
            raise ValueError(f"needs one of {', '.join(_WAYS)}")
        if not (self.size or self.intervals or self.bins) and (self._bounds or self.decimals is not None):
            raise ValueError("takes minimum, maximum and decimals only with size, intervals or bins")
        if self.labels is not None and (self.bins is None or len(self.labels) != len(self.bins) + 1):
            raise ValueError("labels: needs bins, and one label more than there are of them")
        if self.intervals is not None and (self.minimum is None or self.maximum is None):
            raise ValueError("needs a minimum and a maximum with intervals: where they lie must not hang on the data")
        self._refuse_bounds()
        return self

    def _refuse_bounds(self) -> None:
        bounds = [bound for bound in (self.minimum, *(self.bins or []), self.maximum) if bound is not None]
        if len({isinstance(bound, str) for bound in bounds}) > 1 or any(isinstance(bound, str) and not is_day(bound) for bound in bounds):
            raise ValueError("needs bounds that are all numbers, or all days such as 2020-01-31")
        if self._of_days and isinstance(self.size, float) and not self.size.is_integer():
            raise ValueError("size: needs whole days")
        if self.decimals is not None and self.decimals < self._written:
            raise ValueError(f"decimals: must be at least {self._written}, which its sizes and bounds have")
        places = [self._unit(bound) for bound in bounds]
        if any(later <= earlier for earlier, later in pairwise(places)):
            raise ValueError("needs a minimum, bins and a maximum that rise")
        if self.intervals is not None and self.intervals > places[1] - places[0] + 1:
            raise ValueError("intervals: are more than there are values between minimum and maximum")

    @property
    def _bounds(self) -> list[Any]:
        return [bound for bound in (self.minimum, self.maximum) if bound is not None]

    @property
    def _of_days(self) -> bool:
        return any(isinstance(bound, str) for bound in (*self._bounds, *(self.bins or [])))

    @property
    def _written(self) -> int:
        """The most decimals that sizes and bounds are written with."""
        numbers = (self.size, self.minimum, self.maximum, *(self.bins or []))
        return max((decimals_of(number) for number in numbers if isinstance(number, float | int)), default=0)

    @property
    def _digits(self) -> int:
        return self._written if self.decimals is None else self.decimals

    def _unit(self, bound: float | int | str) -> int:
        """Return where a bound stands: in whole numbers of the last decimal, or in days."""
        return first_moment(bound) // DAY if isinstance(bound, str) else int(exact(bound) * 10**self._digits)

    @property
    def needs_ladder(self) -> bool:
        """Whether it shows a level of the column's hierarchy."""
        return self.level is not None

    @property
    def card(self) -> Card:
        """What it does: which values it takes hangs on the way."""
        types: tuple[ValueType, ...] = ()
        if self.keep is not None or self._of_days:
            types = ("date", "timestamp")
        elif self.level is None and self.prefix is None:
            types = ("integer", "decimal")
        return Card(
            deterministic=True,
            uniqueness="lossy",
            changes_type=True,
            scope="value",
            types=types,
            reveals="In which group the value is, and how often each group occurs; a group of few tells nearly as much as the value.",
        )

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type."""
        if self.prefix is not None and declared == "ip" and self.prefix > 32:
            return f"keeps {self.prefix} leading bits, and an IPv4 address has 32"
        if self.prefix is not None and type_of_arrow(kind) not in (None, "integer"):
            return f"takes the beginnings of codes and addresses, and the column is of type {type_of_arrow(kind)}"
        return super().misfit(kind, declared)

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return what holds each value; null for a value that it does not know."""
        values = columns.column(context.column)
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        if self.level is not None:
            return self._by_ladder(values, context)
        if self.keep is not None:
            return self._by_calendar(Times.of(values))
        if self.prefix is not None:
            return self._by_prefix(canonical.render(values), context.kind)
        if self._of_days:
            times = Times.of(values)
            return self._by_intervals(times.microseconds // DAY, times.valid)
        return self._by_intervals(*Numbers.of(values).at(self._digits, "down"))

    def _by_intervals(self, numbers: Whole, valid: NDArray[np.bool_]) -> pa.Array:
        ends = tuple(None if bound is None else self._unit(bound) for bound in (self.minimum, self.maximum))
        if self.size is not None:
            width = int(self.size) if self._of_days else int(exact(self.size) * 10**self._digits)
            return even_labels(numbers, valid, width, (ends[0], ends[1]), self._texts)
        return cut_labels(numbers, valid, *self._cuts)

    @cached_property
    def _cuts(self) -> tuple[Whole, tuple[int | None, int | None], pa.Array]:
        """Where intervals begin, the ends of all of them, and their labels."""
        low, high = (None if bound is None else self._unit(bound) for bound in (self.minimum, self.maximum))
        if self.intervals is not None and low is not None and high is not None:
            # the last value takes up room like any other; whole numbers, so that the last interval ends with the maximum
            inner = [low + -(-number * (high - low + 1) // self.intervals) for number in range(1, self.intervals)]
            starts = np.array([low, *inner])
        else:
            inner = [self._unit(bound) for bound in self.bins or []]
            starts = np.array([_BEGINNING if low is None else low, *inner])
        stops = np.array([*(begin - 1 for begin in inner), starts[-1] if high is None else high])
        if self.labels is not None:
            return starts, (low, high), pa.array(self.labels, pa.string())
        shown = interval_labels(np.where(starts == _BEGINNING, stops, starts), stops, self._texts).to_pylist()
        if low is None:
            shown[0] = f"< {bound_text((self.bins or [0])[0])}"
        if high is None:
            shown[-1] = f">= {bound_text((self.bins or [0])[-1])}"
        return starts, (low, high), pa.array(shown, pa.string())

    def _texts(self, numbers: Whole) -> pa.Array:
        """Return places on the line as they are written."""
        if not self._of_days:
            return number_texts(numbers, self._digits, np.ones(len(numbers), bool))
        days = np.clip(numbers, FIRST // DAY, LAST // DAY).astype(np.int32)
        return canonical.render(pc.cast(pa.array(days), pa.date32()))

    def _by_ladder(self, values: pa.Array, context: MaskContext) -> pa.Array:
        ladder, level = context.ladder, self.level or 0
        if ladder is None:
            raise DataError(
                f"column {context.column}: a level of its hierarchy is asked for, and there is none",
                code="mask-hierarchy",
                hint="hierarchy: {taxonomy: {path: ...}} beside the mask",
            )
        if level > ladder.height:
            raise DataError(
                f"column {context.column}: level {level} is asked for, and its hierarchy has levels 1 to {ladder.height}",
                code="mask-hierarchy",
                hint=f"level: {ladder.height}, which is the root, or a lower one",
            )
        codes = encode(ladder, values).codes
        known = codes < ladder.size
        labels = pa.array(ladder.levels[level - 1].labels, pa.string())
        nodes = np.append(ladder.groups(level), [0, 0])[codes]
        return labels.take(pa.array(nodes, mask=~(known & values.is_valid().to_numpy(zero_copy_only=False))))

    def _by_calendar(self, times: Times) -> pa.Array:
        days = pa.array((times.microseconds // DAY).astype(np.int32), mask=~times.valid).dictionary_encode()
        local = pc.cast(pc.cast(days.dictionary, pa.date32()), pa.timestamp("s"))
        return calendar_labels(local, self.keep or "year").take(days.indices)

    def _by_prefix(self, texts: pa.Array, declared: ValueType | None) -> pa.Array:
        length = self.prefix or 1
        if declared == "ip":
            return networks(texts, length, self.prefix_ipv6)
        codes = code_prefixes(texts, length)
        addresses = is_address(texts) if declared is None else pa.array(np.zeros(len(texts), bool))
        if not pc.any(addresses).as_py():
            return codes
        return pc.if_else(addresses, networks(pc.if_else(addresses, texts, pa.scalar(None, pa.string())), length, self.prefix_ipv6), codes)

"""Generalise: each value becomes the interval, the group or the stretch of time that holds it.

Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression" (2002). Here one column is coarsened by a fixed rule, and
nothing is promised; what a search does to the quasi-identifiers of a promise is another thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

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
from sfumato.core.typed_column import DAY, DIGITS, FIRST, LAST, Numbers, Times, decimals_of, exact, number_texts
from sfumato.errors import DataError
from sfumato.masking._buckets import cut_labels, even_labels, half_open_labels, interval_labels
from sfumato.masking._prefixes import code_prefixes, is_address, networks

if TYPE_CHECKING:
    import ibis

_OF_DATES = "minimum: 2024-01-01, or another day with which the intervals begin"
_WAYS = ("size", "intervals", "bins", "level", "keep", "prefix")
_BEGINNING = -(2**62)
_MOST_CUTS = 256
_MOST_FINER = 6
Whole = NDArray[np.int64]
_Cuts = tuple[Whole, tuple[int | None, int | None], pa.Array]


class Generalise(Operation):
    """Makes values coarser, in one of six ways. The column becomes text; missing values stay missing.

    ``size`` and ``intervals`` write closed intervals, ``[20, 29]``, ``bins`` also ``< 18`` and ``>= 65`` at the open ends: no value is lost between
    two of them. Whole numbers lie in closed intervals; those of a column of type decimal, declared or as it comes, in intervals that reach to the
    next, ``[20, 30)``, unless ``decimals`` says how many there are: then they are closed again, ``[20.00, 29.99]``. With date bounds instants are
    cut to their day, in UTC. A number that lies between two closed intervals cannot be masked, 29.9 between ``[20, 29]`` and ``[30, 39]``, nor a
    value beyond ``minimum`` or ``maximum``, nor one that the hierarchy does not know, nor a code of which ``prefix`` or the level of a hierarchy of
    prefixes would show all. Cost: 20 nanoseconds a number; other values are worked out once for each distinct one.

    >>> from sfumato.core.mask import MaskContext
    >>> ages = pa.RecordBatch.from_pydict({"age": ["17", "30.5", "99"]})
    >>> Generalise(size=10).apply(ages, MaskContext("age")).to_pylist()
    ['[10, 19]', '[30, 39]', '[90, 99]']
    >>> Generalise(bins=[18, 65]).apply(ages, MaskContext("age")).to_pylist()
    ['< 18', '[18, 64]', '>= 65']
    >>> Generalise(size=10).apply(ages, MaskContext("age", kind="decimal")).to_pylist()
    ['[10, 20)', '[30, 40)', '[90, 100)']
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
    prefix_ipv6: Annotated[int, Field(ge=1, le=127, description="the leading bits of an IPv6 address, where prefix is given")] = 48

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
        if self._too_many and (self._of_days or self.decimals is not None):
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
    def _too_many(self) -> bool:
        """Whether there are more intervals than values that they could hold, of which fractions have as many as anybody wants."""
        return self.intervals is not None and self.intervals > self._unit(self.maximum or 0) - self._unit(self.minimum or 0) + 1

    @cached_property
    def _finer(self) -> int:
        """How many decimals more than bounds are written with equally wide intervals of fractions need: 0.25 where four are to reach from 0 to 1."""
        if self.intervals is None or self._of_days:
            return 0
        span = self._unit(self.maximum or 0) - self._unit(self.minimum or 0)
        exactly = (more for more in range(_MOST_FINER + 1) if span * 10**more % self.intervals == 0)
        # a third is never written to its end
        nearly = (more for more in range(_MOST_FINER + 1) if span * 10**more >= 100 * self.intervals)
        return next(exactly, next(nearly, _MOST_FINER))

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
            engines=("arrow",) if self.level is not None else ("arrow", "sql"),
            types=types,
            reveals="In which group the value is, and how often each group occurs; a group of few tells nearly as much as the value.",
        )

    @property
    def makes(self) -> ValueType | None:
        """What intervals, stretches of the calendar and beginnings of codes are; names of bins and of levels may be anything."""
        if self.keep in ("year", "day"):
            return "integer" if self.keep == "year" else "date"
        if self.level is not None or self.labels is not None or self._of_single_numbers:
            return None
        return "text"

    @property
    def _of_single_numbers(self) -> bool:
        """Whether an interval can be of one number, which is then shown as it is."""
        if self.size is not None:
            return not self._of_days and exact(self.size) * 10**self._digits == 1
        return self.intervals is not None and not self._of_days and self._unit(self.maximum or 0) - self._unit(self.minimum or 0) < self.intervals

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type."""
        if self.prefix is not None and declared == "ip" and self.prefix >= 32:
            return f"keeps {self.prefix} leading bits, and an IPv4 address has 32: nothing of it would be hidden"
        if self._too_many and (declared or type_of_arrow(kind)) != "decimal":
            return "has more intervals than there are whole numbers between minimum and maximum: say how many decimals there are, or type: decimal"
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
        return self._by_numbers(Numbers.of(values), self.decimals is None and (context.kind or type_of_arrow(values.type)) == "decimal")

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return what holds each value, of typed columns; None for levels of a hierarchy, and where codes may be addresses."""
        value = columns[context.column]
        if self.level is not None:
            return None
        if self.prefix is not None:
            return self._prefix_expressed(value, context.kind)
        if self.keep is not None or self._of_days:
            return self._days_expressed(value)
        # intervals of decimals are half-open, and of other numbers it depends on the row whether an interval of whole ones holds them
        return self._numbers_expressed(value) if value.type().is_integer() and context.kind != "decimal" else None

    def _prefix_expressed(self, value: Any, declared: ValueType | None) -> Any | None:
        import ibis

        from sfumato.databases.server_functions import first, length, text_of

        text, number = text_of(value), self.prefix or 1
        # of text of which nobody says what it is, some may be addresses
        if text is None or declared == "ip" or (declared is None and not value.type().is_integer()):
            return None
        return (length(text) > number).ifelse(first(text, number) + "*", ibis.null())

    def _days_expressed(self, value: Any) -> Any | None:
        from sfumato.databases.server_functions import day, days, stretch, text_of

        if not (value.type().is_date() or value.type().is_timestamp()):
            return None
        if self.keep is not None:
            return stretch(value, self.keep)
        earliest, latest = FIRST // DAY, LAST // DAY

        def texts(number: Any) -> Any:
            return text_of(day((number < earliest).ifelse(earliest, (number > latest).ifelse(latest, number))))

        return self._intervals_expressed(days(value), value.notnull(), texts)

    def _numbers_expressed(self, value: Any) -> Any | None:
        from sfumato.databases.server_functions import number_text, quotient
        from sfumato.masking._number_expressions import MOST, multiple, whole_within

        found = whole_within(value)
        if found is None:
            return None
        more, number, fits = self._digits - found.scale, found.number, found.fits
        if more < -DIGITS or more > DIGITS:
            return None
        if more > 0:
            fits = fits & (number.abs() <= MOST // 10**more)
            number = number * 10**more
        elif more < 0:
            number = quotient(multiple(number, 10**-more, "down"), -more)
        return self._intervals_expressed(number, fits, lambda place: number_text(place, self._digits))

    def _intervals_expressed(self, number: Any, fits: Any, texts: Callable[[Any], Any]) -> Any | None:
        import ibis

        from sfumato.masking._number_expressions import multiple

        low, high = (None if bound is None else self._unit(bound) for bound in (self.minimum, self.maximum))
        for test in (None if low is None else number >= low, None if high is None else number <= high):
            fits = fits if test is None else fits & test
        if self.size is None:
            starts, _, labels = self._closed_cuts
            if len(starts) > _MOST_CUTS:
                return None
            named = list(zip((number < int(start) for start in starts[1:]), (ibis.literal(label) for label in labels.to_pylist()), strict=False))
            rest = ibis.literal(labels[-1].as_py())
            return fits.ifelse(ibis.cases(*named, else_=rest) if named else rest, ibis.null())
        width = int(self.size) if self._of_days else int(exact(self.size) * 10**self._digits)
        if width > 10**DIGITS:
            return None
        begin = multiple(number - low if low else number, width, "down")
        begin = begin + low if low else begin
        end = begin + (width - 1)
        end = end if high is None else (end > high).ifelse(ibis.literal(high), end)
        written = ibis.literal("[") + texts(begin) + ", " + texts(end) + "]"
        return fits.ifelse((begin == end).ifelse(texts(begin), written), ibis.null())

    def refused(self, people: int) -> tuple[str, str]:
        """Return what it cannot take, and what to try: of numbers those between two intervals."""
        del people
        if self._of_days or not (self.size or self.intervals or self.bins):
            return "with a value that generalise cannot take", "mask the others with `when`"
        words = "with a value that generalise cannot take: no number, beyond minimum or maximum, or between two intervals"
        hint = "with decimals say how many, decimals: 2, or type: decimal for intervals such as [0, 50); mask the others with `when`"
        return words, f"of dates {_OF_DATES}; {hint}" if self._takes_days_with_a_bound else hint

    @property
    def _takes_days_with_a_bound(self) -> bool:
        return self.size is not None and not self._bounds

    def fitting(self, kind: ValueType) -> str | None:
        """Return the bound that makes intervals of days of those of numbers."""
        return _OF_DATES if kind in ("date", "timestamp") and self._takes_days_with_a_bound else None

    def _by_numbers(self, numbers: Numbers, half_open: bool) -> pa.Array:
        """Return the intervals of numbers: that of the next whole number below, unless the number itself is not in it."""
        if half_open and self.intervals is not None:
            return self._by_even_fractions(numbers, self.intervals)
        below, valid = numbers.at(self._digits, "down")
        if pa.types.is_integer(numbers.kind):
            return self._by_intervals(below, valid, half_open)
        above, _ = numbers.at(self._digits, "up")
        if self.maximum is not None:
            valid = valid & (above <= self._unit(self.maximum))
        found = self._by_intervals(below, valid, half_open)
        parted = valid & (above != below)
        if half_open or self.labels is not None or not parted.any():
            return found
        lower, upper = found.filter(pa.array(parted)), self._by_intervals(above[parted], valid[parted], half_open)
        lost = parted.copy()
        holds = pc.fill_null(pc.or_(pc.equal(lower, upper), pc.starts_with(lower, "< ")), False)
        lost[parted] = pc.invert(holds).to_numpy(zero_copy_only=False)
        return pc.if_else(pa.array(lost), pa.scalar(None, pa.string()), found)

    def _by_even_fractions(self, numbers: Numbers, count: int) -> pa.Array:
        """Return which of so many intervals hold numbers: equally wide, for unlike those of whole numbers they meet each other."""
        digits, more = self._digits + self._finer, 10**self._finer
        below, valid = numbers.at(digits, "down")
        above, _ = numbers.at(digits, "up")
        low, high = self._unit(self.minimum or 0) * more, self._unit(self.maximum or 0) * more
        starts = np.array([low + (2 * number * (high - low) + count) // (2 * count) for number in range(count)])
        stops = np.append(starts[1:] - 1, high)
        texts = partial(number_texts, scale=digits, valid=np.ones(count, bool))
        return cut_labels(below, valid & (above <= high), starts, (low, high), half_open_labels(starts, stops, high, texts))

    def _by_intervals(self, numbers: Whole, valid: NDArray[np.bool_], half_open: bool = False) -> pa.Array:
        ends = tuple(None if bound is None else self._unit(bound) for bound in (self.minimum, self.maximum))
        if self.size is not None:
            width = int(self.size) if self._of_days else int(exact(self.size) * 10**self._digits)
            return even_labels(numbers, valid, width, (ends[0], ends[1]), self._texts, half_open)
        return cut_labels(numbers, valid, *(self._half_open_cuts if half_open else self._closed_cuts))

    @cached_property
    def _closed_cuts(self) -> _Cuts:
        return self._cuts(half_open=False)

    @cached_property
    def _half_open_cuts(self) -> _Cuts:
        return self._cuts(half_open=True)

    def _cuts(self, half_open: bool) -> _Cuts:
        """Return where intervals begin, the ends of all of them, and their labels."""
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
        begins = np.where(starts == _BEGINNING, stops, starts)
        labels = half_open_labels(begins, stops, high, self._texts) if half_open else interval_labels(begins, stops, self._texts)
        shown = labels.to_pylist()
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
        labels = pa.array(ladder.levels[level - 1].labels, pa.string())
        groups = ladder.groups(level)
        # a code of which a ladder of prefixes shows all is not masked
        hidden = np.ones(ladder.size, bool) if ladder.builder is None else _differ(labels.take(pa.array(groups)), ladder.leaves)
        known = np.append(hidden, [False, False])[codes]
        nodes = np.append(groups, [0, 0])[codes]
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


def _differ(some: pa.Array, others: pa.Array) -> NDArray[np.bool_]:
    differ: NDArray[np.bool_] = pc.not_equal(some, others).to_numpy(zero_copy_only=False)
    return differ

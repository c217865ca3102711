"""Scales: where the values of a quasi-identifier stand, as searches see them, and how a box of them is written.

An ordered column (numbers, and days and instants where intervals of them are published) stands on the line of its type. All others have a ladder. One
that is written down, or that groups values by how often they occur, stays what it is at the beginning of the stream, and values that it does not
know are what ``on_unknown`` says. One whose labels mean the same whatever values there are (prefixes, networks, the calendar, a flat one) is built
anew over the values of each window, so that nothing grows with the stream. Where clusters outlive a window it grows by the values that come, until it
has too many: then those are forgotten that nothing stands on any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.encoding import distinct_typed, encode, typed_values
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.interfaces import HierarchyBuilder
from sfumato.core.publication import ALONG_A_LINE
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import present
from sfumato.errors import PolicyError
from sfumato.policy.ladders import misfits
from sfumato.policy.model import Column
from sfumato.registry import find

OnUnknown = Literal["error", "suppress", "generalise"]
_TOP = Level(np.zeros(1, np.int32), (ROOT,))
_EXACT = 2.0**53
_DIGITS = 1e15
_MOST_LEAVES = 10_000


@dataclass(frozen=True, eq=False)
class Scale:
    """How one quasi-identifier is placed: on a line where there is neither a ladder nor what builds one; one with both grows.

    ``bounds`` are the smallest and the largest place that the policy allows on a line, ``digits`` how many decimals its numbers have been seen to
    have, None where they are binary fractions, or where each is written by itself.
    """

    name: str
    kind: ValueType
    missing: Sequence[str] = ()
    on_unknown: OnUnknown = "error"
    ladder: Hierarchy | None = None
    builder: HierarchyBuilder | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    digits: int | None = 0

    @property
    def ordered(self) -> bool:
        """Whether values stand on a line."""
        return self.ladder is None and self.builder is None

    def placed(self, values: pa.Array) -> Placed:
        """Return where values stand."""
        if self.ordered:
            return self._on_line(values)
        coded = values.dictionary_encode()
        ladder = self.ladder or self._built(coded)
        codes = encode(ladder, coded.dictionary, self.missing).codes
        places = np.append(codes, ladder.missing).astype(np.float64)[_indices(coded)]
        unknown = places == ladder.outside
        places[places >= ladder.size] = np.nan
        return Placed(places, unknown, self, ladder)

    def grown(self, values: pa.Array, standing: Callable[[], NDArray[np.int64]]) -> Scale:
        """Return the scale with further values on its ladder, where it can grow; ``standing`` finds the leaves that must not be forgotten."""
        if self.ladder is None or self.builder is None or not self.placed(values).unknown.any():
            return self
        leaves = self.ladder.values
        found = self._over(leaves, values)
        if found.size > _MOST_LEAVES:
            found = self._over(leaves.take(pa.array(standing())), values)
        return self if found.size == self.ladder.size and found.leaves.equals(self.ladder.leaves) else replace(self, ladder=found)

    def _over(self, leaves: pa.Array, values: pa.Array) -> Hierarchy:
        """Return the ladder over leaves and further values."""
        coded = pa.concat_arrays([canonical.as_text(values), canonical.render(leaves)]).dictionary_encode()
        return self._built(coded)

    def _built(self, coded: pa.DictionaryArray) -> Hierarchy:
        """Return the ladder over the values that are there."""
        counts = np.bincount(_indices(coded)[coded.indices.is_valid().to_numpy(zero_copy_only=False)], minlength=len(coded.dictionary))
        typed, rows, _ = distinct_typed(coded.dictionary, counts.astype(np.int64), self.kind, self.missing)
        if self.builder is None:
            raise AssertionError("a scale with neither a ladder nor a builder is a line")
        built = self.builder.build(self.name, typed, rows)
        return _with_a_leaf(built, self.kind)

    def _on_line(self, values: pa.Array) -> Placed:
        is_missing = values.is_null()
        if self.missing:
            is_missing = pc.or_(is_missing, pc.is_in(canonical.as_text(values), value_set=pa.array(list(self.missing), pa.string())))
            values = pc.if_else(is_missing, pa.scalar(None, values.type), values)
        typed = typed_values(values, self.kind)
        places = canonical.positions(typed)
        # what a float does not tell apart could be published as what it is not
        exact, digits = _exact(typed, places)
        with np.errstate(invalid="ignore"):
            known = exact & (places >= self.bounds[0]) & (places <= self.bounds[1])
        unknown = ~known & ~is_missing.to_numpy(zero_copy_only=False)
        kept = None if digits is None or self.digits is None else max(self.digits, digits)
        return Placed(np.where(known, places, np.nan), unknown, replace(self, digits=kept), None)

    def typed(self, places: NDArray[np.float64]) -> pa.Array:
        """Return places on the line as values of the column's type."""
        digits = self.digits
        if self.kind == "decimal" and digits is None:
            return pa.array(places, pa.float64())
        if self.kind == "decimal" and digits is not None:
            return canonical.parse(pa.array([_written(place, digits) for place in places.tolist()], pa.string()), "decimal")
        whole = np.rint(places).astype(np.int64)
        if self.kind == "date":
            return pa.array(whole.astype(np.int32)).cast(pa.date32())
        return pa.array(whole).cast(pa.timestamp("us", tz="UTC")) if self.kind == "timestamp" else pa.array(whole)

    def line(self, places: NDArray[np.float64]) -> tuple[Hierarchy, NDArray[np.float64]]:
        """Return the ladder whose leaves are some places on the line, each once, and these; one that nobody has where there are none."""
        distinct = np.unique(places)
        distinct = distinct if len(distinct) else np.zeros(1)
        return Hierarchy(self.name, True, self.kind, self.typed(distinct), (_TOP,)), distinct


def _written(number: float, digits: int) -> str:
    """Return a number as it was written, with so many decimals at least: the fewest digits that tell it, and zeros behind them.

    >>> _written(52.1, 15), _written(7.0, 0), _written(1e-10, 2)
    ('52.100000000000000', '7', '0.0000000001')
    """
    whole, _, decimals = np.format_float_positional(number).partition(".")
    decimals = decimals.ljust(digits, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _exact(typed: pa.Array, places: NDArray[np.float64]) -> tuple[NDArray[np.bool_], int | None]:
    """Return which values are the numbers of their places, and with how many decimals those are written; None where they are binary fractions.

    Each value is looked at by itself: what others beside it are must not decide whether it can be published.
    """
    if pa.types.is_floating(typed.type):
        return np.isfinite(places), None
    with np.errstate(invalid="ignore"):
        if not pa.types.is_decimal(typed.type):
            return np.abs(places) < _EXACT, 0
        exact = np.abs(places) * 10.0**typed.type.scale < _DIGITS
    for place in np.flatnonzero(~exact & ~np.isnan(places)).tolist():
        exact[place] = typed[place].as_py() == Decimal(repr(float(places[place])))
    if (exact | np.isnan(places)).all():
        return exact, typed.type.scale
    return exact, max((_decimals(number) for number in typed.filter(pa.array(exact)).to_pylist()), default=0)


def _decimals(number: Decimal) -> int:
    return max(0, -int(number.normalize().as_tuple().exponent))


@dataclass(frozen=True, eq=False)
class Placed:
    """Where some values stand, NaN where they are missing or unknown, which are unknown, the scale after them, and the ladder they stand on."""

    places: NDArray[np.float64]
    unknown: NDArray[np.bool_]
    scale: Scale
    ladder: Hierarchy | None


def learnt(plan: Plan, name: str, values: pa.Array, anew: bool) -> Scale:
    """Return the scale of a quasi-identifier by the first values that came; ``anew`` says that there are windows, over which ladders can be built.

    Raises a PolicyError where the column asks for what its values cannot give.
    """
    column, kind = _column(plan, name, values)
    on_unknown: OnUnknown = column.on_unknown
    # what clusters that are used again show must not change with the numbers that come later
    plain = Scale(name, kind, tuple(column.missing), on_unknown, digits=0 if anew else None)
    written = plan.resolved.ladders.get(name)
    if written is not None:
        return replace(plain, kind=written.kind, ladder=written)
    given = plan.resolved.hierarchies.get(name)
    along = column.publish in ALONG_A_LINE or (given is None and not anew and kind in ("date", "timestamp"))
    builder: HierarchyBuilder = given or find("hierarchies", "automatic")(intervals=along)
    coded = values.dictionary_encode()
    counts = np.bincount(_indices(coded)[coded.indices.is_valid().to_numpy(zero_copy_only=False)], minlength=len(coded.dictionary))
    typed, rows, _ = distinct_typed(coded.dictionary, counts.astype(np.int64), kind, column.missing)
    built = builder.build(name, typed, rows)
    wrong = misfits(name, column, built, plan.resolved.lines)
    if wrong:
        raise PolicyError(wrong, name=plan.resolved.name)
    if built.ordered and not column.level.minimum:
        return replace(plain, bounds=_bounds(builder, kind))
    if anew and (built.builder is not None or built.height == 1 or built.ordered):
        return replace(plain, builder=built.builder or (builder if built.ordered or given is not None else find("hierarchies", "flat")()))
    if built.builder is not None or built.height == 1:
        flat: HierarchyBuilder = find("hierarchies", "flat")()
        return replace(plain, ladder=_with_a_leaf(built, kind), builder=built.builder or flat)
    if given is None and "on_unknown" not in column.model_fields_set:
        # groups of the first values are no mistake of later ones; where clusters are used again missing and unknown values cannot be told apart
        plain = replace(plain, on_unknown="generalise" if anew else "suppress")
    return replace(plain, ladder=_with_a_leaf(built, kind))


def _with_a_leaf(built: Hierarchy, kind: ValueType) -> Hierarchy:
    """Return a ladder, one with a leaf that nobody has where it has none."""
    return built if built.size else replace(Hierarchy.of_paths(built.column, [[""]]), kind=kind)


def _column(plan: Plan, name: str, values: pa.Array) -> tuple[Column, ValueType]:
    column = plan.resolved.policy.columns[name]
    return column, column.type or canonical.infer(present(values.drop_null(), column.missing))


def _bounds(builder: Any, kind: ValueType) -> tuple[float, float]:
    """Return between which places a ladder of intervals lets values stand."""
    ends = [getattr(builder, "minimum", None), getattr(builder, "maximum", None)]
    places = [
        None if end is None else float(end) if not isinstance(end, str) else float(canonical.positions(canonical.parse(pa.array([end]), kind))[0])
        for end in ends
    ]
    return (-np.inf if places[0] is None else places[0], np.inf if places[1] is None else places[1])


def _indices(coded: pa.DictionaryArray) -> NDArray[np.int64]:
    """Return codes into the dictionary; -1, which picks the last entry, where a value is missing."""
    indices: NDArray[np.int64] = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return indices

"""A column with its masks: one operation after the other, where a condition holds, with one rule for missing and for invalid values.

Operations never see a row to which they do not apply. A missing value stays missing unless the policy, or the card where it says nothing, lets the
operation put something in its place. A value that an operation cannot take stops the run, or is removed; it is never passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.chains import is_keyed, is_plain, made_of, moves, taken_in
from sfumato.core.condition import Condition
from sfumato.core.makers import announced_type, faults_of, refuse_misfit
from sfumato.core.mask import (
    NOTHING,
    WIDE,
    Advising,
    AdvisingByPlace,
    Card,
    Cautious,
    Counting,
    Locating,
    Mask,
    MaskContext,
    Mixing,
    OfDocuments,
    Operation,
    Refusing,
    Removing,
    Scope,
    Together,
    Told,
    Totals,
    Uniqueness,
    Windowed,
    type_of_arrow,
)
from sfumato.core.mask_effect import Effect, Made, refuse
from sfumato.core.number_columns import numbers_of
from sfumato.core.row_groups import people_of, rows_among_few
from sfumato.core.straight_line import on_a_line

if TYPE_CHECKING:
    import ibis

AS_PUBLISHED = " as published"
"""What is put after the name of a masked column where what it becomes is meant."""

OnNull = Literal["keep", "generate", "error"]
OnInvalid = Literal["error", "remove"]

_SCOPES: tuple[Scope, ...] = get_args(Scope)
_UNIQUENESS: tuple[Uniqueness, ...] = get_args(Uniqueness)
_LOOKED_AT = 4096
ALIKE = ("constant", "drop", "empty", "entity_tag")
"""Operations that make all rows alike."""
_Watch = Callable[[Sequence[Mask], int, pa.RecordBatch, NDArray[np.bool_], MaskContext], None]


@dataclass(frozen=True, eq=False)
class _Wrong:
    """The rows whose values operations could not take, by their names: those that are not valid, and those that were to be removed."""

    invalid: dict[str, NDArray[np.bool_]]
    removed: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class MaskedColumn:
    """What is done to the values of one column. It is a mask itself."""

    column: str
    steps: Sequence[Mask]
    when: Condition | None = None
    otherwise: Sequence[Mask] = ()
    on_null: OnNull | None = None
    on_invalid: OnInvalid = "error"

    def component_name(self) -> str:
        """Return the names of its operations."""
        return ", then ".join(step.component_name() for step in self.steps)

    def in_words(self, values: bool) -> str:
        """Return its operations, the rows they are for, on request with the values that a condition names, and what becomes of the others."""
        if self.when is None:
            return self.component_name()
        rest = f"others with {', then '.join(step.component_name() for step in self.otherwise)}" if self.otherwise else "others as they are"
        holds = self.when.words() if values else f"a condition on {' and '.join(dict.fromkeys(self.when.reads))} holds"
        return f"{self.component_name()} where {holds}, {rest}"

    @cached_property
    def card(self) -> Card:
        """What all operations together do."""
        cards = [step.card for step in (*self.steps, *self.otherwise)]
        scope = max((card.scope for card in cards), key=_SCOPES.index)
        if scope == "value" and self.reads:
            scope = "row"
        uniqueness = max((card.uniqueness for card in cards), key=_UNIQUENESS.index)
        if self.when is not None and uniqueness == "preserved":
            # what is masked may become what another row has unmasked
            uniqueness = "not guaranteed"
        return Card(
            deterministic=all(card.deterministic for card in cards),
            reversible=all(card.reversible for card in cards) and self.when is None,
            uniqueness=uniqueness,
            changes_type=any(card.changes_type for card in cards),
            nulls="masked" if any(self.masks_missing(step, number) for number, step in enumerate(self.steps)) else "kept",
            scope=scope,
            engines=("arrow",)
            if self.when is not None
            else tuple(engine for engine in cards[0].engines if all(engine in card.engines for card in cards)),
            generates=self.steps[0].card.generates,
            keyed=all(is_keyed(steps) for steps in self.branches),
            reveals=" ".join(dict.fromkeys([*self._left, *(card.reveals for card in cards if card.reveals)])),
        )

    @cached_property
    def reads(self) -> Sequence[str]:
        """The further columns that operations and condition look at."""
        masks = [name for step in (*self.steps, *self.otherwise) for name in step.reads]
        read = dict.fromkeys([*masks, *(self.when.reads if self.when is not None else ())])
        return tuple(name for name in read if name != self.column)

    @property
    def keys(self) -> Sequence[str]:
        """The named keys that operations need."""
        return tuple(dict.fromkeys(name for step in (*self.steps, *self.otherwise) for name in step.keys))

    @property
    def warnings(self) -> Sequence[str]:
        """What somebody who approves a release should know of the operations."""
        return tuple(dict.fromkeys(words for step in (*self.steps, *self.otherwise) if isinstance(step, Cautious) for words in step.warnings))

    @property
    def operations(self) -> Sequence[Mask]:
        """All operations, those within documents too."""
        steps = (*self.steps, *self.otherwise)
        return (*steps, *(inner for step in steps if isinstance(step, OfDocuments) for inner in step.inner))

    def missed(self, context: MaskContext) -> Sequence[str]:
        """Return what operations should have met in some row, and did not."""
        steps = (*self.steps, *self.otherwise)
        return tuple(dict.fromkeys(words for step in steps if isinstance(step, OfDocuments) for words in step.missed(context.met)))

    def does_the_same(self, other: MaskedColumn) -> bool:
        """Return whether another column is masked in the same way."""
        return (list(self.steps), self.when, list(self.otherwise)) == (list(other.steps), other.when, list(other.otherwise))

    @property
    def hides(self) -> bool:
        """Whether who knows a value cannot find its row by what it becomes, in any branch; rows that a condition leaves as they are can be found."""
        return all(is_keyed(steps) or any(step.card.uniqueness != "preserved" for step in steps) for steps in self.branches)

    @property
    def is_plain_to_see(self) -> bool:
        """Whether who knows a value can work out what it becomes, in some branch: no key and no chance is in it."""
        return any(is_plain(steps) for steps in self.branches)

    @property
    def tells_of(self) -> frozenset[str]:
        """The columns whose values may be told from what it makes: not its own where all rows of a group become the same, unless it makes groups."""
        hidden = all(any(step.card.of_groups and self.column not in step.reads for step in steps) for steps in self.branches)
        asked = self.when is not None and self.column in self.when.reads
        return frozenset([*self.reads, *([self.column] if asked or not hidden else [])])

    @property
    def says_nothing(self) -> bool:
        """Whether all rows become alike: a prefix of somebody's number would still show which rows are theirs."""
        return any(step.component_name() in ALIKE for step in self.steps) and self.when is None

    @property
    def added_up(self) -> frozenset[str]:
        """The columns of which it may tell totals."""
        found = ({self.column} | taken_in(steps[:number]) for steps in self.branches for number, step in enumerate(steps) if isinstance(step, Totals))
        return frozenset().union(*found)

    @property
    def moves(self) -> bool:
        """Whether chance moves values a little way, or exchanges them among few rows: what is published still tells of what was there."""
        return any(moves(steps) for steps in self.branches)

    @property
    def together(self) -> str | None:
        """The name of the set of columns as one of which its rows exchange values; None where the column does not move with others."""
        return next((step.together for step in self.operations if isinstance(step, Together) and step.together is not None), None)

    @property
    def branches(self) -> Sequence[Sequence[Mask]]:
        """The operations of the rows for which the condition holds, and of the others; none where these are kept."""
        return [self.steps] if self.when is None else [self.steps, self.otherwise]

    @property
    def changes(self) -> bool:
        """Whether an operation is there to change values."""
        return any(step.component_name() != "keep" for step in (*self.steps, *self.otherwise))

    @property
    def perturbs(self) -> bool:
        """Whether values are to become others of their kind, so that one that stays has been missed."""
        return any(step.card.perturbs for step in (*self.steps, *self.otherwise))

    @property
    def needs_ladder(self) -> bool:
        """Whether an operation looks at the column's own hierarchy."""
        return any(isinstance(step, Operation) and step.needs_ladder for step in (*self.steps, *self.otherwise))

    @property
    def drops(self) -> bool:
        """Whether the column does not leave at all."""
        return any(step.component_name() == "drop" for step in self.steps)

    @property
    def repeatable(self) -> bool:
        """Whether it can be done again row by row, and must give the same."""
        return self.card.deterministic and self.card.scope not in WIDE

    @property
    def counts_up(self) -> bool:
        """Whether values are counted up as they come, and are the same ones whenever rows are looked at."""
        return self.repeatable and any(isinstance(step, Counting) and step.counts_up for step in self.operations)

    @property
    def _left(self) -> Sequence[str]:
        """What is told of the rows that a condition leaves as they are."""
        return ["The values of the rows that the condition leaves as they are."] if self.when is not None and not self.otherwise else []

    def masks_missing(self, step: Mask, number: int) -> bool:
        """Return whether an operation puts something in the place of a missing value; where the policy says so, the first one does."""
        if self.on_null == "generate":
            return number == 0 or step.card.nulls == "masked"
        return self.on_null is None and step.card.nulls == "masked"

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return the first operation that does not fit what comes to it, and why."""
        return next((f"{step.component_name()} {wrong}" for step, wrong, _ in self._misfits(kind, declared)), None)

    def fitting(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return the settings with which that operation would fit; None where nobody knows any."""
        step, _, known = next(self._misfits(kind, declared), (None, None, None))
        return step.fitting(known) if isinstance(step, Operation) and known is not None else None

    def _misfits(self, kind: pa.DataType, declared: ValueType | None) -> Iterator[tuple[Mask, str, ValueType | None]]:
        """Find operations that do not fit what comes to them, each with why, and with the type of what comes where that is known."""
        for steps in (self.steps, self.otherwise):
            seen, known = kind, declared
            for step in steps:
                wrong = step.misfit(seen, known)
                if wrong is not None:
                    yield step, wrong, known or type_of_arrow(seen)
                made = step.makes if isinstance(step, Operation) else None
                seen, known = announced_type(step, seen, self.column), made if step.card.changes_type else known

    def window_misfit(self, types: Mapping[str, ValueType | None]) -> str | None:
        """Return the first operation that makes windows of a column of the wrong type, and why."""
        told = ((step, step.window_misfit(types)) for step in (*self.steps, *self.otherwise) if isinstance(step, Windowed))
        return next((f"{step.component_name()} {wrong}" for step, wrong in told if wrong is not None), None)

    def misfit_of_made(self) -> tuple[str, str] | None:
        """Return the first operation that does not fit what one before it makes of any value, why, and what to try; None where there is none."""
        for steps in (self.steps, self.otherwise):
            maker: Mask | None = None
            for step in steps:
                wrong = step.misfit_after(maker) if isinstance(step, Operation) and isinstance(maker, Operation) else None
                if maker is not None and wrong is not None:
                    made_by = maker.component_name()
                    return f"{step.component_name()} {wrong} once {made_by} has made it", f"{step.component_name()} before {made_by}, or one of them"
                maker = step if step.component_name() != "keep" else maker
        return None

    def nested_misfit(self, kind: pa.DataType) -> str | None:
        """Return the first operation that does not fit documents of a type, and why; any that takes text takes them as text in JSON."""
        wrong = self.misfit(pa.string(), "text")
        for steps in (self.steps, self.otherwise):
            # a later operation looks at what the one before has made
            first = steps[0] if steps else None
            if wrong is None and isinstance(first, OfDocuments) and (found := first.nested_misfit(kind)) is not None:
                wrong = f"{first.component_name()} {found}"
        return wrong

    def keeps_type(self, kind: pa.DataType) -> bool:
        """Return whether documents of a type are still of that type afterwards, in all branches; else they are text."""
        return all(_keeps_type(step, kind) for step in (*self.steps, *self.otherwise))

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return the type of the masked column: text where masked and other values would be of different types."""
        branches = (self.steps, self.otherwise) if self.when is not None else (self.steps,)
        kinds = {self._typed(steps, original) for steps in branches}
        return kinds.pop() if len(kinds) == 1 else pa.string()

    def _typed(self, steps: Sequence[Mask], kind: pa.DataType) -> pa.DataType:
        for step in steps:
            kind = announced_type(step, kind, self.column)
        return kind

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the masked column; raise a DataError where it has values that the mask refuses."""
        made, effect = self.made(columns, context), self.effect(context.people)
        effect.add(made)
        refuse({context.column: effect})
        return made.values

    def made(self, columns: pa.RecordBatch, context: MaskContext) -> Made:
        """Return the masked column with what happened to each row; what the mask refuses is null there."""
        original = columns.column(context.column)
        if self.card.scope == "value" and self.card.deterministic:
            coded = _repeating(original)
            if coded is not None:
                inner = pa.RecordBatch.from_arrays([coded.dictionary], names=[context.column])
                return self._with_missing(self._masked(inner, context).taken(coded.indices), original, context)
        return self._masked(columns, context)

    def among_few(self, columns: pa.RecordBatch, context: MaskContext) -> int:
        """Return how many rows exchange values among fewer people than anything may be told of."""
        mixing = [step for step in self.steps if isinstance(step, Mixing) and step.card.perturbs]
        if not mixing:
            return 0
        held = columns if self.when is None else columns.filter(pa.array(self.when.holds(columns)))
        whose = people_of(held, context.subject)
        found = []
        for step in mixing:
            groups = step.groups(held)[0]
            # who is alone in what moves is removed, or the run refused
            left = np.bincount(groups)[groups] > 1 if getattr(step, "way", None) == "moving" else np.ones(len(groups), bool)
            found.append(rows_among_few(groups[left], whose[left], context.people))
        return max(found)

    def effect(self, people: int = 2) -> Effect:
        """Return what gathers what it does, as yet of no rows; ``people`` is the number below which nothing is told of them."""
        refusals = dict(_refusals((*self.steps, *self.otherwise), people))
        everywhere = any(step.component_name() != "keep" for step in self.otherwise)
        removes = self.on_invalid == "remove"
        may_remove = removes or any(_removes(step) for step in (*self.steps, *self.otherwise))
        return Effect(removes=removes, may_remove=may_remove, everywhere=everywhere, refusals=refusals)

    def totals(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, list[Told]]:
        """Return the masked column, and the groups of rows of which its operations tell totals.

        What an operation adds up is what those before it have made, also of other columns.
        """
        found: list[Told] = []

        def watch(steps: Sequence[Mask], number: int, seen: pa.RecordBatch, rows: NDArray[np.bool_], context: MaskContext) -> None:
            step, mixed = steps[number], seen.filter(pa.array(rows))
            told = step.told(mixed, context) if isinstance(step, Totals) else None
            if told is not None:
                of = made_of(context.column, steps[:number]) if told.of else told.of
                cards = [earlier.card for earlier in steps[:number]]
                # an expression may have chance in it: it is taken for one that has none
                weighed = any(card.changes_type for card in cards) and not any(card.perturbs or card.reveals == NOTHING for card in cards)
                found.append(_left_by(steps[number + 1 :], replace(told, of=of, weighed=weighed), mixed, context).among(rows, len(rows)))

        return self._masked(columns, context, watch).values, found

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return its operations as an expression of a database; None where one has none, or where a condition or a policy for nulls is to be kept.

        ``databases.expressions`` does the whole of it.
        """
        if self.when is not None or self.on_null is not None:
            return None
        found = dict(columns)
        for step in self.steps:
            expressed = step.express(found, context)
            if expressed is None:
                return None
            found[context.column] = expressed
        return found[context.column]

    def _with_missing(self, made: Made, original: pa.Array, context: MaskContext) -> Made:
        """Return what was masked by its distinct values with what becomes of the missing ones, which are not among these."""
        if not original.null_count:
            return made
        one = self._masked(pa.RecordBatch.from_arrays([pa.nulls(1, original.type)], names=[context.column]), context)
        gone = original.is_null().to_numpy(zero_copy_only=False)
        values = pc.if_else(pa.array(gone), one.values[0], made.values)
        return Made(values, np.where(gone, one.held[0], made.held), np.where(gone, one.missing[0], made.missing), made.invalid, made.removed)

    def _masked(self, columns: pa.RecordBatch, context: MaskContext, watch: _Watch | None = None) -> Made:
        original = columns.column(context.column)
        refused = original.is_null().to_numpy(zero_copy_only=False) if self.on_null == "error" else np.zeros(len(original), bool)
        holds = self.when.holds(columns) if self.when is not None else np.ones(len(original), bool)
        kind = self.output_type(original.type)
        wrong = _Wrong({}, {})
        masked = self._steps(self.steps, columns, holds, context, watch, wrong)
        if self.when is not None:
            rest = self._steps(self.otherwise, columns, ~holds, context, watch, wrong) if self.otherwise else original
            masked = pc.if_else(pa.array(holds), _as_type(masked, kind), _as_type(rest, kind))
        return Made(masked, holds, refused, wrong.invalid, wrong.removed)

    def _steps(
        self,
        steps: Sequence[Mask],
        columns: pa.RecordBatch,
        rows: NDArray[np.bool_],
        context: MaskContext,
        watch: _Watch | None,
        found: _Wrong,
    ) -> pa.Array:
        """Return the column after some operations, of which only the rows they apply to mean something; note what they cannot take."""
        place = columns.schema.get_field_index(context.column)
        for number, step in enumerate(steps):
            values = columns.column(place)
            applies = rows if self.masks_missing(step, number) else rows & values.is_valid().to_numpy(zero_copy_only=False)
            masked, wrong = _on_rows(step, columns, applies, context)
            if watch is not None:
                watch(steps, number, columns, applies, context)
            told = found.removed if _removes(step) else found.invalid
            for name, refused in wrong.items():
                there = refused & values.is_valid().to_numpy(zero_copy_only=False)
                if there.any():
                    told[name] = told.get(name, False) | there
            columns = columns.set_column(place, context.column, masked)
            if step.card.changes_type:
                # what the policy says of the type is said of the source
                context = replace(context, kind=None)
        return columns.column(place)


def _left_by(later: Sequence[Mask], told: Told, columns: pa.RecordBatch, context: MaskContext) -> Told:
    """Return what is told of values in another order once later operations have changed some of them: those are not shown any more.

    What an operation makes of a value does not hang on the row that it has come to.
    """
    if not told.mixed or not later or any(step.card.scope in WIDE for step in later):
        return told
    place, every = columns.schema.get_field_index(context.column), np.ones(columns.num_rows, bool)
    originals = numbers_of(columns.column(place))
    for step in later:
        there = columns.column(place).is_valid().to_numpy(zero_copy_only=False)
        columns = columns.set_column(place, context.column, _on_rows(step, columns, every & there, context)[0])
        if step.card.changes_type:
            context = replace(context, kind=None)
    shown = on_a_line(originals, numbers_of(columns.column(place)), not all(step.card.deterministic for step in later))
    return replace(told, groups=np.where(shown, told.groups, -1)) if shown.any() else told


def _removes(step: Mask) -> bool:
    """Return whether an operation removes values that it cannot take of its own."""
    return isinstance(step, Removing) and step.removes


def _on_rows(step: Mask, columns: pa.RecordBatch, rows: NDArray[np.bool_], context: MaskContext) -> tuple[pa.Array, dict[str, NDArray[np.bool_]]]:
    """Return what an operation makes of some rows, null for the others, and those of which it could make nothing, by its name."""
    if rows.all():
        return _made(step, columns, context)
    masked, wrong = _made(step, columns.filter(pa.array(rows)), context)
    places = np.cumsum(rows) - 1
    refused = {name: np.zeros(len(rows), bool) for name in wrong}
    for name, some in wrong.items():
        refused[name][rows] = some
    return masked.take(pa.array(places, mask=~rows)), refused


def _refusals(steps: Iterable[Mask], people: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Find what is said of rows that operations refuse, and what to try, by the name of the operation and of the place where that is known."""
    for step in steps:
        name = step.component_name()
        if isinstance(step, Advising):
            yield name, step.refused(people)
        if isinstance(step, AdvisingByPlace):
            for place, hint in step.advice.items():
                yield f"{name}{place}", (f"with a value that {name}{place} cannot take", hint)


def _made(step: Mask, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, dict[str, NDArray[np.bool_]]]:
    name = step.component_name()
    wrong: dict[str, NDArray[np.bool_]] | None = None
    with faults_of(step, context.column):
        if isinstance(step, Locating):
            masked, places = step.apply_and_locate(columns, context)
            wrong = {f"{name}{place}": rows for place, rows in places.items()}
        elif isinstance(step, Refusing):
            masked, refused = step.apply_or_refuse(columns, context)
            wrong = {name: refused}
        else:
            masked = step.apply(columns, context)
    refuse_misfit(step, masked, columns, context)
    if wrong is not None:
        return masked, wrong
    if (step.card.empties and not _removes(step)) or not masked.null_count:
        return masked, {}
    return masked, {name: masked.is_null().to_numpy(zero_copy_only=False)}


def _keeps_type(step: Mask, kind: pa.DataType) -> bool:
    if isinstance(step, OfDocuments):
        return step.keeps_type(kind)
    return not step.card.changes_type and not step.card.types and step.output_type(pa.string()) == pa.string()


def _as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type == kind else canonical.render(values)


def _repeating(values: pa.Array) -> pa.DictionaryArray | None:
    """Return the values as a dictionary and codes where many of them occur again; None where that is not worth it."""
    if pa.types.is_dictionary(values.type):
        return values
    looked_at = min(len(values), _LOOKED_AT)
    if looked_at < _LOOKED_AT // 4 or len(values.slice(0, looked_at).unique()) * 2 > looked_at:
        return None
    return values.dictionary_encode()

"""Masks: operations that change one column, each with a card that says what it does.

An operation is a value, a row, a group or the whole table at a time. It answers null for a value that it cannot take; what then happens, and what
becomes of missing values, is the same for all operations and no business of theirs (see ``masked_column``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.canonical import ValueType
from sfumato.core.keys import Keys
from sfumato.core.moved_together import MovedTogether
from sfumato.core.settings import Settings
from sfumato.core.whose import Subject

if TYPE_CHECKING:
    import ibis

    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.rehearsal import Rehearsal

Scope = Literal["value", "row", "group", "table"]
WIDE: tuple[Scope, ...] = ("group", "table")
"""The scopes of masks that need all rows at once."""

Uniqueness = Literal["preserved", "not guaranteed", "lossy"]
NOTHING = "Nothing of the value."
"""What a card says it reveals where a mask does not look at the value."""


@dataclass(frozen=True)
class Card:
    """What a mask does to a column, for people who choose one and for the checks that refuse it where it would break a promise.

    ``deterministic``: the same value, under the same key, always becomes the same. ``uniqueness``: whether two values stay two. ``nulls`` says
    what becomes of a missing value where the policy says nothing; ``generates`` whether the operation can put something in its place.
    ``keyed`` says that nobody without a key or a vault can tell what a value becomes: who knows somebody's value does not find the row by it.
    ``empties`` says that it answers null on purpose, ``perturbs`` that values become others of their kind, by chance or by exchange,
    ``in_part`` that parts of a value may stay as they are whatever chance does to the others, ``of_groups`` that all rows that are alike in
    the columns it reads become the same. ``types`` are the types of values it takes, all where
    there are none. ``reveals`` says in one sentence what can still be learnt.
    """

    deterministic: bool
    uniqueness: Uniqueness
    changes_type: bool
    scope: Scope
    reversible: bool = False
    nulls: Literal["kept", "masked"] = "kept"
    engines: tuple[str, ...] = ("arrow",)
    generates: bool = False
    keyed: bool = False
    empties: bool = False
    perturbs: bool = False
    in_part: bool = False
    of_groups: bool = False
    types: tuple[ValueType, ...] = ()
    reveals: str = ""


@dataclass(frozen=True)
class MaskContext:
    """What a mask may need beside the columns: whose mask it is, the keys, and what the policy says of the column.

    ``subject`` is the column that says whose row it is, and is among the columns an operation gets where it asks for it; ``people`` is the
    number of people below which nothing may be told of them; ``ladder`` the hierarchy of the column where the policy gives one; ``kinds`` the types
    that the policy says columns have; ``documents`` the type that a column of text in JSON has in its source. ``view`` tells one
    view of one policy from all others. In a ``rehearsal`` no vault is written: what it would remember is remembered there.
    ``pads`` finds the columns of a database that hold the pads of a key for a purpose, where the key may be there.
    """

    column: str
    view: str = "default"
    keys: Keys = field(default_factory=Keys)
    kind: ValueType | None = None
    subject: Subject | None = None
    people: int = 2
    ladder: Hierarchy | None = None
    kinds: Mapping[str, ValueType] = field(default_factory=dict)
    documents: pa.DataType | None = None
    private: Path | None = None
    rehearsal: Rehearsal | None = None
    pads: Callable[[str, str], tuple[Any, Any] | None] | None = None
    met: set[str] = field(default_factory=set, compare=False)
    """What masks have met while they were applied, by names of the policy; never a value."""
    opened_by: set[str] = field(default_factory=set, compare=False)
    """The ids of the keys with which values were revealed."""
    moved: MovedTogether = field(default_factory=MovedTogether, compare=False)
    """The orders that columns of one view share."""

    def key(self, name: str, domain: str | None) -> bytes:
        """Return the key of a pseudonym domain, derived from a named one; where no domain is named it is the view's own."""
        return self.keys.derived(name, self.purpose(domain))

    def purpose(self, domain: str | None) -> str:
        """Return what pseudonyms of a domain are made for: only those of one purpose can be compared."""
        return f"domain:{domain}" if domain is not None else f"view:{self.view}"


@runtime_checkable
class Mask(Protocol):
    """Changes one column; may read others."""

    @property
    def card(self) -> Card:
        """What it does."""
        ...

    def component_name(self) -> str:
        """Return the name by which a policy calls the mask."""
        ...

    @property
    def reads(self) -> Sequence[str]:
        """Further columns it looks at."""
        ...

    @property
    def keys(self) -> Sequence[str]:
        """The named keys it needs."""
        ...

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type; None where nothing is."""
        ...

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return the type of the masked column."""
        ...

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the masked column. Group and table scopes get the whole table, in a stream the window."""
        ...

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the masked column as an expression of a database; None means Arrow batches."""
        ...


@runtime_checkable
class Reversible(Protocol):
    """A mask that whoever has its key or its vault can undo."""

    def reveal(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return the values as they were, as text; null for one that this mask, under these keys, has not made. Missing ones stay so."""
        ...


@runtime_checkable
class Marking(Mask, Reversible, Protocol):
    """A mask that can be undone and whose values can be told from all others: whatever it reveals it has made."""

    def marked(self, values: pa.Array, context: MaskContext) -> NDArray[np.bool_]:
        """Return for each value whether it looks like one of this mask under a key that is known, be it a damaged one; a missing one does not."""
        ...

    def key_ids(self, values: pa.Array) -> Sequence[str | None]:
        """Return the id of the key that each value names; None for one that is none of this mask."""
        ...

    def refuse_strangers(self, values: pa.Array, context: MaskContext) -> None:
        """Refuse values that look like some of this mask and are of none of its keys."""
        ...

    def is_like(self, other: Mask, keys: Keys | None) -> bool:
        """Return whether this mask would reveal values of another one; where keys are not given, two of different names are taken for two."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """A mask that answers null on purpose, so that it says itself which values it cannot take."""

    def apply_or_refuse(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, NDArray[np.bool_]]:
        """Return the masked column, and for each row whether its value could not be taken."""
        ...


@runtime_checkable
class Removing(Protocol):
    """A mask with a setting by which it removes values that it cannot take, whatever is said of others that are not valid."""

    @property
    def removes(self) -> bool:
        """Whether it does so."""
        ...


@runtime_checkable
class Locating(Protocol):
    """A mask that knows where in a value it is that it cannot take."""

    def apply_and_locate(self, columns: pa.RecordBatch, context: MaskContext) -> tuple[pa.Array, Mapping[str, NDArray[np.bool_]]]:
        """Return the masked column, and for each place, in words that follow the name of the operation, the rows that fail there, each once."""
        ...


@runtime_checkable
class Advising(Protocol):
    """A mask of which it must be said what it cannot take: not the value, but all rows that belong to it."""

    def refused(self, people: int) -> tuple[str, str]:
        """Return what is said after the number of rows, and what to try beside removing them; nothing is told of fewer than so many people."""
        ...


@runtime_checkable
class AdvisingByPlace(Locating, Protocol):
    """A mask that knows what to try where it cannot take what is at some place of a value."""

    @property
    def advice(self) -> Mapping[str, str]:
        """What to try beside removing such rows, for places as ``apply_and_locate`` tells them."""
        ...


@runtime_checkable
class OfDocuments(Protocol):
    """A mask that looks into lists and structures, and has masks of its own for what is in them."""

    @property
    def inner(self) -> Sequence[Mask]:
        """The masks of single values."""
        ...

    @property
    def undone(self) -> Sequence[Sequence[Mask]]:
        """Those of them that can be undone, each with those that follow it."""
        ...

    def reveal_within(self, values: pa.Array, context: MaskContext) -> pa.Array:
        """Return documents with what can be undone as it was; null for one that this mask, under these keys, has not made."""
        ...

    def nested_misfit(self, kind: pa.DataType) -> str | None:
        """Return what is wrong with documents of a type; None where nothing is."""
        ...

    def keeps_type(self, kind: pa.DataType) -> bool:
        """Return whether documents of a type are still of that type afterwards."""
        ...

    def missed(self, met: Set[str]) -> Sequence[str]:
        """Return what the policy names and no document had, each as a clause without a full stop."""
        ...


@runtime_checkable
class Unrepeatable(Protocol):
    """A mask whose chance must not, or cannot, be made to come again."""

    @property
    def unrepeatable(self) -> str | None:
        """Why, as a clause; None where settings make it a function of the row."""
        ...


@runtime_checkable
class Decided(Mask, Protocol):
    """A mask whose result is a function of other columns under a key, in place of the column's own value."""

    @property
    def domain(self) -> str | None:
        """The pseudonym domain of the key."""
        ...

    @property
    def decided_by(self) -> Sequence[str]:
        """The columns whose values decide; none where the column's own does."""
        ...


@runtime_checkable
class Counting(Protocol):
    """A mask with a setting by which it counts values up as they come: what it makes hangs on the order of the rows."""

    @property
    def counts_up(self) -> bool:
        """Whether it does so."""
        ...


@runtime_checkable
class Cautious(Protocol):
    """A mask with settings that somebody who approves a release should know of."""

    @property
    def warnings(self) -> Sequence[str]:
        """What to know, each a clause without a full stop; plan and record repeat them beside the column's name."""
        ...


@dataclass(frozen=True, eq=False)
class Told:
    """Groups of rows of each of which one total is told: who takes one total from another learns of those in whom they differ.

    ``of`` are the columns of which something is added up, none where rows are counted; ``added`` are fingerprints of what goes into it of each row,
    the value itself or something else (see ``added_prints``). ``groups`` has the group of each row, -1 where nothing is told of it; ``people`` is the
    number below which nothing may be told. ``known`` are rows whose own value is told, though not whose it is. What is ``mixed`` shows all values of
    a group, in another order. ``one_of`` has the group of each row of which one value is told, an extreme or a mode, instead of a total. Nobody may
    make up more than ``dominance`` of a total, where one is held to that. What is ``weighed`` was made of values before it was
    added up in any way that a reader may know, and not only rounded or cut off. The ``side`` of an extreme is 1 for the largest and -1 for the
    smallest, 0 for a mode.
    """

    of: frozenset[str]
    added: NDArray[np.uint64]
    groups: NDArray[np.int64]
    people: int
    known: NDArray[np.bool_]
    mixed: bool = False
    one_of: NDArray[np.int64] | None = None
    dominance: float | None = None
    weighed: bool = False
    side: int = 0

    @property
    def about(self) -> NDArray[np.int64]:
        """The group of each row of which anything is told, -1 where nothing is."""
        return self.groups if self.one_of is None else self.one_of

    def among(self, rows: NDArray[Any], number: int) -> Told:
        """Return what is told of some rows as told of a table that has more of them, of the others nothing."""
        groups, one_of = np.full(number, -1, np.int64), np.full(number, -1, np.int64)
        known, added = np.zeros(number, bool), np.zeros(number, np.uint64)
        groups[rows], known[rows], added[rows], one_of[rows] = self.groups, self.known, self.added, self.about
        return replace(self, groups=groups, known=known, added=added, one_of=None if self.one_of is None else one_of)


Way = Literal["adding", "choosing", "ordering", "moving", "swapping", "in part", "some", "kept", "asking"]
"""How something is told of a column: by what its values add up to, by one of them, by the mean of neighbours, in another order, all or some of
them; or of each row, by a part of its value, by the value of some, or by whether a condition on it holds."""


@runtime_checkable
class Totals(Protocol):
    """A mask that tells sums, means, counts, extremes or modes of groups, or lets them be worked out: what rows exchange adds up to what it did."""

    def told(self, columns: pa.RecordBatch, context: MaskContext) -> Told | None:
        """Return of which rows it tells totals, or values; None where it tells nothing that could be taken from another total."""
        ...


@runtime_checkable
class Replacing(Protocol):
    """A mask that may make something of other columns alone, and put it in the place of the column's own value."""

    def leaves_out(self, column: str) -> bool:
        """Return whether nothing of a column's own value is in what the mask makes there."""
        ...


@runtime_checkable
class Mixing(Protocol):
    """A mask by which rows exchange values; among few rows many keep their own, and all keep one of few."""

    def groups(self, columns: pa.RecordBatch) -> tuple[NDArray[np.int32], int]:
        """Return the group of rows within which each row exchanges values, and how many there are."""
        ...


@runtime_checkable
class Together(Mixing, Protocol):
    """A mask by which rows may exchange the values of several columns at once, each column with a mask of its own that names the same set."""

    @property
    def together(self) -> str | None:
        """The name of the set; None where the column moves by itself."""
        ...


@runtime_checkable
class Naming(Protocol):
    """A mask whose settings name columns in a language of their own."""

    def unread(self, column: str) -> Sequence[str]:
        """Return the columns that are named there for the mask of a column, and that it is not given."""
        ...


@runtime_checkable
class Windowed(Protocol):
    """A mask that divides other columns into windows."""

    def window_misfit(self, types: Mapping[str, ValueType | None]) -> str | None:
        """Return what is wrong with windows of columns whose types are known, as a clause; None where nothing is."""
        ...


class Operation(Settings):
    """What most masks have in common: they read no other column, need no key, and keep or make text.

    Where settings decide which types a mask takes, ``types_with_any_settings`` are all of them together: every type where there are none.
    """

    types_with_any_settings: ClassVar[tuple[ValueType, ...] | None] = None

    if TYPE_CHECKING:
        # an attribute of the class, or a property where it depends on the settings
        @property
        def card(self) -> Card:
            """What it does."""
            ...

    @property
    def reads(self) -> Sequence[str]:
        """No further column."""
        return ()

    @property
    def keys(self) -> Sequence[str]:
        """No key."""
        return ()

    @property
    def makes(self) -> ValueType | None:
        """The type of what it makes, whatever the values are; None where that hangs on them."""
        return None

    @property
    def characters(self) -> str | None:
        """All characters that what it makes is written with; None where nobody can tell."""
        return None

    @property
    def outcomes(self) -> Sequence[str] | None:
        """All texts of which it makes one of any value; None where they are not those of its settings."""
        return None

    def misfit_after(self, maker: Operation) -> str | None:
        """Return what is wrong with what another operation makes of any value; None where nothing is known to be."""
        wrong = None if maker.makes is None else self.misfit(pa.string(), maker.makes)
        if wrong is None and maker.outcomes is not None and not self.takes_some(pa.array(maker.outcomes, pa.string())):
            return "takes no value that the column has"
        return wrong

    def takes_some(self, texts: pa.Array) -> bool:
        """Return whether it takes one at least of some texts, as far as that is known."""
        del texts
        return True

    def read_files(self) -> None:
        """Read the files that it names, so that what is wrong with them is told with the policy; here there are none."""

    @property
    def keeps_decimals(self) -> bool:
        """Whether a number becomes one with as many decimals as it is written with."""
        return False

    @property
    def needs_ladder(self) -> bool:
        """Whether it looks at the column's own hierarchy."""
        return False

    @property
    def tells_key(self) -> bool:
        """Whether what it makes, or the vault that remembers it, says under which key; where not, whoever undoes it must."""
        return True

    def misfit(self, kind: pa.DataType, declared: ValueType | None) -> str | None:
        """Return what is wrong with a column of this type: the card names those that are right."""
        if not self.card.types:
            return None
        held = _neither_text_nor_known(kind)
        if held is not None:
            return f"takes {_listed(self.card.types)}, and the column holds {held}"
        known = declared or type_of_arrow(kind)
        return None if known is None or known in self.card.types else f"takes {_listed(self.card.types)}, and the column is of type {known}"

    def fitting(self, kind: ValueType) -> str | None:
        """Return the settings with which it would take columns of a type that it does not take with these; None where nobody knows any."""
        del kind
        return None

    def output_type(self, original: pa.DataType) -> pa.DataType:
        """Return text where the card says that the type changes, else the type that it was."""
        return pa.string() if self.card.changes_type else original

    @abstractmethod
    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the masked column."""

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return nothing: the work is done on Arrow batches."""
        del columns, context
        return None


def text_of(columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
    """Return the column that is masked as text in its canonical form."""
    values = columns.column(context.column)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    # instants are written in UTC, whatever the zone that they came in
    return canonical.render(canonical.parse(values, "timestamp") if pa.types.is_timestamp(values.type) else values)


def type_of_arrow(kind: pa.DataType) -> ValueType | None:
    """Return the type of values that an Arrow type holds; None for text, of which nobody can tell before all of it is read.

    >>> type_of_arrow(pa.int32()), type_of_arrow(pa.string())
    ('integer', None)
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_date(kind):
        return "date"
    return "timestamp" if pa.types.is_timestamp(kind) else None


def _neither_text_nor_known(kind: pa.DataType) -> str | None:
    """Return in words what a column holds that is no text and of no type that a policy can name."""
    if pa.types.is_boolean(kind):
        return "truth values"
    return "times of day" if pa.types.is_time(kind) else None


def _listed(names: Sequence[Any]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"

"""The interfaces between the stages. Replacing an algorithm, a data source or a store means one file that has one of these shapes.

A component is its frozen settings class; state lives in the sessions, writers and handles that settings start.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.mask import WIDE, Counting, Mask, MaskContext
from sfumato.core.nested_values import as_json, as_nested
from sfumato.core.settings import Settings
from sfumato.core.whose import Subject

if TYPE_CHECKING:
    from sfumato.core.classes import Classes
    from sfumato.core.frequencies import Frequencies
    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.mask_effect import Effect
    from sfumato.core.problem import Problem
    from sfumato.core.publication import Publication
    from sfumato.core.reading import Reading
    from sfumato.core.recoding import Recoding
    from sfumato.core.text_classes import TextClasses
    from sfumato.core.workplace import Workplace


# --- where rows come from and go to -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scan:
    """How a store can read a source natively: the format, the places, the options of the format."""

    format: str
    places: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Source(Protocol):
    """Where rows come from. Reading it again gives the same rows in the same order, or an error that says it has changed."""

    def describe(self) -> pa.Schema:
        """Return the columns and their types, without reading the rows."""
        ...

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the rows of some columns in order; those of ``coded`` may come as dictionary arrays, where that is cheaper."""
        ...

    def state(self) -> str:
        """Return a token that changes when the source does."""
        ...

    def about(self) -> int | None:
        """Return about how many rows there are, without reading them all: for time left, nothing else. None where nobody knows."""
        ...

    def scan(self) -> Scan | None:
        """Return how a store can read the source natively; None where it cannot."""
        ...


class Writer(Protocol):
    """A release that is being written and that nobody can see yet."""

    @property
    def staging(self) -> Sequence[str]:
        """The private files in which it is written, to be cleared away should the process die."""
        ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Write further rows."""
        ...

    def finish(self) -> Source:
        """Close and sync what was written, and return the source that reads it back, still unpublished."""
        ...

    def publish(self) -> Sequence[str]:
        """Make the release visible in one step, in place of what was there before, and say where it is."""
        ...

    def abort(self) -> None:
        """Leave nothing behind."""
        ...


class InOneStep(Protocol):
    """Several releases that become visible together."""

    def publish(self) -> None:
        """Make all of them visible."""
        ...

    def close(self) -> None:
        """Leave nothing behind of what was not published."""
        ...


@runtime_checkable
class ReorderingWriter(Writer, Protocol):
    """A writer whose rows are read back in another order than they were written in."""

    @property
    def order(self) -> NDArray[np.int64]:
        """The place among the rows that were written of each one that is read back; known when the release is finished."""
        ...


@runtime_checkable
class LinkedWriter(Writer, Protocol):
    """A writer that puts each row in the place of the one that it comes from."""

    def linked(self, rows: NDArray[np.int64]) -> None:
        """Say, before the first row is written, which row of the source each one comes from."""
        ...


@runtime_checkable
class RecordedSink(Protocol):
    """A sink that keeps the record of a release until that is published, should another run have to finish it."""

    def take_record(self, record: Mapping[str, Any]) -> None:
        """Take the record of a release that has been verified."""
        ...


@runtime_checkable
class Identified(Protocol):
    """A source or a sink that can be reached by several names: two of them are one where they say the same."""

    def identity(self) -> str | None:
        """Return what it is, whatever it is called; None where there is nothing yet."""
        ...


@runtime_checkable
class MadeOfOthers(Protocol):
    """A source that may be made of others, as a view is."""

    def reads(self, sink: Identified) -> bool:
        """Return whether it reads what a sink would replace, under whatever name."""
        ...


@runtime_checkable
class ClassSink(Protocol):
    """A sink that may write equivalence classes apart from their rows; ``classes`` says where to, None that it does not."""

    @property
    def classes(self) -> str | None:
        """Where the classes go."""
        ...

    def parts(self) -> Sequence[Identified]:
        """Return what can be told apart from other tables: one for the rows, and one for the classes where they are apart."""
        ...


@runtime_checkable
class BegunSource(Protocol):
    """A source whose first rows can be had without the others."""

    def beginning(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns of about so many rows."""
        ...


@runtime_checkable
class NarrowedSource(Protocol):
    """A source of which no more columns are read than somebody says beforehand."""

    def narrowed(self, columns: Sequence[str]) -> Source:
        """Return the source with the same rows and no other columns; to ask for another is a mistake of ours."""
        ...


@runtime_checkable
class ChoosySink(Protocol):
    """A sink that cannot take every release."""

    def refuse_columns(self, names: Sequence[str]) -> str | None:
        """Return what is wrong with a release of these columns; None where nothing is."""
        ...


@runtime_checkable
class ReplacingSink(Protocol):
    """A sink that puts a table in the place of another."""

    def refuse_used(self) -> None:
        """Refuse what could not be replaced when the release is made."""
        ...

    def refuse_unwritable(self, is_inside: bool = False) -> None:
        """Refuse a place that is not there, or to which the user may not write; work inside a database needs more."""
        ...


@runtime_checkable
class TellingSource(Protocol):
    """A source of which readers of a record should know something."""

    def told(self) -> Sequence[str]:
        """Return it in words without a value, each a clause; after the source was described."""
        ...


@runtime_checkable
class ReadableSink(Protocol):
    """A sink whose files can be read again, by the same settings as they were written."""

    def reader(self, path: str, names: Sequence[str] | None) -> Source:
        """Return the source that reads a file of the sink; ``names`` are those of its columns, where it has no header."""
        ...


@runtime_checkable
class NestingSink(Protocol):
    """A sink that has types for lists, structures and maps; any other gets them as text in JSON."""

    def nests(self, name: str) -> bool:
        """Return whether a column can be written with such a type."""
        ...


@runtime_checkable
class RangeSink(Protocol):
    """A sink that may have types for ranges of numbers, dates and addresses."""

    @property
    def has_ranges(self) -> bool:
        """Whether it has them."""
        ...


@runtime_checkable
class LimitedSink(Protocol):
    """A sink that holds only so many rows."""

    def refuse_rows(self, rows: int) -> None:
        """Refuse a release of more rows than it holds, before anything is written."""
        ...


@runtime_checkable
class Sink(Protocol):
    """Where rows go. Nothing is visible before it is published."""

    def open(self, schema: pa.Schema) -> Writer:
        """Begin a release under a private name."""
        ...

    def places(self) -> Sequence[str]:
        """Return the files it will replace, so that no run writes over what it reads."""
        ...


# --- where the work is done -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttachPlan:
    """Which columns a store takes: those that will be counted, those that leave as they are or masked, and whose rows they are."""

    coded: Sequence[str]
    kept: Sequence[str] = ()
    subject: Subject | None = None


@dataclass(frozen=True)
class Dictionary:
    """The distinct values of one column as they were read, and how many rows have each; null is not among them."""

    values: pa.Array
    counts: NDArray[np.int64]
    nulls: int


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the distinct values of a column, in the order of its dictionary, become codes; ``null_code`` is that of a missing value.

    ``name`` is what the codes are called where they are not those of the column as it was read.
    """

    column: str
    codes: NDArray[np.int32]
    null_code: int
    size: int
    name: str = ""

    @property
    def called(self) -> str:
        """The name by which the codes are known."""
        return self.name or self.column


@dataclass(frozen=True, eq=False)
class CountPlan:
    """What is to be counted: the encoded quasi-identifiers and sensitive columns, the subject, and the rows to leave out.

    ``refused`` names, for each column where an unknown value suppresses its row, the code of such a value.
    """

    quasi_identifiers: Sequence[Encoding]
    sensitive: Sequence[Encoding] = ()
    subject: str | None = None
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MaskPlan:
    """What each published column is: a recoded one, one that a mask makes, or one that is kept.

    ``publications`` has one entry a quasi-identifier, in the order of the recoding's columns; ``masks`` and ``kept`` go by column name.
    ``order`` is the order of the published columns, ``context`` what masks may need. ``nested`` are the types of the columns of text in JSON that
    are written as lists, structures or maps, ``told`` is what sources say of kept columns beside their types.
    """

    publications: Sequence[Publication]
    masks: Mapping[str, Mask]
    kept: Sequence[str]
    order: Sequence[str]
    contexts: Mapping[str, MaskContext] = field(default_factory=dict)
    nested: Mapping[str, pa.DataType] = field(default_factory=dict)
    told: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)

    @property
    def wide(self) -> list[str]:
        """The columns whose masks need all rows at once."""
        return [name for name, mask in self.masks.items() if mask.card.scope in WIDE]

    @property
    def repeatable(self) -> list[str]:
        """The columns whose masks can be done again row by row, and must give the same."""
        return [name for name, mask in self.masks.items() if mask.card.deterministic and name not in self.wide]

    @property
    def counting(self) -> list[str]:
        """The columns whose values are counted up in the order of the source; beside a promise, which that order would void, policies have none."""
        return [name for name, mask in self.masks.items() if isinstance(mask, Counting) and mask.counts_up]

    def typed(self, name: str, column: pa.Array) -> pa.Array:
        """Return a published column in the type in which it is written."""
        return as_nested(column, self.nested[name], name) if name in self.nested else column

    def as_read_back(self, name: str, column: pa.Array) -> pa.Array:
        """Return a published column as a source reads what was written."""
        return as_json(self.typed(name, column), name) if name in self.nested else column

    def needed(self, name: str) -> list[str]:
        """Return the columns that the mask of a column looks at, itself first."""
        subject = self.contexts[name].subject
        return list(dict.fromkeys([name, *self.masks[name].reads, *([subject.name] if subject is not None and name in self.wide else [])]))


class Attached(Protocol):
    """A source in one state that a store works on until it is released."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def strangers(self) -> int:
        """How many rows have a subject that is not of its declared type, and are nobody's."""
        ...

    def dictionary(self, column: str) -> Dictionary:
        """Return the distinct values of one of the columns to be coded."""
        ...

    def first_row(self, column: str, values: NDArray[np.bool_]) -> int | None:
        """Return the first row, counted from 1, that has one of these values of the column's dictionary; None where rows have no order."""
        ...

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one person alone has."""
        ...

    def writings(self) -> pa.Array | None:
        """Return the first distinct texts that say whose rows are; None where nothing says so."""
        ...

    def release(self) -> None:
        """Give back what the store holds for it and nobody needs any more."""
        ...

    def abandon(self) -> None:
        """Leave nothing behind: nothing will be published."""
        ...


class Staged(Protocol):
    """A written release that nobody can see yet, and the private link from its rows to the rows of the source."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def written(self) -> Source:
        """The source that reads back what was written."""
        ...

    @property
    def link(self) -> NDArray[np.int64]:
        """The source row of each staged row. Never published."""
        ...

    @property
    def staging(self) -> Sequence[str]:
        """The private files in which it was written; gone when it is published."""
        ...

    @property
    def effects(self) -> Mapping[str, Effect]:
        """What the mask of each masked column did to its values."""
        ...

    def reading(self, progress: Progress) -> Reading:
        """Read back what was written: published quasi-identifiers as codes, kept columns as the fingerprint ``kept``."""
        ...

    def text_classes(self, progress: Progress) -> TextClasses:
        """Return the class of each staged row by the text of its quasi-identifiers."""
        ...


@dataclass(frozen=True)
class Published:
    """Where a release is, and how many rows it has."""

    places: tuple[str, ...]
    rows: int


@runtime_checkable
class Store(Protocol):
    """Where the work is done: codes, one count of combinations, staging, classes, publishing."""

    def attach(self, source: Source, plan: AttachPlan, workplace: Workplace, progress: Progress) -> Attached:
        """Take the source in one state."""
        ...

    def frequencies(self, attached: Attached, plan: CountPlan) -> Frequencies:
        """Count the combinations."""
        ...

    def stage(
        self,
        attached: Attached,
        recoding: Recoding,
        masks: MaskPlan,
        sink: Sink,
        workplace: Workplace,
        progress: Progress,
    ) -> Staged:
        """Write the release where nobody can see it."""
        ...

    def classes(self, staged: Staged, plan: ClassPlan, progress: Progress) -> Classes:
        """Group what was written by its text: what verification sees."""
        ...

    def publish(self, staged: Staged, sink: Sink) -> Published:
        """Make the staged release visible in one step."""
        ...

    def discard(self, staged: Staged) -> None:
        """Leave nothing of the staged release behind."""
        ...


@dataclass(frozen=True, eq=False)
class ClassPlan:
    """What promises look at beside the written text: sensitive values and people, one entry a staged row, and reference counts."""

    sensitive: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    subject: NDArray[np.int64] | None = None
    references: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    ladders: Mapping[str, Hierarchy] = field(default_factory=dict)


# --- ladders, promises, searches --------------------------------------------------------------------------------------


@runtime_checkable
class HierarchyBuilder(Protocol):
    """Builds the ladder of one column."""

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the ladder for the distinct values of a column, typed and in order, and how many rows have each.

        Values it does not know are no error here.
        """
        ...


@runtime_checkable
class WrittenHierarchy(HierarchyBuilder, Protocol):
    """A ladder that somebody has written down, in a file or in the policy: it can be read, and found wrong, before any data are."""

    def read(self, column: str) -> Hierarchy:
        """Return the ladder, whatever the values of the column are."""
        ...


Scale = Literal["ordered", "hierarchical"]


class Promise(Settings):
    """A privacy model: arithmetic on class counts."""

    monotone_when_merged: ClassVar[bool]
    """Two classes that hold, merged, hold: prune when no row may be suppressed."""

    monotone_when_grown: ClassVar[bool]
    """A class that holds still does with any rows added: needed to prune under a suppression limit."""

    @property
    def smaller_is_stricter(self) -> bool:
        """Whether a smaller measured value is the better one."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """The sensitive columns that it looks at."""
        return ()

    @property
    def scales(self) -> Mapping[str, Scale]:
        """How far apart it takes the values of a sensitive column to be, where that matters: by their order, or by their hierarchy."""
        return {}

    @property
    @abstractmethod
    def asked(self) -> float:
        """The value that ``measure`` must reach: at least, or at most where ``smaller_is_stricter``."""

    @abstractmethod
    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        """Return for each class whether the promise holds in it."""

    @abstractmethod
    def measure(self, classes: Classes) -> float:
        """Return the value of the worst class, in the unit of what was asked for."""

    def compiled(self) -> tuple[str, tuple[float, ...]] | None:
        """Return kind and parameters where a fused kernel knows this promise; None sends searches the slow way."""
        return None

    def compiled_on_points(self) -> tuple[str, tuple[float, ...]] | None:
        """Return kind and parameters where the kernels over the records of a stream know this promise: they know more of them than the fused one."""
        return self.compiled()

    def nearest(self, classes: Classes) -> dict[str, Any] | None:
        """Return the strictest settings that the one class holding everybody would keep; None where there are none."""
        del classes
        return None


PUBLISHED = "published"
"""The stage that begins when a release has been published: there is nothing left to interrupt."""


class Progress(Protocol):
    """Shows how far long work has come. Names stages and counts, never values."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage of ``total`` rows."""
        ...

    def advance(self, rows: int) -> None:
        """Say that further rows are done."""
        ...


@runtime_checkable
class Search(Protocol):
    """Searches for a recoding that keeps the promises at low loss."""

    def search(self, problem: Problem, frequencies: Frequencies, progress: Progress) -> Recoding:
        """Return the decision, not the data. Raise a PromiseError where no recoding keeps the promises."""
        ...


class StreamSession(Protocol):
    """A stream that is being anonymised: rows go in, releases come out when they are safe."""

    def push(self, batch: pa.RecordBatch) -> Sequence[pa.RecordBatch]:
        """Take further rows and return what can be released now."""
        ...

    def flush(self) -> Sequence[pa.RecordBatch]:
        """Return what can still be released at the end."""
        ...

    def snapshot(self) -> bytes:
        """Return the state, from which a session goes on elsewhere."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        ...


@runtime_checkable
class StreamSearch(Protocol):
    """Anonymises rows as they come."""

    def start(self, problem: Problem) -> StreamSession:
        """Begin a session."""
        ...

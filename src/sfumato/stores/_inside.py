"""The store that is a database: counts and codes are ours, rows stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.dealing import Dealing
from sfumato.core.examined import PUBLISHED, Cells, Dealt, Examined
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import AttachPlan, CountPlan, Dictionary, Encoding, MaskPlan, Progress, Published, Sink, Source
from sfumato.core.kernels.grouping import group_columns
from sfumato.core.mask_effect import Effect
from sfumato.core.memory import most_cells
from sfumato.core.nested_types import refuse_unreadable
from sfumato.core.publication import labels_of
from sfumato.core.recoding import Recoding
from sfumato.core.whose import known_people
from sfumato.core.workplace import Workplace
from sfumato.databases.inside import FIRST, KEY, LAST, PRINT, ROWS, Computed, Computing, Decided, Inside, Layout, labels_of_classes
from sfumato.databases.known_columns import known_columns
from sfumato.databases.located import Located, LocatedSink, PartlySeen, inside_of
from sfumato.databases.masks_there import MasksThere, needed
from sfumato.databases.table import TableName
from sfumato.errors import UsageError, nothing_to_resume
from sfumato.stores._cells import cells_of, numbers_of
from sfumato.stores._divided import DividedTable


class InsideStore:
    """Works in the database in which both the source and the sink are."""

    def __init__(
        self, source: Located, sink: LocatedSink, kept: Sequence[str], masks: MasksThere, resume: bool = False, numbered: bool = False
    ) -> None:
        self._source, self._sink, self._resume = source, sink, resume
        self._kept, self._masks, self._numbered = kept, masks, numbered

    def attach(self, source: Source, plan: AttachPlan, workplace: Workplace, progress: Progress) -> InsideTable | DividedTable:
        """Let the database copy what is published and count cells; these are all that is read."""
        del progress
        refuse_unreadable(source.describe(), [*plan.coded, *plan.kept], str(self._source.table_name))
        connection = self._sink.connected()
        if isinstance(self._source, PartlySeen):
            self._source.seen_by(connection)
        try:
            layout = self._layout(connection, plan)
            inside = inside_of(connection, self._sink.address.kind, layout, self._sink.table_name)
        except BaseException:
            connection.__exit__(None, None, None)
            raise
        try:
            if not self._resume:
                inside.take()
            elif not inside.take_up():
                raise self._nothing_left(getattr(inside, "unfinished", None))
            return _counted(inside, layout, workplace)
        except BaseException:
            inside.close()
            raise

    def _nothing_left(self, unfinished: str | None) -> UsageError:
        """Return what is said where there is no copy to go on with; a part of one may be in the database that is ``unfinished``."""
        words = f"no run of this installation that was killed has left a copy of {self._source.table_name} with these columns"
        part = f"{words} of which all rows had come; what had come of one is in {unfinished}, and the next run removes it"
        return nothing_to_resume(words if unfinished is None else part)

    def _layout(self, connection: Any, plan: AttachPlan) -> Layout:
        """Return what is counted, kept and computed of the table."""
        known = known_columns(connection, self._source)
        computed = [each for each in self._masks.computed(connection, self._sink.address.kind, known).values() if each is not None]
        people = [] if plan.subject is None else [plan.subject.name]
        coded = dict.fromkeys([*plan.coded, *people])
        counted, kept, read = ([known[name] for name in names] for names in (coded, self._kept, needed(computed)))
        subject, pads = None if plan.subject is None else known[plan.subject.name], self._masks.brought_to(connection)
        return Layout(self._source.table_name, counted, kept, computed, read, pads, self._masks.texts.texts, subject, self._numbered)

    def frequencies(self, attached: InsideTable | DividedTable, plan: CountPlan) -> Frequencies:
        """Count the combinations of leaf codes among the cells."""
        return attached.count(plan)

    def stage(
        self,
        attached: InsideTable | DividedTable,
        recoding: Recoding,
        masks: MaskPlan,
        sink: Sink,
        workplace: Workplace,
        progress: Progress,
    ) -> InsideRelease:
        """Let the database write the release where nobody sees it."""
        del sink, workplace
        progress.stage("writing")
        labels = labels_of(recoding, masks.publications)
        written = attached.decide(recoding, labels_of_classes(recoding.number, list(labels.values())))
        recoded = {publication.column: publication.columns for publication in masks.publications}
        columns = [(shown, name if name in recoded else None) for name in masks.order for shown in recoded.get(name, (name,))]
        places = [(name, list(labels).index(name) if of is not None else None) for name, of in columns]
        staged = attached.inside.stage(self._sink.table_name, places)
        return InsideRelease(attached, staged, self._sink, list(labels), written)

    def publish(self, staged: InsideRelease, sink: Sink) -> Published:
        """Let the staged table take its place."""
        staged.publish()
        return Published(tuple(sink.places()), staged.rows)

    def discard(self, staged: InsideRelease) -> None:
        """Leave nothing behind."""
        staged.inside.close()


def _counted(inside: Inside, layout: Layout, workplace: Workplace) -> InsideTable | DividedTable:
    """Read the cells as long as they fit; where there are more, leave them where they are."""
    most = most_cells(len(layout.counted))
    batches, number = [], 0
    for batch in inside.cells(most):
        number += batch.num_rows
        batches.append(batch)
    if number > most:
        del batches
        return DividedTable(inside, layout, most, workplace)
    return InsideTable(inside, layout, batches)


class InsideTable:
    """A table of a database in one state: its cells in memory, its rows in a private copy there."""

    def __init__(self, inside: Inside, layout: Layout, batches: Sequence[pa.RecordBatch]) -> None:
        self.inside, self.layout = inside, layout
        names = [KEY, ROWS, PRINT, *(column.name for column in layout.counted)]
        kinds = [column.kind for column in layout.counted]
        read = pa.Table.from_batches(batches).rename_columns(names) if batches else _nothing(names, kinds)
        self.keys: pa.Array = read.column(0).combine_chunks()
        self.cells = cells_of(names[3:], read.column(1), read.column(2), read.columns[3:])
        self.combination_of_cell: NDArray[np.int32] = np.empty(0, np.int32)
        self._entry_of_cell: NDArray[np.int64] = np.empty(0, np.int64)
        self._class_of_cell: NDArray[np.int32] = np.empty(0, np.int32)
        self._is_dealt = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.cells.rows.sum())

    @property
    def strangers(self) -> int:
        """None: subjects that are text and of another declared type are read, and not counted inside."""
        return 0

    def dictionary(self, column: str) -> Dictionary:
        """Return the distinct values of a counted column."""
        values, codes = self.cells.columns[column]
        counts = np.bincount(codes + 1, self.cells.rows, minlength=len(values) + 1).astype(np.int64)
        return Dictionary(values, counts[1:], int(counts[0]))

    def first_row(self, column: str, values: NDArray[np.bool_]) -> None:
        """Return nothing: rows of a table have no order."""
        del column, values

    def writings(self) -> pa.Array | None:
        """Return the distinct values that say whose rows are."""
        return None if self.layout.subject is None else known_people(self.cells.columns[self.layout.subject.name][0])

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one row alone has, or one person where the policy says whose it is."""
        if column in self.cells.columns:
            values, codes = self.cells.columns[column]
            known, people = np.flatnonzero(codes >= 0), self._people
            counts = self.dictionary(column).counts
            if people is not None:
                _, once = group_columns([codes[known], people[known]], [max(1, len(values)), int(people.max(initial=0)) + 1])
                counts = np.bincount(codes[known][once], minlength=len(values))
            return len(values), int((counts == 1).sum())
        (found,) = [each for each in self.layout.copied if each.name == column]
        return self.inside.occurrences(found)

    def count(self, plan: CountPlan) -> Frequencies:
        """Count the combinations, and within them sensitive values."""
        codes = [self._encoded(encoding) for encoding in plan.quasi_identifiers]
        refused = np.zeros(len(self.cells.rows), bool)
        for encoding, column in zip(plan.quasi_identifiers, codes, strict=True):
            if encoding.column in plan.refused:
                refused |= column == plan.refused[encoding.column]
        kept = np.flatnonzero(~refused)
        picked = [column[kept] for column in codes]
        # all cells are one combination where no column is generalised
        whole = np.zeros(len(kept), np.int32)
        groups, firsts = group_columns([whole, *picked], [1, *(encoding.size for encoding in plan.quasi_identifiers)])
        combinations = np.array([column[firsts] for column in picked], np.int32).reshape(len(picked), len(firsts)).T
        self.combination_of_cell = np.full(len(refused), len(firsts), np.int32)
        self.combination_of_cell[kept] = groups
        sensitive = {encoding.called: self._encoded(encoding) for encoding in plan.sensitive}
        references = {encoding.called: self._reference(sensitive[encoding.called], encoding.size) for encoding in plan.sensitive}
        columns = [groups, *(column[kept] for column in sensitive.values())]
        sizes = [len(combinations), *(encoding.size for encoding in plan.sensitive)]
        people = self._people
        if people is not None:
            columns, sizes = [*columns, people[kept]], [*sizes, int(people.max(initial=0)) + 1]
        rows, entries = group_columns(columns, sizes)
        self._entry_of_cell = np.full(len(refused), len(entries), np.int64)
        self._entry_of_cell[kept] = rows
        return Frequencies(
            combinations,
            groups[entries],
            np.bincount(rows, self.cells.rows[kept], minlength=len(entries)).astype(np.int64),
            {name: column[entries].astype(np.int32) for name, column in zip(sensitive, columns[1:], strict=False)},
            None if people is None else columns[-1][entries].astype(np.int64),
            references,
        )

    @property
    def _people(self) -> NDArray[np.int32] | None:
        """Whose each cell is, as a number; all that are nobody's are one person's."""
        if self.layout.subject is None:
            return None
        values, codes = self.cells.columns[self.layout.subject.name]
        known = known_people(values).is_valid().to_numpy(zero_copy_only=False)
        people: NDArray[np.int32] = np.append(np.where(known, np.arange(1, len(values) + 1), 0), 0).astype(np.int32)[codes]
        return people

    def _reference(self, codes: NDArray[np.int32], size: int) -> NDArray[np.int64]:
        """Return how many people have each value, each once for a value; rows where nothing says whose they are."""
        people = self._people
        if people is None:
            return np.bincount(codes, self.cells.rows, minlength=size).astype(np.int64)
        _, once = group_columns([codes, people], [size, int(people.max(initial=0)) + 1])
        return np.bincount(codes[once], minlength=size).astype(np.int64)

    def decide(self, recoding: Recoding, labels: pa.RecordBatch) -> int:
        """Tell the database which class each published cell is in, and what each class shows; return how many rows are published."""
        if self.layout.numbered:
            return self._deal(recoding, labels)
        class_of = np.append(recoding.class_of, np.int32(-1))[self.combination_of_cell]
        published = np.flatnonzero(class_of >= 0)
        classes = pa.RecordBatch.from_arrays([self.keys.take(pa.array(published)), pa.array(class_of[published])], names=[KEY, "class"])
        self.inside.decide(Decided.of(classes), labels)
        self._class_of_cell = class_of
        return int(self.cells.rows[published].sum())

    def _deal(self, recoding: Recoding, labels: pa.RecordBatch) -> int:
        """Tell the database which rows of each cell go to which class: it has numbered them by chance."""
        dealing = recoding.dealing or Dealing.of(*_undealt(recoding, self.combination_of_cell, self._entry_of_cell, self.cells.rows))
        dealt = dealing.of_cells(self._entry_of_cell, self.cells.rows)
        columns = [self.keys.take(pa.array(dealt.cell)), pa.array(dealt.class_of, pa.int32()), pa.array(dealt.first), pa.array(dealt.last)]
        self.inside.decide(Decided.of(pa.RecordBatch.from_arrays(columns, names=[KEY, "class", FIRST, LAST])), labels)
        self._is_dealt = True
        return int((dealt.last - dealt.first + 1).sum())

    def parts(self) -> Iterator[tuple[Cells, NDArray[np.int32]]]:
        """Return all cells at once, with the class that was decided for each."""
        yield self.cells, self._class_of_cell

    def dealt(self) -> Dealt | None:
        """Return which rows of the cells went to which class, as the database has dealt them out; none where cells are whole."""
        if not self._is_dealt:
            return None
        batches = list(self.inside.dealt())
        read = pa.Table.from_batches(batches)
        cell_of = pc.index_in(read.column(0).combine_chunks(), self.keys).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        rows, prints = read.column(2).to_numpy().astype(np.int64), numbers_of(read.column(3))
        left_out = np.flatnonzero(np.bincount(cell_of[cell_of >= 0], minlength=len(self.cells.rows)) == 0)
        cell_of = np.append(cell_of, left_out)
        taken = {name: (values, codes[cell_of]) for name, (values, codes) in self.cells.columns.items()}
        cells = Cells(taken, np.append(rows, self.cells.rows[left_out]), np.append(prints, self.cells.prints[left_out]))
        class_of = np.append(read.column(1).to_numpy(), np.full(len(left_out), -1)).astype(np.int32)
        return Dealt(self.cells, cells, class_of, cell_of)

    def release(self) -> None:
        """Keep what verification needs."""

    def abandon(self) -> None:
        """Close the session, with which all goes that it made."""
        self.inside.close()

    def _encoded(self, encoding: Encoding) -> NDArray[np.int32]:
        # null is -1: it picks the last entry of the table
        return np.append(encoding.codes, np.int32(encoding.null_code)).astype(np.int32)[self.cells.columns[encoding.column][1]]


class InsideRelease:
    """A staged table that the database looks at itself."""

    def __init__(self, attached: InsideTable | DividedTable, staged: TableName, sink: LocatedSink, texts: Sequence[str], rows: int) -> None:
        self._attached, self._staged, self._sink, self._texts = attached, staged, sink, texts
        self.rows = rows
        self.effects: Mapping[str, Effect] = {}
        self.staging: Sequence[str] = ()

    @property
    def inside(self) -> Inside:
        """Where it is."""
        return self._attached.inside

    @property
    def written(self) -> Source:
        """The source that reads what was published."""
        return self._sink.as_source()

    def examined(self, progress: Progress) -> Examined:
        """Let the database group what was written."""
        progress.stage("verifying")
        batches, rows, prints = [], [], []
        for batch in self.inside.shown(self._staged, self._texts):
            # by their places: columns of a release may have any name
            *shown, number, printed = batch.columns
            rows.append(number.to_numpy())
            prints.append(numbers_of(printed))
            # texts that many lines share are held once
            batches.append(_coded_texts(pa.RecordBatch.from_arrays(shown, names=batch.schema.names[:-2]), len(self._texts)))
        # some databases send nothing at all of a table without rows
        texts = pa.Table.from_batches(batches).unify_dictionaries() if batches else pa.table({})
        lines, sums = np.concatenate([np.empty(0, np.int64), *rows]), np.concatenate([np.empty(0, np.uint64), *prints])
        return Examined(texts, lines, sums, self._attached.parts, self._attached.dealt())

    def pairs(self, column: str) -> Iterator[pa.RecordBatch]:
        """Return what a masked column was made of and what it became, each combination once: its inputs, the published value, the number of rows."""
        for batch in self._computing.pairs(self._computed(column)):
            yield batch.rename_columns([*self._computed(column).reads, PUBLISHED, ROWS])

    def values(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a masked column has in the release, and how many of them stand in one row alone."""
        return self._computing.values(self._staged, self._computed(column).column)

    def fewest(self, column: str) -> int:
        """Return the smallest number of distinct values that a masked column has in any class."""
        return self._computing.fewest(self._staged, self._texts, self._computed(column).column)

    @property
    def _computing(self) -> Computing:
        if not isinstance(self.inside, Computing):
            raise AssertionError("only what a database computes is masked there")
        return self.inside

    def _computed(self, column: str) -> Computed:
        (found,) = [each for each in self._attached.layout.computed if each.column.name == column]
        return found

    def publish(self) -> None:
        """Let the table take its place."""
        self.inside.publish(self._staged, self._sink.table_name)


def _undealt(
    recoding: Recoding, combination_of_cell: NDArray[np.int32], entry_of_cell: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return the dealing of a recoding whose boxes happen not to overlap: all rows of an entry go to one class."""
    class_of = np.append(recoding.class_of, np.int32(-1))[combination_of_cell]
    published = np.flatnonzero(class_of >= 0)
    return entry_of_cell[published], class_of[published], rows[published]


def _coded_texts(batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """Return a batch whose first columns, which are texts, are numbers of their distinct values."""
    columns = [column.dictionary_encode() if place < number else column for place, column in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _nothing(names: Sequence[str], kinds: Sequence[pa.DataType | None]) -> pa.Table:
    """Return no cells."""
    return pa.schema(list(zip(names, [pa.int64(), pa.int64(), pa.string(), *kinds], strict=True))).empty_table()

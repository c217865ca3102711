"""The embedded store: integer codes in memory, DuckDB where wide rows must be put in order beyond it.

Columns that are counted are held as codes. The others wait in a private spill file and are brought into the order of the release by
DuckDB's external sort, whose memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.chance import random_bytes
from sfumato.core.classes import Classes
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import (
    AttachPlan,
    ClassPlan,
    CountPlan,
    Dictionary,
    LimitedSink,
    LinkedWriter,
    MaskPlan,
    Progress,
    Published,
    ReorderingWriter,
    Sink,
    Source,
    Writer,
)
from sfumato.core.kernels.fingerprint import value_prints
from sfumato.core.kernels.grouping import group_columns, group_keys
from sfumato.core.mask_effect import Effect, refuse
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.publication import written_labels
from sfumato.core.reading import Reading, read, repeating, take_text
from sfumato.core.recoding import Recoding
from sfumato.core.settings import Settings
from sfumato.core.text_classes import TextClasses
from sfumato.core.workplace import Workplace
from sfumato.stores._spill import Spill

_SMALL = 1 << 12


class Duckdb(Settings):
    """Works in this process. Memory grows with the number of rows by a few bytes a counted column, not with their width."""

    memory: Annotated[int, Field(ge=64 << 20, description="bytes that DuckDB may use to put rows in order")] = 512 << 20
    threads: Annotated[int, Field(ge=1, description="threads that DuckDB may use")] = 2

    def attach(self, source: Source, plan: AttachPlan, workplace: Workplace, progress: Progress) -> EmbeddedTable:
        """Read the source once: columns to be counted, and others whose values repeat, as codes; the rest into a private spill file."""
        others = [name for name in plan.kept if name not in plan.coded]
        coded = [*plan.coded, *repeating(source, others)]
        spill = Spill(workplace.folder / "spill.arrow", [name for name in others if name not in coded])
        reading = read(source, coded, {"spilled": spill.names}, progress, spill.add, spill.names, plan.subject)
        spill.close(source.describe())
        return EmbeddedTable(reading, spill)

    def frequencies(self, attached: EmbeddedTable, plan: CountPlan) -> Frequencies:
        """Count the combinations of leaf codes; remember for each row which it has."""
        return attached.count(plan)

    def stage(
        self,
        attached: EmbeddedTable,
        recoding: Recoding,
        masks: MaskPlan,
        sink: Sink,
        workplace: Workplace,
        progress: Progress,
    ) -> StagedRelease:
        """Write the release under a private name, sorted by what it publishes, and keep the link to the source's rows."""
        progress.stage("ordering")
        class_of = recoding.class_of_rows(attached.combination_of_row, attached.entry_of_row)
        link = attached.published_order(class_of, recoding.number, masks)
        if isinstance(sink, LimitedSink):
            sink.refuse_rows(len(link))
        size = attached.spill.batch_rows(attached.rows)
        effects: dict[str, Effect] = {}
        _count_up(attached, masks, link, size, self, workplace)
        made = _of_all_rows(attached, masks, link, size, self, workplace, effects)
        batches = attached.spill.ordered(link, attached.rows, size, self, workplace)
        labels = written_labels(recoding, masks.publications)
        schema = _schema(attached, masks)
        progress.stage("writing", len(link))
        writer = sink.open(schema)
        workplace.note(list(writer.staging))
        try:
            if isinstance(writer, LinkedWriter):
                writer.linked(link)
            for start in range(0, max(1, len(link)), size):
                rows = link[start : start + size]
                # where no row is left there is no batch, and the types of its columns are needed
                raw = next(batches, pa.RecordBatch.from_pylist([], attached.spill.schema)) if attached.spill.names else None
                shown = _classes_of_batch(labels, class_of[rows])
                ready = {**shown} | {name: column.slice(start, len(rows)) for name, column in made.items()}
                columns = [masks.typed(name, _published(name, attached, ready, rows, raw, masks, effects)) for name in schema.names]
                writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
                progress.advance(len(rows))
            refuse(effects)
            written = writer.finish()
        except BaseException:
            writer.abort()
            raise
        if isinstance(writer, ReorderingWriter):
            link = link[writer.order]
        qids = [name for publication in masks.publications for name in publication.columns]
        return StagedRelease(writer, written, link, qids, {"kept": masks.kept, "masked": masks.repeatable}, effects)

    def classes(self, staged: StagedRelease, plan: ClassPlan, progress: Progress) -> Classes:
        """Group what was written by its text."""
        found = staged.text_classes(progress)
        return Classes(found.number, found.class_of, np.ones(staged.rows, np.int64), plan.sensitive, plan.subject, plan.references, plan.ladders)

    def publish(self, staged: StagedRelease, sink: Sink) -> Published:
        """Rename the staged file to its final name."""
        del sink
        return Published(tuple(staged.writer.publish()), staged.rows)

    def discard(self, staged: StagedRelease) -> None:
        """Remove the staged file."""
        staged.writer.abort()


class EmbeddedTable:
    """A source in one state: codes in memory, other columns in the spill file."""

    def __init__(self, reading: Reading, spill: Spill) -> None:
        self._reading = reading
        self.spill = spill
        self.combination_of_row: NDArray[np.int32] = np.empty(0, np.int32)
        self._counted: tuple[CountPlan, int] | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._reading.rows

    @property
    def strangers(self) -> int:
        """How many rows have a subject that is not of its declared type."""
        return self._reading.strangers

    def dictionary(self, column: str) -> Dictionary:
        """Return the distinct values of a counted column."""
        coded = self._reading.columns[column]
        counts = coded.counts()
        return Dictionary(coded.values, counts[:-1], int(counts[-1]))

    def first_row(self, column: str, values: NDArray[np.bool_]) -> int:
        """Return the first row that has one of these values."""
        return int(np.argmax(np.append(values, False)[self._reading.columns[column].codes])) + 1

    def writings(self) -> pa.Array | None:
        """Return the first distinct texts that say whose rows are."""
        return self._reading.writings

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one person alone has; everybody has one row where nothing says more."""
        if column in self._reading.columns:
            coded = self._reading.columns[column]
            known = np.flatnonzero(coded.codes >= 0)
            groups, number = coded.codes[known].astype(np.int64), len(coded.values)
        else:
            known, prints = self.spill.prints(column)
            codes, firsts = group_keys(prints.view(np.int64))
            groups, number = codes.astype(np.int64), len(firsts)
        subjects = self._subjects()
        if subjects is not None:
            people = subjects[known]
            _, once = group_columns([groups, people], [max(1, number), int(people.max(initial=0)) + 1])
            groups = groups[once]
        return number, int((np.bincount(groups, minlength=number) == 1).sum())

    def count(self, plan: CountPlan) -> Frequencies:
        """Count the combinations, and within them sensitive values and people."""
        codes = [self._encoded(encoding.column, encoding.codes, encoding.null_code) for encoding in plan.quasi_identifiers]
        left_out = np.zeros(0, bool)
        # a column can be counted by a second ladder too, that of another view: the first decides
        deciding = {encoding.column: column for encoding, column in reversed(list(zip(plan.quasi_identifiers, codes, strict=True)))}
        for name, code in plan.refused.items():
            refused = deciding[name] == code
            left_out = refused if not len(left_out) else left_out | refused
        kept = np.flatnonzero(~left_out) if left_out.any() else None
        picked = codes if kept is None else [column[kept] for column in codes]
        if picked:
            groups, firsts = group_columns(picked, [encoding.size for encoding in plan.quasi_identifiers])
            combinations = np.stack([column[firsts] for column in picked], axis=1)
        else:
            groups, firsts = np.zeros(self.rows, np.int32), np.zeros(1, np.int32)
            combinations = np.empty((1, 0), np.int32)
        if kept is None:
            self.combination_of_row = groups
        else:
            self.combination_of_row = np.full(self.rows, len(firsts), np.int32)
            self.combination_of_row[kept] = groups
        self._counted = plan, len(firsts)
        return self._within(plan, combinations, groups, kept)

    def _within(
        self,
        plan: CountPlan,
        combinations: NDArray[np.int32],
        groups: NDArray[np.int32],
        kept: NDArray[np.int64] | None,
    ) -> Frequencies:
        """Count sensitive values and people within the combinations."""
        sensitive, subject = self._watched(plan)
        references = {e.called: _reference(sensitive[e.called], e.size, subject) for e in plan.sensitive}
        if not sensitive and subject is None:
            counts = np.bincount(groups, minlength=len(combinations)).astype(np.int64)
            return Frequencies(combinations, np.arange(len(combinations), dtype=np.int32), counts)
        columns, rows, firsts = _entries(plan, groups, len(combinations), sensitive, subject, kept)
        return Frequencies(
            combinations,
            groups[firsts],
            np.bincount(rows, minlength=len(firsts)).astype(np.int64),
            {name: column[firsts].astype(np.int32) for name, column in zip(sensitive, columns[1:], strict=False)},
            None if subject is None else columns[-1][firsts].astype(np.int64),
            references,
        )

    def entry_of_row(self) -> NDArray[np.int32]:
        """Return for each row its entry of the frequencies that were counted last, their number where the row was not counted.

        It is found anew: few recodings ask for it, and it would have to be held for all of them.
        """
        if self._counted is None:
            raise AssertionError("rows are dealt out after they were counted")
        plan, number = self._counted
        sensitive, subject = self._watched(plan)
        if not sensitive and subject is None:
            return self.combination_of_row
        kept = np.flatnonzero(self.combination_of_row < number)
        _, entries, firsts = _entries(plan, self.combination_of_row[kept], number, sensitive, subject, kept)
        of_row = np.full(self.rows, len(firsts), np.int32)
        of_row[kept] = entries
        return of_row

    def _watched(self, plan: CountPlan) -> tuple[dict[str, NDArray[Any]], NDArray[np.int32] | None]:
        """Return the sensitive values of each row, and the person."""
        sensitive = {e.called: self._encoded(e.column, e.codes, e.null_code) for e in plan.sensitive}
        return sensitive, self._subjects() if plan.subject else None

    def published_order(self, class_of: NDArray[np.int32], number: int, masks: MaskPlan) -> NDArray[np.int64]:
        """Return the source rows that are published, in the order of the release.

        Rows are sorted by class, and within it by a fingerprint of their kept values: the order is a function of what is published. Where
        a mask makes part of it, or another view keeps more than this one, the order within a class is random: two views in one order could be
        put beside each other row by row.
        """
        rows = np.flatnonzero(class_of >= 0)
        bits = max(1, int(number - 1).bit_length())
        key = class_of[rows].astype(np.uint64) << np.uint64(64 - bits)
        if masks.masks or not {*self.spill.names} <= {*masks.kept}:
            tie = np.frombuffer(random_bytes(8 * len(rows)), np.uint64)
        else:
            tie = self._kept_prints(masks.kept)[rows]
        return rows[np.argsort(key | (tie >> np.uint64(bits)))]

    def column(self, name: str, rows: NDArray[np.int64], raw: pa.RecordBatch | None) -> pa.Array:
        """Return a column for some source rows; ``raw`` holds their spilled columns."""
        if raw is not None and name in self.spill.names:
            return raw.column(name)
        coded = self._reading.columns[name]
        return take_text(coded.values, coded.codes[rows].astype(np.int32))

    def kept(self, name: str, rows: NDArray[np.int64], raw: pa.RecordBatch | None) -> pa.Array:
        """Return a column as ``kept_type`` says."""
        if not self._has_few_values(name):
            return self.column(name, rows, raw)
        coded = self._reading.columns[name]
        codes = coded.codes[rows].astype(np.int32)
        missing = codes < 0 if codes.min(initial=0) < 0 else None
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), coded.values, safe=False)

    def type_of(self, name: str) -> pa.DataType:
        """Return the type of a column."""
        if name in self.spill.names:
            return self.spill.schema.field(name).type
        return self._reading.columns[name].values.type

    def kept_type(self, name: str) -> pa.DataType:
        """Return the type of a column that is published as it is: a dictionary where that is less to write than the values."""
        return pa.dictionary(pa.int32(), self.type_of(name)) if self._has_few_values(name) else self.type_of(name)

    def _has_few_values(self, name: str) -> bool:
        return name not in self.spill.names and len(self._reading.columns[name].values) <= _SMALL

    def release(self) -> None:
        """Give back the memory."""
        self._reading = Reading(0, {}, {})

    def abandon(self) -> None:
        """Give back the memory."""
        self.release()

    def _encoded(self, column: str, codes: NDArray[np.int32], null_code: int) -> NDArray[Any]:
        size = int(max(codes.max(initial=0), null_code))
        kind = np.uint8 if size < 256 else np.uint16 if size < 65536 else np.int32
        # null is -1: it picks the last entry of the table
        encoded: NDArray[Any] = np.append(codes, null_code).astype(kind)[self._reading.columns[column].codes]
        return encoded

    def _subjects(self) -> NDArray[np.int32] | None:
        people = self._reading.people
        return None if people is None else group_keys(people.view(np.int64))[0]

    def _kept_prints(self, kept: Sequence[str]) -> NDArray[np.uint64]:
        prints = self._reading.prints["spilled"].copy() if self.spill.names else np.zeros(self.rows, np.uint64)
        for name in kept:
            if name in self._reading.columns:
                coded = self._reading.columns[name]
                prints *= np.uint64(0x9E3779B97F4A7C15)
                prints ^= np.append(value_prints(coded.values), np.uint64(1))[coded.codes]
        # the high bits decide the order: mix them well
        prints ^= prints >> np.uint64(33)
        prints *= np.uint64(0xFF51AFD7ED558CCD)
        return prints


@dataclass(eq=False)
class StagedRelease:
    """A written release under its private name."""

    writer: Writer
    written: Source
    link: NDArray[np.int64]
    quasi_identifiers: Sequence[str]
    printed: Mapping[str, Sequence[str]]
    effects: Mapping[str, Effect]
    _reading: Reading | None = None
    _classes: TextClasses | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.link)

    @property
    def staging(self) -> Sequence[str]:
        """The private files in which it was written."""
        return self.writer.staging

    def reading(self, progress: Progress) -> Reading:
        """Read back what was written, once."""
        if self._reading is None:
            self._reading = read(self.written, self.quasi_identifiers, self.printed, progress)
        return self._reading

    def text_classes(self, progress: Progress) -> TextClasses:
        """Group the written text by sorting it: not the way in which the combinations were counted."""
        if self._classes is None:
            columns = self.reading(progress).columns
            self._classes = TextClasses.of_columns([columns[name] for name in self.quasi_identifiers], self.rows)
        return self._classes


def _entries(
    plan: CountPlan,
    groups: NDArray[np.int32],
    combinations: int,
    sensitive: Mapping[str, NDArray[Any]],
    subject: NDArray[np.int32] | None,
    kept: NDArray[np.int64] | None,
) -> tuple[list[NDArray[Any]], NDArray[np.int32], NDArray[np.int32]]:
    """Return combinations, sensitive values and people of the counted rows, the entry of each row, and the first row of each entry."""
    places = slice(None) if kept is None else kept
    columns = [groups, *(column[places] for column in sensitive.values())]
    sizes = [combinations, *(e.size for e in plan.sensitive)]
    if subject is not None:
        columns.append(subject[places])
        sizes.append(int(subject.max(initial=0)) + 1)
    return columns, *group_columns(columns, sizes)


def _reference(codes: NDArray[Any], size: int, subject: NDArray[np.int32] | None) -> NDArray[np.int64]:
    if subject is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    _, firsts = group_columns([codes, subject], [size, int(subject.max(initial=0)) + 1])
    return np.bincount(codes[firsts], minlength=size).astype(np.int64)


def _classes_of_batch(labels: Mapping[str, pa.Array], classes: NDArray[np.int32]) -> Mapping[str, pa.DictionaryArray]:
    """Return the label columns of some rows, which are sorted by class: dictionaries of neighbouring classes, all with the same codes."""
    if not labels or not len(classes):
        return {name: array.slice(0, 0).dictionary_encode() for name, array in labels.items()}
    first, last = int(classes[0]), int(classes[-1])
    codes = pa.array(classes - np.int32(first))
    return {name: pa.DictionaryArray.from_arrays(codes, array.slice(first, last - first + 1)) for name, array in labels.items()}


def _schema(attached: EmbeddedTable, masks: MaskPlan) -> pa.Schema:
    recoded = {publication.column: publication.fields for publication in masks.publications}
    fields: list[pa.Field] = []
    for name in masks.order:
        if name in recoded:
            fields += recoded[name]
        elif name in masks.nested:
            fields.append(pa.field(name, masks.nested[name]))
        elif name in masks.masks:
            fields.append(pa.field(name, masks.masks[name].output_type(attached.type_of(name))))
        else:
            fields.append(pa.field(name, attached.kept_type(name), metadata=masks.told.get(name)))
    return pa.schema(fields)


def _of_all_rows(
    attached: EmbeddedTable,
    masks: MaskPlan,
    link: NDArray[np.int64],
    size: int,
    store: Duckdb,
    workplace: Workplace,
    effects: dict[str, Effect],
) -> dict[str, pa.Array]:
    """Return the columns whose masks look at all published rows at once, in the order of the release."""
    if not masks.wide or not len(link):
        return {}
    needed = list(dict.fromkeys(column for name in masks.wide for column in masks.needed(name)))
    parts = list(_originals(attached, needed, link, size, store, workplace))
    (table,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
    return {name: _masked(name, masks, table.select(masks.needed(name)), link, effects) for name in masks.wide}


def _count_up(attached: EmbeddedTable, masks: MaskPlan, link: NDArray[np.int64], size: int, store: Duckdb, workplace: Workplace) -> None:
    """Let masks that count values up see them in the order of the source; what they then make of the release's rows they know already."""
    for name in masks.counting:
        mask = masks.masks[name]
        for batch in _originals(attached, masks.needed(name), np.sort(link), size, store, workplace):
            if isinstance(mask, MaskedColumn):
                mask.made(batch, masks.contexts[name])


def _originals(
    attached: EmbeddedTable, names: Sequence[str], rows: NDArray[np.int64], size: int, store: Duckdb, workplace: Workplace
) -> Iterator[pa.RecordBatch]:
    """Yield some columns as they were, of source rows in a given order."""
    batches = attached.spill.ordered(rows, attached.rows, size, store, workplace)
    for start in range(0, len(rows), size):
        raw = next(batches) if attached.spill.names else None
        yield pa.RecordBatch.from_arrays([attached.column(name, rows[start : start + size], raw) for name in names], names=names)


def _published(
    name: str,
    attached: EmbeddedTable,
    ready: Mapping[str, pa.Array],
    rows: NDArray[np.int64],
    raw: pa.RecordBatch | None,
    masks: MaskPlan,
    effects: dict[str, Effect],
) -> pa.Array:
    """Return one published column for some source rows: recoded, masked or kept."""
    if name in ready:
        return ready[name]
    if name not in masks.masks:
        return attached.kept(name, rows, raw)
    needed = masks.needed(name)
    batch = pa.RecordBatch.from_arrays([attached.column(column, rows, raw) for column in needed], names=needed)
    return _masked(name, masks, batch, rows, effects)


def _masked(name: str, masks: MaskPlan, batch: pa.RecordBatch, rows: NDArray[np.int64], effects: dict[str, Effect]) -> pa.Array:
    """Return a masked column for some source rows; what its mask refuses is gathered, to be told of all rows together."""
    mask = masks.masks[name]
    if not isinstance(mask, MaskedColumn):
        return mask.apply(batch, masks.contexts[name])
    effect = effects.setdefault(name, mask.effect(masks.contexts[name].people))
    made = mask.made(batch, masks.contexts[name])
    effect.add(made, rows)
    effect.compare(made, batch.column(name))
    if name in masks.wide:
        effect.among_few += mask.among_few(batch, masks.contexts[name])
    return made.values

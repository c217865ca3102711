"""A source some of whose columns are read in the canonical form, from the one in which it writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical
from sfumato.core.interfaces import BegunSource, NarrowedSource, Scan, Source
from sfumato.core.mistakes import key_text
from sfumato.core.nested_types import nested_type
from sfumato.core.written_forms import WrittenForm
from sfumato.errors import DataError, Mistake, PolicyError
from sfumato.policy.resolve import Resolved


@dataclass(frozen=True)
class Translated:
    """The same rows in the same order. ``misfits`` are the columns some of whose values, met so far, do not fit their form."""

    source: Source
    forms: Mapping[str, WrittenForm]
    missing: Mapping[str, Sequence[str]]
    misfits: set[str] = field(default_factory=set)

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self.source.describe()

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the rows of some columns, the translated ones as codes: each value is translated once a batch."""
        return self._as_read(self.source.batches(columns, coded), coded)

    def beginning(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read some columns of about so many rows, where these can be had without the others."""
        return self._as_read(self.source.beginning(columns, rows) if isinstance(self.source, BegunSource) else self.source.batches(columns), ())

    def narrowed(self, columns: Sequence[str]) -> Translated:
        """Return the source with no other columns, where it can be had so."""
        return replace(self, source=self.source.narrowed(columns)) if isinstance(self.source, NarrowedSource) else self

    def _as_read(self, batches: Iterable[pa.RecordBatch], coded: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            forms = {name: form for name, form in self.forms.items() if name in batch.schema.names}
            translated = {name: self._translated(batch.column(name), name, form, name in coded) for name, form in forms.items()}
            yield pa.RecordBatch.from_pydict({name: translated.get(name, batch.column(name)) for name in batch.schema.names})

    def _translated(self, column: pa.Array, name: str, form: WrittenForm, coded: bool) -> pa.Array:
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        texts = column.dictionary.cast(pa.string())
        fits = form.fits(texts)
        if fits.null_count > texts.null_count:
            self._look_at_strangers(name, form, texts.filter(pc.and_not(texts.is_valid(), fits.is_valid())))
        # two ways of writing one value are one value: codes are given anew
        plain = pa.DictionaryArray.from_arrays(column.indices, pc.coalesce(fits, texts).cast(column.dictionary.type)).dictionary_decode()
        return plain.dictionary_encode() if coded else plain

    def _look_at_strangers(self, name: str, form: WrittenForm, texts: pa.Array) -> None:
        """Refuse texts that do not fit the form and yet would be read as something: 12.5 where the comma stands before decimals."""
        strange = texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(list(self.missing.get(name, ())), pa.string()))))
        if not len(strange):
            return
        self.misfits.add(name)
        read_as: list[canonical.ValueType] = ["integer", "decimal"] if form.point else ["date", "timestamp"]
        if any(canonical.parse(strange, kind).null_count < len(strange) for kind in read_as):
            raise DataError(
                f"column {name} has values that do not fit its format and would be read as another {'number' if form.point else 'date'}",
                code="value-format",
                hint=f"look at the values, and at formats: {{{name}: ...}}; list what stands for a missing value under columns.{name}.missing",
            )

    def state(self) -> str:
        """Return a token that changes when the source does."""
        return self.source.state()

    def about(self) -> int | None:
        """Return about how many rows there are."""
        return self.source.about()

    def scan(self) -> Scan | None:
        """Return how a store can read the source natively."""
        return self.source.scan()


def translated(source: Source, schema: pa.Schema, resolved: Resolved) -> Source:
    """Return the source with its columns translated as the policy says; refuse forms of columns that are not text."""
    policy = resolved.policy
    typed = [name for name in policy.formats if name in schema.names and not _is_text(schema.field(name))]
    if typed:
        mistakes = [
            Mistake(
                key_text(("formats", name)),
                "says how texts are written, but the column is none in the source",
                "policy-format",
                "leave it out",
                resolved.lines.at(("formats", name)),
            )
            for name in typed
        ]
        raise PolicyError(mistakes, name=resolved.name)
    if not policy.formats:
        return source
    forms = {name: form.form() for name, form in policy.formats.items()}
    return Translated(source, forms, {name: policy.columns[name].missing for name in forms if name in policy.columns})


def missing_as_read(resolved: Resolved) -> Resolved:
    """Return the policy with the texts that stand for a missing value also as they are read, where the source writes a column in its own form."""
    policy, columns = resolved.policy, dict(resolved.policy.columns)
    for name, form in policy.formats.items():
        if name in columns and columns[name].missing:
            read = form.form().canonical(pa.array(columns[name].missing, pa.string())).to_pylist()
            columns[name] = columns[name].model_copy(update={"missing": list(dict.fromkeys([*columns[name].missing, *read]))})
    return replace(resolved, policy=policy.model_copy(update={"columns": columns}))


def _is_text(column: pa.Field) -> bool:
    held = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held)) and nested_type(column) is None

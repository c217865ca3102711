"""A source some of whose columns are read in the canonical form, from the one in which it writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core.interfaces import Scan, Source
from sfumato.core.mistakes import key_text
from sfumato.core.written_forms import WrittenForm
from sfumato.errors import Mistake, PolicyError
from sfumato.policy.resolve import Resolved


@dataclass(frozen=True)
class Translated:
    """The same rows in the same order."""

    source: Source
    forms: Mapping[str, WrittenForm]

    def describe(self) -> pa.Schema:
        """Return the columns and their types."""
        return self.source.describe()

    def batches(self, columns: Sequence[str], coded: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Read the rows of some columns, the translated ones as codes: each value is translated once a batch."""
        forms = {name: form for name, form in self.forms.items() if name in columns}
        for batch in self.source.batches(columns, coded):
            translated = {name: _translated(batch.column(name), form, name in coded) for name, form in forms.items()}
            yield pa.RecordBatch.from_pydict({name: translated.get(name, batch.column(name)) for name in batch.schema.names})

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
    typed = [name for name in policy.formats if name in schema.names and not _is_text(schema.field(name).type)]
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
    return Translated(source, {name: WrittenForm.of(form) for name, form in policy.formats.items()}) if policy.formats else source


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _translated(column: pa.Array, form: WrittenForm, coded: bool) -> pa.Array:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = form.canonical(column.dictionary.cast(pa.string())).cast(column.dictionary.type)
    # two ways of writing one value are one value: codes are given anew
    plain = pa.DictionaryArray.from_arrays(column.indices, texts).dictionary_decode()
    return plain.dictionary_encode() if coded else plain

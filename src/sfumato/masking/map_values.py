"""Map values: each value becomes the one that a table gives for it. Also called substitution, or a lookup table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, field_validator, model_validator

from sfumato.core.files import PolicyPath
from sfumato.core.mask import Card, MaskContext, Operation, text_of
from sfumato.core.policy_files import records_of
from sfumato.errors import DataError

if TYPE_CHECKING:
    import ibis

_MOST_NAMED = 256
"""The longest mapping that is written into a statement."""


def _texts(given: Any) -> Any:
    """Return a mapping of texts; whole numbers are taken as they are written. No message names a key: it may be a value of the data."""
    if not isinstance(given, dict):
        return given
    if any(isinstance(one, bool) or not isinstance(one, str | int) for pair in given.items() for one in pair):
        raise ValueError("needs texts or whole numbers on both sides; put other values in quotes")
    texts = {str(old): str(new) for old, new in given.items()}
    if len(texts) != len(given):
        raise ValueError("has one value twice, as a text and as a number")
    return texts


class MapValues(Operation):
    """Replaces values by a mapping in the policy or in a file; a value that it does not name becomes the ``default``, or cannot be taken.

    A file has two fields a line, the old value and the new one. Values are compared byte for byte. Whoever has the mapping can undo it where every
    new value stands for one old one: keep it as safe as a key.

    >>> from sfumato.core.mask import MaskContext
    >>> wards = pa.RecordBatch.from_pydict({"ward": ["A", "B", "C"]})
    >>> MapValues(mapping={"A": "surgery", "B": "surgery"}, default="other").apply(wards, MaskContext("ward")).to_pylist()
    ['surgery', 'surgery', 'other']
    """

    mapping: Annotated[dict[str, str] | None, BeforeValidator(_texts), Field(min_length=1, description="the new value of each old one")] = None
    path: Annotated[PolicyPath | None, Field(min_length=1, description="a file with lines `old,new`, instead of a mapping")] = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1, description="what stands between the two fields of a line")] = ","
    header: Annotated[bool, Field(description="whether the first line of the file names its fields")] = False
    default: Annotated[str | None, Field(description="what all other values become; none: they cannot be taken")] = None

    @field_validator("delimiter")
    @classmethod
    def _one_byte(cls, value: str) -> str:
        if not value.isascii() or value in '\r\n\0"':
            raise ValueError("must be one ASCII character that neither ends a line nor quotes a field")
        return value

    @model_validator(mode="after")
    def _one_of_two(self) -> MapValues:
        if (self.mapping is None) == (self.path is None):
            raise ValueError("needs a mapping or the path of a file, one of them")
        return self

    @property
    def card(self) -> Card:
        """What it does; of a file nobody knows before it is read whether two values become one."""
        new = None if self.mapping is None else list(self.mapping.values())
        lossy = self.default is not None or (new is not None and len(set(new)) < len(new))
        return Card(
            deterministic=True,
            uniqueness="lossy" if lossy else "not guaranteed" if new is None else "preserved",
            changes_type=True,
            scope="value",
            engines=("arrow",) if new is None or len(new) > _MOST_NAMED else ("arrow", "sql"),
            reveals="Which rows have a value in common, how often each new value occurs, and to whoever has the mapping what it stands for.",
        )

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        """Return the new values; null for one that the mapping does not name, where there is no default."""
        old, new = self._pairs
        found = new.take(pc.index_in(text_of(columns, context), value_set=old))
        return found if self.default is None else pc.fill_null(found, self.default)

    def express(self, columns: Mapping[str, ibis.Value], context: MaskContext) -> ibis.Value | None:
        """Return the new values, by a mapping that stands in the policy and is not too long; one in a file is as safe as the file, and stays here."""
        import ibis

        from sfumato.databases.server_functions import same, text_of

        text = text_of(columns[context.column])
        if text is None or self.mapping is None or len(self.mapping) > _MOST_NAMED:
            return None
        pairs = [(same(text, ibis.literal(old)), ibis.literal(new)) for old, new in self.mapping.items()]
        rest = ibis.null() if self.default is None else text.notnull().ifelse(ibis.literal(self.default), ibis.null())
        return ibis.cases(*pairs, else_=rest)

    def read_files(self) -> None:
        """Read the mapping where it stands in a file, so that what is wrong with it is told with the policy."""
        _ = self._pairs

    @cached_property
    def _pairs(self) -> tuple[pa.Array, pa.Array]:
        """The old and the new values; a file is read once, so that all rows see the same."""
        pairs = self._from_file(self.path) if self.path is not None else self.mapping or {}
        return pa.array(list(pairs), pa.string()), pa.array(list(pairs.values()), pa.string())

    def _from_file(self, path: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        begun: dict[str, int] = {}
        for number, (line, fields) in enumerate(records_of(path, self.delimiter, self._broken)):
            if len(fields) != 2:
                raise self._broken(f":{line}", f"has {len(fields)} fields, and 2 are needed", f"write the old value, {self.delimiter!r}, the new one")
            if number == 0 and self.header:
                continue
            old, new = fields
            if pairs.setdefault(old, new) != new:
                raise self._broken(f": lines {begun[old]} and {line}", "give one value two new ones", "leave one of them out")
            begun.setdefault(old, line)
        if not pairs:
            raise self._broken("", "has no lines", "write lines `old,new`")
        return pairs

    def _broken(self, place: str, what: str, hint: str) -> DataError:
        return DataError(f"mapping {self.path}{place} {what}", code="mask-file", hint=hint)

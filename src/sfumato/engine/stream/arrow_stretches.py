"""Arrow streams as they grow: whole messages of Arrow's interprocess format, of files and of streams.

A writer that is started again begins a further stream behind the one that is there. Where it has another schema a stretch ends before it, so that the
rows of each stretch have one. Schemas and dictionaries, which stand before the rows that first use them, are put before later stretches too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sfumato.core.arrow_messages import FarBytes, NoMessageError, Part, parts_of
from sfumato.core.decoded import Decoded, Poison
from sfumato.core.followed_files import Stretch
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.run_journal import Journal
from sfumato.errors import DataError

_BEGINNING = 1 << 20
_DAMAGE = (pa.ArrowException, OSError, ValueError)
_SCHEMAS = "schemas of arrow"
_OF_ROWS = ("schema", "dictionary", "rows")


class ArrowStretches:
    """Finds whole messages, and reads the batches in them; ``again`` returns bytes of a file once more, such as its schema.

    Where in a file a schema stands that is another than the one before it is written into the journal.
    """

    def __init__(self, again: Callable[[str, int, int], bytes], journal: Journal | KeptState) -> None:
        self._again, self._journal = again, journal
        self._heads: dict[str, bytes] = {}
        self._changes: dict[str, list[tuple[int, int]]] = {
            place: [(start, end) for start, end in changes] for place, changes in (journal.told(_SCHEMAS) or {}).items()
        }
        self._ended: dict[str, tuple[int, _InForce]] = {}

    def whole(self, block: bytes, ended: bool) -> int:
        """Return how many bytes of a block are whole messages before another schema; all of them where nothing will follow."""
        parts, is_damaged = _parts(block)
        if is_damaged and not parts:
            raise _damaged()
        try:
            change = _change_in(block, parts)
        except _DAMAGE:
            raise _damaged() from None
        if change is not None:
            return change
        return len(block) if ended and not is_damaged else parts[-1].end if parts else 0

    def whole_at_end(self, block: bytes, is_quiet: bool) -> int:  # noqa: ARG002 - a message says itself how long it is
        """Return how many bytes at the end of a file are whole messages: half of one is never read."""
        return self.whole(block, False)

    def is_before_records(self, stretch: Stretch) -> bool:
        """Return whether a stretch is in the schema."""
        return not self._head(stretch)

    def decode(self, stretch: Stretch) -> Decoded:
        """Return the rows of a stretch; half a message, with which a pipe has ended, is a record that cannot be read."""
        content = stretch.content
        parts, is_damaged = _parts(content)
        end = parts[-1].end if parts else 0
        if is_damaged or (not self._head(stretch) and end < len(content)):
            raise _damaged()
        try:
            schema = self._in_force(stretch, parts)
            before = self._before(stretch, schema)
            rows = _rows(schema, _put_before(schema, before), content, parts)
        except _DAMAGE:
            raise _damaged() from None
        self._ended[stretch.place] = (stretch.end, _after(before, content, parts))
        poison = [Poison(rows.num_rows, "arrow-damaged", end, len(content) - end)] if end < len(content) else []
        return Decoded(rows, np.arange(rows.num_rows), rows.num_rows + len(poison), poison)

    def _head(self, stretch: Stretch) -> bytes:
        """Return the message of the schema, with which the file begins; nothing where the file is not so far yet."""
        if stretch.place not in self._heads:
            beginning = self._again(stretch.place, 0, min(stretch.start, _BEGINNING)) if stretch.start else b""
            if stretch.start < _BEGINNING:
                # of a file, the mark alone may have been there before
                beginning += stretch.content
            heads = [beginning[part.start : part.end] for part in _parts(beginning)[0] if part.kind == "schema"]
            if not heads:
                return b""
            self._heads[stretch.place] = heads[0]
        return self._heads[stretch.place]

    def _in_force(self, stretch: Stretch, parts: Sequence[Part]) -> bytes:
        """Return the message of the schema that the rows of a stretch have: its own one, or the latest before it."""
        changes = self._changes.get(stretch.place, [])
        latest = max((change for change in changes if change[0] < stretch.start), default=None)
        found = self._head(stretch) if latest is None else self._again(stretch.place, *latest)
        own = next((part for part in parts if part.kind in _OF_ROWS), None)
        if own is None or own.kind != "schema":
            return found
        message = stretch.content[own.start : own.end]
        change = (stretch.start + own.start, stretch.start + own.end)
        if change not in changes and not _are_alike(found, message):
            self._changes[stretch.place] = sorted([*changes, change])
            self._journal.tell(_SCHEMAS, self._changes)
        return message

    def _before(self, stretch: Stretch, schema: bytes) -> _InForce:
        """Return the dictionaries that rows at the beginning of a stretch are written with; none where the schema has none."""
        end, found = self._ended.get(stretch.place, (0, ()))
        if end == stretch.start or not schema or not _has_dictionaries(_schema(schema)):
            return found if end == stretch.start else ()
        # the latest schema, before which none of them counts, is found on the way
        earlier = FarBytes(partial(self._again, stretch.place), stretch.start)
        return _after((), earlier, _parts(earlier)[0])


_InForce = tuple[tuple[int | None, bytes], ...]
"""The messages of dictionaries of a stream, each with its number."""


def _after(before: _InForce, content: bytes | FarBytes, parts: Sequence[Part]) -> _InForce:
    """Return the dictionaries that are in force behind some parts."""
    found = list(before)
    for part in parts:
        if part.kind == "schema":
            found = []
        elif part.kind == "dictionary":
            found = [each for each in found if part.adds or each[0] != part.dictionary]
            found.append((part.dictionary, content[part.start : part.end]))
    return tuple(found)


def _put_before(head: bytes, dictionaries: _InForce) -> bytes:
    return b"".join([head, *(message for _, message in dictionaries)])


def _has_dictionaries(schema: pa.Schema) -> bool:
    kinds = list(schema.types)
    while kinds:
        kind = kinds.pop()
        if pa.types.is_dictionary(kind):
            return True
        kinds += [kind.field(place).type for place in range(kind.num_fields)]
    return False


def _parts(block: bytes | FarBytes) -> tuple[list[Part], bool]:
    """Return the whole parts of a block, and whether something follows that never becomes one."""
    parts: list[Part] = []
    try:
        parts.extend(parts_of(block))
    except NoMessageError:
        return parts, True
    return parts, False


def _change_in(block: bytes, parts: Sequence[Part]) -> int | None:
    """Return where in a block a schema stands that is not the one before it, or may not be, because that is not in the block."""
    known, has_rows = b"", False
    for part in parts:
        if part.kind == "schema":
            message = block[part.start : part.end]
            if has_rows and not (known and _are_alike(known, message)):
                return part.start
            known = message
        has_rows = has_rows or part.kind in _OF_ROWS
    return None


def _are_alike(one: bytes, other: bytes) -> bool:
    return one == other or _schema(one).equals(_schema(other))


def _rows(head: bytes, before: bytes, content: bytes, parts: Sequence[Part]) -> pa.RecordBatch:
    if not head:
        return pa.RecordBatch.from_pylist([], schema=pa.schema([]))
    schema = _schema(head)
    batches = []
    for stream in _streams(before, content, parts):
        with pa.ipc.open_stream(pa.BufferReader(stream)) as reader:
            if not reader.schema.equals(schema):
                hint = "let each schema have a file of its own"
                raise DataError("a further stream of Arrow in the source has another schema than the first", code="arrow-schema-changed", hint=hint)
            batches += list(reader)
    for batch in batches:
        # before anything is made of them: damaged ones may point anywhere
        batch.validate(full=True)
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=schema)


def _schema(head: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.BufferReader(head))


def _streams(before: bytes, content: bytes, parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield the streams of which a stretch has messages, each with a schema before its rows; ``before`` is what the first one began with."""
    stream: list[bytes] = []
    for part in parts:
        if part.kind == "schema" and stream:
            yield b"".join(stream)
            stream = []
        if part.kind in _OF_ROWS:
            stream += [before] if part.kind != "schema" and not stream else []
            stream.append(content[part.start : part.end])
    if stream:
        yield b"".join(stream)


def _damaged() -> DataError:
    hint = "look at what writes it; each stream of Arrow begins with its schema, and a further one may follow it"
    return DataError("the stream of Arrow is damaged", code="arrow-damaged", hint=hint)

"""Where the records of a stream come from: files that grow, or a pipe, read in stretches of whole records that can be read again.

What the columns are is settled by the first records and written down, so that a stream that is taken up again is read as before.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa

from sfumato.core import delimited_stream, json_stream
from sfumato.core.column_types import refuse_same_names
from sfumato.core.decoded import Decoded, Poison
from sfumato.core.delimited_stream import Dialect
from sfumato.core.file_set import files_now, is_several
from sfumato.core.files import status_of
from sfumato.core.followed_files import FollowedFiles, Stretch, whole_lines
from sfumato.core.formats import is_of
from sfumato.core.json_blocks import shape_of
from sfumato.core.json_records import Kind, NotARecordError, Shape, record
from sfumato.core.nested_types import holds_lists, lists
from sfumato.core.unfinished import Unfinished
from sfumato.engine.stream.arrow_stretches import ArrowStretches
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.named_fields import FIRST, NamedFields
from sfumato.engine.stream.run_journal import Journal
from sfumato.engine.stream.spool import Spool, SpoolAgain, is_cut
from sfumato.errors import Mistake, PolicyError, UnreachableError
from sfumato.policy.model import Policy
from sfumato.policy.resolve import Resolved

_HEADER = 1 << 20
_DASH = "-"
_ANOTHER_NAME = "rename them: a policy speaks of columns by name; if the first line is no header, say header: false"
_KINDS: Mapping[str, Kind] = {"integer": "integer", "decimal": "number"}


class Stretches(Protocol):
    """Bytes of whole records as they come, which can be read again; and what of them is no whole record yet."""

    unfinished: Unfinished

    @property
    def position(self) -> dict[str, Any]:
        """How far they have been read."""
        ...

    def stretches(self, ended: bool = False) -> Iterator[Stretch]:
        """Yield what there is to read now."""
        ...

    def again(self, place: str, start: int, end: int) -> bytes:
        """Return bytes that were read before."""
        ...

    def name(self, place: str) -> str:
        """Return what people call a place: the path of its file, or standard input."""
        ...

    @property
    def lost(self) -> tuple[str, ...]:
        """What has gone before it was read to its end."""
        ...

    @property
    def gone(self) -> frozenset[str]:
        """The places of which nothing can be read again once this process has ended."""
        ...

    def close(self) -> None:
        """Take nothing more."""
        ...


class Reading:
    """The source of a stream; what was read once can be read ``again`` beside the process that reads on.

    What the stream itself has ``released`` is no source, whatever links lead to it.
    """

    def __init__(
        self, resolved: Resolved, journal: Journal | KeptState, pipe: IO[bytes] | None = None, again: bool = False, released: Sequence[str] = ()
    ) -> None:
        source: Any = resolved.source
        self._own = [str(journal.folder), *released]
        self._policy, self._journal = resolved.policy, journal
        settings = source
        is_pipe = source is not None and source.component_name() == "standard_input"
        self._format = source.format if is_pipe else source.component_name() if source is not None else ""
        if self._format == "folder":
            settings = source.followed()
            self._format = settings.component_name()
        if self._format not in ("json_lines", "delimited", "arrow"):
            words = "a stream needs a source" if source is None else f"a stream cannot be read from {self._format}"
            hint = "JSON lines, delimited text or Arrow: a file that grows, a folder, or - for a pipe"
            raise PolicyError([Mistake("source", words, "policy-stream-source", hint, resolved.lines.at(("source",)))], name=resolved.name)
        if not is_pipe and resolved.policy.source is not None and resolved.policy.source.settings.get("path") == _DASH:
            hint = f"source: {{standard_input: {{format: {self._format}}}}} for a pipe; ./- for a file of that name"
            words = "a stream would wait for a file called -"
            raise PolicyError([Mistake("source", words, "policy-stream-source", hint, resolved.lines.at(("source",)))], name=resolved.name)
        self._settings = settings
        self._records = self._format_of_records()
        self._spool: Spool | None = None
        if is_pipe and again:
            self._stretches: Stretches = SpoolAgain(journal.folder / "spool")
            return
        if is_pipe:
            given = pipe or (sys.stdin.buffer if sys.stdin is not None else None)
            if given is None:
                raise UnreachableError(
                    "standard input is closed", code="input-closed", hint="give it records: tail -f log | sfumato stream run policy.yaml"
                )
            self._spool = Spool(journal.folder / "spool", given, self._records.whole, journal.position, self._records.whole_at_end)
        records = self._records
        self._stretches = self._spool or FollowedFiles(self._files, records.whole, journal.secret, journal.position, records.whole_at_end)

    @property
    def position(self) -> dict[str, Any]:
        """How far it has been read."""
        return self._stretches.position

    @property
    def ended(self) -> bool:
        """Whether nothing more will come: the pipe was closed."""
        return self._spool is not None and self._spool.closed

    @property
    def is_pipe(self) -> bool:
        """Whether it is a pipe, whose end others decide."""
        return self._spool is not None

    @property
    def lost(self) -> tuple[str, ...]:
        """Which files have gone before they were read to the end that was known."""
        return self._stretches.lost

    def is_gone(self, places: Iterable[str]) -> bool:
        """Return whether something of some places could not be read again by the next process."""
        return not self._stretches.gone.isdisjoint(places)

    def files(self, places: Iterable[str]) -> list[str]:
        """Return the paths of the files that some places are, in order; none of a pipe, which is kept."""
        return [] if self.is_pipe else sorted({self._stretches.name(place) for place in places})

    @property
    def unfinished(self) -> Unfinished:
        """What waits for the end of its record."""
        return self._stretches.unfinished

    @property
    def awaited(self) -> str | None:
        """What is waited for, where there is no file yet and never was one: a path, a folder or a pattern."""
        return None if self.is_pipe or self.position or any(status_of(path) is not None for path in self._files()) else str(self._settings.path)

    @property
    def absent(self) -> tuple[str, ...]:
        """The columns of the policy that no record has named so far, where each says itself which it has."""
        return self._records.fields.absent if isinstance(self._records, _JsonRecords) else ()

    def refuse_absent(self) -> None:
        """Refuse columns of the policy that no record has named, once all have come."""
        if isinstance(self._records, _JsonRecords):
            self._records.fields.refuse_absent()

    def refuse_missing(self) -> None:
        """Refuse a path that is not there; a folder or a pattern may have no file yet."""
        if self.awaited is not None and not is_several(self._settings.path):
            hint = "look at the path, which is relative to the policy; without --once it is waited for"
            raise UnreachableError(f"{self.awaited} is not there", code="file-missing", hint=hint)

    def stretches(self, ended: bool) -> Iterator[Stretch]:
        """Yield what there is to read now."""
        return self._stretches.stretches(ended)

    def again(self, place: str, start: int, end: int) -> Stretch:
        """Return a stretch that was read before."""
        return Stretch(place, start, self._stretches.again(place, start, end))

    def decode(self, stretch: Stretch) -> Decoded:
        """Return the records of a stretch; half of one, with which a pipe was cut off, is one that cannot be read."""
        decoded: Decoded
        if not is_cut(stretch):
            decoded = self._records.decode(stretch)
            return decoded
        # nothing of it, but with the columns of the others; half of what stands before all records is none
        decoded = self._records.decode(replace(stretch, content=b""))
        if self._records.is_before_records(stretch):
            return decoded
        return replace(decoded, records=1, poison=[Poison(0, "record-cut", 0, len(stretch.content))])

    def wait(self, seconds: float) -> None:
        """Wait for something to come."""
        if self._spool is not None:
            self._spool.wait(seconds)
        else:
            time.sleep(seconds)

    def forget(self, place: str, start: int) -> None:
        """Say that nothing before a place will be read again."""
        if self._spool is not None:
            self._spool.forget(place, start)

    def forget_gone(self) -> None:
        """Say that nothing that was read so far will be read again: what is kept of files that have gone long ago is not needed."""
        if isinstance(self._stretches, FollowedFiles):
            self._stretches.forget_gone()

    def discard(self) -> None:
        """Throw away what came by a pipe: nothing of it was taken, and who mends what was refused sends it again."""
        if self._spool is not None:
            self._spool.discard()

    def close(self) -> None:
        """Take nothing more."""
        self._stretches.close()

    def _files(self) -> Iterable[Path]:
        path = self._settings.path
        if not is_several(path):
            status = status_of(path)
            if status is not None and not stat.S_ISREG(status.st_mode):
                hint = f"source: {{standard_input: {{format: {self._format}}}}}, and sfumato stream run policy.yaml < {path}"
                raise UnreachableError(f"{path} is a pipe or a device", code="file-not-regular", hint=hint)
            return [Path(path)] if status is not None or not self._journal.position else []
        found = [Path(file) for file in files_now(path, lambda name: is_of(name, self._format))]
        # what the stream keeps for itself, or has released, is no source, wherever it lies
        own = [Path(os.path.realpath(place)) for place in self._own]
        numbers = {_file_number(place) for place in own} - {None}
        return [file for file in found if not _is_within(file, own) and (not numbers or _file_number(file) not in numbers)]

    def _format_of_records(self) -> Any:
        if self._format == "json_lines":
            return _JsonRecords(self._settings, self._policy, self._journal)
        if self._format == "delimited":
            return _DelimitedRecords(self._settings, self._policy, lambda: self._stretches)
        return ArrowStretches(lambda *place: self._stretches.again(*place), self._journal)


def _is_within(file: Path, places: Sequence[Path]) -> bool:
    """Return whether a file is one of some places, or in one, under its true name."""
    real = Path(os.path.realpath(file))
    return any(real.is_relative_to(place) for place in places)


def _file_number(path: Path) -> tuple[int, int] | None:
    """Return what a file is known by under all of its names; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _JsonRecords:
    """Records of JSON lines; the kinds of their fields are those of the first ones, where the policy does not say more."""

    def __init__(self, settings: Any, policy: Policy, journal: Journal | KeptState) -> None:
        self._separator, self._policy, self._journal = settings.separator, policy, journal
        self._given: Mapping[str, Kind] = getattr(settings, "fields", {})
        self._reads_lists = getattr(settings, "lists", "refuse") == "text"
        self._kinds: dict[str, Kind] | None = journal.told("kinds")
        self.fields = NamedFields([name for name in policy.columns if name not in self._given], settings.separator, journal.records > 0)

    def whole(self, block: bytes, ended: bool) -> int:
        return whole_lines(block, ended)

    def whole_at_end(self, block: bytes, is_quiet: bool) -> int:  # noqa: ARG002 - a record says itself where it ends
        """Count a last line without its end only where it is a record: half of one never is."""
        lines = whole_lines(block, False)
        try:
            record(block[lines:].removeprefix(BOM_UTF8), self._separator)
        except (NotARecordError, UnicodeDecodeError):
            return lines
        return len(block)

    def is_before_records(self, stretch: Stretch) -> bool:  # noqa: ARG002 - nothing stands before them
        return False

    def decode(self, stretch: Stretch) -> Decoded:
        self.fields.look(stretch.content.removeprefix(BOM_UTF8) if stretch.start == 0 else stretch.content)
        kinds = self._first_kinds(stretch.content) if self._kinds is None else self._kinds
        decoded = json_stream.decoded(stretch.content, kinds, self._separator, self._policy.unnamed, stretch.start == 0)
        if not self._reads_lists and "list" in kinds.values():
            fields = [lists(one.name, are_read=False) if holds_lists(one) else one for one in decoded.rows.schema]
            decoded = replace(decoded, rows=pa.RecordBatch.from_arrays(decoded.rows.columns, schema=pa.schema(fields)))
        if self._kinds is None and decoded.records:
            # lines without anything tell nothing of the fields that will come
            self._kinds = kinds
            self._journal.tell("kinds", kinds)
        return decoded

    def _first_kinds(self, block: bytes) -> dict[str, Kind]:
        """Return the kinds of the policy's columns: as it declares them, as the first records have them, or text."""
        lines = block.split(b"\n", FIRST)[:FIRST]
        found = shape_of(b"\n".join(lines), self._separator)
        if found is None:
            shape = Shape({})
            for line in filter(bytes.strip, lines):
                try:
                    shape.add(record(line, self._separator))
                except (NotARecordError, UnicodeDecodeError):
                    continue
            # one list among values that are none is a mistake, and must not make lists of all of them
            found = dict(shape.kinds(self._separator, stray_lists=not self._reads_lists))
        kinds = {}
        for name, column in self._policy.columns.items():
            declared = _KINDS.get(column.type or "") or ("text" if column.type is not None else None)
            kinds[name] = self._given.get(name) or declared or found.get(name) or "text"
        return kinds


class _DelimitedRecords:
    """Records of delimited text; the names of the columns stand in the first line of each file, or in the policy."""

    def __init__(self, settings: Any, policy: Policy, source: Callable[[], Stretches]) -> None:
        self._settings, self._policy, self._source = settings, policy, source
        self._dialect = Dialect(settings.delimiter, settings.quote, settings.escape)
        self._names: dict[str, list[str]] = {}

    def whole(self, block: bytes, ended: bool) -> int:
        return delimited_stream.whole_records(block, ended, self._dialect)

    def whole_at_end(self, block: bytes, is_quiet: bool) -> int:
        """Count a last line without its end only where nobody has written for a while: half a value looks like a whole one."""
        return delimited_stream.whole_records(block, is_quiet, self._dialect)

    def is_before_records(self, stretch: Stretch) -> bool:
        """Return whether a stretch is in the header."""
        return bool(self._settings.header) and stretch.start == 0

    def decode(self, stretch: Stretch) -> Decoded:
        names, beginning, skipped = self._header(stretch), stretch.start == 0, self._line_end(stretch)
        columns = names if self._policy.unnamed == "refuse" else [name for name in names if name in self._policy.columns]
        content, header = stretch.content[skipped:], self._settings.header and beginning
        found = delimited_stream.decoded(content, self._dialect, names, columns, header, beginning)
        if not skipped:
            return found
        return replace(found, poison=[replace(each, start=each.start + skipped) for each in found.poison])

    def _line_end(self, stretch: Stretch) -> int:
        """Return how many bytes only end a line that was taken before without its end: they begin no record."""
        if stretch.start == 0 or not stretch.content.startswith((b"\r", b"\n")):
            return 0
        before = self._source().again(stretch.place, stretch.start - 1, stretch.start)
        if before == b"\n" or (before == b"\r" and not stretch.content.startswith(b"\n")):
            return 0
        return 2 if stretch.content.startswith(b"\r\n") else 1

    def _header(self, stretch: Stretch) -> list[str]:
        if not self._settings.header:
            names = list(self._settings.columns or self._policy.columns)
            refuse_same_names(names, self._source().name(stretch.place), "give every column a name of its own")
            return names
        if stretch.place not in self._names:
            beginning = stretch.content if stretch.start == 0 else self._source().again(stretch.place, 0, min(stretch.start, _HEADER))
            names = delimited_stream.header_of(beginning, self._dialect) or []
            refuse_same_names(names, self._source().name(stretch.place), _ANOTHER_NAME)
            self._names[stretch.place] = names
        return self._names[stretch.place]

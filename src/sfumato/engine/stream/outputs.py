"""Where the releases of a view go: a file that grows, a folder of files, or standard output; and privately, which record each row is made of."""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core.staged_folder import StagedFolder
from sfumato.core.staging import StagedFile
from sfumato.core.standard_streams import refuse_closed_output
from sfumato.engine.stream.growing import GrowingFile, Manifest, SegmentFolder, links_of, log_of, refuse_older_state, unlisted
from sfumato.engine.stream.private_files import written_errors
from sfumato.engine.stream.release import StreamRelease
from sfumato.engine.stream.run_journal import Journal, Segment
from sfumato.engine.stream.whole_records import whole_records
from sfumato.errors import Mistake, PolicyError, UnreachableError
from sfumato.policy.resolve import Resolved

_MANIFEST = "manifest.jsonl"
_PATIENCE = 1000
"""Milliseconds after which it is looked whether a reader who does not read is still to be waited for."""
_GROWING = ("json_lines", "delimited")


class Written(Protocol):
    """Where rows are written; they count when they are committed, and are listed after that."""

    def write(self, rows: pa.RecordBatch) -> None:
        """Write further rows."""
        ...

    def sync(self) -> Sequence[Segment]:
        """Bring everything to the disk and return what is new since the last time."""
        ...

    def list(self, segments: Sequence[Segment]) -> None:
        """List segments that have been committed."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def written(resolved: Resolved, view: str, journal: Journal, stop: threading.Event, unread: Callable[[], None]) -> Written:
    """Return where the releases of a view are written, cut back to what was committed.

    ``unread`` is called again and again while a reader does not read, and ``stop`` ends waiting for one.
    """
    sink: Any = resolved.sink
    name = sink.component_name() if sink is not None else ""
    committed, planned = journal.segments(view), journal.planned is not None
    if name in _GROWING:
        if sink.compression not in ("none", "infer") or sink.path.endswith((".gz", ".bz2", ".xz", ".zst")):
            raise _refused(resolved, "is compressed, and a file that grows cannot be", "a name without the ending of a compression")
        return OneFile(Path(sink.path), committed, planned, sink.encoded)
    if name in ("arrow", "parquet"):
        return OneFolder(Path(sink.path), committed, planned, f".{name}", _WRITERS[name])
    if name == "standard_output":
        return StandardOutput(sink.encoded, sink.quote if sink.format == "delimited" else None, stop, unread)
    words = "a stream needs a sink" if sink is None else f"a stream cannot be written to {name}"
    raise _refused(resolved, words, "release.jsonl, release.csv, a folder release.arrow or release.parquet, or - for standard output")


class OneFile:
    """A file that grows: its segments are stretches of it. Only what was ``planned`` may stand in it beyond those that were committed."""

    def __init__(self, path: Path, committed: Sequence[Segment], planned: bool, encode: Callable[[pa.RecordBatch, bool], bytes]) -> None:
        self._encode, self._name = encode, path.name
        with ExitStack() as stack:
            manifest, length = path.with_name(f"{path.name}.{_MANIFEST}"), committed[-1].finish if committed else 0
            for held in (*_names(path), manifest):
                # the hidden name under which runs write before they publish: who holds it writes here alone
                with written_errors(held):
                    stack.callback(StagedFile(str(held)).abort)
            for held in _names(path):
                refuse_older_state(held.with_name(f"{held.name}.{_MANIFEST}"), len(committed), is_longer=False)
            longer = None if planned else partial(refuse_older_state, manifest, len(committed), is_longer=True)
            self._file = GrowingFile(path, length, refuse_longer=longer)
            stack.callback(self._file.close)
            self._manifest = Manifest(manifest, committed)
            stack.callback(self._manifest.close)
            self._held = stack.pop_all()
        self._start, self._rows = self._file.length, 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Write further rows."""
        self._file.append(self._encode(rows, self._file.length == 0))
        self._rows += rows.num_rows

    def sync(self) -> Sequence[Segment]:
        """Bring everything to the disk and return what is new."""
        if not self._rows:
            return []
        self._file.sync()
        segment = Segment(self._name, self._start, self._file.length, self._rows)
        self._start, self._rows = self._file.length, 0
        return [segment]

    def list(self, segments: Sequence[Segment]) -> None:
        """List segments."""
        if segments:
            self._manifest.list(segments)

    def close(self) -> None:
        """Close file and manifest, and let others write here."""
        self._held.close()


class OneFolder:
    """A folder of files, one a segment. Only what was ``planned`` may lie in it beyond those that were committed."""

    def __init__(self, path: Path, committed: Sequence[Segment], planned: bool, ending: str, write: Callable[[pa.Table, Path], None]) -> None:
        self._write = write
        with ExitStack() as stack:
            for held in _names(path):
                with written_errors(held):
                    stack.callback(StagedFolder(str(held)).abort)
            # a commit is one file: of those that were planned no more can lie there
            refuse_older_state(path / _MANIFEST, len(committed), len(unlisted(path, committed, ending)) > planned)
            self._folder = SegmentFolder(path, committed, ending)
            self._manifest = Manifest(path / _MANIFEST, committed)
            stack.callback(self._manifest.close)
            self._held = stack.pop_all()
        self._waiting: list[pa.RecordBatch] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Keep further rows until they are synced: a file of these formats is written at once."""
        if rows.num_rows:
            self._waiting.append(rows)

    def sync(self) -> Sequence[Segment]:
        """Write a file."""
        if not self._waiting:
            return []
        table = pa.Table.from_batches(self._waiting)
        self._waiting = []
        return [self._folder.write(lambda path: self._write(table, path), table.num_rows)]

    def list(self, segments: Sequence[Segment]) -> None:
        """List segments."""
        if segments:
            self._manifest.list(segments)

    def close(self) -> None:
        """Close the manifest, and let others write here."""
        self._held.close()


class StandardOutput:
    """Standard output: rows leave when they are written; after a crash those since the last commit leave again.

    A reader who does not read is waited for: nothing further is taken from the source meanwhile. A header leaves once a process, with its first rows:
    whoever reads from one that takes a stream up has not seen that of the one before. Rows leave in whole records; ``quote`` is what encloses
    values with line ends, where there is such a mark.
    """

    def __init__(self, encode: Callable[[pa.RecordBatch, bool], bytes], quote: str | None, stop: threading.Event, unread: Callable[[], None]) -> None:
        refuse_closed_output()
        self._begun, self._encode, self._stop, self._unread, self._rows = False, encode, stop, unread, 0
        self._quote = quote
        # so much a pipe that is ready takes at once, whatever becomes of this process meanwhile, without letting anybody wait
        self._piece = select.PIPE_BUF if stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode) else 1 << 20

    def write(self, rows: pa.RecordBatch) -> None:
        """Write further rows."""
        for left in whole_records(self._encode(rows, not self._begun), self._piece, self._quote):
            while left:
                self._await_reader()
                left = left[_put_out(left) :]
        self._begun, self._rows = True, self._rows + rows.num_rows

    def _await_reader(self) -> None:
        ready, asked = select.poll(), False
        ready.register(sys.stdout.fileno(), select.POLLOUT)
        while not ready.poll(_PATIENCE):
            if asked:
                raise UnreachableError(
                    "the stream was stopped while nobody read from standard output",
                    code="output-unread",
                    hint="run again: what has left since the last commit leaves once more, and nothing is lost",
                )
            self._unread()
            # whoever reads slowly has a little time still
            asked = self._stop.is_set()

    def sync(self) -> Sequence[Segment]:
        """Return what has left."""
        rows, self._rows = self._rows, 0
        return [Segment("-", 0, 0, rows)] if rows else []

    def list(self, segments: Sequence[Segment]) -> None:
        """Nothing is listed: whoever reads has read."""

    def close(self) -> None:
        """Leave standard output open: it is not ours."""


class Links:
    """Which record and which cluster each published row is made of, and what promises were measured against: private, for the check.

    Where it was deleted it is not written any more: whoever did so wants nobody to know.
    """

    def __init__(self, folder: Path, view: str, journal: Journal) -> None:
        self._names = links_of(view)
        self._rows, self._references = (log_of(folder / name, journal.length(name)) for name in self._names)

    def write(self, release: StreamRelease) -> None:
        """Write down what the rows of a release are made of."""
        told = {"row": self._rows.length // 16, "rows": len(release), "references": {n: c.tolist() for n, c in release.references.items()}}
        self._references.append((json.dumps(told) + "\n").encode())
        self._rows.append(np.stack([release.numbers, release.clusters], axis=1).astype("<i8").tobytes())

    def sync(self) -> dict[str, int]:
        """Bring everything to the disk and return how long the files are."""
        for file in (self._rows, self._references):
            file.sync()
        return dict(zip(self._names, (self._rows.length, self._references.length), strict=True))

    def close(self) -> None:
        """Close the files."""
        self._rows.close()
        self._references.close()


def _names(path: Path) -> list[Path]:
    """Return the name of a sink and, where that is a link, the one it leads to."""
    real = Path(os.path.realpath(path))
    return [path] if real == Path(os.path.realpath(path.parent)) / path.name else [path, real]


def _write_arrow(table: pa.Table, path: Path) -> None:
    with written_errors(path), pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_parquet(table: pa.Table, path: Path) -> None:
    with written_errors(path):
        pq.write_table(table, path)


_WRITERS = {"arrow": _write_arrow, "parquet": _write_parquet}


def _refused(resolved: Resolved, words: str, hint: str) -> PolicyError:
    return PolicyError([Mistake("sink", words, "policy-stream-sink", hint, resolved.lines.at(("sink",)))], name=resolved.name)


def _put_out(content: memoryview) -> int:
    """Write to standard output and return how many bytes: who goes away there ends the stream, and a disk that is full is an error."""
    try:
        return os.write(sys.stdout.fileno(), content)
    except BrokenPipeError:
        raise
    except OSError:
        with written_errors(Path("what standard output leads to")):
            raise

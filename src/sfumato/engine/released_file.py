"""The file of a release, read as the sink of its policy writes it, and files that nobody has said more of than their names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sfumato.core.files import file_errors
from sfumato.core.formats import FORMATS, format_of
from sfumato.core.interfaces import ReadableSink, Sink, Source
from sfumato.core.record import record_of, record_path
from sfumato.errors import UsageError
from sfumato.registry import find


def released_file(path: Path, sink: Sink | None) -> Source:
    """Return the source that reads a file: with the settings of a sink where it is its own or of the same kind, else by the ending of its name."""
    if str(path) == "-":
        stream: Source = find("sources", "standard_input")()
        return stream
    if not isinstance(sink, ReadableSink):
        return _old_file(path)
    own = any(Path(place).resolve() == path.resolve() for place in sink.places())
    kind, *_ = format_of(str(path)) or ("",)
    alike = kind == _format(sink) and all(format_of(place) in (None, format_of(str(path))) for place in sink.places())
    return sink.reader(str(path), _names(path, sink)) if own or alike else _old_file(path)


def new_file(path: Path) -> Sink:
    """Return the sink that writes a file, in the format that the ending of its name says."""
    sink: Sink = _by_ending("sinks", path)
    return sink


def _old_file(path: Path) -> Source:
    source: Source = _by_ending("sources", path)
    return source


def _format(sink: Any) -> str:
    """Return the format of a sink's files; that of a stream is a setting."""
    return str(getattr(sink, "format", sink.component_name()))


def _by_ending(kind: Literal["sources", "sinks"], path: Path) -> Any:
    known = format_of(str(path))
    if known is None:
        words = f"{path} has an ending that says no format; known: {', '.join(FORMATS)}"
        raise UsageError(words, code="format-unknown", hint="name a file with one of them")
    return find(kind, known[0])(path=str(path), **known[1])


def _names(path: Path, sink: Sink) -> Sequence[str] | None:
    """Return the names of the columns of a file without a header, as the record beside it or that of the sink's own release has them."""
    if getattr(sink, "header", True):
        return None
    found = (_names_in(record) for record in (record_path(str(path)), record_of(sink)) if record is not None)
    names = next((names for names in found if names), None)
    if names is None:
        raise UsageError(
            f"{path} has no header, and there is no record that says how its columns are called",
            code="reveal-header",
            hint=f"put the record of its run beside it, as {Path(record_path(str(path))).name}",
        )
    return names


def _names_in(record: str) -> Sequence[str] | None:
    if not Path(record).is_file():
        return None
    with file_errors(record):
        text = Path(record).read_bytes()
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names = told.get("release_columns") if isinstance(told, Mapping) else None
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None

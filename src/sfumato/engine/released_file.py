"""The file of a release, read as the sink of its policy writes it, and files that nobody has said more of than their names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sfumato.core.file_set import is_several
from sfumato.core.files import file_errors
from sfumato.core.formats import ENDINGS, format_of, is_read_alone
from sfumato.core.interfaces import ReadableSink, Sink, Source
from sfumato.core.record import record_of, record_path
from sfumato.errors import UsageError
from sfumato.registry import find


def released_file(path: Path, sink: Sink | None) -> Source:
    """Return the source that reads a file: with the settings of a sink where it is its own or of the same kind, else by the ending of its name."""
    if str(path) == "-":
        stream: Source = find("sources", "standard_input")()
        return stream
    own = sink is not None and any(Path(place).resolve() == path.resolve() for place in sink.places())
    if not own and is_several(str(path)):
        # what is said of files that differ could tell cells, where one has no header
        raise UsageError(f"{path} stands for several files", code="reveal-input", hint="one file at a time")
    if isinstance(sink, ReadableSink) and (own or _is_alike(path, sink)):
        return sink.reader(str(path), _names(path, sink))
    source: Source = _by_ending("sources", path)
    return source


def new_file(path: Path, released: Any) -> Sink:
    """Return the sink that writes a file, in the format that the ending of its name says, and lists as a sink of the same kind has written them."""
    made = _by_ending("sinks", path)
    lists = getattr(released, "lists", None) if type(released) is type(made) else None
    sink: Sink = made.model_copy(update={"lists": lists}) if lists else made
    return sink


def _is_alike(path: Path, sink: Any) -> bool:
    """Return whether a file is of the kind that a sink writes: of its format, and with no other ending where that says more."""
    kind = format_of(str(path))
    own = getattr(sink, "format", sink.component_name())
    return kind is not None and kind[0] == own and all(format_of(place) in (None, kind) for place in sink.places())


def _by_ending(kind: Literal["sources", "sinks"], path: Path) -> Any:
    known = format_of(str(path))
    if known is None or (kind == "sinks" and is_read_alone(str(path))):
        words = f"{path} has an ending that says no format; known: {ENDINGS}"
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

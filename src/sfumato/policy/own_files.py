"""A sink must not be one of the files that the run reads: its source, a hierarchy, or the policy itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.record import record_path
from sfumato.core.staging import staging_name
from sfumato.errors import Mistake
from sfumato.policy.load import Loaded

if TYPE_CHECKING:
    from sfumato.core.interfaces import HierarchyBuilder, Sink, Source


def own_files(loaded: Loaded, source: Source | None, sink: Sink | None, hierarchies: Mapping[str, HierarchyBuilder | None]) -> list[Mistake]:
    """Return the mistake of a sink that would write over a file that is read."""
    read = _read(loaded, source, hierarchies)
    if sink is None or not any(_same_file(target, path) for target in written(sink) for path in read):
        return []
    return [Mistake("sink", "would write over a file that the run reads", "sink-is-source", "name another file", loaded.lines.at(("sink",)))]


def _read(loaded: Loaded, source: Source | None, hierarchies: Mapping[str, HierarchyBuilder | None]) -> list[str]:
    scan = source.scan() if source is not None else None
    read = list(scan.places) if scan is not None else []
    read += [path for builder in hierarchies.values() if (path := getattr(builder, "path", None))]
    return [*read, str(loaded.folder / loaded.name)] if loaded.folder is not None else read


def written(sink: Sink) -> list[str]:
    """Return the release, its record, and the private names of both."""
    targets = [place for target in sink.places() for place in (target, record_path(target))]
    return [*targets, *(str(staging_name(Path(target))) for target in targets)]


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or Path(one).samefile(other)
    except (OSError, ValueError):
        return False

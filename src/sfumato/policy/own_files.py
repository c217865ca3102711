"""A sink must not be one of the files that the run reads: its source, those of hierarchies and masks, or the policy itself.

Nor may it be one that the next run would read, nor one that a stream keeps for itself: the manifest of its release, or its private folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from sfumato.core.file_set import would_hold
from sfumato.core.record import record_of
from sfumato.core.staging import staging_name
from sfumato.errors import Mistake, SfumatoError
from sfumato.policy.load import Loaded
from sfumato.policy.stream_checks import is_stream

if TYPE_CHECKING:
    from sfumato.core.interfaces import HierarchyBuilder, Sink, Source
    from sfumato.core.mask import Mask
    from sfumato.core.masked_column import MaskedColumn


MANIFEST = "manifest.jsonl"
_PRIVATE = ("state.sqlite", "secret", "lock")
_KEPT = (*_PRIVATE, "status.json", "dead_letters.jsonl", "links/taken.jsonl", "links/release.rows", "links/release.references.jsonl", "spool/0")


def own_files(
    loaded: Loaded,
    source: Source | None,
    sink: Sink | None,
    hierarchies: Mapping[str, HierarchyBuilder | None],
    masks: Mapping[str, MaskedColumn | None],
) -> list[Mistake]:
    """Return the mistake of a sink that would write over a file that is read."""
    if sink is None:
        return []
    steps = [step for mask in masks.values() if mask is not None for step in mask.operations]
    read, targets = _read(loaded, source, [*hierarchies.values(), *steps]), written(sink)
    line = loaded.lines.at(("sink",))
    if any(_is_manifest(Path(target)) for target in targets):
        return [Mistake("sink", "is the manifest of a stream's release", "sink-of-stream", "name another file", line)]
    if any(_is_private(Path(target), loaded) for target in targets):
        return [Mistake("sink", "lies in the private folder of a stream", "sink-of-stream", "name a file in another folder", line)]
    if any(_same_file(target, path) or _is_inside(path, target) for target in targets for path in read):
        return [Mistake("sink", "would write over a file that the run reads", "sink-is-source", "name another file", line)]
    if any(would_hold(place, target) for target in targets for place in _paths(source)):
        message = "lies among the files of the source: the next run would read this release"
        return [Mistake("sink", message, "sink-is-source", "name a file in another folder", line)]
    return _fed_to_itself(loaded, source, sink) if is_stream(loaded.policy) else []


def is_of_stream(target: Path, loaded: Loaded, source: Source | None, sinks: Iterable[Sink | None]) -> bool:
    """Return whether a file belongs to a stream: its policy, its source, what it keeps, or what it has released."""
    released = [place for sink in sinks if sink is not None for place in written(sink)]
    if _is_manifest(target) or _is_private(target, loaded) or any(_is_inside(str(target), place) for place in released):
        return True
    return any(_same_file(str(target), place) for place in [*released, *_read(loaded, source, [])])


def _fed_to_itself(loaded: Loaded, source: Source | None, sink: Sink) -> list[Mistake]:
    """Return the mistakes of a stream that would find what it writes itself among the files of its source, and go on for ever."""
    found, places = [], _paths(source)
    manifests = [manifest for place in sink.places() for manifest in (f"{place}.{MANIFEST}", str(Path(place) / MANIFEST))]
    if any(would_hold(place, manifest) for place in places for manifest in manifests):
        message = "lists what is released in a manifest that lies among the files of the source: the stream would read it"
        hint = "name a file in another folder, or a pattern that leaves the manifest out"
        found.append(Mistake("sink", message, "sink-is-source", hint, loaded.lines.at(("sink",))))
    state = state_of(loaded)
    if state is not None and any(would_hold(place, str(state / name)) for place in places for name in _KEPT):
        message = "lies among the files of the source: the stream would read what it keeps there"
        found.append(Mistake("stream.state", message, "sink-is-source", "name another folder", loaded.lines.at(("stream", "state"))))
    return found


def _is_manifest(target: Path) -> bool:
    """Return whether a file lists what a stream has released: beside a file that grows, or in a folder of segments."""
    real = os.path.realpath(target)
    released, folder = real.removesuffix(f".{MANIFEST}"), Path(real).parent
    return (released != real and _is_file(Path(released))) or (Path(real).name == MANIFEST and any(folder.glob("segment-*")))


def _is_private(target: Path, loaded: Loaded) -> bool:
    """Return whether a file lies in the private folder of a stream, this one's or any other's."""
    own, real = state_of(loaded), Path(os.path.realpath(target))
    return any(folder == own or all(_is_file(folder / name) for name in _PRIVATE) for folder in real.parents)


def _is_file(path: Path) -> bool:
    """Return whether there is such a file; a name that no system has is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def state_of(loaded: Loaded) -> Path | None:
    """Return the private folder that the policy of a stream names."""
    settings = loaded.policy.stream
    return None if settings is None or settings.state is None else Path(os.path.realpath((loaded.folder or Path()) / settings.state))


def _read(loaded: Loaded, source: Source | None, components: Sequence[HierarchyBuilder | Mask | None]) -> list[str]:
    read = [*_places(source), *_files(source)]
    read += [path for component in components if (path := getattr(component, "path", None))]
    return [*read, str(loaded.folder / loaded.name)] if loaded.folder is not None else read


def _places(source: Source | None) -> list[str]:
    scan = source.scan() if source is not None else None
    return [place for place in scan.places if _is_stored(place)] if scan is not None else []


def _paths(source: Source | None) -> list[str]:
    """Return the places that may be folders or patterns: the words for a table, which may be called ``*``, are none."""
    return _places(source) if getattr(source, "path", None) is not None else []


def _files(source: Source | None) -> list[str]:
    """Return the files of a folder or a pattern that are there; what is wrong with them is said when they are read."""
    try:
        files: list[str] = source.files() if source is not None and hasattr(source, "files") else []
    except SfumatoError:
        return []
    return files


def _is_inside(path: str, target: str) -> bool:
    """Return whether a file lies in a folder that would be replaced."""
    return PurePath(os.path.realpath(path)).is_relative_to(os.path.realpath(target))


def written(sink: Sink) -> list[str]:
    """Return the release, its record, and the private names of both."""
    record = record_of(sink)
    # what is masked in place is a table, and asked for
    places = [] if getattr(sink, "in_place", False) else sink.places()
    targets = [*places, *([record] if record is not None else [])]
    return [place for target in targets for place in (target, str(staging_name(Path(target)))) if _is_stored(place)]


def _is_stored(path: str) -> bool:
    """Return whether a place is a file, a folder or nothing yet; two streams may well be one terminal."""
    try:
        return Path(path).is_file() or Path(path).is_dir() or not Path(path).exists()
    except OSError:
        return True


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or Path(one).samefile(other)
    except (OSError, ValueError):
        return False

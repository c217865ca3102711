"""What a stream depends on beside its policy: hierarchies and files of masks that the policy names, which somebody may change between two runs.

One release must not be made by two of them: an area that means other towns from some row on tells nobody the truth. So a digest of them is written
down before the first record is read. People who opted out are not among them: that list may grow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfumato.core.files import file_errors
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.run_journal import Journal
from sfumato.errors import UnreachableError
from sfumato.policy.resolve import Resolved

_TOLD = "depended on"
_PATHS = ("path", "words_path")


def refuse_changed_files(journal: Journal | KeptState, views: Mapping[str, Resolved]) -> None:
    """Refuse hierarchies and files of masks that are not those with which the stream began; write down what they are where it begins."""
    now = {name: digest_of(resolved) for name, resolved in views.items()}
    told = journal.told(_TOLD)
    if told is None:
        journal.tell(_TOLD, now)
    elif told != now:
        raise UnreachableError(
            f"a file that the policy names, of a hierarchy or a mask, is not what it was when the stream in {journal.folder} began",
            code="stream-state-policy",
            hint="put the file back as it was, or name another state and another sink: one release is made by one of them",
        )


def digest_of(resolved: Resolved) -> str:
    """Return what tells the hierarchies that are written down, and the files of masks, from all others."""
    digest = hashlib.sha256()
    for told in ladders_as_bytes(resolved):
        digest.update(told)
    for name, path in _files_of_masks(resolved):
        with file_errors(path):
            digest.update(repr((name, hashlib.sha256(path.read_bytes()).hexdigest())).encode())
    return digest.hexdigest()


def ladders_as_bytes(resolved: Resolved) -> Iterator[bytes]:
    """Yield what each hierarchy that is written down says."""
    for name, ladder in sorted(resolved.ladders.items()):
        yield repr((name, ladder.leaves.to_pylist(), [(level.starts.tolist(), level.labels) for level in ladder.levels])).encode()


def _files_of_masks(resolved: Resolved) -> Iterator[tuple[str, Path]]:
    for name, mask in sorted(resolved.masks.items()):
        for step in mask.operations:
            yield from ((name, Path(path)) for setting in _PATHS if (path := getattr(step, setting, None)) is not None)

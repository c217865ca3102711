"""Kernels that are not compiled yet: said before it is done, and done on another core while the source is read.

``python -m sfumato.engine.warm partition_by_size`` compiles one search on a table of four rows; later processes find it in the cache. Those of
streams are compiled by a session that takes a few records.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.frequencies import Frequencies
from sfumato.core.kernels import cache_folder, compiled_elsewhere, is_compiled
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.core.relaxed_search import deals_out
from sfumato.policy.load import Loaded
from sfumato.registry import find

_SIZES, _PROMISES, _RELAXED, _GROUPS = "partition_by_size", "partition_by_promises", "partition_relaxed", "group"
_STREAMED = {"mondrian": "partition_points", "castle": "push", "z_anonymity": "decide"}


def is_warm(loaded: Loaded) -> bool:
    """Return whether what the policy's search needs has been compiled before."""
    return not _generalises(loaded) or is_compiled(_needed(loaded))


def compile_meanwhile(loaded: Loaded) -> None:
    """Begin to compile what the policy's search needs, in a process of its own."""
    needed = _needed(loaded)
    if needed != _GROUPS:
        _begin([needed])


def is_stream_warm(loaded: Loaded) -> bool:
    """Return whether what the searches of a stream need has been compiled before."""
    return not _needed_by_stream(loaded)


def compile_stream_meanwhile(loaded: Loaded) -> bool:
    """Begin to compile what the searches of a stream need; return whether anything must be."""
    missing = _needed_by_stream(loaded)
    if missing:
        _begin(missing)
    return bool(missing)


def _needed_by_stream(loaded: Loaded) -> list[str]:
    """Return what the searches of a stream need and was not compiled before."""
    policy = loaded.policy
    searches = [policy.algorithm, *(view.algorithm for view in policy.views.values() if view.algorithm is not None)]
    names = {search.name for search in searches} & set(_STREAMED) if _generalises(loaded) else {search.name for search in searches} & {"z_anonymity"}
    return sorted(_STREAMED[name] for name in names if not is_compiled(_STREAMED[name]))


def _begin(kernels: Sequence[str]) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
        [sys.executable, "-m", "sfumato.engine.warm", *kernels], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    compiled_elsewhere(process)


def _generalises(loaded: Loaded) -> bool:
    """Return whether anything is searched for; masks alone need no search."""
    policy = loaded.policy
    views, tables = policy.views.values(), policy.tables.values()
    columns = [policy.columns, *(view.columns for view in views), *(table.columns for table in tables)]
    return any(column.role == "quasi_identifier" for each in columns for column in each.values())


def _needed(loaded: Loaded) -> str:
    policy = loaded.policy
    if policy.algorithm.name != "mondrian":
        return _GROUPS
    searches = [policy.algorithm, *(part.algorithm for parts in (policy.views, policy.tables) for part in parts.values())]
    if any(search is not None and (deals_out(search.instance) or search.settings.get("relaxed") is True) for search in searches):
        return _RELAXED
    own = [*(view.promises for view in policy.views.values()), *(table.promises for table in policy.tables.values())]
    promises = [*policy.promises, *(promise for each in own for promise in each or [])]
    subjects = [policy.subject, *(table.subject for table in policy.tables.values())]
    sizes_alone = not any(subjects) and all(promise.name == "k_anonymity" for promise in promises)
    return _SIZES if sizes_alone else _PROMISES


def compile_search(name: str) -> None:
    """Search four rows, so that the kernel is compiled and kept."""
    ladder = find("hierarchies", "interval")().build("age", pa.array([1, 2]), np.array([2, 2]))
    promises = [find("promises", "k_anonymity")(k=2)]
    if name == _PROMISES:
        promises.append(find("promises", "l_diversity")(column="illness", l=2))
    rows = np.arange(4, dtype=np.int32)
    frequencies = Frequencies(
        np.array([[0], [1]], np.int32),
        rows // 2,
        np.ones(4, np.int64),
        {"illness": rows % 2} if name == _PROMISES else {},
        None,
        {"illness": np.full(2, 2, np.int64)},
    )
    find("algorithms", "mondrian")(relaxed=name == _RELAXED).search(Problem([ladder], promises, [1.0]), frequencies, Quiet())


def compile_stream(kernel: str) -> None:
    """Let a session take a few records, so that the kernel of its search is compiled and kept."""
    from sfumato.engine.stream.session import stream

    ages = {"role": "quasi_identifier", "type": "integer"}
    columns = {"who": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}, "age": ages, "shown": {"role": "sensitive"}}
    search = next(name for name, own in _STREAMED.items() if own == kernel)
    policy: dict[str, Any] = {"subject": "who", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "algorithm": search}
    if search == "mondrian":
        policy |= {"window": {"count": 4}}
    if search == "z_anonymity":
        policy |= {"algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "shown"}}, "promises": []}
        columns["age"] = {"role": "identifier"}
    session = stream(policy)
    session.push([{"who": place, "at": place, "age": 20 + place, "shown": "ab"[place % 2]} for place in range(4)])
    session.flush()


@contextmanager
def alone(kernel: str) -> Iterator[None]:
    """Let one process at a time compile a kernel: that of a run that was killed goes on, and whoever comes later finds what it has made."""
    try:
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (cache_folder() / f"{kernel}.lock").open("ab")
    except OSError:
        # nothing can be kept there, so that there is nothing to wait for
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with alone(name):
            if is_compiled(name):
                continue
            if name in _STREAMED.values():
                compile_stream(name)
            else:
                compile_search(name)

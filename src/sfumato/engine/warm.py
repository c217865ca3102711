"""Kernels that are not compiled yet: said before it is done, and done on another core while the source is read.

``python -m sfumato.engine.warm partition_by_size`` compiles one search on a table of four rows; later processes find it in the cache.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa

from sfumato.core.frequencies import Frequencies
from sfumato.core.kernels import compiled_elsewhere, is_compiled
from sfumato.core.problem import Problem
from sfumato.core.quiet import Quiet
from sfumato.core.relaxed_search import deals_out
from sfumato.policy.load import Loaded
from sfumato.registry import find

_SIZES, _PROMISES, _RELAXED, _GROUPS = "partition_by_size", "partition_by_promises", "partition_relaxed", "group"


def is_warm(loaded: Loaded) -> bool:
    """Return whether what the policy's search needs has been compiled before."""
    return not _generalises(loaded) or is_compiled(_needed(loaded))


def compile_meanwhile(loaded: Loaded) -> None:
    """Begin to compile what the policy's search needs, in a process of its own."""
    needed = _needed(loaded)
    if needed != _GROUPS:
        process = subprocess.Popen(  # noqa: S603 - our own module, by our own interpreter
            [sys.executable, "-m", "sfumato.engine.warm", needed], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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


if __name__ == "__main__":
    compile_search(sys.argv[1])

"""The compiled functions over integer arrays, one file each.

The cache folder is named after the hash of all kernel files, because numba itself does not notice when a function changes that another
file's kernel calls. No kernel takes a function as an argument: that is never a cache hit.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from sfumato.core.places import kernel_cache


@cache
def cache_folder() -> Path:
    """Return the folder of compiled kernels, which changes with any kernel's text."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return kernel_cache() / digest.hexdigest()[:16]


def is_compiled(name: str) -> bool:
    """Return whether a kernel has been compiled before."""
    folder = cache_folder()
    return folder.exists() and any(folder.rglob(f"*.{name}-*.nbi"))


_PATIENCE = 60.0
_ELSEWHERE: list[subprocess.Popen[bytes]] = []


def compiled_elsewhere(process: subprocess.Popen[bytes]) -> None:
    """Remember a process that compiles a kernel of a search; it ends with this one."""
    _ELSEWHERE.append(process)
    atexit.register(process.kill)


def await_compiled() -> None:
    """Wait for what another process compiles; should it fail, the kernel is compiled here."""
    while _ELSEWHERE:
        with contextlib.suppress(subprocess.TimeoutExpired):
            _ELSEWHERE.pop().wait(_PATIENCE)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that makes arrays when it is first called, and keep it compiled for later processes."""
    return _kept(function)


def plain_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no array, as ``kernel`` does: numba need not count who holds an array, which it does at each use of one."""
    return _kept(function, _nrt=False)


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = _compiled(function, cache=True, **options)
    dispatcher._cache.load_overload = partial(_load_kept, dispatcher._cache)
    return dispatcher


def _load_kept(kept: Any, signature: Any, target: Any) -> Any:
    """Load a compiled kernel without what only compiling needs: numba would first import every function it knows, for a quarter of a second."""
    from numba.core.runtime import rtsys

    rtsys.initialize(target)
    return kept._load_overload(signature, target)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, and that makes no array: without the wrapper for Python, which costs time to make."""
    return _compiled(function, no_cpython_wrapper=True, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Make a function part of the one kernel that calls it, once: it is compiled with it, not before it and again with it."""
    return _compiled(function, inline="always")


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    import numba.core.config

    # numba reads its cache folder when a function is decorated; a user's own setting is put back
    before = numba.core.config.CACHE_DIR
    numba.core.config.CACHE_DIR = str(cache_folder())
    try:
        compile_lazily: Any = numba.njit
        return compile_lazily(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    finally:
        numba.core.config.CACHE_DIR = before

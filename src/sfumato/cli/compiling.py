"""Kernels that are not compiled yet: said before it is done, and only of a policy that can run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy.load import Loaded

_WORDS = "compiling for this machine; this happens once for each kind of work and takes from some seconds to two minutes\n"


def compile_if_needed(loaded: Loaded) -> None:
    """Begin to compile what a policy's search needs, and say so; nothing where it is compiled already, or the policy is wrong."""
    from sfumato.engine.plan import make_plans
    from sfumato.engine.warm import compile_meanwhile, is_warm

    if is_warm(loaded):
        return
    make_plans(loaded)
    compile_meanwhile(loaded)
    sys.stderr.write(_WORDS)


def compile_stream_if_needed(loaded: Loaded) -> None:
    """The same for what the views of a stream need."""
    from sfumato.engine.warm import compile_stream_meanwhile
    from sfumato.policy.views import resolve_views

    resolve_views(loaded)
    if compile_stream_meanwhile(loaded):
        sys.stderr.write(_WORDS)

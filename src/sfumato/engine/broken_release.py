"""What is said of a release that is not as it must be."""

from __future__ import annotations

import re

from sfumato.errors import PromiseError

_SAID = re.compile(r"verification stopped the run: the staged release (?P<what>.*); nothing has been published", re.DOTALL)


def broken(what: str, code: str, who: str = "the staged release") -> PromiseError:
    """Return the error of a release that is not as it must be."""
    return PromiseError(
        f"verification stopped the run: {who} {what}; nothing has been published",
        code=code,
        hint="run again; if it happens twice, report it: this must not happen",
    )


def as_said_of_stream(error: PromiseError, view: str) -> PromiseError:
    """Return the error as it is true of a stream, of which something may have been released before; any other as it is.

    >>> as_said_of_stream(broken("has lost or gained rows", "verify-rows"), "nurse").message
    'verification stopped the stream: a release of view nurse has lost or gained rows; it was not handed out, and what was released before stays'
    """
    said = _SAID.fullmatch(error.message)
    if said is None:
        return error
    whose = f" of view {view}" if view else ""
    message = f"verification stopped the stream: a release{whose} {said['what']}; it was not handed out, and what was released before stays"
    return PromiseError(message, code=error.code, hint=error.hint)

"""What is said of a release that is not as it must be."""

from __future__ import annotations

from sfumato.errors import PromiseError

_HINT = "run again; if it happens twice, report it: this must not happen"


class BrokenReleaseError(PromiseError):
    """A release that is not as it must be; ``what`` says in which way."""

    def __init__(self, message: str, what: str, *, code: str) -> None:
        self.what = what
        super().__init__(message, code=code, hint=_HINT)


def broken(what: str, code: str, who: str = "the staged release") -> BrokenReleaseError:
    """Return the error of a release that is not as it must be."""
    return BrokenReleaseError(f"verification stopped the run: {who} {what}; nothing has been published", what, code=code)


def broken_in_stream(error: BrokenReleaseError, view: str) -> BrokenReleaseError:
    """Return the same error as it is said of a stream, of which something may have been released before."""
    whose = f" of view {view}" if view else ""
    message = f"verification stopped the stream: a release{whose} {error.what}; it was not handed out, and what was released before stays"
    return BrokenReleaseError(message, error.what, code=error.code)

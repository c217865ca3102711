"""What is said of a staged release that is not as it must be."""

from __future__ import annotations

from sfumato.errors import PromiseError


def broken(what: str, code: str, who: str = "the staged release") -> PromiseError:
    """Return the error of a release that is not as it must be."""
    return PromiseError(
        f"verification stopped the run: {who} {what}; nothing has been published",
        code=code,
        hint="run again; if it happens twice, report it: this must not happen",
    )

"""The library that encrypts, ``cryptography``; ``sfumato[masking]`` brings it along."""

from __future__ import annotations

from sfumato.errors import UnreachableError


def refuse_missing_library() -> None:
    """Refuse to go on without the library that encrypts."""
    try:
        import cryptography  # noqa: F401 - only whether it is there
    except ImportError:
        raise UnreachableError(
            "encryption and tokens need the library cryptography", code="masking-missing", hint="pip install 'sfumato[masking]'"
        ) from None

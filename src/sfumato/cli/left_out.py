"""What lists of components say of those that other packages offer and that do not work: a warning each, so that all others are still shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from sfumato.errors import SfumatoError


def warn_of(errors: Iterable[SfumatoError]) -> None:
    """Say on standard error what is left out, and why."""
    for error in errors:
        sys.stderr.write(f"warning: left out: {error.sentence()}\n")

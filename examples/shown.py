"""What the demonstrations share: how they speak, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sfumato.cli import closed_pipe
from sfumato.errors import SfumatoError


def say(text: str) -> None:
    """Print at once, also where the output is a pipe."""
    sys.stdout.write(text)
    sys.stdout.flush()


def shown(main: Callable[[], None]) -> None:
    """Run a demonstration; end quietly where nobody listens any more, and with one sentence where it fails."""
    try:
        main()
        closed_pipe.flush()
    except BrokenPipeError:
        closed_pipe.forget()
    except SfumatoError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        sys.exit(error.status)

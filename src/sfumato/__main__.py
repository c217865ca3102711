"""The command line: ``sfumato`` or ``python -m sfumato``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run a command and end with its exit status."""
    from sfumato.cli.app import INTERRUPTED, interrupt_again, run_command

    sys.unraisablehook = interrupt_again
    status = run_command(sys.argv[1:])
    if status == INTERRUPTED:
        # Python may remember an interrupt that was handled long ago and die of the signal instead of ending with our status
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()

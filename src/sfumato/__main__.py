"""The command line: ``sfumato`` or ``python -m sfumato``."""

from __future__ import annotations

import atexit
import gc
import os
import sys


def main() -> None:
    """Run a command and end with its exit status."""
    # the libraries make many objects once and few later: with Python's own threshold a tenth of a short command goes into looking at them
    gc.set_threshold(100_000)
    from sfumato.cli.app import interrupt_again, run_command

    sys.unraisablehook = interrupt_again
    status = run_command(sys.argv[1:])
    # Taking all modules apart would cost a quarter of a second. Nor would it keep our status: Python may remember an interrupt that was
    # handled long ago and die of the signal instead.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # a stream that the caller has closed is none
        if stream is not None:
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()

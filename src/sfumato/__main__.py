"""The command line: ``sfumato`` or ``python -m sfumato``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command and end with its exit status."""
    from sfumato.cli.app import run_command

    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()

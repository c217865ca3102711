"""The page of one command: its help, and examples that were run."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any
from unittest import mock

from typer.main import get_command

from reference_pages.examples import EXAMPLES, folder
from sfumato.cli.app import app, run_command

_LINES = 40


def commands() -> list[tuple[str, ...]]:
    """Return the words of every command."""
    top: Any = get_command(app)
    found: list[tuple[str, ...]] = []
    for name, command in top.commands.items():
        below = getattr(command, "commands", None)
        found += [(name, inner) for inner in below] if below else [(name,)]
    return found


def command_page(words: tuple[str, ...]) -> str:
    """Return the page of a command."""
    parts = [f"# sfumato {' '.join(words)}", f"```\n{_printed([*words, '--help'])}```"]
    examples = EXAMPLES / "commands" / f"{'_'.join(words)}.txt"
    for line in examples.read_text(encoding="utf-8").splitlines():
        with folder() as place:
            printed = _printed(line.split()[1:]).replace(f"{place}/", "")
        lines = printed.splitlines()
        shown = "\n".join([*lines[:_LINES], "..."] if len(lines) > _LINES else lines)
        parts.append(f"```\n$ {line}\n{shown}\n```")
    return "\n\n".join(parts) + "\n"


def _printed(arguments: list[str]) -> str:
    """Return what a command prints on a terminal of a hundred columns."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), mock.patch.dict(os.environ, {"COLUMNS": "100"}):
        status = run_command(arguments)
    if status:
        raise SystemExit(f"sfumato {' '.join(arguments)} ended with status {status}")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"

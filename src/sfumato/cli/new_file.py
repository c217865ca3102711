"""A file that a command was asked to write: whole or not at all, and never over somebody's work unless that is meant."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import UsageError


def write_new(output: Path, text: str, force: bool, private: bool = False) -> None:
    """Write a text to a file; ``private`` is for those that hold values of the source."""
    from sfumato.core.staging import StagedFile

    refuse_existing(output, force)
    file = StagedFile(str(output))
    try:
        file.write(text.encode())
        file.sync()
        file.publish()
        if private:
            output.chmod(0o600)
    except BaseException:
        file.abort()
        raise


def refuse_existing(output: Path, force: bool) -> None:
    """Refuse what is there already, unless it is meant to be replaced."""
    if output.exists() and not force:
        raise UsageError(f"{output} is there already", code="output-exists", hint="--force, to replace it, or name another file")

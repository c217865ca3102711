"""What the shell offers for an unfinished word: views and columns of the policy on the line, kinds of components, generators.

A shell asks on every press of a key: a policy that cannot be read, or a table that is not there yet, offers nothing and says nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy.model import Policy


def views(incomplete: str) -> list[str]:
    """Offer the views or the tables of the policy."""
    policy = _policy()
    return _beginning([*policy.views, *policy.tables], incomplete) if policy else []


def columns(incomplete: str) -> list[str]:
    """Offer the columns of the policy."""
    policy = _policy()
    return _beginning(policy.columns, incomplete) if policy else []


def table_columns(incomplete: str) -> list[str]:
    """Offer the columns of the table, or of the policy that stands for one, that are not on the line yet."""
    policy, words = _policy(), _words()
    if policy is not None:
        named: Iterable[str] = policy.columns
    else:
        named = _described(next((word for word in words[2:] if not word.startswith("-")), "-"), words)
    return _beginning((name for name in named if name not in words), incomplete)


def kinds(incomplete: str) -> list[str]:
    """Offer the kinds of components."""
    from sfumato.registry import KINDS

    return _beginning(KINDS, incomplete)


def generators(incomplete: str) -> list[str]:
    """Offer what can be generated."""
    from sfumato.registry import names

    return _beginning(names("generators"), incomplete)


def _words() -> list[str]:
    """Return the words on the line: what was parsed of it is lost where an option still wants its value."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    try:
        return shlex.split(line)
    except ValueError:
        # a quote that is still open
        return line.split()


def _policy() -> Policy | None:
    from sfumato.cli.assess import POLICIES
    from sfumato.policy.load import load

    file = next((Path(word) for word in _words() if Path(word).suffix.lower() in POLICIES), None)
    try:
        return load(file).policy if file else None
    except Exception:  # noqa: BLE001 - a shell that asks for words wants no error
        return None


def _described(table: str, words: list[str]) -> list[str]:
    """Return the names of a table's columns, written as the line says; what stands on standard input can be read only once."""
    from sfumato.cli.assess import source_of

    try:
        written = {option: value for option in ("delimiter", "encoding") for name, value in pairwise(words) if name == f"--{option}"}
        return [] if table == "-" else list(source_of(Path(table), written).describe().names)
    except Exception:  # noqa: BLE001 - a shell that asks for words wants no error
        return []


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]

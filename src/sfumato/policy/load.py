"""Reads a policy from a file or a mapping, and says everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.core.files import file_errors
from sfumato.core.mistakes import mistakes_of
from sfumato.errors import Mistake, PolicyError, UsageError
from sfumato.policy.lines import LARGEST, Lines, parse
from sfumato.policy.model import Policy


@dataclass(frozen=True)
class Loaded:
    """A policy, where its keys stand, the folder its paths start from, and its name in messages."""

    policy: Policy
    lines: Lines
    folder: Path | None
    name: str
    mistakes: tuple[Mistake, ...] = ()


def load(policy: str | Path | Mapping[str, Any] | Policy) -> Loaded:
    """Read a policy from a path, a mapping or as built in Python."""
    if isinstance(policy, Policy):
        return Loaded(policy, Lines(), None, "policy")
    if isinstance(policy, Mapping):
        checked, mistakes = _validated(dict(policy), Lines(), "policy")
        return Loaded(checked, Lines(), None, "policy", tuple(mistakes))
    if not isinstance(policy, str | Path):
        raise UsageError(f"a policy is a path, a mapping or a Policy, not a {type(policy).__name__}", code="policy-kind", hint="policy.yaml")
    path = Path(policy)
    value, lines = parse(_text(path), path.name)
    checked, mistakes = _validated(value, lines, path.name)
    return Loaded(checked, lines, path.resolve().parent, path.name, tuple(mistakes))


def _text(path: Path) -> str:
    with file_errors(path, start="the current folder"), path.open("rb") as file:
        data = file.read(LARGEST + 1)
    return data.decode("utf-8", "replace")


def _validated(value: Any, lines: Lines, name: str) -> tuple[Policy, list[Mistake]]:
    """Return the policy and its mistakes. What is wrong is left out, so that the rest can be checked too."""
    mistakes: list[Mistake] = []
    for _ in range(3):
        try:
            return Policy.model_validate(value), mistakes
        except ValidationError as error:
            mistakes += mistakes_of(error, Policy, lines.at)
            value = _without(value, [tuple(detail["loc"]) for detail in error.errors(include_input=False)])
    raise PolicyError(mistakes, name=name)


def _without(value: Any, places: list[tuple[str | int, ...]]) -> Any:
    if () in places or not isinstance(value, dict | list):
        return {}
    heads = {place[0] for place in places if len(place) == 1}
    kept = {
        key: _without(child, [place[1:] for place in places if place[0] == key and len(place) > 1])
        if any(place[0] == key for place in places)
        else child
        for key, child in (value.items() if isinstance(value, dict) else enumerate(value))
        if key not in heads
    }
    if isinstance(value, list):
        return list(kept.values())
    # what a column must have and lacks is filled in, so that the column still counts as named
    missing: dict[Any, Any] = {head: "other" for head in heads if head == "role"} | {head: {} for head in heads if head == "columns"}
    return kept | missing

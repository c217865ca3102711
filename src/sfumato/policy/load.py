"""Reads a policy from a file or a mapping, and says everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato.core.files import file_errors
from sfumato.core.mistakes import Place, mistakes_of, spoilt
from sfumato.errors import Mistake, PolicyError, UsageError
from sfumato.policy.lines import LARGEST, Lines, parse
from sfumato.policy.model import Policy
from sfumato.policy.module_configuration import is_module_configuration, translate
from sfumato.policy.slips import meant


@dataclass(frozen=True)
class Loaded:
    """A policy, where its keys stand, the folder its paths start from, and its name in messages.

    What is wrong with it was left out; ``unknown`` are the keys of which nobody can tell what they should have said. ``path`` is
    the file that it was read from.
    """

    policy: Policy
    lines: Lines
    folder: Path | None
    name: str
    mistakes: tuple[Mistake, ...] = ()
    unknown: frozenset[Place] = frozenset()
    path: Path | None = None


def load(policy: str | Path | Mapping[str, Any] | Policy | Loaded) -> Loaded:
    """Read a policy from a path, a mapping or as built in Python; one that was read already stays as it is."""
    if isinstance(policy, Loaded):
        return policy
    if isinstance(policy, Policy):
        return Loaded(policy, Lines(), None, "policy")
    if isinstance(policy, Mapping):
        return validated(dict(policy), Lines(), None, "policy")
    if not isinstance(policy, str | Path):
        raise UsageError(
            f"a policy is a path, a mapping or a Policy; the type {type(policy).__name__} is none of them", code="policy-kind", hint="policy.yaml"
        )
    path = Path(policy)
    return replace(validated(*read_document(path), path.resolve().parent, path.name), path=path.resolve())


def read_document(path: Path) -> tuple[Any, Lines]:
    """Return a file of YAML or JSON as plain values, and where each of its keys stands."""
    with file_errors(path, start="the current folder"), path.open("rb") as file:
        data = file.read(LARGEST + 1)
    return parse(data.decode("utf-8", "replace"), path.name)


def validated(value: Any, lines: Lines, folder: Path | None, name: str) -> Loaded:
    """Return the policy and its mistakes. What is wrong is left out, so that the rest can be checked too."""
    mistakes: list[Mistake] = []
    unknown: set[Place] = set()
    if is_module_configuration(value):
        translation = translate(value, lines)
        value, lines, mistakes, unknown = translation.policy, translation.lines, translation.mistakes, translation.unknown
    for _ in range(3):
        try:
            return Loaded(Policy.model_validate(value), lines, folder, name, tuple(mistakes), frozenset(unknown))
        except ValidationError as error:
            mistakes += mistakes_of(error, Policy, lines.at, hint_of=meant, left_out=unknown)
            wrong = [(tuple(detail["loc"]), detail["type"]) for detail in error.errors(include_input=False)]
            # what needs a key that was wrong goes as a whole
            gone = [place[:-1] if kind == "missing" and len(place) > 1 and place in unknown else place for place, kind in wrong]
            unknown |= spoilt(error, Policy)
            if () in unknown:
                break
            value = _without(value, gone)
    raise PolicyError(mistakes, name=name)


def _without(value: Any, places: list[Place], above: Place = ()) -> Any:
    if not isinstance(value, dict | list):
        return {}
    heads = {place[0] for place in places if len(place) == 1}
    kept = {
        key: _without(child, [place[1:] for place in places if place[0] == key and len(place) > 1], (*above, key))
        if any(place[0] == key for place in places)
        else child
        for key, child in (value.items() if isinstance(value, dict) else enumerate(value))
        if key not in heads
    }
    return list(kept.values()) if isinstance(value, list) else kept | _filled(heads, above)


def _filled(heads: set[str | int], above: Place) -> dict[Any, Any]:
    """Return what stands in for keys that were left out, so that a column still counts as named."""
    if above == ("columns",) or (above[:1] in (("views",), ("tables",)) and above[2:] == ("columns",)):
        return {head: {"role": "other"} for head in heads}
    return {head: "other" for head in heads if head == "role"} | {head: {} for head in heads if head == "columns"}

"""Circles of masks: columns each of which becomes what another one decides, round and round.

Every mask reads the source as it is, so a circle can be computed; but nobody can say what such pseudonyms belong to, and each of them is an
answer about a column that another mask was to hide. Only columns that are masked together, all by the same columns in the same order under one key
and domain, are of one thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.core.mask import Decided
from sfumato.core.mistakes import Place, key_text
from sfumato.errors import Mistake

if TYPE_CHECKING:
    from sfumato.core.masked_column import MaskedColumn
    from sfumato.policy.lines import Lines


@dataclass(frozen=True)
class _Domain:
    """What an operation's results belong to: columns, and a key with its domain."""

    columns: tuple[str, ...]
    keys: frozenset[str]
    domain: str | None


def mask_circles(masks: Mapping[str, MaskedColumn | None], lines: Lines) -> Iterator[Mistake]:
    """Yield one mistake for each set of columns whose masks are decided by each other, unless all of them are masked together."""
    domains = {name: _domains(mask) for name, mask in masks.items() if mask is not None}
    decided = {name: [column for domain in found for column in domain.columns if column != name] for name, found in domains.items() if found}
    seen: set[str] = set()
    for name in decided:
        circle = _circle(name, decided) if name not in seen else []
        if not circle:
            continue
        whole = [other for other in decided if other == name or (_way(name, other, decided) and _way(other, name, decided))]
        seen.update(whole)
        if len({domain for other in whole for domain in domains[other] if set(domain.columns) & set(whole)}) == 1:
            continue
        path: Place = ("columns", name, "mask")
        steps = ", ".join(f"{one} by {other}" for one, other in zip(circle, [*circle[1:], name], strict=True))
        hint = "by a column outside the circle, or by the same columns in the same order under one key and domain at all of them"
        yield Mistake(key_text(path), f"masks decide each other in a circle: {steps}", "policy-mask-cycle", hint, lines.at(path))


def _domains(mask: MaskedColumn) -> list[_Domain]:
    steps = [step for step in (*mask.steps, *mask.otherwise) if isinstance(step, Decided)]
    return [_Domain(tuple(step.decided_by), frozenset(step.keys), step.domain) for step in steps if step.decided_by]


def _circle(name: str, decided: Mapping[str, list[str]]) -> list[str]:
    """Return the shortest way from a column back to itself, which ends before it; nothing where there is none."""
    ways = [[name, *way] for other in decided[name] if (way := _way(other, name, decided))]
    return min(ways, key=len)[:-1] if ways else []


def _way(one: str, other: str, decided: Mapping[str, list[str]]) -> list[str]:
    """Return the shortest way from one column to another, both included; nothing where there is none."""
    ways = [[one]]
    met = {one}
    for way in ways:
        if way[-1] == other:
            return way
        further = [column for column in decided.get(way[-1], ()) if column not in met]
        met.update(further)
        ways += [[*way, column] for column in dict.fromkeys(further)]
    return []

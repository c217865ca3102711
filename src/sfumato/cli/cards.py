"""``sfumato components --kind masking --table``: what each operation does and where it fits, from its card."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any, get_args

from sfumato.core.canonical import ValueType
from sfumato.core.mask import Card
from sfumato.errors import UsageError
from sfumato.registry import find, names

_TYPES = get_args(ValueType)
_HEAD = ("operation", *_TYPES, "same again", "undone", "uniqueness", "missing", "looks at", "quasi-identifier", "runs on")


def cards(kind: str, format: str) -> None:
    """Print one line an operation."""
    if kind != "masking":
        raise UsageError("only masking has cards", code="kind-unknown", hint="sfumato components --kind masking --table")
    found = {name: card_of(name) for name in names("masking")}
    if format == "json":
        sys.stdout.write(json.dumps({name: asdict(card) | {"fits": fits(card)} for name, card in found.items()}, indent=1, ensure_ascii=False) + "\n")
        return
    lines = [_HEAD, *(_line(name, card) for name, card in found.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")


def card_of(name: str) -> Card:
    """Return the card of an operation with its plainest settings, on which it may depend."""
    operation = find("masking", name)
    needed = {field: _plainest(about.annotation) for field, about in operation.model_fields.items() if about.is_required()}
    card: Card = operation.model_construct(**needed).card
    return card


def fits(card: Card) -> dict[str, bool]:
    """Return which types of columns an operation takes, and whether a quasi-identifier may have it."""
    types = {kind: not card.types or kind in card.types for kind in _TYPES}
    return types | {"quasi_identifier": card.deterministic and card.scope == "value"}


def _line(name: str, card: Card) -> tuple[str, ...]:
    fitting = fits(card)
    return (
        name,
        *(_mark(fitting[kind]) for kind in _TYPES),
        _mark(card.deterministic),
        _mark(card.reversible),
        card.uniqueness,
        "made" if card.generates else card.nulls,
        card.scope,
        _mark(fitting["quasi_identifier"]),
        ", ".join(card.engines),
    )


def _mark(holds: bool) -> str:
    return "yes" if holds else "-"


def _plainest(annotation: Any) -> Any:
    options = get_args(annotation)
    if options and all(isinstance(option, str) for option in options):
        return options[0]
    origin = getattr(annotation, "__origin__", None)
    return {str: "", int: 1, float: 1.0, bool: False}.get(annotation, origin() if origin in (list, dict) else None)

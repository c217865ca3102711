"""``sfumato components --kind masking --table``: what each operation does and where it fits, from its card."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import product
from typing import Any, Literal, get_args, get_origin

from sfumato.cli.left_out import warn_of
from sfumato.core.canonical import ValueType
from sfumato.core.makers import refuse_misshapen
from sfumato.core.mask import Card
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import UnreachableError, UsageError
from sfumato.registry import find, usable

_TYPES = get_args(ValueType)
_SAID: Mapping[str, Callable[[Card], str]] = {
    "same again": lambda card: _mark(card.deterministic),
    "undone": lambda card: _mark(card.reversible),
    "uniqueness": lambda card: card.uniqueness,
    "type change": lambda card: _mark(card.changes_type),
    "missing": lambda card: _missing(card),
    "looks at": lambda card: card.scope,
    "quasi-identifier": lambda card: _mark(fits(card)["quasi_identifier"]),
    "runs on": lambda card: ", ".join(card.engines),
    "still reveals": lambda card: card.reveals,
}
_HEAD = ("operation", *_TYPES, *_SAID)


def cards(kind: str, format: str) -> None:
    """Print one line an operation."""
    if kind != "masking":
        raise UsageError("only masking has cards", code="kind-unknown", hint="sfumato components --kind masking --table")
    there, broken = usable("masking")
    found = {}
    for name in there:
        try:
            found[name] = card_of(name)
        except UnreachableError as error:
            broken.append(error)
    warn_of(broken)
    if format == "json":
        told = {name: asdict(card) | {"fits": fits(card), "fits_in_part": sorted(fits_in_part(name))} for name, card in found.items()}
        sys.stdout.write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        return
    lines = [_HEAD, *(_line(name, card) for name, card in found.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n")


def card_of(name: str) -> Card:
    """Return the card of an operation with its plainest settings, on which it may depend; the types are those that it takes with any."""
    operation = find("masking", name)
    plainest = operation.model_construct(**_needed(operation))
    refuse_misshapen(plainest)
    card: Card = plainest.card
    types = getattr(operation, "types_with_any_settings", None)
    return card if types is None else replace(card, types=types)


def revealed(name: str) -> dict[str, str]:
    """Return what an operation still reveals: under no name with its plainest settings, and under settings with which it is something else."""
    return said(name)["still reveals"]


def said(name: str) -> dict[str, dict[str, str]]:
    """Return all that the card of an operation says, by the words of the table: first with its plainest settings, then with others that change it.

    >>> said("random_uuid")["same again"]
    {'': '-', '`key`': 'yes'}
    """
    operation = find("masking", name)
    found = {word: {say(card_of(name)): ""} for word, say in _SAID.items()}
    for settings in _variations(operation):
        changed = {field: value for field, value in settings.items() if value != _needed(operation).get(field)}
        card = operation.model_construct(**settings).card
        for word, say in _SAID.items():
            found[word].setdefault(say(card), ", ".join(_written(field, value) for field, value in changed.items()))
    return {word: {settings: words for words, settings in each.items()} for word, each in found.items()}


def _needed(operation: Any) -> dict[str, Any]:
    return {field: _plainest(about.annotation) for field, about in operation.model_fields.items() if about.is_required()}


def _variations(operation: Any) -> Iterator[dict[str, Any]]:
    """Yield settings: those that are needed as they can be, and one other at a time."""
    fields = operation.model_fields
    needed = [[(field, value) for value in _options(field, fields[field].annotation) or [plain]] for field, plain in _needed(operation).items()]
    for base in map(dict, product(*needed)):
        yield base
        for field, about in fields.items():
            if not about.is_required():
                yield from (base | {field: value} for value in _options(field, about.annotation))


def _options(field: str, annotation: Any) -> list[Any]:
    """Return the values that a setting can have, where they can be told."""
    if field == "key":
        return ["main"]
    kinds = [annotation, *get_args(annotation)]
    named = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
    return [*named, *(value for kind in kinds if kind is bool for value in (False, True))]


def _written(field: str, value: Any) -> str:
    """Return a setting as a policy would write it; which key it is does not matter."""
    return f"`{field}`" if field == "key" else f"`{field}: {yaml_text(value)}`"


def fits(card: Card) -> dict[str, bool]:
    """Return which types of columns an operation takes, and whether a quasi-identifier may have it."""
    types = {kind: not card.types or kind in card.types for kind in _TYPES}
    return types | {"quasi_identifier": card.deterministic and card.scope == "value"}


def fits_in_part(name: str) -> set[str]:
    """Return the types of columns that an operation takes with some of its settings only.

    >>> "date" in fits_in_part("aggregate"), "integer" in fits_in_part("aggregate")
    (True, False)
    """
    operation = find("masking", name)
    if getattr(operation, "types_with_any_settings", None) is None:
        return set()
    always = [fits(operation.model_construct(**settings).card) for settings in _variations(operation)]
    return {kind for kind in _TYPES if fits(card_of(name))[kind] and not all(each[kind] for each in always)}


def _line(name: str, card: Card) -> tuple[str, ...]:
    fitting, in_part = fits(card), fits_in_part(name)
    return (
        name,
        *("some" if kind in in_part else _mark(fitting[kind]) for kind in _TYPES),
        *(say(card) for say in _SAID.values()),
    )


def _mark(holds: bool) -> str:
    return "yes" if holds else "-"


def _missing(card: Card) -> str:
    """Return what becomes of a missing value where the policy does not say `on_null`, and whether it could say otherwise."""
    if card.nulls == "masked":
        return "made"
    return "kept, can be made" if card.generates else "kept"


def _plainest(annotation: Any) -> Any:
    options = get_args(annotation)
    if options and all(isinstance(option, str) for option in options):
        return options[0]
    origin = getattr(annotation, "__origin__", None)
    return {str: "", int: 1, float: 1.0, bool: False}.get(annotation, origin() if origin in (list, dict) else None)

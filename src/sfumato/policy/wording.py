"""Turns what pydantic says of a policy into mistakes that people can act on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sfumato.errors import Mistake, nearest, suggestion
from sfumato.policy.lines import Lines
from sfumato.policy.model import Column, LevelRange, Policy, View, Window

_TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "int_from_float": "a whole number",
}


def mistakes_of(error: ValidationError, model: type[BaseModel], lines: Lines, prefix: Sequence[str | int] = ()) -> list[Mistake]:
    """Return one mistake an error, with the key's name and line."""
    return [_mistake(detail, model, lines, tuple(prefix)) for detail in error.errors(include_url=False)]


def _mistake(detail: Any, model: type[BaseModel], lines: Lines, prefix: tuple[str | int, ...]) -> Mistake:
    where = tuple(detail["loc"])
    kind, context = detail["type"], detail.get("ctx", {})
    path = (*prefix, *where)
    line = lines.at(path)
    key = key_text(path)
    if kind == "extra_forbidden":
        known = _model_at(model, where[:-1]).model_fields
        return Mistake(key, "unknown key", "policy-unknown-key", suggestion(str(where[-1]), known), line)
    if kind == "missing":
        return Mistake(
            key_text(path[:-1]),
            f"needs the key {where[-1]}",
            "policy-missing-key",
            f"write {where[-1]}: ...",
            lines.at(path[:-1]),
        )
    if kind == "not_built":
        return Mistake(key, str(context["what"]), "policy-not-built", context.get("hint"), line)
    if kind == "literal_error":
        allowed = context["expected"].replace("'", "").replace(" or ", ", ")
        found = nearest(str(detail.get("input")), allowed.split(", "))
        return Mistake(key, f"must be one of {allowed}", "policy-value", found, line)
    if kind == "value_error":
        return Mistake(key, str(context["error"]), "policy-value", None, line)
    return Mistake(key, _words(kind, context, detail["msg"]), "policy-value", None, line)


def _words(kind: str, context: Any, message: str) -> str:
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}"
    limits = {
        "greater_than_equal": ("ge", "at least"),
        "less_than_equal": ("le", "at most"),
        "greater_than": ("gt", "more than"),
        "less_than": ("lt", "less than"),
    }
    if kind in limits:
        name, words = limits[kind]
        return f"must be {words} {context[name]}"
    return message[0].lower() + message[1:]


def _model_at(model: type[BaseModel], where: Iterable[str | int]) -> type[BaseModel]:
    """Return the settings class that owns a key of a policy."""
    steps: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
        (Policy, "columns"): Column,
        (Policy, "views"): View,
        (Policy, "window"): Window,
        (View, "columns"): Column,
        (Column, "level"): LevelRange,
    }
    found: type[BaseModel] = model
    for step in where:
        found = steps.get((found, str(step)), found)
    return found


def key_text(path: Iterable[str | int]) -> str:
    """Return a path as people write it.

    >>> key_text(("promises", 0, "k_anonymity"))
    'promises[0].k_anonymity'
    """
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text

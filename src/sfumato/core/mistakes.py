"""Turns what pydantic says of settings into mistakes that people can act on. No message repeats a value that was given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from sfumato.errors import Mistake, nearest, number_of, suggestion
from sfumato.key_material import NOT_SHOWN, named

Step = str | int
Place = tuple[Step, ...]
LineOf = Callable[[Place], int | None]
HintOf = Callable[[Place, Any], str | None]

_TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "int_from_float": "a whole number",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "more than"),
    "less_than": ("lt", "less than"),
}

_LENGTHS = {
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
}


def mistakes_of(
    error: ValidationError,
    model: type[BaseModel],
    line_of: LineOf = lambda _: None,
    prefix: Sequence[Step] = (),
    hint_of: HintOf = lambda _path, _given: None,
    left_out: Collection[Place] = (),
) -> list[Mistake]:
    """Return one mistake an error, with the key's name, and its line where the settings were written in a file.

    ``hint_of`` says of a key and the value it was given what was probably meant. A key that is missing because it was misspelt, or because it
    was wrong before and ``left_out``, is no second mistake, nor is what is wrong with a whole because one of its parts was left out.
    """
    details = error.errors(include_url=False)
    misspelt = _misspelt(details, model)
    return [
        _mistake(detail, model, line_of, tuple(prefix), hint_of)
        for detail in details
        if (detail["type"] != "missing" or tuple(detail["loc"]) not in {*misspelt, *left_out}) and not _holds(tuple(detail["loc"]), left_out)
    ]


def placed_mistakes(error: ValidationError, model: type[BaseModel]) -> list[tuple[Place, Mistake]]:
    """Return what is wrong with settings that stand within others, each with the key to which it belongs."""
    details = error.errors(include_url=False)
    misspelt = _misspelt(details, model)
    told = [detail for detail in details if detail["type"] != "missing" or tuple(detail["loc"]) not in misspelt]
    return [
        (tuple(detail["loc"])[: -1 if detail["type"] == "missing" else None], _mistake(detail, model, lambda _: None, (), lambda _path, _given: None))
        for detail in told
    ]


def passed_on(mistakes: Iterable[tuple[Place, Mistake]]) -> ValidationError:
    """Return what a validator raises so that mistakes are told as they are, each below its own key."""
    details = [
        InitErrorDetails(type=PydanticCustomError("passed_on", "is not as it must be", {"mistake": mistake}), loc=place, input=None)
        for place, mistake in mistakes
    ]
    return ValidationError.from_exception_data("settings", details)


def spoilt(error: ValidationError, model: type[BaseModel]) -> set[Place]:
    """Return the keys whose values are unknown because of an error; of a misspelt key also the one that was meant."""
    details = error.errors(include_url=False)
    return {tuple(detail["loc"]) for detail in details} | _misspelt(details, model)


def key_text(path: Iterable[Step]) -> str:
    """Return a path as people write it.

    >>> key_text(("promises", 0, "k_anonymity"))
    'promises[0].k_anonymity'
    >>> key_text(("keys", "00112233445566778899aabbccddeeff", "file"))
    'keys.(not shown).file'
    """
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else ("." if text else "") + named(str(step), NOT_SHOWN)
    return text


def _holds(place: Place, parts: Collection[Place]) -> bool:
    """Return whether one of these places lies within a place, which is not the whole of everything."""
    return bool(place) and any(len(part) > len(place) and part[: len(place)] == place for part in parts)


def _misspelt(details: Sequence[Any], model: type[BaseModel]) -> set[Place]:
    """Return the keys that were meant by keys that are not known."""
    unknown = [tuple(detail["loc"]) for detail in details if detail["type"] == "extra_forbidden"]
    meant = [(*where[:-1], nearest(str(where[-1]), _keys_at(model, where[:-1]))) for where in unknown]
    return {(*above, key) for *above, key in meant if key is not None}


def _mistake(detail: Any, model: type[BaseModel], line_of: LineOf, prefix: Place, hint_of: HintOf) -> Mistake:
    where = tuple(detail["loc"])
    kind, context = detail["type"], detail.get("ctx", {})
    path = (*prefix, *where)
    line = line_of(path)
    key = key_text(path)
    meant = hint_of(path, detail.get("input"))
    if kind == "extra_forbidden":
        known = _keys_at(model, where[:-1])
        return Mistake(key, "unknown key", "policy-unknown-key", suggestion(str(where[-1]), known), line)
    if kind == "missing":
        return _missing(where[-1], key_text(path[:-1]), line_of(path[:-1]))
    if kind == "passed_on":
        told: Mistake = context["mistake"]
        return replace(told, key=key, line=line)
    if kind == "not_built":
        return Mistake(key, str(context["what"]), "policy-not-built", context.get("hint"), line)
    if kind == "literal_error":
        allowed = context["expected"].replace("'", "").replace(" or ", ", ")
        found = nearest(str(detail.get("input")), allowed.split(", "))
        return Mistake(key, f"must be one of {allowed}", "policy-value", found, line)
    if kind == "string_pattern_mismatch":
        # a pattern is for machines; what it stands for is in the description of the key
        return Mistake(key, "is not in the form that this key asks for", "policy-value", meant or _described(model, where), line)
    if kind == "value_error":
        return Mistake(key, str(context["error"]), "policy-value", meant, line)
    return Mistake(key, _words(kind, context, detail["msg"]), "policy-value", meant, line)


def _missing(key: Step, place: str, line: int | None) -> Mistake:
    if key == "key":
        # "the key key" would be no help
        hint = "write key: main, and keys: {main: {environment: SFUMATO_KEY}} in the policy"
        return Mistake(place, "needs a key, by its name", "policy-missing-key", hint, line)
    return Mistake(place, f"needs the key {key}", "policy-missing-key", f"write {key}: ...", line)


def _words(kind: str, context: Any, message: str) -> str:
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}"
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        return f"must be {words} {context[name]}"
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        return f"must have {words} {number_of(context[name], 'character' if kind.startswith('string') else 'part')}"
    return message[0].lower() + message[1:]


def _described(model: type[BaseModel], where: tuple[Step, ...]) -> str | None:
    field = _keys_at(model, where[:-1]).get(str(where[-1]))
    return field.description if field is not None else None


def _keys_at(model: type[BaseModel], where: Iterable[Step]) -> dict[str, FieldInfo]:
    """Return the keys that may stand at a place, as they are written: ``and`` and not ``and_``, as Python must call it."""
    found = model
    for step in where:
        field = _keys(found).get(str(step))
        found = (_model_within(field.annotation) if field is not None else None) or found
    return _keys(found)


def _keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_within(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_within(part)) is not None), None)

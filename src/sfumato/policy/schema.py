"""The JSON Schema of policies, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

from sfumato.errors import UnreachableError
from sfumato.policy.model import Policy
from sfumato.registry import find, usable

_PLACES = {
    ("Policy", "source"): "sources",
    ("Policy", "sink"): "sinks",
    ("Policy", "algorithm"): "algorithms",
    ("Policy", "promises"): "promises",
    ("View", "sink"): "sinks",
    ("View", "algorithm"): "algorithms",
    ("View", "promises"): "promises",
    ("Table", "algorithm"): "algorithms",
    ("Table", "promises"): "promises",
    ("Column", "hierarchy"): "hierarchies",
    ("Column", "mask"): "masking",
    ("Column", "otherwise"): "masking",
}


def policy_schema() -> dict[str, Any]:
    """Return the schema with every component that this installation has."""
    schema = Policy.model_json_schema()
    definitions = schema["$defs"]
    definitions.pop("Component", None)
    # the columns of a policy are its own, or those of its tables
    schema.pop("required")
    schema["anyOf"] = [{"required": ["columns"]}, {"required": ["tables"]}]
    for (owner, key), kind in _PLACES.items():
        properties = schema["properties"] if owner == "Policy" else definitions[owner]["properties"]
        about = {"description": properties[key].get("description", "")}
        properties[key] = about | _one_or_many(kind)
    for kind in sorted(set(_PLACES.values())):
        definitions[kind] = {"anyOf": [*_short_forms(kind), *(_long_form(kind, name, definitions) for name in usable(kind)[0])]}
    described: dict[str, Any] = _described(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "sfumato policy"} | described


def broken_components() -> list[UnreachableError]:
    """Return what is wrong with the components that are not in the schema, because they cannot be loaded."""
    return [error for kind in sorted(set(_PLACES.values())) for error in usable(kind)[1]]


def _one_or_many(kind: str) -> dict[str, Any]:
    """Return the form of a key: promises are a list, operations one or a list, all else is one."""
    one = {"$ref": f"#/$defs/{kind}"}
    many = {"type": "array", "items": one}
    if kind == "masking":
        return {"anyOf": [one, many | {"minItems": 1}]}
    return many if kind == "promises" else one


def _short_forms(kind: str) -> list[dict[str, Any]]:
    if kind in ("sources", "sinks"):
        return [{"type": "string", "description": "a file, its format by its ending; - is standard input or output"}]
    bare = [name for name in usable(kind)[0] if not any(field.is_required() for field in find(kind, name).model_fields.values())]
    return [{"enum": bare}] if bare else []


def _long_form(kind: str, name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    settings = find(kind, name).model_json_schema()
    for inner, definition in settings.pop("$defs", {}).items():
        definitions.setdefault(inner, definition)
    return {"type": "object", "properties": {name: settings}, "required": [name], "additionalProperties": False}


def _described(part: Any) -> Any:
    """Return a part of the schema whose descriptions are words only: examples in Python are of no use in a policy."""
    if isinstance(part, list):
        return [_described(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: _words(value) if key == "description" and isinstance(value, str) else _described(value) for key, value in part.items()}


def _words(description: str) -> str:
    return description.split(">>>")[0].rstrip()

"""What a key of a policy may hold, in words, from the class that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from reference_pages.components import title_of
from sfumato.core.periods import AGE

_KINDS = {
    "source": "sources",
    "sink": "sinks",
    "algorithm": "algorithms",
    "promises": "promises",
    "hierarchy": "hierarchies",
    "mask": "masking",
    "otherwise": "masking",
}
_FILES = {
    "sources": 'a file, a folder or a pattern of files, `"-"` for standard input, or ',
    "sinks": 'a file, `"-"` for standard output, or ',
}
_BOUNDS = {"minimum": "at least {}", "exclusiveMinimum": "more than {}", "maximum": "at most {}", "exclusiveMaximum": "less than {}"}
_TYPES = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "`true` or `false`"}
# operations are written alone where there is one only
_ONE_OR_MANY = ("mask", "otherwise")
# a regular expression is for machines
_FORMS = {
    "^[0-9]+(ms|s|m|h|d)$": "a length of time, such as `10m`: a number and `ms`, `s`, `m`, `h` or `d`",
    AGE: "an age, such as `90d`: a number and `h`, `d` or `w`",
}


def allowed(owner: type[BaseModel], path: tuple[str, ...], below: Mapping[str, str]) -> str:
    """Return what a key of a class may hold; ``below`` are the pages of the keys of the mapping that it is, where it is one."""
    schema = owner.model_json_schema()
    definitions = schema.get("$defs", {})
    properties = (schema if "properties" in schema else definitions[owner.__name__])["properties"]
    return _words(properties[path[-1]], path, below, definitions)


def _words(part: Mapping[str, Any], path: tuple[str, ...], below: Mapping[str, str], definitions: Mapping[str, Any]) -> str:
    if "anyOf" in part:
        choices = [_words(one, path, below, definitions) for one in part["anyOf"] if one.get("type") != "null"]
        return ", or ".join(_once(choices))
    if "$ref" in part:
        return _referred(part["$ref"].rsplit("/", 1)[1], path, below, definitions)
    if "enum" in part or "const" in part:
        return _listed([f"`{choice}`" for choice in part.get("enum", [part.get("const")])])
    if part.get("type") == "array" and path[-1] in _ONE_OR_MANY:
        return f"{_words(part['items'], path, below, definitions)}; or a list of them"
    if part.get("type") == "array":
        fewest = " of at least one" if part.get("minItems") else ""
        return f"a list{fewest}, each {_words(part['items'], path, below, definitions)}"
    if part.get("type") == "object":
        return f"a mapping: under each name {_words(part['additionalProperties'], path, below, definitions)}"
    if "pattern" in part:
        return _FORMS[part["pattern"]]
    bounds = [words.format(f"{part[bound]:,.10g}") for bound, words in _BOUNDS.items() if bound in part]
    empty = ["not empty"] if part.get("minLength") else []
    return ", ".join([_TYPES[part["type"]], *([" and ".join(bounds)] if bounds else []), *empty])


def _once(choices: Sequence[str]) -> list[str]:
    """Return choices without those that another one says too: whole numbers are numbers, and what may be one or many is one or a list of them."""
    kept = [choice for choice in choices if choice != _TYPES["integer"] or _TYPES["number"] not in choices]
    return ["a list of them" if any(choice == f"a list, each {other}" for other in kept) else choice for choice in kept]


def _referred(name: str, path: tuple[str, ...], below: Mapping[str, str], definitions: Mapping[str, Any]) -> str:
    if name == "Component":
        kind = _KINDS[path[-1]]
        title = title_of(kind)
        one = f"{'an' if title[0] in 'aeiou' else 'a'} [{title}](../README.md#{kind}): its name, or `{{name: {{settings}}}}`"
        return f"{_FILES.get(kind, '')}{one}"
    if "enum" in definitions[name]:
        return _words(definitions[name], path, below, definitions)
    if not below:
        return f"a [condition]({'.'.join(path[:-1])}.md)"
    return f"a mapping with the keys {_listed([f'[{key}]({page})' for key, page in below.items()], 'and')}"


def _listed(choices: Sequence[str], word: str = "or") -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} {word} {choices[-1]}"

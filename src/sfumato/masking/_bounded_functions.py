"""The functions of SQL that make much out of little, held to a length: a number too many in a row must not fill the memory of the machine.

DuckDB counts what tables need, not the lists and texts that a function makes; so each of these functions is hidden behind one that looks first at
the length asked for. A length that is too large is a value that cannot be computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LONGEST = 10_000
_TOO_LONG = f"CAST('more than {LONGEST}' AS BIGINT)"
_LENGTH = f"CASE WHEN length > {LONGEST} THEN {_TOO_LONG} ELSE length END"
_STEPS = f"CASE WHEN abs(stop::HUGEINT - start::HUGEINT) > {LONGEST} * abs(step::HUGEINT) THEN {_TOO_LONG} ELSE stop END"
_STEPS_OF_ONE = _STEPS.replace("step::HUGEINT", "1")
_STEPS_FROM_NULL = _STEPS_OF_ONE.replace("start::HUGEINT", "0")
_LISTS = ("range", "generate_series")
_SIZES = ("list_resize", "array_resize")
_PADS = ("lpad", "rpad")
_FORMATS = ("printf", "format")
_WIDE = re.compile(r"[%:.][-+ 0#<>^]*[0-9]{5,}|%[-+ 0#]*[*]|[{][^{}]*[{]")
_MAKING = frozenset([*_LISTS, *_SIZES, "repeat"])
# what puts one text into another many times over, or looks at each pair of characters of two
_DISTANCES = ("levenshtein", "editdist3", "damerau_levenshtein", "jaro_similarity", "jaro_winkler_similarity", "jaccard")
_MULTIPLYING = frozenset([*_DISTANCES, "repeat", "replace", "regexp_replace"])


def definitions() -> Iterator[str]:
    """Yield the statements that hide each function behind one that is held to a length."""
    yield f"CREATE MACRO repeat(value, length) AS system.main.repeat(value, {_LENGTH})"
    yield f"CREATE MACRO bitstring(value, length) AS system.main.bitstring(value, ({_LENGTH})::INTEGER)"
    for name in _PADS:
        yield f"CREATE MACRO {name}(value, length, filling) AS system.main.{name}(value, ({_LENGTH})::INTEGER, filling)"
    for name in _SIZES:
        resize = f"system.main.{name}(value, {_LENGTH}"
        yield f"CREATE MACRO {name}(value, length) AS {resize}), (value, length, filling) AS {resize}, filling)"
    for name in _LISTS:
        whole = f"system.main.{name}"
        overloads = (f"(stop) AS {whole}({_STEPS_FROM_NULL})", f"(start, stop) AS {whole}(start, {_STEPS_OF_ONE})")
        yield f"CREATE MACRO {name} {', '.join(overloads)}, (start, stop, step) AS {whole}(start, {_STEPS}, step)"


def too_wide(part: Any, below: Iterator[Any]) -> str | None:
    """Return the function of one part of an expression that fills up to a width of more than five digits, or to one that a value says; else None.

    ``below`` are the part and all parts within it. A format is read as a text: a width in it is no argument that could be looked at first.
    """
    name: str = part.get("function_name", "").lower()
    constants = [one for one in below if one.get("class") == "CONSTANT"] if name in _FORMATS else []
    return name if any(_WIDE.search(text) for constant in constants for text in _texts(constant)) else None


def _texts(tree: Any) -> Iterator[str]:
    """Yield all texts in a part of a tree; how a constant is written down there hangs on the version of DuckDB."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for below in tree.values():
            yield from _texts(below)


def multiplied(part: Any, below: Iterator[Any]) -> str | None:
    """Return what one part of an expression does many times over that makes much by itself; None where it does nothing of the kind.

    ``below`` are the part and all parts within it. Each alone is held to a length, but not one within the other.
    """
    is_lambda = part["class"] == "LAMBDA"
    outer = part.get("function_name", "").lower()
    if not is_lambda and outer not in _MULTIPLYING:
        return None
    within = [one for one in below if one is not part]
    made = next((name for one in within if (name := one.get("function_name", "").lower()) in _MAKING), None)
    if made is not None:
        return f"{made} within {'a lambda' if is_lambda else outer}"
    return "a lambda within a lambda" if is_lambda and any(one["class"] == "LAMBDA" for one in within) else None

"""The error codes of the program, found in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from reference_pages.source_code import Function, Module, called, modules, parameters
from sfumato.errors import Mistake

_EVERYWHERE = {
    "Mistake": list(Mistake.__dataclass_fields__).index("code"),
    # why a record of a stream is set aside
    "DeadLetter": 1,
    "Poison": 1,
}
_UNFIT = ("unfit", "again", "refused")


@cache
def codes() -> frozenset[str]:
    """Return every code that the program can give."""
    return frozenset(code for _, call, place in calls_with_a_code() if (given := argument(call, place)) is not None for code in literals(given))


def calls_with_a_code() -> Iterator[tuple[Module, ast.Call, int | None]]:
    """Yield every call, and the place at which it would give a code where that is not by name.

    The place is that of the parameter ``code`` of the function of that name in the same file; some have it everywhere.
    """
    for module in modules().values():
        places = {name: _place(function) for name, function in module.functions.items()} | _EVERYWHERE
        for call in module.calls():
            yield module, call, 1 if _sets_aside(call) else places.get(called(call))


def _sets_aside(call: ast.Call) -> bool:
    """Return whether a call says of records of a stream that they do not fit."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add" and getattr(call.func.value, "id", None) in _UNFIT


def argument(call: ast.Call, place: int | None) -> ast.expr | None:
    """Return what a call gives as the code."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    if named:
        return named[0]
    return call.args[place] if place is not None and place < len(call.args) else None


def literals(given: ast.expr) -> list[str]:
    """Return the texts that an expression can be: one, or either branch of a choice."""
    branches = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
    return [branch.value for branch in branches if isinstance(branch, ast.Constant) and isinstance(branch.value, str)]


def is_handed_on(given: ast.expr) -> bool:
    """Return whether an expression only hands on the code of somebody else."""
    return (isinstance(given, ast.Name) and given.id == "code") or (isinstance(given, ast.Attribute) and given.attr == "code")


def _place(function: Function) -> int | None:
    names = parameters(function)
    return names.index("code") if "code" in names else None

"""What a text of the source can come to be, with ``…`` in place of what is only known when the program runs.

Names are followed to where they are assigned, parameters to the calls that give them. Where that is not certain the answer is ``…``: a reading may
leave something open, and is never something that the program does not say.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeGuard

from reference_pages.source_code import Function, Module, called, facts_of, modules, parameters

OPEN = "…"
# following calls further back finds nothing more, and takes long
_FURTHEST = 3
_MOST = 4


@dataclass(frozen=True, eq=False)
class Scope:
    """A function, or a file, in which a text stands, and what a call has given to its parameters where that is known."""

    module: Module
    function: Function | None = None
    given: Mapping[str, tuple[ast.expr, Scope]] = field(default_factory=dict)
    is_called: bool = False


Known = Mapping[tuple[Scope, str], bool]
Reading = tuple[str | None, Known]


def readings(expression: ast.expr, scope: Scope, known: Known) -> Iterator[Reading]:
    """Yield what an expression can be, each with what must hold for it; None is no text."""
    match expression:
        case ast.Constant(value=None):
            yield None, known
        case ast.Constant(value=value) if isinstance(value, str | int | float):
            yield str(value), known
        case ast.JoinedStr(values=parts):
            yield from _joined(parts, scope, known)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            yield from readings(value, scope, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _joined([left, right], scope, known)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            for branch, holds in ((body, True), (orelse, False)):
                agreed = agreeing(known, scope, facts_of(test, holds))
                if agreed is not None:
                    yield from readings(branch, scope, agreed)
        case ast.Name(id=name):
            yield from _named(name, expression, scope, known)
        case ast.Subscript(value=ast.Name(id=name)) if (table := _table(name, scope)) is not None:
            for value in table.values:
                yield from readings(value, scope, known)
        case ast.Call():
            yield from _called(expression, scope, known)
        case _:
            yield OPEN, known


def agreeing(known: Known, scope: Scope, facts: Sequence[tuple[str, bool]]) -> Known | None:
    """Return what is known with some facts more, or None where they contradict it."""
    if any(known.get((scope, test), holds) != holds or _decided(test, scope) == (not holds) for test, holds in facts):
        return None
    return {**known, **{(scope, test): holds for test, holds in facts}}


def scopes(module: Module, function: Function | None, expressions: Sequence[ast.expr], steps: int = 0) -> Iterator[tuple[Scope, Known]]:
    """Yield the ways in which a function is called, as far as they matter to some expressions in it."""
    wanted = _parameters_in(expressions, function) if function is not None and steps < _FURTHEST and function.name not in module.twice else set()
    found = _calls_of(module, function) if function is not None and wanted else []
    if function is None or not found:
        yield Scope(module, function), {}
        return
    for other, call in found:
        given = arguments(call, parameters(function))
        if given is None:
            yield Scope(module, function), {}
            continue
        inner = [value for name, value in given.items() if name in wanted]
        for outer, known in scopes(other, other.around[call], inner, steps + 1):
            agreed = agreeing(known, outer, other.facts[call])
            if agreed is not None:
                yield Scope(module, function, {name: (value, outer) for name, value in given.items()}, is_called=True), agreed


def arguments(call: ast.Call, names: Sequence[str]) -> dict[str, ast.expr] | None:
    """Return what a call gives, by parameter; None where it unpacks something."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return None
    return dict(zip(names, call.args, strict=False)) | {one.arg: one.value for one in call.keywords if one.arg is not None}


def function_called(call: ast.Call, module: Module) -> tuple[Module, Function] | None:
    """Return the function of this file, or of another of the package, that is called; None where it could be one of several."""
    name = called(call)
    if name in module.functions:
        return (module, module.functions[name]) if name not in module.twice else None
    where, original = module.imports.get(name, ("", name))
    other = modules().get(where)
    if other is None or not isinstance(call.func, ast.Name) or original not in other.functions or original in other.twice:
        return None
    return other, other.functions[original]


@cache
def _decided(test: str, scope: Scope) -> bool | None:
    """Return whether a parameter that was given a text equals another, where that is what is tested."""
    match ast.parse(test, mode="eval").body:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=wanted)]) if name in scope.given:
            texts = {text for text, _ in readings(*scope.given[name], {})}
            return wanted in texts if len(texts) == 1 and not any(text is None or OPEN in text for text in texts) else None
    return None


def _joined(parts: Sequence[ast.expr], scope: Scope, known: Known) -> Iterator[Reading]:
    """Yield what several parts are together; where that would be many texts that differ a little, what they differ in stays open."""
    numbers = [len({text for text, _ in readings(part, scope, known)}) for part in parts]
    if math.prod(numbers) > _MOST:
        parts = [part if number == 1 else ast.Constant(OPEN) for part, number in zip(parts, numbers, strict=True)]
    yield from _one_after_the_other(parts, scope, known)


def _one_after_the_other(parts: Sequence[ast.expr], scope: Scope, known: Known) -> Iterator[Reading]:
    if not parts:
        yield "", known
        return
    for first, agreed in readings(parts[0], scope, known):
        for rest, all_agreed in _one_after_the_other(parts[1:], scope, agreed):
            yield re.sub(f"{OPEN}( ?{OPEN})+", OPEN, f"{OPEN if first is None else first}{rest}"), all_agreed


def _named(name: str, place: ast.expr, scope: Scope, known: Known) -> Iterator[Reading]:
    if scope.function is None:
        yield from _constant(name, scope.module, known)
        return
    assigned = _assignments(name, scope.function)
    if name in parameters(scope.function):
        # one that is given something else on the way is not followed
        yield from [(OPEN, known)] if assigned else _parameter(name, scope.function, scope, known)
    elif assigned:
        yield from _assigned([one for one in assigned if one[0].lineno <= place.lineno], place, scope, known)
    else:
        yield from _constant(name, scope.module, known)


def _parameter(name: str, function: Function, scope: Scope, known: Known) -> Iterator[Reading]:
    if name in scope.given:
        value, outer = scope.given[name]
        yield from readings(value, outer, known)
        return
    default = _defaults(function).get(name) if scope.is_called else None
    if default is None:
        yield OPEN, known
    else:
        yield from readings(default, scope, known)


def _assigned(assigned: Sequence[tuple[ast.stmt, ast.expr]], place: ast.expr, scope: Scope, known: Known) -> Iterator[Reading]:
    """Yield what a name may be at a place, by the assignments before it; one that happens wherever an earlier one does replaces that."""
    facts = {statement: set(scope.module.facts[statement]) for statement, _ in assigned}
    here = set(scope.module.facts.get(place, ()))
    for number, (statement, value) in enumerate(assigned):
        later = [facts[other] for other, _ in assigned[number + 1 :]]
        agreed = agreeing(known, scope, scope.module.facts[statement])
        if any(other <= here or other <= facts[statement] for other in later):
            continue
        for other in later:
            more = other - facts[statement]
            if agreed is not None and len(more) == 1:
                # the later one did not happen
                agreed = agreeing(agreed, scope, [(test, not holds) for test, holds in more])
        if agreed is not None:
            yield from readings(value, scope, agreed)


@cache
def _assignments(name: str, function: Function) -> list[tuple[ast.stmt, ast.expr]]:
    """Return what a local name becomes, in order; open where that cannot be followed."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    for statement in (node for node in ast.walk(function) if isinstance(node, ast.stmt) and not isinstance(node, Function)):
        pairs = _pairs(statement.targets[0], statement.value) if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else []
        values = [value for target, value in pairs if _is_named(target, name) and not _speaks_of(value, name)]
        stored = [node for part in _own_parts(statement) for node in ast.walk(part) if _is_named(node, name) and isinstance(node.ctx, ast.Store)]
        found += [(statement, value) for value in values] or [(statement, ast.Constant(OPEN)) for _ in stored[:1]]
    return sorted(found, key=lambda one: one[0].lineno)


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Return what belongs to a statement itself, and not to one within it."""
    for node in ast.iter_child_nodes(statement):
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield node


def _speaks_of(value: ast.expr, name: str) -> bool:
    return any(_is_named(node, name) for node in ast.walk(value))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _constant(name: str, module: Module, known: Known) -> Iterator[Reading]:
    where, original = module.imports.get(name, ("", name))
    home = modules().get(where, module)
    values = [node.value for node in home.tree.body if isinstance(node, ast.Assign) and any(_is_named(target, original) for target in node.targets)]
    if len(values) == 1 and isinstance(values[0], ast.Constant | ast.JoinedStr | ast.BinOp):
        yield from readings(values[0], Scope(home), known)
    else:
        yield OPEN, known


def _is_named(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name


def _table(name: str, scope: Scope) -> ast.Dict | None:
    """Return the mapping that is written out under a local name."""
    assigned = _assignments(name, scope.function) if scope.function is not None else []
    return assigned[0][1] if len(assigned) == 1 and isinstance(assigned[0][1], ast.Dict) else None


def _called(call: ast.Call, scope: Scope, known: Known) -> Iterator[Reading]:
    if called(call) == "number_of" and isinstance(call.args[1], ast.Constant):
        yield f"{OPEN} {call.args[1].value}s", known
        return
    function = scope.module.functions.get(called(call)) if called(call) not in scope.module.twice else None
    given = arguments(call, parameters(function)) if function is not None else None
    if function is None or given is None or function.returns is None or ast.unparse(function.returns) not in ("str", "str | None"):
        yield OPEN, known
        return
    inner = _within(call, scope, function)
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            agreed = agreeing(known, inner, scope.module.facts[node])
            if agreed is not None:
                yield from readings(node.value, inner, agreed)


@cache
def _within(call: ast.Call, scope: Scope, function: Function) -> Scope:
    """Return the scope of a function that is called; the same for the same call, so that message and hint see it decide alike."""
    given = arguments(call, parameters(function)) or {}
    return Scope(scope.module, function, {name: (value, scope) for name, value in given.items()}, is_called=True)


def _parameters_in(expressions: Sequence[ast.expr], function: Function) -> set[str]:
    """Return the parameters that hold text and that expressions go back to."""
    texts = {one.arg for one in [*function.args.args, *function.args.kwonlyargs] if one.annotation and "str" in ast.unparse(one.annotation)}
    names: set[str] = set()
    waiting = list(expressions)
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Name) and node.id not in names:
                names.add(node.id)
                waiting += [value for _, value in _assignments(node.id, function)]
    return texts & names


@cache
def _calls_of(module: Module, function: Function) -> list[tuple[Module, ast.Call]]:
    return [(other, call) for other, call in _calls_by_name().get(function.name, []) if function_called(call, other) == (module, function)]


@cache
def _calls_by_name() -> dict[str, list[tuple[Module, ast.Call]]]:
    found: dict[str, list[tuple[Module, ast.Call]]] = {}
    for module in modules().values():
        for call in module.calls():
            found.setdefault(called(call), []).append((module, call))
    return found


def _defaults(function: Function) -> dict[str, ast.expr]:
    names = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    last = function.args.defaults
    named = {one.arg: value for one, value in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if value is not None}
    return dict(zip(names[len(names) - len(last) :], last, strict=True)) | named

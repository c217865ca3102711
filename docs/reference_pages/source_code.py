"""The source of the package as trees, with what must be true for a place in it to be reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import sfumato

PACKAGE = Path(sfumato.__file__).parent
Function = ast.FunctionDef
Facts = tuple[tuple[str, bool], ...]
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, eq=False)
class Module:
    """One file: its functions by name, what it imports, and of every node the function around it and the conditions it stands under."""

    path: Path
    tree: ast.Module
    functions: dict[str, Function] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    around: dict[ast.AST, Function | None] = field(default_factory=dict)
    facts: dict[ast.AST, Facts] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name by which others import it."""
        return ".".join(self.path.relative_to(PACKAGE.parent).with_suffix("").parts)

    def calls(self) -> Iterator[ast.Call]:
        """Return every call."""
        return (node for node in self.around if isinstance(node, ast.Call))


@cache
def modules() -> dict[str, Module]:
    """Return every file of the package by the name of its module."""
    found = (_module(path) for path in sorted(PACKAGE.rglob("*.py")))
    return {module.name: module for module in found}


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters, as a caller counts."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def facts_of(test: ast.expr, holds: bool) -> Facts:
    """Return what is known where a test holds or does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return facts_of(test.operand, not holds)
    joined = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds
    parts = [fact for part in test.values for fact in facts_of(part, holds)] if joined and isinstance(test, ast.BoolOp) else []
    return ((ast.unparse(test), holds), *parts)


def _module(path: Path) -> Module:
    module = Module(path, ast.parse(path.read_text(encoding="utf-8")))
    for node in ast.walk(module.tree):
        if isinstance(node, Function):
            module.twice.update({node.name} & module.functions.keys())
            module.functions[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            module.imports.update({alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names})
    _block(module, module.tree.body, None, ())
    return module


def _block(module: Module, statements: Sequence[ast.stmt], function: Function | None, facts: Facts) -> None:
    for statement in statements:
        _place(module, statement, function, facts)
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVING) and not statement.orelse:
            facts += facts_of(statement.test, False)


def _place(module: Module, node: ast.AST, function: Function | None, facts: Facts) -> None:
    module.around[node] = function
    module.facts[node] = facts
    inner = node if isinstance(node, Function) else function
    for name, value in ast.iter_fields(node):
        below = facts if inner is function else ()
        if isinstance(node, ast.If | ast.IfExp) and name in ("body", "orelse"):
            below = facts + facts_of(node.test, name == "body")
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            _block(module, value, inner, below)
        else:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    _place(module, child, inner, below)

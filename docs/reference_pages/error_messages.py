"""Each form of the messages that the program says with a code, found in its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from reference_pages.error_codes import argument, calls_with_a_code, literals
from reference_pages.readings import OPEN, Known, Scope, agreeing, arguments, function_called, readings, scopes
from reference_pages.source_code import PACKAGE, Module, called, parameters
from sfumato import errors
from sfumato.errors import DataError, Mistake, PolicyError, SfumatoError, UnreachableError

_STATUSES = {name: kind.status for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, SfumatoError)}
_MISTAKE = list(Mistake.__dataclass_fields__)
# one whose class the code does not name: it is what is given
_SENTENCE = ("sentence", "status", "code", "hint")

# a form of fewer letters says too little to stand for another
_FEWEST = 10


@dataclass(frozen=True)
class Message:
    """One form of a message: of a mistake in a policy with the key at which it stands."""

    code: str
    status: int
    words: str
    hint: str | None
    key: str | None
    file: str

    def __str__(self) -> str:
        said = f"{self.words} [{self.code}]"
        if self.key is not None:
            said = f"policy.yaml:{OPEN} {self.key + ': ' if self.key else ''}{said}"
        return f"{said}\n  try: {self.hint}" if self.hint else said


@cache
def messages() -> dict[str, tuple[Message, ...]]:
    """Return the forms of the messages by code, each once, in the order of the files."""
    found: dict[str, dict[Message, None]] = {}
    for module, call, place in calls_with_a_code():
        given = argument(call, place)
        if given is not None and literals(given):
            expressions = [*call.args, *(keyword.value for keyword in call.keywords)]
            for scope, known in scopes(module, module.around[call], expressions):
                for message in _said(call, given, scope, known):
                    found.setdefault(message.code, {})[message] = None
    return {code: tuple(forms) for code, forms in found.items()}


def told_apart(forms: Sequence[Message]) -> list[Message]:
    """Return the forms that say something, each once, without those that another one stands for."""
    once = {str(form): form for form in forms if form.words != OPEN}
    return [form for form in once.values() if not any(_stands_for(other, form) for other in once.values() if other is not form)]


def _stands_for(general: Message, form: Message) -> bool:
    pattern = re.escape(general.words).replace(OPEN, ".+")
    if len(general.words.replace(OPEN, "")) < _FEWEST:
        return False
    return (general.key, general.hint) == (form.key, form.hint) and re.fullmatch(pattern, form.words) is not None


def _said(call: ast.Call, code: ast.expr, scope: Scope, known: Known) -> Iterator[Message]:
    """Yield what a call says, and where it only calls another function with a code, what that one says."""
    agreed = agreeing(known, scope, scope.module.facts[call])
    if agreed is None:
        return
    name = called(call)
    if name in _STATUSES:
        yield from _of_parts(arguments(call, ["message"]), code, scope, agreed, _STATUSES[name])
    elif name == "Failure":
        yield from _of_failure(call, code, scope, agreed)
    elif name == "Mistake" or _is_mistake(name, scope.module):
        parts = arguments(call, _MISTAKE)
        yield from _of_parts(parts, code, scope, agreed, PolicyError.status, prefix="" if name == "Mistake" else f"{OPEN}.")
    elif (found := function_called(call, scope.module)) is not None:
        yield from _by_way_of(*found, call, code, scope, agreed)


def _of_failure(call: ast.Call, code: ast.expr, scope: Scope, known: Known) -> Iterator[Message]:
    """Yield what is said of a server that fails: its words behind the name of the server."""
    parts = arguments(call, ["message"])
    of_data = parts is not None and "of_data" in parts
    for message in _of_parts(parts, code, scope, known, DataError.status if of_data else UnreachableError.status):
        yield replace(message, words=f"{OPEN} {message.words}")


def _is_mistake(name: str, module: Module) -> bool:
    """Return whether a class of this file has the parts of a mistake."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return any([ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)] == _MISTAKE[:4] for node in classes)


def _by_way_of(module: Module, function: ast.FunctionDef, call: ast.Call, code: ast.expr, scope: Scope, known: Known) -> Iterator[Message]:
    names = parameters(function)
    given = arguments(call, names)
    if given is None or "code" not in names:
        return
    if set(_SENTENCE) <= set(names):
        status = given["status"]
        if isinstance(status, ast.Constant) and isinstance(status.value, int):
            yield from _of_parts({**given, "message": given["sentence"]}, code, scope, known, status.value, keyed=False)
        return
    inner = Scope(module, function, {name: (value, scope) for name, value in given.items()}, is_called=True)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and any(isinstance(one, ast.Name) and one.id == "code" for one in _handed(node)):
            yield from _said(node, ast.Name("code", ast.Load(), lineno=node.lineno), inner, known)


def _handed(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _of_parts(
    parts: dict[str, ast.expr] | None, code: ast.expr, scope: Scope, known: Known, status: int, prefix: str = "", keyed: bool = True
) -> Iterator[Message]:
    if parts is None or "message" not in parts:
        return
    nothing = ast.Constant(None)
    for said, agreed in readings(code, scope, known):
        for words, still_agreed in readings(parts["message"], scope, agreed):
            for hint, _ in readings(parts.get("hint", nothing), scope, still_agreed):
                key = f"{prefix}{_key(parts['key'], scope)}" if keyed and "key" in parts else None
                if said is not None and words is not None:
                    yield Message(said, status, words, hint, key, str(scope.module.path.relative_to(PACKAGE)))


def _key(given: ast.expr, scope: Scope) -> str:
    """Return the key of a mistake, as far as it is written down."""
    if isinstance(given, ast.Name) and given.id in scope.given:
        return _key(*scope.given[given.id])
    if isinstance(given, ast.Call) and called(given) == "key_text":
        return _key(given.args[0], scope)
    if isinstance(given, ast.Tuple):
        text = ".".join(OPEN if isinstance(one, ast.Starred) else _key(one, scope) for one in given.elts)
        return text.replace(f"promises.{OPEN}", f"promises[{OPEN}]")
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else OPEN

"""Every error code of the program has a section in ``docs/errors.md``, and every section is about one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from sfumato.errors import Mistake

PACKAGE = Path(sfumato.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")

Call = ast.Call
Function = ast.FunctionDef


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    described = sections()
    assert sorted(described) == sorted(codes())
    assert len(described) == len(set(described))


def test_sections_are_in_alphabetical_order() -> None:
    assert sections() == sorted(sections())


def test_every_section_says_what_it_means_and_what_to_do() -> None:
    texts = re.split(r"^## .*\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert [name for name, text in zip(sections(), texts, strict=True) if len(re.findall(r"[.:?!](?=\s|$)", text)) < 2] == []


def test_a_code_that_is_no_literal_is_only_handed_on() -> None:
    # a code put together at run time would escape this test
    unknown = [
        f"{path.name}:{given.lineno}"
        for path, call, place in calls_with_a_code()
        if (given := argument(call, place)) is not None and not literals(given) and not is_handed_on(given)
    ]
    assert unknown == []


@pytest.mark.slow
def test_the_collector_sees_each_way_of_giving_a_code() -> None:
    # one of each: keyword, either branch of a choice, argument of Mistake, of a helper, and in brackets
    for code in ("sink-busy", "delimited-line-short", "delimited-line-long", "policy-key-twice", "policy-order", "verify-covers", "internal"):
        assert code in codes()


def sections() -> list[str]:
    return re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def codes() -> set[str]:
    found = {code for _, call, place in calls_with_a_code() if (given := argument(call, place)) is not None for code in literals(given)}
    return found | codes_in_brackets(PACKAGE / "cli" / "app.py")


def calls_with_a_code() -> Iterator[tuple[Path, Call, int | None]]:
    """Yield every call that gives a code, and the place at which it is given where that is not by name.

    The place is that of the parameter ``code`` of the function of that name in the same file; Mistake has it everywhere.
    """
    mistake = list(Mistake.__dataclass_fields__).index("code")
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        places = {node.name: parameter(node) for node in ast.walk(tree) if isinstance(node, Function)} | {"Mistake": mistake}
        for node in ast.walk(tree):
            if isinstance(node, Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                yield path, node, places.get(name)


def parameter(function: Function) -> int | None:
    """Return the place of the parameter ``code``, as a caller counts."""
    names = [argument.arg for argument in function.args.args if argument.arg not in ("self", "cls")]
    return names.index("code") if "code" in names else None


def argument(call: Call, place: int | None) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    if named:
        return named[0]
    return call.args[place] if place is not None and place < len(call.args) else None


def literals(given: ast.expr) -> list[str]:
    branches = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
    return [branch.value for branch in branches if isinstance(branch, ast.Constant) and isinstance(branch.value, str)]


def is_handed_on(given: ast.expr) -> bool:
    return (isinstance(given, ast.Name) and given.id == "code") or (isinstance(given, ast.Attribute) and given.attr == "code")


def codes_in_brackets(path: Path) -> set[str]:
    """Return the codes that are written within sentences."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {code for text in texts for code in re.findall(r" \[([a-z-]+)\](?:\n|$)", text)}


@pytest.mark.parametrize("code", sorted(codes()))
def test_a_code_is_written_in_small_words_and_hyphens(code: str) -> None:
    assert CODE.fullmatch(code)

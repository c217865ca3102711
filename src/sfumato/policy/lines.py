"""YAML with line numbers, and without what can hurt: large files, deep nesting, aliases, tags, doubled keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import Mistake, PolicyError

LARGEST = 1 << 20
DEEPEST = 50

Path = tuple[str | int, ...]


@dataclass
class Lines:
    """Where each key of a document stands."""

    by_path: dict[Path, int] = field(default_factory=dict)

    def at(self, path: Path) -> int | None:
        """Return the line of a key, or of the nearest one above it."""
        while path and path not in self.by_path:
            path = path[:-1]
        return self.by_path.get(path)


def parse(text: str, name: str) -> tuple[Any, Lines]:
    """Return the document as plain values, and where each of its keys stands."""
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST:
        raise _refused(
            name,
            f"is larger than {LARGEST // 1024} KiB",
            "policy-too-large",
            "put trees and lists into files of their own",
        )
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    try:
        _refuse_harm(yaml, text, name)
        node = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise PolicyError(
            [
                Mistake(
                    "",
                    "cannot be read as YAML or JSON here",
                    "policy-yaml",
                    _what_to_look_at(text, line),
                    line,
                )
            ],
            name=name,
        ) from None
    except (YAMLError, ValueError, RecursionError):
        raise _refused(name, "cannot be read as YAML or JSON", "policy-yaml", "look for control characters and unclosed quotes") from None
    lines = Lines()
    mistakes: list[Mistake] = []
    value = _value(node, (), lines, mistakes) if node is not None else {}
    if mistakes:
        raise PolicyError(mistakes, name=name)
    return value, lines


def _refuse_harm(yaml: Any, text: str, name: str) -> None:
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    depth = 0
    for event in yaml.parse(text):
        if isinstance(event, AliasEvent):
            raise PolicyError(
                [Mistake("", "aliases are not read", "policy-alias", "write the value out", event.start_mark.line + 1)],
                name=name,
            )
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise PolicyError(
                [
                    Mistake(
                        "",
                        f"is nested deeper than {DEEPEST}",
                        "policy-too-deep",
                        "put the tree into a file",
                        event.start_mark.line + 1,
                    )
                ],
                name=name,
            )


def _what_to_look_at(text: str, line: int | None) -> str:
    lines = text.splitlines()[max(0, (line or 0) - 2) : line or 0]
    if any("\t" in one[: len(one) - len(one.lstrip())] for one in lines):
        return "spaces in place of the tab with which a line begins: YAML takes none"
    return "look at indentation, colons and quotes on this line and the one above"


def _refused(name: str, what: str, code: str, hint: str) -> PolicyError:
    return PolicyError([Mistake("", what, code, hint)], name=name)


def _value(node: Any, path: Path, lines: Lines, mistakes: list[Mistake]) -> Any:
    line = node.start_mark.line + 1
    lines.by_path.setdefault(path, line)
    kind = (node.tag if isinstance(node.tag, str) else str(node.tag)).rsplit(":", 1)[-1]
    if node.id in ("sequence", "mapping") and kind not in ("seq", "map"):
        mistakes.append(_tagged(path, line))
    if node.id == "sequence":
        return [_value(child, (*path, place), lines, mistakes) for place, child in enumerate(node.value)]
    if node.id == "mapping":
        found: dict[Any, Any] = {}
        for key_node, child in node.value:
            if key_node.id != "scalar":
                mistakes.append(_no_text(path, key_node.start_mark.line + 1))
                continue
            key = _value(key_node, (*path, f"\0{key_node.value}"), lines, mistakes)
            key = key if isinstance(key, str) else str(key_node.value)
            here = (*path, key)
            if key in found:
                mistakes.append(
                    Mistake(
                        ".".join(map(str, here)),
                        "stands here a second time",
                        "policy-key-twice",
                        "leave one of them out",
                        key_node.start_mark.line + 1,
                    )
                )
            lines.by_path[here] = key_node.start_mark.line + 1
            found[key] = _value(child, here, lines, mistakes)
        return found
    return _scalar(node.value, kind, path, line, mistakes)


def _scalar(text: str, kind: str, path: Path, line: int, mistakes: list[Mistake]) -> Any:
    try:
        if kind == "int":
            return int(text.replace("_", ""), 0) if not text.lstrip("+-").startswith("0") or len(text) < 3 else _octal_or_text(text)
        if kind == "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").replace(".NaN", "nan"))
    except ValueError:
        return text
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "null":
        return None
    if kind not in ("str", "timestamp", "value", "merge"):
        mistakes.append(_tagged(path, line))
    if _has_halves(text):
        # JSON writes a character beyond the first 65536 as two halves
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if _has_halves(text):
        mistakes.append(Mistake(".".join(map(str, path)), "holds half a character", "policy-yaml", "write the whole character", line))
        return ""
    return text


def _has_halves(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _octal_or_text(text: str) -> Any:
    return int(text, 0) if text.lstrip("+-")[1:2] in "xXoObB" else text


def _no_text(path: Path, line: int) -> Mistake:
    return Mistake(".".join(map(str, path)), "has a key that is a list or a mapping", "policy-yaml", "write the key as text, in quotes", line)


def _tagged(path: Path, line: int) -> Mistake:
    return Mistake(".".join(map(str, path)), "has a YAML tag, which is not read", "policy-tag", "leave the tag out", line)

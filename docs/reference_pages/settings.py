"""The page of one key of a policy: what it means, what is allowed, its default, and an example that uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML

from reference_pages.allowed import allowed
from reference_pages.examples import EXAMPLES, example
from sfumato.core.yaml_text import yaml_text
from sfumato.policy.model import Component, Policy, Table, View

# what stands between a key and those below it: the name of a column, of a view, of a key
_NAMES = {"columns": "<column>", "views": "<view>", "tables": "<table>", "keys": "<key>", "formats": "<column>"}
_SECTIONS = {
    "views": "policy.md#views",
    "tables": "databases.md#several-tables",
    "keys": "policy.md#mask",
    "formats": "policy.md#formats",
    "retention": "databases.md#retention",
}
# keys of views and tables that are those of another key
_ELSEWHERE = {
    ("views", "columns"): ("columns",),
    ("views", "window"): ("window",),
    ("window", "starts"): ("columns", "when"),
    ("tables", "columns"): ("columns",),
    ("tables", "formats"): ("formats",),
}
_WRITTEN = EXAMPLES / "settings"
_BESIDE_MASKS = ("mask", "when", "otherwise", "on_null", "on_invalid", "unique")
_REFUSED = {
    ("order",): " `source` is read and refused: [policy-order](../errors/policy-order.md), [policy-not-built](../errors/policy-not-built.md)."
}
_OF_COLUMNS = ("role", "type", "hierarchy", "publish")


@dataclass(frozen=True)
class Setting:
    """One key: the names that lead to it, the class that has it, and what that says of it."""

    path: tuple[str, ...]
    owner: type[BaseModel]
    field: FieldInfo

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"{'.'.join(self.path)}.md"

    @property
    def written(self) -> str:
        """Where it stands in a policy."""
        first, *rest = self.path
        return ".".join([first, _NAMES[first], *rest] if rest and first in _NAMES else self.path)


@cache
def settings() -> tuple[Setting, ...]:
    """Return every key of a policy, those below a key after it; the columns of views and tables have the keys of columns."""
    return tuple(_below(Policy, ()))


def _below(owner: type[BaseModel], path: tuple[str, ...]) -> Iterator[Setting]:
    for name, field in owner.model_fields.items():
        key = (*path, field.alias or name)
        yield Setting(key, owner, field)
        inner = _model_in(field.annotation)
        if inner not in (None, owner, Component) and key not in _ELSEWHERE:
            yield from _below(inner, key)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def setting_page(setting: Setting) -> str:
    """Return the page of a key."""
    meaning = setting.field.description or ""
    facts = [
        f"- Written at `{setting.written}`; the whole language is in [{_page(setting.path)}](../../{_section(setting.path)}).",
        f"- Allowed: {allowed(setting.owner, setting.path, _inner(setting))}.{_REFUSED.get(setting.path, '')}",
        f"- Default: {_default(setting)}.",
    ]
    parts = [f"# {'.'.join(setting.path)}", f"{meaning[0].upper()}{meaning[1:]}.", "\n".join(facts), f"## Example\n\n{_example(setting.path)}"]
    return "\n\n".join(parts) + "\n"


def _inner(setting: Setting) -> dict[str, str]:
    """Return the keys directly below one, with their pages; those of the columns of views and tables are those of columns."""
    above = _ELSEWHERE.get(setting.path, setting.path)
    return {other.path[-1]: other.page for other in settings() if other.path[:-1] == above}


def _default(setting: Setting) -> str:
    if setting.field.is_required():
        return "none, the key is needed"
    value = setting.field.get_default(call_default_factory=True)
    if isinstance(value, Component):
        value = value.name
    elif isinstance(value, BaseModel):
        value = value.model_dump(exclude_none=True)
    if value not in (None, [], {}):
        return f"`{yaml_text(value)}`"
    return "as in the policy" if setting.owner in (View, Table) and setting.path[1] in Policy.model_fields.keys() - {"sink"} else "none"


def _page(path: tuple[str, ...]) -> str:
    return _section(path).partition("#")[0]


def _section(path: tuple[str, ...]) -> str:
    if path[0] in _SECTIONS:
        return _SECTIONS[path[0]]
    if path[0] != "columns" or len(path) == 1:
        return "policy.md#keys-of-a-policy"
    if path[1] in _BESIDE_MASKS:
        return "policy.md#mask"
    return f"policy.md#{path[1] if path[1] in _OF_COLUMNS else 'keys-of-a-column'}"


def _example(path: tuple[str, ...]) -> str:
    if path[0] in ("window", "stream") or path[:2] == ("views", "window"):
        return "A policy of a stream is not run but followed: [docs/streams.md](../../streams.md) has examples."
    own = f"{'.'.join(path)}.yaml"
    # one that was written for this key, else the smallest that was written for no other
    using = [(file.name != own, file.parent == _WRITTEN, length, file) for file, (length, used) in _uses().items() if path in used]
    if not using:
        raise SystemExit(f"no example uses {'.'.join(path)}: write docs/examples/settings/{own}")
    file = min(using)[-1]
    place = file.relative_to(EXAMPLES).as_posix()
    return f"[{place}](../../examples/{place}). {example(file)}"


@cache
def _uses() -> dict[Path, tuple[int, set[tuple[str, ...]]]]:
    """Return every example that is a policy by itself, with its length and the keys that it uses."""
    found = {}
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        # what a shell runs is shown with its own component, but for keys that only another command uses
        if not path.with_suffix(".sh").exists() or path.parent == _WRITTEN:
            found[path] = (len(text), set(_keys(YAML(typ="safe", pure=True).load(text), ())))
    return found


def _keys(value: Any, path: tuple[str, ...], names: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield the keys that a policy uses; ``names`` says that those of a mapping are names of columns, views or keys, which do not count."""
    within_condition = path[:2] == ("columns", "when")
    if isinstance(value, list) and within_condition:
        for one in value:
            yield from _keys(one, path)
    for key, one in value.items() if isinstance(value, Mapping) else ():
        if names:
            yield from _keys(one, path)
            continue
        # conditions stand within conditions
        below = (*path[:2], key) if within_condition else (*path, key)
        yield below
        yield from _keys(one, below, names=len(below) == 1 and key in _NAMES)

"""The page of one component: what it is, its settings, and an example."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from reference_pages.examples import EXAMPLES, example
from sfumato.cli.cards import revealed, said
from sfumato.core.yaml_text import yaml_text
from sfumato.registry import find

_TITLES = {"masking": "mask", "hierarchies": "hierarchy"}
_NO = "no"
_ON_CARDS = {
    "same again": "deterministic: the same value, under the same key, always becomes the same",
    "undone": "reversible, for those who have its key or vault",
    "uniqueness": "whether two values stay two",
    "type change": "type change: what it makes is of another type, mostly text",
    "missing": "a missing value, where the policy has no `on_null`",
    "looks at": "scope: what it looks at, to mask one value",
    "quasi-identifier": "may mask a quasi-identifier of a promise",
    "runs on": "engines: `sql` is inside a database, where that can do exactly the same",
}
_LARGE = {"spark": "pyspark"}
PAGES = Path(__file__).parents[1] / "reference"
# stores and generators are not written in policies: a store is chosen by the source, a generator is a command
_WITHOUT_EXAMPLE = ("stores", "generators")


def title_of(kind: str) -> str:
    """Return what one component of a kind is called."""
    return _TITLES.get(kind, kind.removesuffix("s"))


def component_page(kind: str, name: str) -> str:
    """Return the page of a component."""
    component = find(kind, name)
    parts = [
        f"# {name}\n\n{'An' if title_of(kind)[0] in 'aeiou' else 'A'} {title_of(kind)} of sfumato. {_module_words(component)}",
        _plain(inspect.getdoc(component) or ""),
    ]
    if component.model_fields:
        parts.append("## Settings\n\n" + settings_table(component))
        parts += [f"### {within}\n\n{_plain(inspect.getdoc(inner) or '')}\n\n{settings_table(inner)}" for within, inner in nested_settings(component)]
    else:
        parts.append("## Settings\n\nNone.")
    if kind == "masking":
        parts.append("## Card\n\n" + card_table(name))
        plain, *others = revealed(name).items()
        parts.append("\n".join([f"## What it still reveals\n\n{plain[1]}\n", *(f"- With {settings}: {reveals}" for settings, reveals in others)]))
    # a search over streams is shown where streams are
    if kind not in _WITHOUT_EXAMPLE and (kind != "algorithms" or hasattr(find(kind, name), "search")):
        policy, program = (EXAMPLES / kind / f"{name}.{ending}" for ending in ("yaml", "py"))
        parts.append(f"## Example\n\n{_kept(kind, name) or example(policy if policy.exists() else program)}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def settings_table(settings: type[BaseModel]) -> str:
    """Return a table of settings."""
    rows = [f"| `{about.alias or field}` | {about.description or ''} | {default_of(about)} |" for field, about in settings.model_fields.items()]
    return "| setting | meaning | default |\n|---|---|---|\n" + "\n".join(row.replace("\n", " ") for row in rows)


def card_table(name: str) -> str:
    """Return what the card of an operation says, but for what it still reveals, which has words enough for a section of its own."""
    rows = [f"| {_ON_CARDS[word]} | {_with_settings(each)} |" for word, each in said(name).items() if word in _ON_CARDS]
    return "| | |\n|---|---|\n" + "\n".join(rows)


def _with_settings(each: dict[str, str]) -> str:
    """Return what is said with the plainest settings, and what with others."""
    return "; ".join(f"{_NO if words == '-' else words}{f' with {settings}' if settings else ''}" for settings, words in each.items())


def nested_settings(settings: type[BaseModel], above: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the settings that a setting holds itself, with where they stand, such as `tuning`."""
    for field, about in settings.model_fields.items():
        for inner in _models(about.annotation):
            where = f"{above}{about.alias or field}"
            yield where, inner
            yield from nested_settings(inner, f"{where}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation.model_fields:
            yield annotation
        return
    for part in get_args(annotation):
        yield from _models(part)


def _kept(kind: str, name: str) -> str | None:
    """Return what the page says already, where the library that an example needs is no part of every environment and is not in this one."""
    library = _LARGE.get(name)
    page = PAGES / kind / f"{name}.md"
    if library is None or find_spec(library) is not None or not page.exists():
        return None
    return page.read_text(encoding="utf-8").partition("## Example\n\n")[2]


def _module_words(component: Any) -> str:
    """Return what the module says beyond its first line: the paper, and what is done differently."""
    text = inspect.getdoc(sys.modules[component.__module__]) or ""
    return _plain(text)


def _plain(text: str) -> str:
    """Return a docstring as Markdown: examples for Python in a fence, double backquotes as single ones."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    blocks = []
    for block in text.split("\n\n"):
        blocks.append(f"```python\n{block}\n```" if block.startswith(">>>") else block)
    return "\n\n".join(blocks)


def default_of(about: Any) -> str:
    """Return the default of a setting, as a policy would write it."""
    if about.is_required():
        return "needed"
    default = about.get_default(call_default_factory=True)
    return f"`{yaml_text(default)}`".replace("|", "\\|")

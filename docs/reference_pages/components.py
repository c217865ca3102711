"""The page of one component: what it is, its settings, and an example."""

from __future__ import annotations

import inspect
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reference_pages.examples import EXAMPLES, example
from sfumato.cli.cards import revealed
from sfumato.core.yaml_text import yaml_text
from sfumato.registry import find

_TITLES = {"masking": "mask", "hierarchies": "hierarchy"}
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
        f"# {name}\n\nA {title_of(kind)} of sfumato. {_module_words(component)}",
        _plain(inspect.getdoc(component) or ""),
    ]
    if component.model_fields:
        rows = [f"| `{about.alias or field}` | {about.description or ''} | {default_of(about)} |" for field, about in component.model_fields.items()]
        parts.append("## Settings\n\n| setting | meaning | default |\n|---|---|---|\n" + "\n".join(row.replace("\n", " ") for row in rows))
    else:
        parts.append("## Settings\n\nNone.")
    if kind == "masking":
        plain, *others = revealed(name).items()
        parts.append("\n".join([f"## What it still reveals\n\n{plain[1]}\n", *(f"- With {settings}: {reveals}" for settings, reveals in others)]))
    # a search over streams is shown where streams are
    if kind not in _WITHOUT_EXAMPLE and (kind != "algorithms" or hasattr(find(kind, name), "search")):
        policy, program = (EXAMPLES / kind / f"{name}.{ending}" for ending in ("yaml", "py"))
        parts.append(f"## Example\n\n{_kept(kind, name) or example(policy if policy.exists() else program)}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


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

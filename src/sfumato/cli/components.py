"""``sfumato components``: what there is, with settings and one-line meaning."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from sfumato.cli.left_out import warn_of
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import UsageError, suggestion
from sfumato.registry import KINDS, find, usable

_SINGULAR = {"masking": "mask", "hierarchies": "hierarchy"}


def components(kind: str | None, format: str) -> None:
    """List the components of one kind or of all."""
    kind = _kind_of(kind)
    if kind is not None and kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}", code="kind-unknown", hint=suggestion(kind, KINDS))
    listed = {one: usable(one) for one in ([kind] if kind else KINDS)}
    found = {one: {name: _described(one, name) for name in there} for one, (there, _) in listed.items()}
    warn_of(error for _, broken in listed.values() for error in broken)
    if format == "json":
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return
    for one, members in found.items():
        sys.stdout.write(f"{one}\n")
        for name, described in members.items():
            sys.stdout.write(f"  {name:<14} {described['meaning']}\n")
            for setting, about in described["settings"].items():
                default = "needed" if about["needed"] else f"default {yaml_text(about['default'])}"
                sys.stdout.write(f"    {setting:<14} {about['meaning']} ({default})\n")


def _kind_of(word: str | None) -> str | None:
    """Return the kind that is meant by the word for one of it, such as mask, hierarchy or algorithm."""
    return next((kind for kind in KINDS if word in (kind, _SINGULAR.get(kind, kind.removesuffix("s")))), word)


def _described(kind: str, name: str) -> dict[str, Any]:
    component = find(kind, name)
    settings = {
        field: {
            "meaning": about.description or "",
            "needed": about.is_required(),
            "default": None if about.is_required() else about.default,
        }
        for field, about in component.model_fields.items()
    }
    return {"meaning": (inspect.getdoc(component) or "").split("\n")[0].replace("``", ""), "settings": settings}

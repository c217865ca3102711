"""``sfumato check``: everything that is wrong with a policy, and what should be thought about again."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path


def check(policy: Path, strict: bool, format: str) -> None:
    """Check the policy, without looking at its data."""
    from sfumato.errors import PolicyError
    from sfumato.policy.lint import lint
    from sfumato.policy.load import load
    from sfumato.policy.views import resolve_views

    views = resolve_views(load(policy)).views
    warnings, refused = lint(views), lint(views, accepted=False)
    if strict and refused:
        raise PolicyError(refused, name=policy.name)
    if format == "json":
        sys.stdout.write(json.dumps({"status": 0, "mistakes": [], "warnings": [asdict(warning) for warning in warnings]}, ensure_ascii=False) + "\n")
        return
    sys.stdout.write(f"{policy.name}: no mistakes\n")
    for warning in warnings:
        place = f"{policy.name}:{warning.line}" if warning.line else policy.name
        known = "" if warning in refused else "accepted "
        sys.stdout.write(f"{known}warning: {place} {warning.words()}\n")

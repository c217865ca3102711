"""``sfumato plan``: what a run would do, in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def plan(policy: Path, format: str) -> None:
    """Hold the policy against its source's columns and say what would happen."""
    from sfumato.engine.explain import explain
    from sfumato.engine.plan import make_plan

    steps = explain(make_plan(policy))
    if format == "json":
        sys.stdout.write(json.dumps({"steps": steps}, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(f"{number}. {step}\n" for number, step in enumerate(steps, start=1)) + "Nothing has been written.\n")

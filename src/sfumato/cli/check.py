"""``sfumato check``: everything that is wrong with a policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def check(policy: Path, format: str) -> None:
    """Check the policy, without looking at its data."""
    from sfumato.policy.load import load
    from sfumato.policy.views import resolve_views

    resolve_views(load(policy))
    if format == "json":
        sys.stdout.write(json.dumps({"status": 0, "mistakes": []}) + "\n")
    else:
        sys.stdout.write(f"{policy.name}: no mistakes\n")

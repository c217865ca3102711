"""``sfumato schema``: the JSON Schema of policies."""

from __future__ import annotations

import json
import sys

from sfumato.cli.left_out import warn_of


def schema(format: str) -> None:
    """Print the schema; it is JSON in either format."""
    del format
    from sfumato.policy.schema import broken_components, policy_schema

    sys.stdout.write(json.dumps(policy_schema(), indent=1, ensure_ascii=False) + "\n")
    warn_of(broken_components())

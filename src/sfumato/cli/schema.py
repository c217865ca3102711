"""``sfumato schema``: the JSON Schema of policies."""

from __future__ import annotations

import json
import sys


def schema(format: str) -> None:
    """Print the schema; it is JSON in either format."""
    del format
    from sfumato.policy.schema import policy_schema

    sys.stdout.write(json.dumps(policy_schema(), indent=1, ensure_ascii=False) + "\n")

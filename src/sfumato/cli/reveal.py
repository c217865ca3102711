"""``sfumato reveal``: the values of a masked column as they were, for those who have the key."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import number_of


def reveal(policy: Path, column: str, input: Path, output: Path, purpose: str, view: str | None, key_ids: Sequence[str], format: str) -> None:
    """Write a file with the column's values as they were, and say so in the audit."""
    from sfumato.core.audit import audit_file
    from sfumato.engine.reveal import Request
    from sfumato.engine.reveal import reveal as undo

    found = undo(policy, Request(column, purpose, view, key_ids), input, output)
    if format == "json":
        answer = {
            "file": str(output),
            "column": column,
            "rows": found.rows,
            "left": found.left,
            "keys": list(found.key_ids),
            "certain": found.certain,
            "audit": str(audit_file()),
        }
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{number_of(found.rows, 'value')} of {column} in {output}, which only you may read; the audit says so\n")
        if found.left:
            sys.stdout.write(f"{number_of(found.left, 'other value')} stay as they are: no mask that can be undone has made them\n")
        if not found.certain:
            sys.stdout.write("nothing in such values says whether this key, policy and domain made them: compare some with what you know\n")

"""``sfumato reveal``: the values of a masked column as they were, for those who have the key."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfumato.errors import UsageError, number_of


def reveal(policy: Path, column: str, input: Path, output: Path, purpose: str, view: str | None, key_id: str | None, format: str) -> None:
    """Write a file with the column's values as they were, and say so in the audit."""
    from sfumato.core.audit import audit_file
    from sfumato.engine.reveal import Request
    from sfumato.engine.reveal import reveal as undo
    from sfumato.policy.model import Policy
    from sfumato.registry import find

    if str(output) == "-":
        raise UsageError("what is revealed goes into a file that only you may read", code="reveal-output", hint="--output names.csv")
    if output.exists():
        raise UsageError(f"{output} is there already", code="output-exists", hint="name another file")
    files = Policy(source=str(input), sink=str(output), columns={})  # type: ignore[arg-type]  # a path becomes a component
    if files.source is None or files.sink is None:
        raise AssertionError("a policy keeps the source and the sink that it was given")
    source, sink = find("sources", files.source.name)(**files.source.settings), find("sinks", files.sink.name)(**files.sink.settings)
    found = undo(policy, Request(column, purpose, view, key_id), source, sink)
    if format == "json":
        answer = {"file": str(output), "column": column, "rows": found.rows, "keys": list(found.key_ids), "audit": str(audit_file())}
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{number_of(found.rows, 'value')} of {column} in {output}, which only you may read; the audit says so\n")
        if not found.certain:
            sys.stdout.write("nothing in such values says whether this key, policy and domain made them: compare some with what you know\n")

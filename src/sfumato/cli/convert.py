"""``sfumato convert``: the configuration of another module, written as a policy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfumato.cli.new_file import write_new


def convert(configuration: Path, output: Path | None, source: Path | None, sink: Path | None, force: bool, format: str) -> None:
    """Write the policy to a file, or to standard output as if it stood in the current folder."""
    from sfumato.policy.conversion import convert as converted

    text = converted(configuration, Path() if output is None else output.parent, source, sink)
    if output is None:
        sys.stdout.write(json.dumps({"policy": text}, ensure_ascii=False) + "\n" if format == "json" else text)
        return
    write_new(output, text, force)
    sys.stdout.write(json.dumps({"file": str(output)}, ensure_ascii=False) + "\n" if format == "json" else f"{output}: written; no mistakes\n")

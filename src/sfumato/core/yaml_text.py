"""Values as a policy writes them, for hints and lists that can be pasted into one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_TEXT = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def yaml_text(value: Any) -> str:
    """Return a value on one line, with quotes only where YAML needs them.

    >>> yaml_text({"l_diversity": {"column": "diagnosis", "l": 2, "given": []}})
    '{l_diversity: {column: diagnosis, l: 2, given: []}}'
    >>> yaml_text([None, True, "no", "a: b", ";", 0.5])
    '[null, true, "no", "a: b", ";", 0.5]'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_text(key)}: {yaml_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(yaml_text, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    written = json.dumps(value, ensure_ascii=False)
    # what YAML does not read as it stands, control characters and its own line breaks, has an escape there that JSON has not
    return written if written.isprintable() else "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in written)

"""A small policy of a stream, of which tests change what they are about."""

from __future__ import annotations

from typing import Any

POLICY: dict[str, Any] = {
    "source": "events.jsonl",
    "subject": "pid",
    "columns": {"pid": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}, "illness": {"role": "sensitive"}},
    "promises": [{"k_anonymity": {"k": 3}}],
    "window": {"count": 10},
    "stream": {"state": "state"},
    "sink": "release.jsonl",
}

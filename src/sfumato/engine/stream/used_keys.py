"""Which keys a stream was begun with: under another one the same person would have another pseudonym from some row on, and nobody would be told.

What is written down is a mark of each key under the state's own secret, by which it is known again and which tells nothing of it. The keys that a
file has below the one in use are not looked at: nothing is made under them.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from sfumato.core.keys import Key, Keys
from sfumato.engine.stream.kept_state import KeptState
from sfumato.engine.stream.run_journal import Journal
from sfumato.errors import UnreachableError
from sfumato.policy.resolve import Resolved

_TOLD = "keys"


def refuse_changed_keys(journal: Journal | KeptState, views: Mapping[str, Resolved]) -> None:
    """Refuse keys in use that are not those with which the stream began; write down which they are where it begins."""
    names = dict.fromkeys(key for resolved in views.values() for mask in resolved.masks.values() for key in mask.keys)
    now = marks_of(next(iter(views.values())).keys(names), journal.secret)
    told = journal.told(_TOLD)
    if told is None:
        journal.tell(_TOLD, now)
        return
    refuse_other_keys(now, told, f"the stream in {journal.folder} began with")


def refuse_other_keys(now: Mapping[str, str], told: Mapping[str, str], whose: str) -> None:
    """Refuse marks of keys that are not those that were written down; keys that nothing was written down of are let through."""
    others = [name for name, mark in now.items() if not hmac.compare_digest(told.get(name, mark), mark)]
    if others:
        raise UnreachableError(
            f"key {', '.join(others)}: the one in use is not the one that {whose}",
            code="stream-key-changed",
            hint="put that one first again; for a new key name another state and another sink: one release is made under one key",
        )


def marks_of(keys: Keys, secret: bytes) -> dict[str, str]:
    """Return by what the keys in use are known again, by name, under a secret."""
    return {name: _mark(keys.current(name), secret) for name in keys.known}


def _mark(key: Key, secret: bytes) -> str:
    return hmac.digest(key.derived("mark in the state of a stream"), secret + key.id.encode(), "sha256").hex()

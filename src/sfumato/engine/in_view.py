"""Errors of one view or table of several: which it is, and where what it says stands in the policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sfumato.core.mistakes import key_text
from sfumato.errors import PolicyError, SfumatoError
from sfumato.policy.resolve import Part


@contextmanager
def in_view(name: str, own: Sequence[str], part: Part = "view") -> Iterator[None]:
    """Say of an error in which view or table it came about; ``own`` are the keys that it says itself, all others are those of the whole policy."""
    try:
        yield
    except PolicyError as error:
        if not name:
            raise
        raise PolicyError([replace(mistake, key=_placed(mistake.key, name, own, part)) for mistake in error.mistakes], name=error.name) from None
    except SfumatoError as error:
        if not name:
            raise
        # the other keys are also plain words
        columns = [key for key in own if key.startswith("columns")]
        hint = None if error.hint is None else _placed(error.hint, name, columns, part)
        raise type(error)(f"{part} {name}: {error.message}", code=error.code, hint=hint) from None


def _placed(text: str, name: str, own: Sequence[str], part: Part) -> str:
    """Return a text with the keys of a view or a table where they stand in the policy."""
    above = key_text((f"{part}s", name))
    for key in own:
        text = re.sub(rf"(?<![\w.]){re.escape(key)}(?![\w])", lambda found: f"{above}.{found[0]}", text)
    return text

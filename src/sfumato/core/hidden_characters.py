"""Characters that nobody sees, such as soft hyphens: a text is looked at with and without them, for they part words and stand within words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.core.entity import Entity

# soft hyphen, joiners and spaces of no width, directions, invisible operators, selectors of variants, byte order mark
HIDDEN = "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
"""An expression that finds one of them."""

_HIDDEN = re.compile(HIDDEN)


def has_hidden(text: str) -> bool:
    """Return whether a text holds one of them."""
    return not text.isascii() and _HIDDEN.search(text) is not None


def without_hidden(text: str) -> str:
    r"""Return a text without them.

    >>> without_hidden("Mül\u00adler")
    'Müller'
    """
    return _HIDDEN.sub("", text)


def in_whole_text(entities: Sequence[Entity], text: str) -> list[Entity]:
    r"""Return where entities that were found in a text without them stand in the text itself.

    >>> in_whole_text([Entity(0, 6, "name")], "Mül\u00adler")
    [Entity(begin=0, end=7, kind='name')]
    """
    places = [place for place, character in enumerate(text) if _HIDDEN.match(character) is None]
    return at_places(entities, places)


def at_places(entities: Sequence[Entity], places: Sequence[int]) -> list[Entity]:
    """Return where entities of another reading of a text stand in the text itself; ``places`` says it of each character."""
    return [Entity(places[entity.begin], places[entity.end - 1] + 1, entity.kind) for entity in entities]

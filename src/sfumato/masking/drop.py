"""Drop: the column does not leave at all."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from sfumato.core.mask import Card
from sfumato.masking.empty import Empty


class Drop(Empty):
    """Removes the column, as the role ``identifier`` does where there is no mask."""

    card: ClassVar[Card] = replace(Empty.card, reveals="Nothing.")

"""Entities in free text that patterns and checksums find without a model: addresses, numbers, dates. Names of people are not among them.

Patterns are bounded everywhere, so that none of them can take long; what has a checksum counts only where that is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical, national_identifiers
from sfumato.core.checksums import luhn, mod_97

Kind = Literal["url", "email", "iban", "card", "uuid", "us_ssn", "mac", "ip", "date", "phone"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_NO_DIGITS = re.compile(r"[^0-9]")
_SPACES = re.compile(r"[ -]")


@dataclass(frozen=True)
class Entity:
    """Where an entity stands in a text, and of which kind it is."""

    begin: int
    end: int
    kind: str


@dataclass(frozen=True)
class _Finder:
    pattern: re.Pattern[str]
    plain: re.Pattern[str] | None = None
    is_right: Callable[[pa.Array], NDArray[np.bool_]] | None = None


def _is_address(texts: pa.Array) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = canonical.parse(texts, "ip").is_valid().to_numpy(zero_copy_only=False)
    return right


# in this order: what one has found is not looked at by the next
_FINDERS: dict[Kind, _Finder] = {
    "url": _Finder(re.compile(r"\b(?:https?|ftp)://[^\s<>\"']{1,2000}")),
    "email": _Finder(re.compile(r"(?<![\w.+-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[^\W_](?:[\w-]{0,62}\.){1,8}[^\W\d_][\w-]{1,62}")),
    "iban": _Finder(re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _SPACES, mod_97),
    "card": _Finder(re.compile(r"(?<![0-9])(?:[0-9][ -]?){12,18}[0-9](?![0-9])"), _NO_DIGITS, luhn),
    "uuid": _Finder(re.compile(r"\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b")),
    "us_ssn": _Finder(re.compile(r"(?<![0-9-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9-])"), _NO_DIGITS, national_identifiers.us_ssn),
    "mac": _Finder(re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")),
    "ip": _Finder(re.compile(r"(?<![\w.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:]{2,39})(?![\w:])"), None, _is_address),
    "date": _Finder(re.compile(r"(?<![0-9])(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}[./](?:[0-9]{4}|[0-9]{2}))(?![0-9])")),
    "phone": _Finder(re.compile(r"(?<![\w+])(?:\+|\(?0)[0-9]?(?:[ ()/.-]{0,2}[0-9]){5,14}(?!\w)")),
}


def entities_in(texts: Sequence[str], kinds: Sequence[Kind]) -> list[list[Entity]]:
    """Return the entities of each text, in their order; none lies across another.

    >>> [(found.kind, found.begin) for found in entities_in(["call +49 421 123456 or ada@example.org"], KINDS)[0]]
    [('phone', 5), ('email', 23)]
    """
    found: list[list[Entity]] = [[] for _ in texts]
    for kind in (kind for kind in KINDS if kind in kinds):
        candidates = [(place, entity) for place, text in enumerate(texts) for entity in _candidates(text, kind, found[place])]
        for (place, entity), is_right in zip(candidates, _right(texts, candidates, kind), strict=True):
            if is_right:
                found[place].append(entity)
    return [sorted(each, key=lambda entity: entity.begin) for each in found]


def _candidates(text: str, kind: Kind, taken: Sequence[Entity]) -> Iterator[Entity]:
    for match in _FINDERS[kind].pattern.finditer(text):
        if all(match.end() <= other.begin or other.end <= match.start() for other in taken):
            yield Entity(match.start(), match.end(), kind)


def _right(texts: Sequence[str], candidates: Sequence[tuple[int, Entity]], kind: Kind) -> list[bool]:
    finder = _FINDERS[kind]
    if finder.is_right is None:
        return [True] * len(candidates)
    plain = [texts[place][entity.begin : entity.end] for place, entity in candidates]
    if finder.plain is not None:
        plain = [finder.plain.sub("", text) for text in plain]
    return [bool(right) for right in finder.is_right(pa.array(plain, pa.string()))]

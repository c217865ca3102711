"""The spellings of a word without case and accents: with letters as they are without their marks, and as they are transliterated.

`Müller` is written `Muller` by those who leave marks out and `Mueller` by those who follow the custom of the language, or machine-readable
passports (ICAO, "Machine readable travel documents", Doc 9303, part 3, section 6, 2021). Two words are one name where they share a spelling.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import product

_MOST_MIXED = 4
# letters whose strokes are no marks of their own, and letters of two
_WITHOUT_STROKE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_TRANSLITERATED = {"a\u0308": "ae", "o\u0308": "oe", "u\u0308": "ue", "a\u030a": "aa", "ø": "oe"}
_WITH_TWO = re.compile("([aou]\u0308|a\u030a|ø)")
_SECOND = re.compile("(?<=a)[ae]+|(?<=[ou])e+")


def fold(text: str) -> str:
    """Return a text without what case and accents say.

    >>> fold("MÜLLER, Straße")
    'muller, strasse'
    >>> fold("Łukasz, Øyvind")
    'lukasz, oyvind'
    """
    return text.lower() if text.isascii() else _without_marks(_decomposed(text))


def spellings(word: str) -> tuple[str, ...]:
    """Return the spellings of a word, that without marks first. Of many letters with two either none is transliterated or all are.

    >>> spellings("MÜLLER"), spellings("Åse"), spellings("Mueller")
    (('muller', 'mueller'), ('ase', 'aase'), ('mueller',))
    >>> spellings("Åström")
    ('astrom', 'astroem', 'aastrom', 'aastroem')
    """
    if word.isascii():
        return (word.lower(),)
    pieces = _WITH_TWO.split(_decomposed(word))
    choices = [(piece, _TRANSLITERATED[piece]) if piece in _TRANSLITERATED else (piece,) for piece in pieces]
    mixed = product(*choices) if len(pieces) <= 2 * _MOST_MIXED + 1 else ([choice[end] for choice in choices] for end in (0, -1))
    return tuple(dict.fromkeys(_without_marks("".join(chosen)) for chosen in mixed))


def has_several(text: str) -> bool:
    """Return whether a word of a text may have several spellings."""
    return not text.isascii() and _WITH_TWO.search(_decomposed(text)) is not None


def shortest(text: str) -> str:
    """Return a text with every letter that may be half of a transliterated one left out: all spellings of a word have one such form.

    >>> shortest("Müller"), shortest("MUELLER"), shortest("Aasa")
    ('muller', 'muller', 'asa')
    """
    return _SECOND.sub("", fold(text))


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", text.casefold())


def _without_marks(decomposed: str) -> str:
    return "".join(character for character in decomposed.translate(_WITHOUT_STROKE) if not unicodedata.combining(character))

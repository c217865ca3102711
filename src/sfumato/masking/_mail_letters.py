"""Names in the letters of mail addresses. A private part of ``fake``.

Japanese names are written as faker says that they are read, those of a few languages by the tables that it has for them; others of other scripts by
its general table, which is that of unidecode: letter by letter, so that Arabic and Hebrew names lack the vowels that are not written.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import import_module
from typing import Any

# those of other languages leave letters out
_OWN_TABLES = ("bg_BG", "mk_MK", "uk_UA")
_LETTERS = str.maketrans(
    dict(zip("øłđðıəɓɗƙƴɛɔħ", "olddiebdkyeoh", strict=True)) | {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ŋ": "ng"},
)


def mail_letters(name: str, faker: Any) -> str:
    """Return a name of a locale in the letters of mail addresses; nothing where no table has them."""
    if all(unicodedata.name(letter, "LATIN").startswith("LATIN") for letter in name if letter.isalpha()):
        return plain(name)
    return plain(_romanised(name, faker))


def plain(text: str) -> str:
    """Return a name of Latin letters in those of mail addresses; nothing of one in another script.

    >>> plain("Zoë Große-Łoś"), plain("Səidə"), plain("太一")
    ('zoegrosselos', 'seide', '')
    """
    parted = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(letter for letter in parted if letter.isascii() and letter.isalpha())


def _romanised(name: str, faker: Any) -> str:
    from faker.decode import unidecode

    (locale,) = faker.locales
    if locale == "ja_JP" and name in _readings():
        return _readings()[name]
    if locale == "el_GR":
        from faker.providers.internet.el_GR import latinize

        return str(latinize(name))
    for cyrillic, latin in _table(locale):
        name = name.replace(cyrillic, latin)
    return str(unidecode(name))


@cache
def _readings() -> dict[str, str]:
    """Return how the Japanese names of faker are read."""
    from faker.providers.person.ja_JP import Provider

    return {written: read for written, _, read in (*Provider.first_name_pairs, *Provider.last_name_pairs)}


@cache
def _table(locale: str) -> tuple[tuple[str, str], ...]:
    if locale not in _OWN_TABLES:
        return ()
    found = import_module(f"faker.providers.internet.{locale}").Provider.replacements
    return tuple((one, other) for letter, latin in found for one, other in ((letter, latin), (letter.upper(), latin)))

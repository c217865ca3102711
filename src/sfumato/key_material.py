"""Texts that could be keys: what stands where a name should and may be a secret is never shown, whatever else becomes of it.

A key may be pasted where its name, file, variable or command belongs, in base64 or base85, in hexadecimal digits in one row or in blocks, of 16 bytes
or more. Nobody can tell it for certain from the name of a folder that chance has made: so it is used as a name where there is such a thing, and shown
nowhere. All that errors and warnings say goes through ``without_keys``: they quote the policy in many places.
"""

from __future__ import annotations

import re

NOT_SHOWN = "(not shown)"
"""What stands in the place of what could be a key."""

_STRANGE, _MANY, _MOST, _LONGEST_WORD = 8, 16, 0.65, 24
_SIGNS = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_BETWEEN = re.compile(r"[+/_=-]+")
# an id before a key
_WRITTEN_KEY = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9._-]+:(?P<secret>[A-Za-z0-9+_-][A-Za-z0-9+/_-]{19,}=*)")
# what this program calls a policy or a record by, and the tables of a masking in place, which people are told to look at
_DIGEST = re.compile(r"(?<![0-9A-Za-z])(sha256:[0-9a-f]{64}|masking_[0-9a-f]{24}(?:_keys|_rows|_table)?)(?![0-9A-Za-z])")
# /srv/keys, keys/ward: a word before the first stroke, or nothing
_PATH = re.compile(r"(?:[a-z]{3,24}(?:[_-][a-z]{3,24})*)?/")
# 9f:3a:..., 9f3ac1d2 7be45586 ...
_BLOCKS = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{2,}(?:[: ][0-9A-Fa-f]{2,})+(?![0-9A-Za-z])")
_FEWEST_DIGITS = 32
# base85, of which a path has no stroke
_ANY_SIGNS = re.compile(r"[!-.0-~]{20,}")
_UNUSUAL = re.compile(r"[^A-Za-z0-9+/_=.,:'\"-]")
_FEWEST_UNUSUAL = 2
# sword, Sword, SWORD, sword12, 2026sword, WardKeys
_WORD = re.compile(r"[0-9]{0,8}(?:[A-Z]?[a-z]+|[A-Z]+|(?:[A-Z]?[a-z]{2,}){2,5})[0-9]{0,8}|[0-9]{1,8}")

# NumberOfTheWard
_MANY_WORDS = re.compile(r"[a-z]*(?:[A-Z][a-z]+){3,}")


def could_be_a_key(text: str) -> bool:
    """Return whether a text has so many signs in a row that are no words that they may be a secret of 16 bytes or more, however it is written.

    >>> could_be_a_key("00112233445566778899aabbccddeeff"), could_be_a_key("q83vASNFZ4mrze8BI0VniQ")
    (True, True)
    >>> could_be_a_key("00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff"), could_be_a_key("pE|+Pd*oGy_oxXQEIm$NU~z(zq")
    (True, True)
    >>> could_be_a_key("SFUMATO_KEY_OF_THE_WARD_2026"), could_be_a_key("/srv/keys/research-2026/ward_pseudonyms.key")
    (False, False)
    >>> could_be_a_key("test_0cb5eadcad40_ward"), could_be_a_key("key_of_the_ward_q83vASNFZ4mrze8BI0VniQ")
    (False, True)
    """
    if any(_is_no_name(signs) for signs in _SIGNS.findall(text)):
        return True
    return any(_is_long(blocks) for blocks in _BLOCKS.findall(text)) or any(map(_is_mixed, _ANY_SIGNS.findall(text)))


def named(text: str, otherwise: str) -> str:
    """Return a name as it is shown: what could be a key is not, and something else is said in its place.

    >>> named("ward.key", "the file"), named("00112233445566778899aabbccddeeff", "the file")
    ('ward.key', 'the file')
    """
    return otherwise if could_be_a_key(text) else text


def without_keys(text: str) -> str:
    """Return a text in which whatever could be a key is not shown; folders of a path are looked at one by one, since a path of words has strokes too.

    >>> without_keys("needs the key k1:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=, which is not there")
    'needs the key (not shown), which is not there'
    >>> without_keys("look at masking_9f3ac1d27be455869f3ac1d2_keys, not at 9f3ac1d27be455869f3ac1d27be45586")
    'look at masking_9f3ac1d27be455869f3ac1d2_keys, not at (not shown)'
    >>> without_keys("there is no file /srv/9f3ac1d2/7be45586/ward.key")
    'there is no file /srv/9f3ac1d2/7be45586/ward.key'
    """
    parts = _DIGEST.split(text)
    for number, part in enumerate(parts[::2]):
        part = _WRITTEN_KEY.sub(lambda found: NOT_SHOWN if could_be_a_key(found["secret"]) else found[0], part)
        part = _SIGNS.sub(lambda found: _path_shown(found[0]) if _PATH.match(found[0]) else named(found[0], NOT_SHOWN), part)
        parts[2 * number] = _BLOCKS.sub(lambda found: named(found[0], NOT_SHOWN), part)
    return "".join(parts)


def _path_shown(path: str) -> str:
    return "/".join(named(folder, NOT_SHOWN) for folder in path.split("/"))


def _is_no_name(signs: str) -> bool:
    """Return whether so many signs belong to no word as a key has; where it is fewer, most of them, or letters large and small.

    A name may have a number by chance in it, which has letters of one kind.
    """
    strange = _strange(signs)
    mixed = signs.lower() != signs != signs.upper()
    return strange >= _MANY or (strange >= _STRANGE and (mixed or strange > _MOST * len(_BETWEEN.sub("", signs))))


def _strange(signs: str) -> int:
    """Return how many signs belong to no word."""
    parts = [part for part in _BETWEEN.split(signs) if part]
    return sum(len(part) for part in parts if not _MANY_WORDS.fullmatch(part) and (len(part) > _LONGEST_WORD or not _WORD.fullmatch(part)))


def _is_long(blocks: str) -> bool:
    """Return whether blocks of hexadecimal digits have as many as 16 bytes; words that are written with the same letters have no digits."""
    digits = re.sub("[: ]", "", blocks)
    return len(digits) >= _FEWEST_DIGITS and not digits.isalpha()


def _is_mixed(signs: str) -> bool:
    """Return whether signs that names hardly have stand among letters that are no words."""
    unusual = len(_UNUSUAL.findall(signs))
    return unusual >= _FEWEST_UNUSUAL and unusual + sum(map(_strange, re.split(r"[^A-Za-z0-9]+", signs))) >= _STRANGE

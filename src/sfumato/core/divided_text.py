"""Texts read across the ends of their lines and across columns of spaces: an account over two lines is one account.

Such a text is read twice more: with one space in place of what divides it, for what is written in groups, and without the ends of lines, for what is
written as one. Only what stands on both sides of a division, or behind a word on the other side, is taken from there, since all else is found as it
is written. Numbers that stand one below the other in a column are no number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.entity import Entity
from sfumato.core.hidden_characters import at_places
from sfumato.core.layers import layered, overlapping

# lines of a message that somebody has quoted begin with these
_QUOTED = r"(?:(?:\r\n|[\n-\r])[ \t]*(?:>[ \t]?)+)"
_DIVISION = rf"(?:[ \t]*{_QUOTED}|[ \t-\r]{{2,}}|[\t-\r])"
_LINE_END = rf"(?:[ \t]*{_QUOTED}|[ \t]*[\n-\r][ \t-\r]*)"
_JOINING = "[_./:-]"

IN_GROUPS = rf"[0-9][./_-]?{_DIVISION}|{_DIVISION}[(+./_-]{{0,2}}(?:[A-Za-z]{{0,4}}[ -]?){{0,2}}[0-9]"
"""An expression of RE2 that finds texts in which numbers may be divided."""

AS_ONE = (
    rf"@\S*{_LINE_END}|{_LINE_END}@|[0-9A-Za-z]{_JOINING}{_LINE_END}[0-9A-Za-z]|[0-9A-Za-z]{_LINE_END}{_JOINING}[0-9A-Za-z]"
    rf"|[0-9][A-Za-z]{{0,4}}{_LINE_END}[A-Za-z]{{0,4}}[0-9]"
)
"""An expression of RE2 that finds texts in which a line end may divide what is written as one."""

_DIVISIONS = re.compile(_DIVISION)
_LINE_ENDS = re.compile(_LINE_END)
_AT_ITS_SIGN = re.compile(rf"{_JOINING}{_LINE_END}|{_LINE_END}{_JOINING}")
_ROOMY = re.compile(r"(?:(?>\r\n|[\n-\r])[ \t>]*){2}")
_NO_DIGIT = re.compile("[^0-9]+")

# what a checksum says holds against whatever was found in one line
_CHECKED = frozenset({"iban", "card", "national_id", "vehicle"})
_FEWEST_IN_A_PART = 3
_FEWEST_AT_THE_END = 2
_NEAR = 8
_FEWEST_OF_A_PHONE = 9
# a number of so many digits is whole; the first of them is that of a number with the prefix of its country
_WHOLE_PHONE = (12, 10)
# a day and a year; a day and a month may be the end of one sentence and the beginning of another
_FEWEST_OF_A_DATE = 5
_CARD_GROUPS = (4, 6)
# of an address that a line end divides at a point only its last part is left, or of a number its rest; else a sentence may end there
_LAST_PART = re.compile(r"\.?(?:[a-z]{2,12}(?![a-z])|[0-9.]+(?!\w))")


def with_spaces(texts: pa.Array) -> pa.Array:
    r"""Return texts with one space in place of line ends and of several spaces.

    >>> with_spaces(pa.array(["DE89 3704\n0044  0532"])).to_pylist()
    ['DE89 3704 0044 0532']
    """
    return pc.replace_substring_regex(texts, _DIVISION, " ")


def without_line_ends(texts: pa.Array) -> pa.Array:
    r"""Return texts without line ends and the spaces around them.

    >>> without_line_ends(pa.array(["ada@exam\n> ple.org"])).to_pylist()
    ['ada@example.org']
    """
    return pc.replace_substring_regex(texts, _LINE_END, "")


def across(
    text: str, in_lines: Sequence[Entity], with_spaces: Sequence[Entity], without_line_ends: Sequence[Entity], kept: Collection[str] = ()
) -> list[Entity]:
    r"""Return what was found in the lines of a text, and in its two other readings what lies across a division, but for kinds that are kept.

    >>> across("mail ada@exam\nple.org", [], [], [Entity(5, 20, "email")])
    [Entity(begin=5, end=21, kind='email')]
    """
    # what is kept must take no place from what is replaced
    shown, left = [[entity for entity in in_lines if (entity.kind in kept) is is_kept] for is_kept in (False, True)]
    spaced = [entity for entity in at_places(with_spaces, _places(text, _DIVISIONS, 1)) if entity.kind not in kept]
    closed = [entity for entity in at_places(without_line_ends, _places(text, _LINE_ENDS, 0)) if entity.kind not in kept]
    groups = [entity for entity in spaced if _is_divided(entity, text) and _is_grouped(entity, text, shown)]
    ones = [entity for entity in closed if _is_divided(entity, text) and _is_one(entity, text, shown)]
    labelled = [entity for entity in spaced if not _is_divided(entity, text) and _is_labelled(entity, text, shown)]
    checked = [[entity for entity in found if entity.kind in _CHECKED] for found in (groups, ones)]
    others = [[entity for entity in found if entity.kind not in _CHECKED] for found in (ones, groups)]
    return layered(text, [*checked, shown, *others, labelled, left])


def _places(text: str, divisions: re.Pattern[str], kept: int) -> list[int]:
    """Return the places of the characters of another reading, which keeps so many of each division."""
    places: list[int] = []
    begin = 0
    for match in divisions.finditer(text):
        places += range(begin, match.start() + kept)
        begin = match.end()
    return [*places, *range(begin, len(text))]


def _is_divided(entity: Entity, text: str) -> bool:
    return _DIVISIONS.search(text, entity.begin, entity.end) is not None


def _is_labelled(entity: Entity, text: str, in_lines: Sequence[Entity]) -> bool:
    """Return whether what stands in one line counts by what stands on the other side of a division, which is no blank line."""
    return _ROOMY.search(text, max(0, entity.begin - _NEAR), entity.end) is None and not _is_found(entity, in_lines)


def _is_found(entity: Entity, in_lines: Sequence[Entity]) -> bool:
    """Return whether some of an entity was found in one line as what it is."""
    return any(other.kind == entity.kind for other in overlapping(entity, in_lines))


def _is_grouped(entity: Entity, text: str, in_lines: Sequence[Entity]) -> bool:
    """Return whether a value whose parts are divided is one in groups: its parts are long enough, and it stands in two lines at most."""
    value = text[entity.begin : entity.end]
    if _ROOMY.search(value) or (entity.kind != "iban" and len(_LINE_ENDS.findall(value)) > 1):
        return False
    if entity.kind == "us_ssn":
        # a word says what it is, and its second group is short
        return True
    if entity.kind == "date":
        return _digits(value) >= _FEWEST_OF_A_DATE
    if not _has_long_parts(value) or (entity.kind == "card" and not _has_card_groups(value)):
        return False
    if entity.kind != "phone":
        return True
    whole = any(other.kind == "phone" and _is_whole(text[other.begin : other.end]) for other in overlapping(entity, in_lines))
    return not whole and _digits(value) >= _FEWEST_OF_A_PHONE


def _is_one(entity: Entity, text: str, in_lines: Sequence[Entity]) -> bool:
    """Return whether a value that a line end divides is one: a checksum says so, or the division stands at a sign of the value itself."""
    value = text[entity.begin : entity.end]
    if _ROOMY.search(value) or len(_LINE_ENDS.findall(value)) > 1:
        return False
    if entity.kind in _CHECKED:
        return _has_long_parts(value) and (entity.kind != "card" or _has_card_groups(_LINE_ENDS.sub("", value)))
    if _is_found(entity, in_lines):
        return False
    if entity.kind == "email":
        return _is_divided_address(value)
    return _AT_ITS_SIGN.search(value) is not None


def _has_long_parts(value: str) -> bool:
    """Return whether the parts of a divided value are as long as those of a number in groups; one letter ends it only at a hyphen."""
    *parts, last = _DIVISIONS.split(value)
    is_last = _alphanumeric(last) >= _FEWEST_AT_THE_END or parts[-1].endswith("-") or last.startswith("-")
    return is_last and all(_alphanumeric(part) >= _FEWEST_IN_A_PART for part in parts)


def _has_card_groups(value: str) -> bool:
    """Return whether digits stand in groups of a card, or in two parts: a column of numbers has others."""
    first, *groups = map(len, _NO_DIGIT.split(value))
    return len(groups) <= 1 or (first == _CARD_GROUPS[0] and set(groups[:-1]) in ({_CARD_GROUPS[0]}, {_CARD_GROUPS[1]}))


def _is_divided_address(value: str) -> bool:
    before, _, _ = value.partition("@")
    first, *rest = _LINE_ENDS.split(value)
    after = "".join(rest)
    is_last = not (first.endswith(".") or after.startswith(".")) or _LAST_PART.match(after) is not None
    return is_last and any(character.isalpha() for character in before)


def _is_whole(number: str) -> bool:
    digits = _NO_DIGIT.sub("", number)
    return len(digits) >= _WHOLE_PHONE[0 if number.lstrip("(").startswith("+") or digits.startswith("00") else 1]


def _digits(value: str) -> int:
    return sum(character.isdigit() for character in value)


def _alphanumeric(value: str) -> int:
    return sum(character.isalnum() for character in value)

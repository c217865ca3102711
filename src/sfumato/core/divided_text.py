"""Texts read across the ends of their lines and across columns of spaces: an account over two lines is one account.

Such a text is read in two more ways: with one space in place of what divides it, for what is written in groups, and without the ends of lines, for
what is written as one. In both ways all lines are put together, and where there are more than two also two and two of them, so that what goes over
one line end has nothing of a third line at its ends. Only what stands on both sides of a division, or behind a word on the other side, is taken from
there, since all else is found as it is written. Numbers that stand one below the other in a column are no number.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sfumato.core.card_groups import is_card_grouped
from sfumato.core.entity import Entity
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
_NEW_LINE = re.compile(r"[\n-\r]")
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
# of an address that a line end divides at a point only its last part is left, or of a number its rest; else a sentence may end there
_LAST_PART = re.compile(r"\.?(?:[a-z]{2,12}(?![a-z])|[0-9.]+(?!\w))")


@dataclass(frozen=True)
class Reading:
    r"""A text without some of what divides it, and where each of its characters stands in the text itself.

    >>> one, *_ = readings("ada@exam\n> ple.org", in_groups=False)
    >>> one.text, one.in_whole_text([Entity(0, 15, "email")])
    ('ada@example.org', [Entity(begin=0, end=18, kind='email')])
    """

    text: str
    begins: Sequence[int]
    """Where the pieces begin of which it is made."""
    places: Sequence[int]
    """Where they begin in the whole text."""

    def in_whole_text(self, entities: Sequence[Entity]) -> list[Entity]:
        """Return where entities of this reading stand in the text itself."""
        return [Entity(self._place(entity.begin), self._place(entity.end - 1) + 1, entity.kind) for entity in entities]

    def _place(self, place: int) -> int:
        piece = bisect(self.begins, place) - 1
        return self.places[piece] + place - self.begins[piece]


def readings(text: str, in_groups: bool) -> Iterator[Reading]:
    r"""Yield the ways in which a divided text is read: all lines put together, and where there are more than two also two and two of them.

    ``in_groups`` with a space in place of each division, else without line ends and the spaces around them.

    >>> [reading.text for reading in readings("a\n12\n3 \t 4", in_groups=True)]
    ['a 12 3 4', 'a 12\n3 4', 'a\n12 3 4']
    """
    divisions = list((_DIVISIONS if in_groups else _LINE_ENDS).finditer(text))
    lines = [place for place, match in enumerate(divisions) if _NEW_LINE.search(match[0])]
    yield _joined(text, divisions, in_groups)
    for left in (lines[1::2], lines[::2]) if len(lines) > 1 else ():
        apart = set(left)
        yield _joined(text, [match for place, match in enumerate(divisions) if place not in apart], in_groups)


def _joined(text: str, divisions: Sequence[re.Match[str]], in_groups: bool) -> Reading:
    parts: list[str] = []
    begins, places, begin, length = [0], [0], 0, 0
    for match in divisions:
        parts += [text[begin : match.start()], " " if in_groups else ""]
        length += match.start() - begin + in_groups
        begin = match.end()
        begins.append(length)
        places.append(begin)
    return Reading("".join([*parts, text[begin:]]), begins, places)


def across(text: str, in_lines: Sequence[Entity], in_groups: Sequence[Entity], as_one: Sequence[Entity], kept: Collection[str] = ()) -> list[Entity]:
    r"""Return what was found in the lines of a text, and in its other readings what lies across a division, but for kinds that are kept.

    >>> across("mail ada@exam\nple.org", [], [], [Entity(5, 21, "email")])
    [Entity(begin=5, end=21, kind='email')]
    """
    # what is kept must take no place from what is replaced
    shown, left = [[entity for entity in in_lines if (entity.kind in kept) is is_kept] for is_kept in (False, True)]
    spaced = [entity for entity in in_groups if entity.kind not in kept]
    closed = [entity for entity in as_one if entity.kind not in kept]
    groups = [entity for entity in spaced if _is_divided(entity, text) and _is_grouped(entity, text, shown)]
    ones = [entity for entity in closed if _is_divided(entity, text) and _is_one(entity, text, shown)]
    labelled = [entity for entity in spaced if not _is_divided(entity, text) and _is_labelled(entity, text, shown)]
    checked = [[entity for entity in found if entity.kind in _CHECKED] for found in (groups, ones)]
    others = [[entity for entity in found if entity.kind not in _CHECKED] for found in (ones, groups)]
    return layered(text, [*checked, shown, *others, labelled, left])


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
    return is_card_grouped([len(group) for group in _NO_DIGIT.split(value)])


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

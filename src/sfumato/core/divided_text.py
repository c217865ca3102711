"""Texts read across the ends of their lines and across columns of spaces: an account over two lines is one account.

Such a text is read twice more: with one space in place of what divides it, for what is written in groups, and without the ends of lines, for what is
written as one. Only what stands on both sides of a division, or behind a word on the other side, is taken from there, since all else is found as it
is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.entity import Entity
from sfumato.core.hidden_characters import at_places
from sfumato.core.layers import layered, overlapping

_DIVISION = r"(?:[ \t-\r]{2,}|[\t-\r])"
_LINE_END = r"[ \t]*[\n-\r][ \t-\r]*"

IN_GROUPS = rf"[0-9][./-]?{_DIVISION}|{_DIVISION}[(+./-]{{0,2}}[A-Za-z]{{0,4}}[0-9]"
"""An expression of RE2 that finds texts in which numbers may be divided."""

AS_ONE = rf"@\S*{_LINE_END}|{_LINE_END}@|[0-9][A-Fa-f]{{0,3}}[:.-]?{_LINE_END}[:.-]?[0-9A-Fa-f]|[A-Fa-f][:.-]?{_LINE_END}[:.-]?[A-Fa-f]{{0,3}}[0-9]"
"""An expression of RE2 that finds texts in which a line end may divide what is written as one."""

_DIVISIONS = re.compile(_DIVISION)
_LINE_ENDS = re.compile(_LINE_END)
_ROOMY = re.compile(r"(?:\n[ \t\r]*){2}")

# what a checksum says holds against whatever was found in one line
_GROUPED = frozenset({"iban", "card", "national_id"})
_CLOSED = frozenset({"email", "uuid", "us_ssn", "mac", "ip", *_GROUPED})
_FEWEST_IN_A_GROUP = 3
_NEAR = 8
# a number of so many digits is whole; the first of them is that of a number with the prefix of its country
_WHOLE_PHONE = (12, 10)


def with_spaces(texts: pa.Array) -> pa.Array:
    r"""Return texts with one space in place of line ends and of several spaces.

    >>> with_spaces(pa.array(["DE89 3704\n0044  0532"])).to_pylist()
    ['DE89 3704 0044 0532']
    """
    return pc.replace_substring_regex(texts, _DIVISION, " ")


def without_line_ends(texts: pa.Array) -> pa.Array:
    r"""Return texts without line ends and the spaces around them.

    >>> without_line_ends(pa.array(["ada@exam\n  ple.org"])).to_pylist()
    ['ada@example.org']
    """
    return pc.replace_substring_regex(texts, _LINE_END, "")


def across(text: str, in_lines: Sequence[Entity], with_spaces: Sequence[Entity], without_line_ends: Sequence[Entity]) -> list[Entity]:
    r"""Return what was found in the lines of a text, and in its two other readings what lies across a division.

    >>> across("mail ada@exam\nple.org", [], [], [Entity(5, 20, "email")])
    [Entity(begin=5, end=21, kind='email')]
    """
    spaced = at_places(with_spaces, _places(text, _DIVISIONS, 1))
    closed = at_places(without_line_ends, _places(text, _LINE_ENDS, 0))
    groups = [entity for entity in spaced if entity.kind in _GROUPED and _is_in_groups(text, entity)]
    others = [entity for entity in spaced if entity.kind not in _GROUPED and _goes_on(text, entity, in_lines)]
    ones = [entity for entity in closed if entity.kind in _CLOSED and _is_in_groups(text, entity) and not any(overlapping(entity, in_lines))]
    return layered(text, [groups, in_lines, ones, others])


def _places(text: str, divisions: re.Pattern[str], kept: int) -> list[int]:
    """Return the places of the characters of another reading, which keeps so many of each division."""
    left_out = {place for match in divisions.finditer(text) for place in range(match.start() + kept, match.end())}
    return [place for place in range(len(text)) if place not in left_out]


def _is_in_groups(text: str, entity: Entity) -> bool:
    """Return whether the parts of a divided value are as long as those of a number in groups: a column of small numbers is none."""
    *parts, _ = _DIVISIONS.split(text[entity.begin : entity.end])
    return bool(parts) and all(sum(character.isalnum() for character in part) >= _FEWEST_IN_A_GROUP for part in parts)


def _goes_on(text: str, entity: Entity, in_lines: Sequence[Entity]) -> bool:
    """Return whether an entity goes on behind a division: not behind a blank line, nor behind a telephone number that is whole."""
    if _ROOMY.search(text, max(0, entity.begin - _NEAR), entity.end):
        return False
    if _DIVISIONS.search(text, entity.begin, entity.end) is None:
        return not any(overlapping(entity, in_lines))
    if entity.kind != "phone":
        return True
    return not any(other.kind == "phone" and _is_whole(text[other.begin : other.end]) for other in overlapping(entity, in_lines))


def _is_whole(number: str) -> bool:
    digits = "".join(character for character in number if character.isdigit())
    return len(digits) >= _WHOLE_PHONE[0 if number.lstrip("(").startswith("+") or digits.startswith("00") else 1]

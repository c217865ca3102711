"""Entities in free text that patterns and checksums find without a model: addresses, numbers, dates. Names of people are not among them."""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Collection, Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core.divided_text import AS_ONE, IN_GROUPS, across, readings
from sfumato.core.entity import Entity
from sfumato.core.entity_form import Form
from sfumato.core.entity_patterns import FORMS, KINDS, Kind
from sfumato.core.hidden_characters import HIDDEN, in_whole_text, without_hidden
from sfumato.core.json_strings import may_have_escapes
from sfumato.core.layers import layered, overlapping

__all__ = ["KINDS", "Entity", "Kind", "entities_in", "plain_characters"]

# each stands for one character, so that places in the text stay what they are
_DIGIT_ZEROS = (
    0x0660,
    0x06F0,
    0x07C0,
    0x0966,
    0x09E6,
    0x0A66,
    0x0AE6,
    0x0B66,
    0x0BE6,
    0x0C66,
    0x0CE6,
    0x0D66,
    0x0E50,
    0x0ED0,
    0x0F20,
    0x1040,
)
_PLAIN = {
    **{zero + digit: str(digit) for zero in _DIGIT_ZEROS for digit in range(10)},
    **dict.fromkeys([0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " "),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys([*range(0x2010, 0x2014), 0x2212, 0xFE63], "-"),
    # dashes between parts of a sentence
    **dict.fromkeys([0x2014, 0x2015], ";"),
    0xFE6B: "@",
    0x2019: "'",
    **dict.fromkeys([0x85, 0x2028, 0x2029], "\n"),
}
# numbers of which one in ten or so is right by chance, which may then begin or end within one of the others; of accounts one in a hundred is
_BY_CHANCE: tuple[Kind, ...] = ("card", "national_id")
_WRITTEN_IN_DIGITS: tuple[Kind, ...] = ("us_ssn", "mac", "ip", "date", "phone")
_SIGNS = re.compile("[/#&=?|]")
_ESCAPE = r"\\[nrt]"
_ASCII_END = 0x80
_BLANK = "\0"
_STRANGE = f"[{''.join(chr(code) for code in _PLAIN)}]"


def entities_in(texts: pa.Array, kinds: Sequence[Kind], kept: Collection[str] = ()) -> dict[int, list[Entity]]:
    """Return the entities of each text that holds some, by its row and in their order; none lies across another. A missing text holds none.

    Those of ``kept`` kinds, which nobody will replace, are found in the lines of a text alone.

    >>> found = entities_in(pa.array(["call +49 421 123456 or ada@example.org", "nothing"]), KINDS)
    >>> {row: [(entity.kind, entity.begin) for entity in entities] for row, entities in found.items()}
    {0: [('phone', 5), ('email', 23)]}
    """
    # what is kept, and may be a number of such a kind by chance alone, must take no place from what is replaced
    chosen = tuple(sorted((kind for kind in KINDS if kind in kinds), key=lambda kind: kind in kept and kind in _BY_CHANCE))
    found = _read(texts, chosen, kept)
    rows = _rows(texts, HIDDEN) if not _is_ascii(texts) else np.zeros(0, np.int64)
    if not len(rows):
        return found
    shown = texts.take(pa.array(rows)).to_pylist()
    through = _read(pa.array([without_hidden(text) for text in shown], texts.type), chosen, kept)
    for place, entities in through.items():
        row, text = int(rows[place]), shown[place]
        seen = [entity for entity in in_whole_text(entities, text) if entity.kind not in kept]
        found[row] = layered(text, [seen, found.get(row, [])])
    return {row: found[row] for row in sorted(found)}


def plain_characters(texts: pa.Array) -> pa.Array:
    r"""Return texts with plain digits, spaces and hyphens in place of those of other scripts and of typesetters, one for one.

    >>> plain_characters(pa.array(["+49\u00a0421\u2011\u0661\u0662"])).to_pylist()
    ['+49 421-12']
    """
    rows = _rows(texts, _STRANGE) if not _is_ascii(texts) else np.zeros(0, np.int64)
    if not len(rows):
        return texts
    mask = np.zeros(len(texts), bool)
    mask[rows] = True
    made = pa.array([text.translate(_PLAIN) for text in texts.take(pa.array(rows)).to_pylist()], texts.type)
    return pc.replace_with_mask(texts, pa.array(mask), made)


def _without_escapes(text: str) -> str:
    r"""Return a text with spaces and a line end in place of the escapes of these, as they stand in logs.

    >>> _without_escapes(r"called\r\n0421\t1")
    'called   \n0421 \n1'
    """
    return text.replace(r"\r\n", "   \n").replace(r"\n", " \n").replace(r"\t", " \n").replace(r"\r", " \n")


def _read(texts: pa.Array, chosen: tuple[Kind, ...], kept: Collection[str]) -> dict[int, list[Entity]]:
    """Return the entities of texts in their lines and across them, as they are written and, where they have escapes, as they would read."""
    plain = plain_characters(texts)
    found = _in_all_readings(plain, chosen, kept)
    rows = _rows(plain, _ESCAPE).tolist() if may_have_escapes(plain) else []
    if not rows:
        return found
    shown = plain.take(pa.array(rows)).to_pylist()
    for place, entities in _in_all_readings(pa.array([_without_escapes(text) for text in shown], pa.string()), chosen, kept).items():
        written, left = [[entity for entity in found.get(rows[place], []) if (entity.kind in kept) is is_kept] for is_kept in (False, True)]
        seen = [entity for entity in entities if entity.kind not in kept]
        found[rows[place]] = layered(shown[place], [written, seen, left])
    return {row: found[row] for row in sorted(found)}


def _in_all_readings(plain: pa.Array, chosen: tuple[Kind, ...], kept: Collection[str]) -> dict[int, list[Entity]]:
    found = _in_lines(plain, chosen)
    spaced = _in_other_readings(plain, chosen, IN_GROUPS, in_groups=True)
    closed = _in_other_readings(plain, chosen, AS_ONE, in_groups=False)
    for row in {*spaced, *closed}:
        entities = across(plain[row].as_py(), found.get(row, []), spaced.get(row, []), closed.get(row, []), kept)
        if entities:
            found[row] = entities
    return {row: found[row] for row in sorted(found)} if spaced or closed else found


def _in_other_readings(plain: pa.Array, chosen: tuple[Kind, ...], divided: str, in_groups: bool) -> dict[int, list[Entity]]:
    """Return what the other readings of divided texts show, where it stands in the texts; some of it may be there several times."""
    read = [(row, reading) for row in _rows(plain, divided).tolist() for reading in readings(plain[row].as_py(), in_groups)]
    texts = pa.array([reading.text for _, reading in read], pa.string())
    found: dict[int, list[Entity]] = {}
    # whether digits that go over a line end are a card is looked at later: until then they must take no place from others, nor others theirs
    apart = [tuple(kind for kind in chosen if (kind == "card") is is_card) for is_card in (True, False)]
    for kinds in [*apart, *([chosen] if all(apart) else [])] if read else []:
        for place, entities in (_in_lines(texts, kinds) if kinds else {}).items():
            row, reading = read[place]
            found.setdefault(row, []).extend(reading.in_whole_text(entities))
    return found


def _in_lines(plain: pa.Array, chosen: tuple[Kind, ...]) -> dict[int, list[Entity]]:
    """Return the entities of plain texts as they are written."""
    # one pass over all texts leaves few to look at more closely
    rows = _rows(plain, _screen(chosen))
    found = _found(plain.take(pa.array(rows)), chosen) if len(rows) else {}
    return {int(rows[place]): found[place] for place in sorted(found)}


@cache
def _screen(kinds: tuple[Kind, ...]) -> str:
    return "|".join(f"(?:{screen})" for screen in dict.fromkeys(form.screen for kind in kinds for form in FORMS[kind]))


def _is_ascii(texts: pa.Array) -> bool:
    content = texts.buffers()[2]
    return content is None or bool(np.frombuffer(content, np.uint8).max(initial=0) < _ASCII_END)


def _found(texts: pa.Array, kinds: Sequence[Kind]) -> dict[int, list[Entity]]:
    found = _in_turn(texts, kinds)
    for row, entities in found.items():
        if not any(entity.kind in _BY_CHANCE or entity.kind == "email" for entity in entities):
            continue
        text = texts[row].as_py()
        by_chance = [entity for entity in entities if entity.kind in _BY_CHANCE]
        addresses = [entity for entity in entities if entity.kind == "email" and _SIGNS.search(text, entity.begin, entity.end)]
        reaching = [*(_reaching_out(text, _WRITTEN_IN_DIGITS, kinds, by_chance) if by_chance else ())]
        reaching += _reaching_out(text, (*_BY_CHANCE, "iban", *_WRITTEN_IN_DIGITS), kinds, addresses) if addresses else ()
        if reaching:
            found[row] = layered(text, [entities, *reaching])
    return found


def _reaching_out(text: str, sought: Sequence[Kind], kinds: Sequence[Kind], found_before: Sequence[Entity]) -> Iterator[list[Entity]]:
    """Yield, kind by kind, what lies across others.

    A number whose checksum is right may be so by chance, and what stands before a slash need not belong to the address behind it: in both cases the
    rest of what lies there would stay.
    """
    for kind in [kind for kind in kinds if kind in sought]:
        found: dict[int, list[Entity]] = {}
        for form in FORMS[kind]:
            _add(found, [text], [0], kind, form)
        yield [entity for entity in found.get(0, []) if any(overlapping(entity, found_before))]


def _in_turn(texts: pa.Array, kinds: Sequence[Kind]) -> dict[int, list[Entity]]:
    """Return what each kind finds in what those before it have left."""
    found: dict[int, list[Entity]] = {}
    shown = texts.to_pylist()
    for kind in kinds:
        of_kind = _rows(texts, _screen((kind,)))
        if not len(of_kind):
            continue
        for row in found.keys() & set(of_kind.tolist()):
            shown[row] = _blanked(shown[row], found[row])
        some = texts.take(pa.array(of_kind))
        screens = list(dict.fromkeys(form.screen for form in FORMS[kind]))
        screened = {screen: of_kind[_rows(some, screen)] if len(screens) > 1 else of_kind for screen in screens}
        for form in FORMS[kind]:
            _add(found, shown, screened[form.screen].tolist(), kind, form)
    return found


def _blanked(text: str, entities: Sequence[Entity]) -> str:
    """Return a text of the same length without its entities, so that nothing reaches into them and is lost."""
    parts, end = [], 0
    for entity in entities:
        parts += [text[end : entity.begin], _BLANK * (entity.end - entity.begin)]
        end = entity.end
    return "".join([*parts, text[end:]])


def _rows(texts: pa.Array, expression: str) -> NDArray[np.int64]:
    found = pc.fill_null(pc.match_substring_regex(texts, expression), False)
    return np.flatnonzero(found.to_numpy(zero_copy_only=False))


def _add(found: dict[int, list[Entity]], texts: Sequence[str], rows: Sequence[int], kind: Kind, form: Form) -> None:
    """Add what a form finds in some rows to what was found there before."""
    candidates = [(row, texts[row], entity) for row in rows for entity in _candidates(texts[row], kind, form)]
    free = [candidate for candidate in candidates if not any(overlapping(candidate[2], found.get(candidate[0], ())))]
    for (row, _, entity), is_right in zip(free, _right(free, form), strict=True):
        if not is_right:
            continue
        taken = found.setdefault(row, [])
        others = list(overlapping(entity, taken))
        if not others:
            insort(taken, entity)
        elif form.has_checksum:
            # one of the two is right by chance, and nobody knows which
            for other in others:
                taken.remove(other)
            insort(taken, Entity(min(entity.begin, others[0].begin), max(entity.end, others[-1].end), kind))


def _candidates(text: str, kind: Kind, form: Form) -> list[Entity]:
    group, ends = form.group, form.ends
    matches = _each_match(form.pattern, text) if form.has_checksum else form.pattern.finditer(text)
    if ends is None:
        return [Entity(*match.span(group), kind) for match in matches]
    return [Entity(match.start(group), end, kind) for match in matches for end in ends(text, match.start(group))]


def _each_match(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield what a pattern finds from every place, also within what it has found before: another number may stand before the one that is right."""
    match = pattern.search(text)
    while match is not None:
        yield match
        match = pattern.search(text, match.start() + 1)


def _right(candidates: Sequence[tuple[int, str, Entity]], form: Form) -> list[bool]:
    if form.is_right is None:
        return [True] * len(candidates)
    values = [text[entity.begin : entity.end] for _, text, entity in candidates]
    if form.without is not None:
        values = [form.without.sub("", value) for value in values]
    return [bool(right) for right in form.is_right(pa.array(values, pa.string()))]

"""Names that are known beforehand, wherever they stand in a text as whole words.

Words are compared without regard to case and accents: `MULLER` and `Mueller` are found where `Müller` is known, and a genitive such as `Müllers` with
them; `Müller` is found where one of them is, `OBrien` where `O'Brien` is known and the other way round. Scripts without spaces between words have a
word a character, so that a name is found within a sentence.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from sfumato.core.entity import Entity
from sfumato.core.hidden_characters import HIDDEN, at_places, has_hidden, in_whole_text, without_hidden
from sfumato.core.layers import layered
from sfumato.core.spellings import fold, has_several, shortest, spellings

Spellings = tuple[str, ...]
Phrase = tuple[Spellings, ...]

KIND = "name"
"""The kind of what is found."""

_FEW = 20
_START = (0,)
_LONGEST_GAP = 3
_WIDEST_GAP = 80
_WIDE = re.compile(r"[ \t]*(?:\r\n?|[\n\x0b\f\x85\u2028\u2029])[ \t>]*|[ \t]{2,}")
# names so short have one only where it has a capital: `Has` may be that of `Ha`, `has` is not
_SHORT = 2
# typewriter and quotation marks, modifier letters, primes, accents that stand alone, and those of full width
_APOSTROPHES = (
    "'`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u02ee\u0374\u0384\u055a\u05f3\u07f4\u07f5\u1fbd\u1fbf"
    "\u1fef\u1ffd\u2018-\u201b\u2032\u2035\u275b\u275c\ua78b\ua78c\uff07\uff40"
)
# those that count as letters, and would make a name and its genitive one word
_LETTERS = (*range(0x2B9, 0x2EF), 0x374, 0x7F4, 0x7F5, 0xA78B, 0xA78C)
_LETTER_APOSTROPHES = {code: "'" for code in _LETTERS if re.match(rf"(?=\w)[{_APOSTROPHES}]", chr(code))}
_HYPHENS = "\u2010\u2011-"
# within a name, also one behind the other: some leave out all of them, some those of one kind
_JOINERS = tuple(re.compile(rf"(?<=\w)[{signs}]{{1,2}}(?=\w)") for signs in (_APOSTROPHES + _HYPHENS, _APOSTROPHES, _HYPHENS))
# but for the apostrophe of a genitive; and the hyphen where a line ends within a name
_LINE_END = rf"(?<=\w)(?:[\u00ad{_HYPHENS}]{HIDDEN}*)+[ \t]*(?:\r\n?|[\n\x0b\f\x85\u2028\u2029])[ \t>]*(?=\w)"
_WRITTEN_JOINERS = tuple(re.compile(rf"{joiners.pattern}(?![sS]\b)|{_LINE_END}") for joiners in _JOINERS)
_TITLES = frozenset(("dr", "frau", "herr", "jr", "mr", "mrs", "ms", "prof", "sr"))
# written with a capital in a name that is not all in capitals, each is a name of its own
_PARTICLES = frozenset(
    (
        *("and", "da", "das", "de", "del", "della", "den", "der", "des", "di", "do", "dos", "du", "e", "el", "et", "la", "las", "le", "los"),
        *("of", "the", "und", "van", "vom", "von", "y", "zu", "zum", "zur"),
    )
)
# ideographs, kana, hangul, and scripts of South-East Asia
_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"


@dataclass(frozen=True)
class Word:
    """A word of a text, the spellings by which it is compared, and where it stands."""

    spellings: Spellings
    begin: int
    end: int
    is_capital: bool

    @property
    def without_genitive(self) -> Spellings:
        """The spellings of the word of which it may be the genitive."""
        if not self.spellings[0].endswith("s"):
            return ()
        fewest = _SHORT if self.is_capital else _SHORT + 1
        return tuple(spelling[:-1] for spelling in self.spellings if spelling.endswith("s") and len(spelling) > fewest)


@dataclass(frozen=True)
class KnownNames:
    """Names to look for: each of ``phrases`` is a row of words; ``beside`` are spellings that go only where they stand beside one of these."""

    phrases: frozenset[Phrase]
    beside: frozenset[str] = frozenset()

    @classmethod
    def of_words(cls, words: Iterable[str]) -> KnownNames:
        """Return names each of which is looked for as it is.

        >>> [(name.begin, name.end) for name in KnownNames.of_words(["Ana Silva"]).found_in("Ana saw ANA-SILVA")]
        [(8, 17)]
        """
        return cls(frozenset(phrase for phrase in (_phrase(word) for word in _readings(words)) if phrase))

    @classmethod
    def of_person(cls, values: Iterable[str]) -> KnownNames:
        """Return the names in some values of a row, each as a whole and by its parts; a value with digits only as a whole, and no single letter.

        >>> found = KnownNames.of_person(["Ana de Souza"]).found_in("Souza, Ana was seen; de novo in Souza")
        >>> [(name.begin, name.end) for name in found]
        [(0, 5), (7, 10), (32, 37)]
        """
        phrases: set[Phrase] = set()
        beside: set[str] = set()
        for value in _readings(values):
            whole = _phrase(value)
            parts = [] if any(character.isdigit() for character in value) else list(_parts(value))
            weak = {_phrase(part)[0] for part in parts if _is_weak(part, value)}
            phrases |= {phrase for phrase in map(_phrase, parts) if phrase[0] not in weak}
            beside |= {spelling for spellings in weak for spelling in spellings}
            if whole and not _is_letter(whole):
                phrases.add(whole)
        return cls(frozenset(phrases), frozenset(beside))

    def found_in(self, text: str) -> list[Entity]:
        """Return where the names stand; what belongs together is one entity. Characters that nobody sees hide none, nor do those that join names."""
        text = text.translate(_LETTER_APOSTROPHES)
        found = self._seen_in(text)
        layers = [found]
        if has_hidden(text):
            layers.insert(0, in_whole_text(self._seen_in(without_hidden(text)), text))
        layers = [*self._joined_in(text), *layers]
        return layered(text, layers) if len(layers) > 1 else found

    def _joined_in(self, text: str) -> Iterator[list[Entity]]:
        """Yield where names stand that are known without apostrophes or hyphens and are written with them: without all, without those of a kind."""
        if _WRITTEN_JOINERS[0].search(text) is None:
            return
        spans = ((match.span() for match in joiners.finditer(text)) for joiners in _WRITTEN_JOINERS)
        for without in dict.fromkeys(frozenset(place for span in each for place in range(*span)) for each in spans):
            places = [place for place in range(len(text)) if place not in without]
            found = self._seen_in("".join(text[place] for place in places)) if without else []
            yield at_places(found, places)

    def _seen_in(self, text: str) -> list[Entity]:
        if not self._may_stand_in(text):
            return []
        words = list(words_of(text))
        marked = [False] * len(words)
        near = [False, *(_are_near(*pair, text) for pair in pairwise(words))]
        for place, word in enumerate(words):
            if self._tree.begins_with(word.spellings):
                length = self._length_at(words, place, near)
                marked[place : place + length] = [True] * length
        self._spread(words, marked, text)
        return list(_joined(words, marked, text))

    def _may_stand_in(self, text: str) -> bool:
        firsts = self._firsts
        several = has_several(text)
        if len(firsts) <= _FEW:
            folded, sought = (shortest(text), {shortest(first) for first in firsts}) if several else (fold(text), firsts)
            return any(first in folded for first in sought)
        words = (spelling for word in words_of(text) for spelling in word.spellings) if several else _words().findall(fold(text))
        return any(word in firsts or word[:-1] in firsts for word in words)

    @cached_property
    def _firsts(self) -> set[str]:
        return {spelling for phrase in self.phrases for spelling in phrase[0]}

    def _length_at(self, words: Sequence[Word], place: int, near: Sequence[bool]) -> int:
        """Return of how many words the longest phrase is that begins at a word; ``near`` says which words stand near the one before."""
        points: Sequence[int] = _START
        longest, here = 0, place
        while points and here < len(words) and (here == place or near[here]):
            spelt = words[here].spellings
            genitive = words[here].without_genitive
            before, points = points, self._tree.behind(points, spelt)
            here += 1
            if self._tree.has_end(points) or (genitive and self._tree.has_end(self._tree.behind(before, genitive))):
                longest = here - place
        return longest

    @cached_property
    def _tree(self) -> _Tree:
        return _Tree.of(self.phrases)

    def _spread(self, words: Sequence[Word], marked: list[bool], text: str) -> None:
        """Mark the words that go with a marked one beside them, from both sides."""
        for order, step in ((range(1, len(words)), -1), (range(len(words) - 2, -1, -1), 1)):
            for place in order:
                if marked[place + step] and not self.beside.isdisjoint(words[place].spellings):
                    first, second = sorted((place, place + step))
                    marked[place] = marked[place] or _belong_together(words[first], words[second], text)


@dataclass(frozen=True, eq=False)
class _Tree:
    """All phrases word by word: at each point the spellings of the next word lead to others; phrases begin at the first and end at ``ends``.

    However many phrases begin alike, a text is held against all of them at once.
    """

    steps: Sequence[Mapping[str, Sequence[int]]]
    ends: frozenset[int]

    @classmethod
    def of(cls, phrases: Iterable[Phrase]) -> _Tree:
        points: dict[tuple[int, Spellings], int] = {}
        steps: list[dict[str, list[int]]] = [{}]
        ends = set()
        for phrase in phrases:
            point = 0
            for spelt in phrase:
                if (point, spelt) not in points:
                    points[point, spelt] = len(steps)
                    for spelling in spelt:
                        steps[point].setdefault(spelling, []).append(len(steps))
                    steps.append({})
                point = points[point, spelt]
            ends.add(point)
        return cls(steps, frozenset(ends))

    def begins_with(self, spelt: Spellings) -> bool:
        """Return whether a phrase begins with a word, or is one of which the word is the genitive."""
        return any(spelling in self.steps[0] or spelling[:-1] in self.steps[0] for spelling in spelt)

    def behind(self, points: Sequence[int], spelt: Spellings) -> Sequence[int]:
        """Return the points to which a word leads, each once."""
        if len(points) == 1:
            found = [after for after in map(self.steps[points[0]].get, spelt) if after is not None]
            if all(after == found[0] for after in found):
                return found[0] if found else ()
        return list({after for point in points for spelling in spelt for after in self.steps[point].get(spelling, ())})

    def has_end(self, points: Sequence[int]) -> bool:
        """Return whether a phrase ends at one of some points."""
        return not self.ends.isdisjoint(points)


def words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text."""
    for match in _words().finditer(text):
        yield Word(spellings(match[0]), match.start(), match.end(), match[0][0].isupper())


@cache
def _words() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(rf"[{_WITHOUT_SPACES}][{marks}]*|[^\W_{_WITHOUT_SPACES}](?:[^\W_{_WITHOUT_SPACES}]|[{marks}])*")


def _readings(values: Iterable[str]) -> Iterator[str]:
    """Yield values, and those with characters that nobody sees, or that some leave out of a name, also without them."""
    for value in (value.translate(_LETTER_APOSTROPHES) for value in values):
        yield value
        if has_hidden(value):
            yield without_hidden(value)
        yield from {joiners.sub("", value) for joiners in _JOINERS} - {value}


def _phrase(text: str) -> Phrase:
    return tuple(tuple(map(sys.intern, word.spellings)) for word in words_of(text))


def _parts(value: str) -> Iterator[str]:
    """Yield the parts of a name: words with nothing between them are one."""
    end = begin = -1
    for word in words_of(value):
        if word.begin != end:
            if begin >= 0:
                yield value[begin:end]
            begin = word.begin
        end = word.end
    if begin >= 0:
        yield value[begin:end]


def _is_weak(part: str, value: str) -> bool:
    """Return whether a part of a name is a word of many sentences, and goes only beside another part."""
    phrase = _phrase(part)
    folded = phrase[0][0]
    is_particle = folded in _PARTICLES and (part.islower() or value.isupper())
    return len(phrase) == 1 and (_is_letter(phrase) or folded in _TITLES or is_particle)


def _is_letter(phrase: Phrase) -> bool:
    return len(phrase) == 1 and len(phrase[0][0]) == 1 and re.match(f"[{_WITHOUT_SPACES}]", phrase[0][0]) is None


def _are_near(one: Word, other: Word, text: str) -> bool:
    gap = text[one.end : other.begin]
    if len(gap) > _LONGEST_GAP:
        # the end of a line, with what the next one is quoted and indented by, is as wide as a space
        gap = _WIDE.sub(" ", gap) if len(gap) <= _WIDEST_GAP else gap
    return len(gap) <= _LONGEST_GAP and gap.count("\n") <= 1


def _belong_together(one: Word, other: Word, text: str) -> bool:
    return _are_near(one, other, text) and not set(",;") & set(text[one.end : other.begin])


def _joined(words: Sequence[Word], marked: Sequence[bool], text: str) -> Iterator[Entity]:
    """Yield marked words as entities, neighbours as one."""
    begin: Word | None = None
    last: Word | None = None
    for word, is_marked in zip(words, marked, strict=True):
        if begin is not None and last is not None and (not is_marked or not _belong_together(last, word, text)):
            yield Entity(begin.begin, last.end, KIND)
            begin = None
        if is_marked:
            begin, last = begin or word, word
    if begin is not None and last is not None:
        yield Entity(begin.begin, last.end, KIND)

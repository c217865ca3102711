"""Names that are known beforehand, wherever they stand in a text as whole words.

Words are compared without regard to case and accents: `MULLER` is found where `Müller` is known, and a genitive such as `Müllers` with it. Scripts
without spaces between words have a word a character, so that a name is found within a sentence.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from sfumato.core.entity import Entity
from sfumato.core.hidden_characters import has_hidden, in_whole_text, without_hidden
from sfumato.core.layers import layered

KIND = "name"
"""The kind of what is found."""

_LONGEST_GAP = 3
_SHORTEST_WITH_GENITIVE = 3
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


# letters whose strokes are no marks of their own, and letters of two
_WITHOUT_STROKE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


@dataclass(frozen=True)
class Word:
    """A word of a text as it is compared, and where it stands."""

    folded: str
    begin: int
    end: int


@dataclass(frozen=True)
class KnownNames:
    """Names to look for: each of ``phrases`` is a row of words; ``beside`` are words that go only where they stand beside one of these."""

    phrases: frozenset[tuple[str, ...]]
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
        phrases: set[tuple[str, ...]] = set()
        beside: set[str] = set()
        for value in _readings(values):
            whole = _phrase(value)
            parts = [] if any(character.isdigit() for character in value) else list(_parts(value))
            weak = {_phrase(part)[0] for part in parts if _is_weak(part, value)}
            phrases |= {phrase for phrase in map(_phrase, parts) if phrase[0] not in weak}
            beside |= weak
            if whole and not _is_letter(whole):
                phrases.add(whole)
        return cls(frozenset(phrases), frozenset(beside))

    def found_in(self, text: str) -> list[Entity]:
        """Return where the names stand; what belongs together is one entity. Characters that nobody sees hide none."""
        found = self._seen_in(text)
        if not has_hidden(text):
            return found
        return layered(text, [in_whole_text(self._seen_in(without_hidden(text)), text), found])

    def _seen_in(self, text: str) -> list[Entity]:
        if not self._may_stand_in(text):
            return []
        words = list(words_of(text))
        marked = [False] * len(words)
        for place in range(len(words)):
            length = self._length_at(words, place, text)
            marked[place : place + length] = [True] * length
        self._spread(words, marked, text)
        return list(_joined(words, marked, text))

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """Of how many words the phrases are, by their first word, the longest first: however many share it, few lengths are looked up."""
        found: dict[str, set[int]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], set()).add(len(phrase))
        return {first: sorted(lengths, reverse=True) for first, lengths in found.items()}

    def _may_stand_in(self, text: str) -> bool:
        folded = fold(text)
        if len(self._lengths) <= 20:
            return any(first in folded for first in self._lengths)
        return any(word in self._lengths or word[:-1] in self._lengths for word in _words().findall(folded))

    def _length_at(self, words: Sequence[Word], place: int, text: str) -> int:
        """Return of how many words the longest phrase is that begins at a word."""
        first = words[place].folded
        for length in self._lengths.get(first, ()):
            there = words[place : place + length]
            if len(there) == length and self._is_known(there) and all(_are_near(*pair, text) for pair in pairwise(there)):
                return length
        return int(self._is_known(words[place : place + 1]))

    def _is_known(self, words: Sequence[Word]) -> bool:
        """Return whether words are a phrase, or the genitive of one."""
        *before, last = (word.folded for word in words)
        has_genitive = last.endswith("s") and len(last) > _SHORTEST_WITH_GENITIVE
        return (*before, last) in self.phrases or (has_genitive and (*before, last[:-1]) in self.phrases)

    def _spread(self, words: Sequence[Word], marked: list[bool], text: str) -> None:
        """Mark the words that go with a marked one beside them, from both sides."""
        for order, step in ((range(1, len(words)), -1), (range(len(words) - 2, -1, -1), 1)):
            for place in order:
                if marked[place + step] and words[place].folded in self.beside:
                    first, second = sorted((place, place + step))
                    marked[place] = marked[place] or _belong_together(words[first], words[second], text)


def fold(text: str) -> str:
    """Return a text without what case and accents say.

    >>> fold("MÜLLER, Straße")
    'muller, strasse'
    >>> fold("Łukasz, Øyvind")
    'lukasz, oyvind'
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold()).translate(_WITHOUT_STROKE)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text."""
    for match in _words().finditer(text):
        yield Word(fold(match[0]), match.start(), match.end())


@cache
def _words() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    return re.compile(rf"[{_WITHOUT_SPACES}][{marks}]*|[^\W_{_WITHOUT_SPACES}](?:[^\W_{_WITHOUT_SPACES}]|[{marks}])*")


def _readings(values: Iterable[str]) -> Iterator[str]:
    """Yield values, and those with characters that nobody sees also without them."""
    for value in values:
        yield value
        if has_hidden(value):
            yield without_hidden(value)


def _phrase(text: str) -> tuple[str, ...]:
    return tuple(sys.intern(word.folded) for word in words_of(text))


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
    is_particle = phrase[0] in _PARTICLES and (part.islower() or value.isupper())
    return len(phrase) == 1 and (_is_letter(phrase) or phrase[0] in _TITLES or is_particle)


def _is_letter(phrase: Sequence[str]) -> bool:
    return len(phrase) == 1 and len(phrase[0]) == 1 and re.match(f"[{_WITHOUT_SPACES}]", phrase[0]) is None


def _are_near(one: Word, other: Word, text: str) -> bool:
    return other.begin - one.end <= _LONGEST_GAP and not text[one.end : other.begin].count("\n") > 1


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

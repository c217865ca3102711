"""The forms in which addresses, numbers and dates stand in free text, kind by kind.

A form has a screen, an expression of RE2 that runs over a whole column and lets every text through that may hold the form, and a pattern that says
where it stands. Patterns are bounded everywhere, so that none of them can take long. What has a checksum counts only where that is right; what could
be any number counts only behind a word that says what it is. Where a pattern looks back, it does so behind its first character: so it is sought
by that character, which is many times quicker.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import national_identifiers
from sfumato.core.checksums import luhn, mod_97
from sfumato.core.iban_lengths import IBAN_LENGTHS
from sfumato.core.months import MONTH_NAMES, MONTHS_CAPITALISED, MONTHS_CUT_SHORT, MONTHS_WITH_YEAR

Kind = Literal[
    "url", "email", "iban", "card", "uuid", "us_ssn", "national_id", "mac", "ip", "date", "phone", "passport", "vehicle", "postcode"
]  # fmt: skip
"""The kinds of entities that patterns find."""

KINDS: tuple[Kind, ...] = get_args(Kind)
"""All of them, in the order in which they are looked for: what one has found is not looked at by the next."""


@dataclass(frozen=True)
class Form:
    """One way to write an entity: it is the group ``entity`` of the pattern where there is one, else all that the pattern finds.

    ``is_right`` says which values are such entities, without what ``without`` finds in them; ``end`` where one ends in a text that begins at a place,
    where the pattern finds only its beginning.
    """

    screen: str
    pattern: re.Pattern[str]
    is_right: Callable[[pa.Array], NDArray[np.bool_]] | None = None
    without: re.Pattern[str] | None = None
    end: Callable[[str, int], int] | None = None

    @cached_property
    def group(self) -> str | int:
        """The group of the pattern that is the entity."""
        return "entity" if "entity" in self.pattern.groupindex else 0


def _each(is_right: Callable[[str], bool]) -> Callable[[pa.Array], NDArray[np.bool_]]:
    """Return a test of a column, made of a test of a text."""
    return lambda texts: np.array([is_right(text) for text in texts.to_pylist()], bool)


_NO_DIGITS = re.compile(r"[^0-9]")
_NO_LETTERS = re.compile(r"[^0-9A-Za-z]")
# letters with their marks, which are characters of their own where a text is decomposed
_LETTERS = r"\w\u0300-\u036f"
_FEWEST_DIGITS_OF_AN_ACCOUNT = 8


def _account_end(text: str, begin: int) -> int:
    """Return where an account ends: it has as many letters and digits as those of its country, and no more follow at once. Nowhere: its beginning."""
    left = IBAN_LENGTHS.get(text[begin : begin + 2].upper(), 0)
    place = begin
    while left and place < len(text):
        is_part = text[place].isascii() and text[place].isalnum()
        if not is_part and (text[place] not in " .-" or not text[place - 1].isalnum()):
            return begin
        left -= is_part
        place += 1
    return place if place > begin and not left and not text[place : place + 1].isalnum() else begin


def _is_account(texts: pa.Array) -> NDArray[np.bool_]:
    plain = [text.upper() for text in texts.to_pylist()]
    # words of a sentence are no account, whatever their letters add up to
    numbers = np.array([sum(character.isdigit() for character in text[4:]) >= _FEWEST_DIGITS_OF_AN_ACCOUNT for text in plain], bool)
    right: NDArray[np.bool_] = mod_97(pa.array(plain, pa.string())) & numbers
    return right


def _upper(check: Callable[[pa.Array], NDArray[np.bool_]]) -> Callable[[pa.Array], NDArray[np.bool_]]:
    return lambda texts: check(pa.array([text.upper() for text in texts.to_pylist()], pa.string()))


@_each
def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return False
    return any(character.isalnum() for character in text)


@_each
def _is_day(text: str) -> bool:
    first, second, third = (int(part) for part in re.split(r"\D+", text)[:3])
    days, months = ((third, second), (second, first)) if first > 31 else ((first, second), (second, first))
    return any(1 <= day <= 31 and 1 <= month <= 12 for day, month in (days, months))


@_each
def _is_phone(text: str) -> bool:
    # from half past eight until a quarter to eleven
    return re.fullmatch(r"[012]\d\.?[0-5]\d ?- ?[012]\d\.?[0-5]\d", text) is None


_VEHICLE_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9], strict=True))
_VEHICLE_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


@_each
def _is_vehicle(text: str) -> bool:
    """Return whether the ninth character of a vehicle identification number is its check digit (49 CFR 565.15)."""
    values = [int(character) if character.isdigit() else _VEHICLE_VALUES[character] for character in text]
    rest = sum(value * weight for value, weight in zip(values, _VEHICLE_WEIGHTS, strict=True)) % 11
    return text[8] == "0123456789X"[rest]


@_each
def _is_plate(text: str) -> bool:
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)


@_each
def _has_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 3


# the time that may follow a date
_ZONE = r"(?:(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}(?![./-][0-9]))\b)"
_CLOCK = (
    r"[0-2]?[0-9](?::[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?|[hH][0-5][0-9])"
    rf"(?: ?(?:[AaPp]\.?[Mm]\b\.?|Uhr\b|h\b|{_ZONE}))?"
)
_TIME = rf"(?:T[0-2][0-9][0-5][0-9](?:[0-5][0-9])?{_ZONE}?|(?:T|,? {{1,2}}(?:(?:at|um|à|a las|alle|alle ore) )?){_CLOCK})?"
# numbers with one of these behind them are doses and sizes
_NO_UNIT = r"(?! ?(?:mg|mcg|µg|g|kg|ml|l|cm|mm|units?|iu|ie|mmol|mmhg)\b| ?%)"
_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|°|ª)"
_OF = r"(?:of |de |del |d['’])?"
_MORE_DAYS = rf"(?:{_ORDINAL}\b|[.º°])?(?: ?(?:-|to|bis|au|al|and|und|et|y|e) ?{_DAY}(?:{_ORDINAL}\b|[.º°])?)?"
_DAYS = rf"{_DAY}{_MORE_DAYS}"
# at the beginning of a date, sought by their first digit
_FIRST_DAY = r"[0-9](?<![0-9.,/].)(?:(?<=3)[01]|(?<=[12])[0-9]|(?<=0)[1-9]|(?<=[1-9]))"
_FIRST_DAYS = rf"{_FIRST_DAY}{_MORE_DAYS}"
_FIRST_YEAR = r"[12](?<![0-9.,/].)(?:(?<=1)9|(?<=2)0)[0-9]{2}"
_NAMES = "|".join(sorted(MONTH_NAMES, key=len, reverse=True))
_ALL_NAMES = "|".join(sorted((*MONTH_NAMES, *MONTHS_WITH_YEAR), key=len, reverse=True))
_NAME_END = r"(?![^\W\d_]|[\u0300-\u036f])"
_MONTH = rf"(?i:{_NAMES}){_NAME_END}"
_ANY_MONTH = rf"(?i:{_ALL_NAMES}){_NAME_END}\.?"
# may, march and dec are words and numbers of their own: beside a day they are months with a capital, some of them also without one behind the day
_CAPITALISED = "|".join(name for month in sorted(MONTHS_CAPITALISED, key=len, reverse=True) for name in (month.capitalize(), month.upper()))
_CAPITALISED_MONTH = rf"(?:{_CAPITALISED}){_NAME_END}"
_CUT_SHORT_MONTH = rf"(?:{'|'.join(sorted(MONTHS_CUT_SHORT, key=len, reverse=True))}){_NAME_END}"
_STOP = r"(?:(?<!March)(?<!MARCH)(?<!May)(?<!MAY)\.)?"
_MONTH_SCREEN = rf"(?i)[0-9][^0-9]{{0,4}}(?:of |de |del |d')?(?:{_ALL_NAMES})(?:[^a-z]|$)|\b(?:{_ALL_NAMES})[^0-9a-z]{{1,3}}(?:de |del |of )?[0-9]"
_MONTH_NUMBER = "(?:1[0-2]|0?[1-9])"
# a date follows no number, but may follow the first date of a range, or its time
_AFTER_TIME = r"(?<=[0-9]:[0-9]{2}[-/].)|(?<=[0-9]Z[-/].)"
_AFTER_YEAR_FIRST = (
    rf"(?:(?<![0-9./-].)|{_AFTER_TIME}|"
    + "|".join(rf"(?<=[12][0-9]{{3}}[-./][0-9]{{{month}}}[-./][0-9]{{{day}}}[-/].)" for month in (1, 2) for day in (1, 2))
    + ")"
)
_AFTER_YEAR_LAST = rf"(?:(?<![0-9./-].)|{_AFTER_TIME}|(?<=[0-9][./-][12][0-9]{{3}}[-/].)|(?<=[0-9][./][0-9]{{2}}-.))"
_BEFORE_YEAR_LAST = r"(?:(?![0-9]|[./-][0-9])|(?=[-/][0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2}))"
# what may stand between the word that says what a number is, and the number
_IS = "number|numbers|no|nr|num|nummer|numéro|número|numero|code|is|was|ist|lautet|est|es|è"
_BEHIND = (
    rf"(?i:\.?(?:(?:[ \t]{{0,2}}|-)\(?(?:(?:{_IS})\b|n[°º])\.?\)?)?[ \t]{{0,2}}(?:is\b|was\b)?"
    r"[ \t]?[:#=.]{0,2}[ \t]{0,2}(?:#[ \t]?)?)"
)
# another number, or a time, behind a telephone number
_NO_MORE = (
    r"[ /-]{1,3}0[1-9](?:[0-9]{1,4}[ /-]{1,3}[0-9](?:[ /-]?[0-9]){3}|(?:[ .][0-9]{2}){4}\b)"
    r"| {1,3}[0-2]?[0-9](?::[0-5][0-9]|\.[0-5][0-9] ?Uhr)\b"
)
_HEX = "[0-9A-Fa-f]"
# what stands in the place of a digit in Italian tax codes
_TAX = "[0-9LMNPQRSTUV]"


def _first_name(names: str, flags: str = "", behind: str = "") -> str:
    """Return the expression of names behind no letter, sought by their first characters; one whose case does not matter with the flag ``i``.

    ``behind`` says behind what else they may stand.
    """
    rests: dict[str, list[str]] = {}
    for name in names.split("|"):
        rests.setdefault(name[0] + name[0].upper() if flags else name[0], []).append(name[1:])
    each = "|".join(rf"(?<=[{first}])(?{flags}:{'|'.join(rest)})" for first, rest in rests.items())
    return rf"[{''.join(rests)}](?<![{_LETTERS}].){behind}(?:{each}){_NAME_END}"


def _month_forms() -> tuple[Form, ...]:
    """Dates with the name of a month: with a year, or where the name can mean nothing else with a day."""
    tail = rf"(?![0-9]){_TIME}"
    any_month = _first_name(_ALL_NAMES, "i") + r"\.?"
    no_day = r"(?<![0-9] .)(?<![0-9]\. .)"
    day_last = rf" {_DAY}(?![0-9.,]?[0-9]|[{_LETTERS}]){_NO_UNIT}{_TIME}"
    day_first = rf"{_OF}(?:{_MONTH}|(?:{_CAPITALISED_MONTH}|{_CUT_SHORT_MONTH}){_STOP}){_TIME}"
    patterns = (
        rf"{_FIRST_YEAR}([-/.]){_ANY_MONTH}\1{_DAY}{tail}",
        rf"{any_month}([-/]){_DAY}\1(?:{_YEAR}|[0-9]{{2}}){tail}",
        rf"{_FIRST_DAYS} {{0,2}}{_OF}{_ANY_MONTH},? {{0,2}}(?:de |del )?(?:{_YEAR}|['’][0-9]{{2}}){tail}",
        rf"{_FIRST_DAY}([-/]){_ANY_MONTH}\1(?:{_YEAR}|[0-9]{{2}}){tail}",
        rf"{any_month} ?{_DAYS}(?:, ?| )(?:{_YEAR}|['’][0-9]{{2}}){tail}",
        rf"{any_month}(?:,? (?:de |del |of )?|[-/]){_YEAR}{tail}",
        rf"{_FIRST_YEAR} (?:{_MONTH}|{_CAPITALISED_MONTH})\.? {_DAY}{_ORDINAL}?(?!\w|[.,][0-9]){_TIME}",
        rf"{_FIRST_DAY}(?:st|nd|rd|th) (?:of )?{_ANY_MONTH}{_TIME}",
        rf"{any_month} {_DAY}(?:st|nd|rd|th)\b{_TIME}",
        _first_name(_NAMES, "i", no_day) + day_last,
        _first_name(_CAPITALISED, "", no_day) + rf"\.?{day_last}",
        rf"{_FIRST_DAYS} {day_first}",
        # a word of other languages, which an article makes French
        rf"[ldaLDA](?<![{_LETTERS}].)[euEU] (?P<entity>{_DAYS} (?i:mars){_NAME_END}{_TIME})",
        # where what seemed the first of two days was that of another month
        rf"{_FIRST_DAY}[.º°]? {day_first}",
        _first_name(_NAMES, "i") + day_last,
        _first_name(_CAPITALISED) + rf"\.?{day_last}",
    )
    return tuple(Form(_MONTH_SCREEN, re.compile(pattern)) for pattern in patterns)


def _behind(words: str, value: str, is_right: Callable[[pa.Array], NDArray[np.bool_]] | None = None, without: re.Pattern[str] | None = None) -> Form:
    """Return the form of what counts only behind a word that says what it is."""
    return Form(
        rf"(?i)\b(?:{words})[^0-9\n]{{0,20}}[0-9]",
        re.compile(rf"(?<![{_LETTERS}])(?i:{words}){_BEHIND}(?P<entity>{value})(?![{_LETTERS}])"),
        is_right,
        without,
    )


def _national(kind: national_identifiers.NationalIdentifier, screen: str, pattern: str) -> Form:
    return Form(screen, re.compile(pattern), _upper(national_identifiers.CHECKS[kind]), _NO_LETTERS)


FORMS: dict[Kind, tuple[Form, ...]] = {
    "url": (
        Form("://", re.compile(r"\b(?:https?|ftps?|sftp|wss?)://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]", re.IGNORECASE)),
        Form(r"(?i)www[0-9]?\.", re.compile(r"(?<![\w@.-])www[0-9]?\.[^\W_][^\s<>\"']*[^\s<>\"'.,;:!?)\]}]", re.IGNORECASE)),
    ),
    "email": (
        Form(
            "@",
            re.compile(
                rf"(?:[{_LETTERS}+](?:[{_LETTERS}.!#$%&'*+/=?^`{{|}}~-]{{0,319}}+)|\"[^\"\n]{{1,64}}\")"
                rf"@(?:[^\W_](?:[{_LETTERS}-]{{0,62}}\.){{1,8}}[^\W\d_][{_LETTERS}-]{{1,62}}|\[[0-9A-Fa-f.:]{{2,45}}\])"
            ),
        ),
        Form(
            r"(?i)[(\[{] ?at ?[)\]}]",
            re.compile(r"[\w.+-]{1,64} ?[(\[{] ?(?i:at) ?[)\]}] ?[\w-]{1,63}(?: ?(?:\.|[(\[{] ?(?i:dot) ?[)\]}]| dot ) ?[\w-]{2,63}){1,5}"),
        ),
        Form(
            "(?i) at .* dot ",
            re.compile(
                r"\b[\w.+-]{1,64} at [\w-]{1,63}(?: dot [\w-]{2,63}){0,4} dot (?:com|org|net|edu|gov|info|eu|io|uk|de|fr|es|it|nl|at|ch|be|pt|pl)\b",
                re.IGNORECASE,
            ),
        ),
    ),
    "iban": (
        Form(
            rf"(?i)\b(?:{'|'.join(IBAN_LENGTHS)})[ .-]?[0-9]{{2}}(?:[ .-]?[A-Z]){{0,4}}[ .-]?[0-9][ .-]?[0-9]",
            re.compile(r"[A-Za-z](?<![A-Za-z0-9].)[A-Za-z][ .-]?[0-9]{2}(?=[ .-]?[A-Za-z0-9])"),
            _is_account,
            _NO_LETTERS,
            _account_end,
        ),
    ),
    "card": tuple(
        Form(r"[0-9](?:[ ./-]{0,2}[0-9]){12}", re.compile(pattern), luhn, _NO_DIGITS)
        for pattern in (
            r"(?<![0-9])[2-6][0-9]{3}([ ./-]{0,2})[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?(?![0-9])",
            r"(?<![0-9])[2-6][0-9]{3}([ ./-]{0,2})[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?![0-9])",
            r"(?<![0-9])3[47][0-9]{2}([ ./-]{0,2})[0-9]{6}\1[0-9]{5}(?![0-9])",
            r"(?<![0-9])3[0689][0-9]{2}([ ./-]{0,2})[0-9]{6}\1[0-9]{4}(?![0-9])",
            # two dates are as long
            r"(?<![0-9])(?!(?:[0-9]{1,2}[./-]){2}(?:19|20)[0-9]{2}\b|20[0-9]{2}(?:[./-][0-9]{1,2}\b){2})[2-6](?:[ ./-]?[0-9]){12,18}(?![0-9])",
        )
    ),
    "uuid": (Form(rf"{_HEX}{{8}}-{_HEX}{{4}}-", re.compile(rf"(?<!\w){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?!\w)")),),
    "us_ssn": (
        Form("[0-9]{3}-[0-9]{2}-[0-9]{4}", re.compile(r"(?<![0-9-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9-])"), national_identifiers.us_ssn, _NO_DIGITS),
        _behind("ssn|social security", r"[0-9]{3}[ .]?[0-9]{2}[ .]?[0-9]{4}", national_identifiers.us_ssn, _NO_DIGITS),
    ),
    "national_id": (
        _national(
            "fr_nir",
            "[1-478] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9ABab] ?[0-9]{3} ?[0-9]{3}",
            r"(?<![0-9A-Za-z])[1-478] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9ABab] ?[0-9]{3} ?[0-9]{3}[ /-]{0,3}[0-9]{2}(?![0-9])",
        ),
        _national("es_dni", "[0-9]{7,8}[ -]?[A-Za-z]", r"(?<![0-9A-Za-z])(?:[0-9]{8}|[XYZxyz][ -]?[0-9]{7})[ -]?[A-Za-z](?![0-9A-Za-z])"),
        _national(
            "it_codice_fiscale",
            rf"(?i)[A-Z]{{3}} ?[A-Z]{{3}} ?{_TAX}{{2}}[A-EHLMPR-T]{_TAX}{{2}} ?[A-Z]{_TAX}{{3}} ?[A-Z]",
            r"(?<!\w)[A-Za-z]{3} ?[A-Za-z]{3} ?[0-9A-Za-z]{2}[A-Za-z][0-9A-Za-z]{2} ?[A-Za-z][0-9A-Za-z]{3} ?[A-Za-z](?!\w)",
        ),
        _national(
            "uk_nino",
            "[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]",
            r"(?<!\w)(?:[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"
            r"|(?i:[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]))(?!\w)",
        ),
        _national("pl_pesel", "[0-9]{11}", r"(?<![0-9A-Za-z])[0-9]{11}(?![0-9A-Za-z])"),
        _national(
            "de_steuer_id", r"\b[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", r"[1-9](?<![0-9A-Za-z+].)[0-9]( ?)[0-9]{3}\1[0-9]{3}\1[0-9]{3}(?![0-9])"
        ),
        _behind("bsn|burgerservicenummer", r"[0-9]{4}[ .]?[0-9]{2}[ .]?[0-9]{3}", national_identifiers.nl_bsn, _NO_DIGITS),
    ),
    "mac": (
        Form(
            rf"{_HEX}{{2}}[:-]{_HEX}{{2}}[:-]{_HEX}{{2}}[:-]{_HEX}{{2}}",
            re.compile(rf"(?<![\w:-]){_HEX}{{2}}([:-])(?:{_HEX}{{2}}\1){{4}}(?:{_HEX}{{2}}\1{_HEX}{{2}}\1)?{_HEX}{{2}}(?![\w:])"),
        ),
        Form(rf"{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}", re.compile(rf"(?<![\w.])(?=[0-9.]*[A-Fa-f]){_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}(?![\w.])")),
    ),
    "ip": (
        Form(
            ":[0-9A-Fa-f]{0,4}:",
            re.compile(
                rf"(?<![\w:.])(?:{_HEX}{{0,4}}:){{2,7}}(?:[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}|{_HEX}{{1,4}})?(?:%[A-Za-z0-9.]{{1,16}})?(?![\w:])"
            ),
            _is_address,
        ),
        Form(
            r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
            re.compile(r"(?<![\w.])(?P<entity>[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?!\w)(?!\.[0-9])"),
            _is_address,
        ),
    ),
    "date": (
        Form(
            r"[0-9]\. ?- ?[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2}",
            re.compile(
                rf"[0-9](?<![0-9./-].)[0-9]?\. ?(?:{_MONTH_NUMBER}\.)? ?- ?{_DAY}\. ?{_MONTH_NUMBER}\. ?"
                rf"(?:{_YEAR}|[0-9]{{2}})(?![0-9]|[./-][0-9]){_TIME}"
            ),
        ),
        Form(
            "[0-9]{4}[-./][0-9]{1,2}[-./][0-9]",
            re.compile(rf"[12]{_AFTER_YEAR_FIRST}[0-9]{{3}}([-./])[0-9]{{1,2}}\1[0-9]{{1,2}}(?![0-9]){_TIME}"),
            _is_day,
        ),
        Form(
            "[0-9]{1,2} ?[-./] ?[0-9]{1,2} ?[-./] ?[0-9]{2}",
            re.compile(rf"[0-9]{_AFTER_YEAR_LAST}[0-9]?( ?[-./] ?)[0-9]{{1,2}}\1(?:[12][0-9]{{3}}|[0-9]{{2}}{_NO_UNIT}){_BEFORE_YEAR_LAST}{_TIME}"),
            _is_day,
        ),
        Form("[0-9]{8}T[0-9]", re.compile(rf"(?<![0-9A-Za-z])(?:19|20)[0-9]{{6}}(?=T[0-9]){_TIME}")),
        *_month_forms(),
    ),
    "phone": (
        Form(
            r"(?:\+ ?[1-9]|\(\+[1-9]|\b0[1-9]|\b00 ?[1-9]|\(0)(?:[ ()/.-]{0,3}[0-9]){5}",
            re.compile(
                r"[+(0](?<![\w+].)(?:(?<![0-9][.,].)|(?<=[0-9]{4},.))"
                r"(?:(?<=\+) ?[1-9]|(?<=\()(?:\+[1-9]|0[1-9]|00 ?[1-9]|0\) ?[1-9])|(?<=0)(?:[1-9]|0 ?[1-9]))(?:[ ()/.-]{0,3}[0-9]){5}"
                rf"(?:(?!{_NO_MORE})[ ()/.-]{{0,3}}[0-9]){{0,9}}"
                r"(?:,? ?(?i:ext\.?|extension|Durchwahl|poste|x) ?[0-9]{1,5})?(?!\w)"
            ),
            _is_phone,
        ),
        Form(
            "[2-9][0-9]{2}[).]?[ .-]{0,2}[2-9][0-9]{2}[ .-][0-9]{4}",
            re.compile(
                r"(?<![\w+.-])(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[.-])[2-9][0-9]{2}[ .-][0-9]{4}"
                r"(?:,? ?(?i:ext\.?|x) ?[0-9]{1,5})?(?![\w-])"
            ),
        ),
        _behind(
            "phone|telephone|tel|mobile|cell|fax|telefon|mobil|handy|téléphone|teléfono|telefono|móvil|cellulare|call|pager",
            rf"[0-9](?:[ ()/.-]{{0,3}}[0-9]){{5}}(?:(?!{_NO_MORE})[ ()/.-]{{0,3}}[0-9]){{0,9}}",
        ),
    ),
    "passport": (
        _behind("passport|reisepass|passnummer|passeport|pasaporte|passaporto", r"(?:[A-Z]{1,3} )?[A-Za-z]{0,3}[0-9][A-Za-z0-9]{5,8}", _has_digits),
    ),
    "vehicle": (
        Form(
            "[0-9A-HJ-NPR-Z]{17}",
            re.compile(r"(?<!\w)(?=[0-9]{0,16}[A-Z])[0-9A-HJ-NPR-Z]{8}[0-9X][0-9A-HJ-NPR-Z]{8}(?!\w)"),
            _is_vehicle,
        ),
        _behind(
            "registration|licence plate|license plate|number plate|plate|kennzeichen|immatriculation|matrícula|matricula|targa",
            r"[A-ZÄÖÜ0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4}){1,3}",
            _is_plate,
        ),
    ),
    "postcode": (
        _behind(
            "postcode|post code|postal code|zip|zip code|plz|postleitzahl|code postal|código postal|codice postale",
            r"(?:[0-9]{5}(?:-[0-9]{4})?|[0-9]{4}(?: ?[A-Z]{2}|[a-z]{2})?|[0-9]{2}-[0-9]{3}"
            r"|(?i:[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]))",
        ),
    ),
}
"""The forms of each kind."""

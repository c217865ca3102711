"""The forms in which addresses, numbers and dates stand in free text, kind by kind.

A form has a screen, an expression of RE2 that runs over a whole column and lets every text through that may hold the form, and a pattern that says
where it stands. Patterns are bounded everywhere, so that none of them can take long. What has a checksum counts only where that is right; what could
be any number counts only behind a word that says what it is. Where a pattern looks back, it does so behind its first character: so it is sought
by that character, which is many times quicker.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import national_identifiers
from sfumato.core.card_groups import is_card_grouped
from sfumato.core.checksums import luhn, mod_97
from sfumato.core.date_forms import DATE_FORMS
from sfumato.core.entity_form import LETTERS, WORD, Form, each
from sfumato.core.iban_lengths import IBAN_LENGTHS

Kind = Literal[
    "url", "email", "uuid", "iban", "card", "us_ssn", "national_id", "mac", "ip", "date", "phone", "passport", "vehicle", "postcode"
]  # fmt: skip
"""The kinds of entities that patterns find."""

KINDS: tuple[Kind, ...] = get_args(Kind)
"""All of them, in the order in which they are looked for: what one has found is not looked at by the next."""


_NO_DIGITS = re.compile(r"[^0-9]")
_NO_LETTERS = re.compile(r"[^0-9A-Za-z]")
_FEWEST_DIGITS_OF_AN_ACCOUNT = 8
_FEWEST_OF_A_CARD, _MOST_OF_A_CARD = 13, 19
_DIGITS = re.compile("[0-9]+")
_DIGIT_GROUPS = re.compile("[0-9]{1,19}(?:[ ./_-][0-9]{1,19}){0,9}")
_PAIR = 2
# of the numbers that begin with 2 those of cards begin with 22 to 27, and years do not
_ISSUER = "(?:[3-6][0-9]|2[2-7])"
_CARD = rf"{_ISSUER}[0-9]{{2}}"
_ISSUED = re.compile(r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|3[47][0-9]{13}|3[0689][0-9]{12}|(?:2[2-7]|3[0-9])[0-9]{14}|[56][0-9]{12,18}")
_CARD_WORDS = (
    "card|cards|visa|master ?card|amex|american express|maestro|diners|discover|jcb|pan|cc|kreditkarte|karte|kartennummer|carte|tarjeta|carta"
)
_FEWEST_OF_A_PHONE = 7


def _account_ends(text: str, begin: int) -> Iterator[int]:
    """Yield where an account ends: it has as many letters and digits as those of its country, and no digit follows."""
    left = IBAN_LENGTHS.get(text[begin : begin + 2].upper(), 0)
    place = begin
    while left and place < len(text):
        is_part = text[place].isascii() and text[place].isalnum()
        if not is_part and (text[place] not in " .-" or not text[place - 1].isalnum()):
            return
        left -= is_part
        place += 1
    if place > begin and not left and not text[place : place + 1].isdigit():
        yield place


def _card_ends(text: str, begin: int) -> Iterator[int]:
    """Yield where a card number may end whose groups have any signs between them."""
    match = _DIGIT_GROUPS.match(text, begin)
    groups = list(_DIGITS.finditer(text, begin, match.end())) if match is not None else []
    lengths: list[int] = []
    for group in groups:
        lengths.append(len(group[0]))
        if sum(lengths) > _MOST_OF_A_CARD:
            return
        if sum(lengths) >= _FEWEST_OF_A_CARD and (is_card_grouped(lengths) or _has_one_sign(text, groups[: len(lengths)])):
            yield group.end()


def _has_one_sign(text: str, groups: Sequence[re.Match[str]]) -> bool:
    """Return whether groups have one sign between them all, and three digits or more; two by two only where it is no space, as in measurements."""
    signs = {text[group.end()] for group in groups[:-1]}
    lengths = [len(group[0]) for group in groups]
    in_pairs = set(lengths) == {_PAIR} and signs != {" "}
    return len(signs) == 1 and (in_pairs or min(lengths[:-1]) > _PAIR)


def _is_card(texts: pa.Array) -> NDArray[np.bool_]:
    """Return whether digits have a right sum, and are as many as those of their issuer."""
    lengths = np.array([_ISSUED.fullmatch(text) is not None for text in texts.to_pylist()], bool)
    right: NDArray[np.bool_] = luhn(texts) & lengths
    return right


def _is_account(texts: pa.Array) -> NDArray[np.bool_]:
    plain = [text.upper() for text in texts.to_pylist()]
    # words of a sentence are no account, whatever their letters add up to
    numbers = np.array([sum(character.isdigit() for character in text[4:]) >= _FEWEST_DIGITS_OF_AN_ACCOUNT for text in plain], bool)
    right: NDArray[np.bool_] = mod_97(pa.array(plain, pa.string())) & numbers
    return right


def _upper(check: Callable[[pa.Array], NDArray[np.bool_]]) -> Callable[[pa.Array], NDArray[np.bool_]]:
    return lambda texts: check(pa.array([text.upper() for text in texts.to_pylist()], pa.string()))


@each
def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return False
    return any(character.isalnum() for character in text)


@each
def _is_phone(text: str) -> bool:
    # from half past eight until a quarter to eleven
    return re.fullmatch(r"[012]\d\.?[0-5]\d ?- ?[012]\d\.?[0-5]\d", text) is None


@each
def _is_whole_phone(text: str) -> bool:
    """Return whether a number is as long as one of a telephone, and ends with as long a group: other numbers of a sentence are shorter."""
    return sum(character.isdigit() for character in text) >= _FEWEST_OF_A_PHONE and re.search("[0-9]{4}$", text) is not None


_VEHICLE_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, 2, 3, 4, 5, 6, 7, 8, 9], strict=True))
_VEHICLE_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


@each
def _is_vehicle(text: str) -> bool:
    """Return whether the ninth character of a vehicle identification number is its check digit (49 CFR 565.15)."""
    values = [int(character) if character.isdigit() else _VEHICLE_VALUES[character] for character in text]
    rest = sum(value * weight for value, weight in zip(values, _VEHICLE_WEIGHTS, strict=True)) % 11
    return text[8] == "0123456789X"[rest]


@each
def _is_plate(text: str) -> bool:
    return any(character.isdigit() for character in text) and any(character.isalpha() for character in text)


@each
def _has_digits(text: str) -> bool:
    return sum(character.isdigit() for character in text) >= 3


# what may stand between the word that says what a number is, and the number
_IS = "number|numbers|no|nr|num|nummer|numéro|número|numero|code|is|was|ist|lautet|est|es|è"
_BEHIND = (
    rf"(?i:\.?(?:(?:[ \t]{{0,2}}|-)\(?(?:(?:{_IS})\b|n[°º])\.?\)?)?[ \t]{{0,2}}(?:is\b|was\b)?"
    r"[ \t]?[:#=.]{0,2}[ \t]{0,2}(?:#[ \t]?)?)"
)
_PHONE = (
    "(?:tele)?phone|tel|mobile|fax|telefax|telefon|mobil|handy|rufnummer|téléphone|portable|teléfono|telefono|móvil|celular|cellulare|pager"
    "|gsm|natel|whats ?app|sms|my number|meine nummer|mon numéro|mi número|il mio numero"
)
# words of other sentences too; `pH` is a measure of acids
_PHONE_PERHAPS = "(?-i:ph|Ph|PH)|cell|cel|(?:call|reach|ring|text|contact)(?: (?:me|us|him|her|them|back))?(?: (?:at|on|under))?"
_EXTENSION = r"(?:,? ?(?i:ext\.?|x) ?[0-9]{1,5})?"
_BEHIND_AREA = r"[0-9]{3}[ .-]{0,2}[0-9]{4}"
# another number, or a time, behind a telephone number
_NO_MORE = (
    r"\)?[ /,;-]{1,3}(?:\+|00[1-9](?:[ ()/.-]{0,3}[0-9]){6}|\(0\) ?[1-9]"
    rf"|\(0[1-9]|(?:1[ .-]?)?\([0-9]{{3}}\)[ ./-]{{0,2}}{_BEHIND_AREA}|(?:1[ .-])?[2-9][0-9]{{2}}[.-]{_BEHIND_AREA})|"
    r"\)?[ /-]{1,3}0[1-9](?:[0-9]{1,4}[ /-]{1,3}[0-9](?:[ /-]?[0-9]){3}|(?:[ .][0-9]{2}){4}\b)"
    r"| {1,3}[0-2]?[0-9](?::[0-5][0-9]|\.[0-5][0-9] ?Uhr)\b"
)
_HEX = "[0-9A-Fa-f]"
# no digit or letter stands before it, and a colon only behind a word that is no group of an address
_LABEL = "|".join(rf"(?<=[G-Zg-z][0-9A-Za-z]{{{number}}}:)" for number in range(4))
_NO_PART = rf"(?<![{WORD}])(?:(?<!:)|{_LABEL})"
# what stands in the place of a digit in Italian tax codes
_TAX = "[0-9LMNPQRSTUV]"


def _behind(words: str, value: str, is_right: Callable[[pa.Array], NDArray[np.bool_]] | None = None, without: re.Pattern[str] | None = None) -> Form:
    """Return the form of what counts only behind a word that says what it is."""
    return Form(
        rf"(?i)(?:^|[^0-9A-Za-z])(?:{words})[^0-9\n]{{0,20}}[0-9]",
        re.compile(rf"(?<![{WORD}])(?i:{words}){_BEHIND}(?P<entity>{value})(?![{WORD}])"),
        is_right,
        without,
    )


def _national(kind: national_identifiers.NationalIdentifier, screen: str, pattern: str) -> Form:
    return Form(screen, re.compile(pattern), _upper(national_identifiers.CHECKS[kind]), _NO_LETTERS)


FORMS: dict[Kind, tuple[Form, ...]] = {
    "url": (
        Form("://", re.compile(rf"(?<![{WORD}])(?:https?|ftps?|sftp|wss?)://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}}]", re.IGNORECASE)),
        Form(r"(?i)www[0-9]?\.", re.compile(rf"(?<![{WORD}@])(?<![{WORD}][.-])www[0-9]?\.[^\W_][^\s<>\"']*[^\s<>\"'.,;:!?)\]}}]", re.IGNORECASE)),
    ),
    "email": (
        Form(
            "@",
            re.compile(
                rf"(?:[{LETTERS}+](?:[{LETTERS}.!#$%&'*+/=?^`{{|}}~-]{{0,319}}+)|\"[^\"\n]{{1,64}}\")"
                rf"@(?:[^\W_](?:[{LETTERS}-]{{0,62}}\.){{1,8}}[^\W\d_][{LETTERS}-]{{1,62}}|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}|\[[0-9A-Fa-f.:]{{2,45}}\])"
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
            rf"(?i)(?:{'|'.join(IBAN_LENGTHS)})[ .-]?[0-9]{{2}}(?:[ .-]?[A-Z]){{0,4}}[ .-]?[0-9][ .-]?[0-9]",
            re.compile(r"[A-Za-z](?<![0-9].)[A-Za-z][ .-]?[0-9]{2}(?=[ .-]?[A-Za-z0-9])"),
            _is_account,
            _NO_LETTERS,
            _account_ends,
        ),
    ),
    "card": tuple(
        Form(r"[0-9](?:[ ./_-]{0,2}[0-9]){12}", re.compile(pattern), _is_card, _NO_DIGITS, ends)
        for pattern, ends in (
            (rf"(?<![0-9]){_CARD}([ ./_-]{{0,2}})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}(?:\1[0-9]{{1,3}})?(?![0-9])", None),
            (rf"(?<![0-9]){_CARD}([ ./_-]{{0,2}})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}(?![0-9])", None),
            (r"(?<![0-9])3[47][0-9]{2}([ ./_-]{0,2})[0-9]{6}\1[0-9]{5}(?![0-9])", None),
            (r"(?<![0-9])3[0689][0-9]{2}([ ./_-]{0,2})[0-9]{6}\1[0-9]{4}(?![0-9])", None),
            (rf"(?<![0-9+]){_ISSUER}(?=[0-9]|[./_-][0-9])", _card_ends),
            # whatever its groups, behind a word that says what it is
            (rf"(?<![{WORD}])(?i:{_CARD_WORDS}){_BEHIND}(?P<entity>[2-6](?:[ ./_-]{{0,2}}[0-9]){{12,18}})(?![0-9])", None),
        )
    ),
    "uuid": (Form(rf"{_HEX}{{8}}-{_HEX}{{4}}-", re.compile(rf"(?<![{WORD}]){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![{WORD}])")),),
    "us_ssn": (
        Form(
            "[0-9]{3}-[0-9]{2}-[0-9]{4}",
            re.compile(r"(?<![0-9])(?<![0-9]-)[0-9]{3}-[0-9]{2}-[0-9]{4}(?!-?[0-9])"),
            national_identifiers.us_ssn,
            _NO_DIGITS,
        ),
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
            rf"(?<![{WORD}])[A-Za-z]{{3}} ?[A-Za-z]{{3}} ?[0-9A-Za-z]{{2}}[A-Za-z][0-9A-Za-z]{{2}} ?[A-Za-z][0-9A-Za-z]{{3}} ?[A-Za-z](?![{WORD}])",
        ),
        _national(
            "uk_nino",
            "[A-Za-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]",
            rf"(?<![{WORD}])(?:[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{{2}} ?[0-9]{{2}} ?[0-9]{{2}} ?[A-D]"
            rf"|(?i:[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{{6}}[A-D]))(?![{WORD}])",
        ),
        _national("pl_pesel", "[0-9]{11}", r"(?<![0-9A-Za-z])[0-9]{11}(?![0-9A-Za-z])"),
        _national(
            "de_steuer_id", r"[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", r"[1-9](?<![0-9A-Za-z+].)[0-9]( ?)[0-9]{3}\1[0-9]{3}\1[0-9]{3}(?![0-9])"
        ),
        _behind("bsn|burgerservicenummer", r"[0-9]{4}[ .]?[0-9]{2}[ .]?[0-9]{3}", national_identifiers.nl_bsn, _NO_DIGITS),
    ),
    "mac": (
        Form(
            rf"{_HEX}{{2}}[:-]{_HEX}{{2}}[:-]{_HEX}{{2}}[:-]{_HEX}{{2}}",
            re.compile(
                rf"{_NO_PART}(?<![{WORD}]-){_HEX}{{2}}([:-])(?:{_HEX}{{2}}\1){{4}}(?:{_HEX}{{2}}\1{_HEX}{{2}}\1)?{_HEX}{{2}}(?![{WORD}]|:[{WORD}:])"
            ),
        ),
        Form(
            rf"{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}",
            re.compile(rf"(?<![{WORD}])(?<![{WORD}]\.)(?=[0-9.]*[A-Fa-f]){_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}(?!\.?[{WORD}])"),
        ),
    ),
    "ip": (
        Form(
            ":[0-9A-Fa-f]{0,4}:",
            re.compile(
                rf"{_NO_PART}(?<![{WORD}]\.)(?:{_HEX}{{0,4}}:){{2,7}}(?:[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}|{_HEX}{{1,4}})?"
                # a single colon behind it is that of the sentence
                rf"(?:(?<=[0-9A-Fa-f])|(?<=::))(?:%[A-Za-z0-9.]{{1,16}})?(?![{WORD}]|:[{WORD}:])"
            ),
            _is_address,
        ),
        Form(
            r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]",
            re.compile(rf"(?<![{WORD}])(?<![{WORD}]\.)(?P<entity>[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})(?!\.?[0-9]|[{WORD}])"),
            _is_address,
        ),
    ),
    "date": DATE_FORMS,
    "phone": (
        Form(
            r"(?:\+ ?[1-9]|\(\+[1-9]|(?:^|[^0-9A-Za-z])00? ?[1-9]|\(0)(?:[ ()/.-]{0,3}[0-9]){5}",
            re.compile(
                rf"[+(0](?<![{WORD}+].)(?<![0-9]:.)(?:(?<![0-9][.,].)|(?<=[0-9]{{4}},.)|(?<=\+))"
                # an area code stands in brackets before it, and belongs to it
                r"(?!(?:(?<=\([0-9]{3}\)0)|(?<=\([0-9]{3}\)[ ./-]0))[0-9]{2}[ .-]{0,2}[0-9]{4}(?!\w|-[0-9]))"
                r"(?:(?<=\+) ?[1-9]|(?<=\()(?:\+[1-9]|0[1-9]|00 ?[1-9]|0\) ?[1-9])|(?<=0)(?:[1-9]|0 ?[1-9]))(?:[ ()/.-]{0,3}[0-9]){5}"
                rf"(?:(?!{_NO_MORE})[ ()/.-]{{0,3}}[0-9]){{0,9}}"
                r"(?:,? ?(?i:ext\.?|extension|Durchwahl|poste|x) ?[0-9]{1,5})?"
                rf"(?![{WORD}])"
            ),
            _is_phone,
        ),
        Form(
            rf"\([0-9]{{3}}\)[ ./-]{{0,2}}{_BEHIND_AREA}",
            re.compile(rf"(?:(?<![\w+.-])1[ .-]?)?\([0-9]{{3}}\)[ ./-]{{0,2}}{_BEHIND_AREA}{_EXTENSION}(?![{WORD}]|-[0-9])"),
        ),
        Form(
            "[2-9][0-9]{2}[.-][2-9][0-9]{2}[ .-][0-9]{4}",
            re.compile(
                rf"(?<![{WORD}+])(?<![{WORD}][.-])(?:1[ .-])?[2-9][0-9]{{2}}[.-][2-9][0-9]{{2}}[ .-][0-9]{{4}}{_EXTENSION}(?![{WORD}]|-[0-9])"
            ),
        ),
        _behind(
            _PHONE,
            rf"\(?[0-9](?:[ ()/.-]{{0,3}}[0-9]){{5}}(?:(?!{_NO_MORE})[ ()/.-]{{0,3}}[0-9]){{0,9}}",
        ),
        _behind(_PHONE_PERHAPS, r"\(?[0-9]{2,}\)?(?:[ ()/-]{1,3}[0-9]{2,}){0,4}", _is_whole_phone),
    ),
    "passport": (
        _behind("passport|reisepass|passnummer|passeport|pasaporte|passaporto", r"(?:[A-Z]{1,3} )?[A-Za-z]{0,3}[0-9][A-Za-z0-9]{5,8}", _has_digits),
    ),
    "vehicle": (
        Form(
            "[0-9A-HJ-NPR-Z]{17}",
            re.compile(rf"(?<![{WORD}])(?=[0-9]{{0,16}}[A-Z])[0-9A-HJ-NPR-Z]{{8}}[0-9X][0-9A-HJ-NPR-Z]{{8}}(?![{WORD}])"),
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

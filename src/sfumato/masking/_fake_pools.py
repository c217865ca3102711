"""Pools of made-up values, each made once by faker. A private part of ``fake``.

What belongs together is made together: a person has a first and a last name, and an e-mail address and a user name that follow from them; a place
has a street, a town, a postcode and a country. The pools of one version of faker are always the same.
"""

from __future__ import annotations

import logging
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, UnreachableError
from sfumato.masking._own_countries import OWN_NAMES

PERSON = ("name", "first_name", "last_name", "email", "user_name")
PLACE = ("street_address", "city", "postcode", "country")
_SIZE = 10_000
# never those of real people
_DOMAINS = ("example.com", "example.net", "example.org")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
# what every country has a form of its own for
_NATIONAL = {"ssn": "faker.providers.ssn", "license_plate": "faker.providers.automotive"}
_AMERICAN = ("en", "en_US")
# numbers of people that faker knows by other names
_NUMBERS_OF_PEOPLE = {
    **dict.fromkeys(("de", "de_DE"), "rvnr"),
    **dict.fromkeys(("es", "es_CA", "es_ES"), "nuss"),
    **dict.fromkeys(("cs_CZ", "sk_SK"), "birth_number"),
    "es_CL": "person_rut",
    "es_CO": "nuip",
}
# what a locale that does not know a kind of value says
_UNKNOWN = (AttributeError, AssertionError, ValueError, TypeError, LookupError)


def refuse_missing_library() -> None:
    """Refuse to go on without the library that makes values up."""
    try:
        import faker  # noqa: F401 - only whether it is there
    except ImportError:
        raise UnreachableError("fake values need the library faker", code="fake-missing", hint="pip install 'sfumato[masking]'") from None


def locales() -> list[str]:
    """Return the names of the known locales."""
    from faker.config import AVAILABLE_LOCALES

    return sorted(AVAILABLE_LOCALES)


def is_known(kind: str, locale: str) -> bool:
    """Return whether a locale has a kind of value."""
    try:
        with _quietly():
            _maker(kind, locale)()
    except _UNKNOWN:
        return False
    return True


def pool(kind: str, locale: str, together: bool) -> pa.Array:
    """Return the values of which one is picked; with ``together`` values at the same place in pools of one group belong together."""
    group = next((group for group in (PERSON, PLACE) if kind in group), None)
    # alone, a country is any one; in a place it is that of the locale
    if group is not None and (together or kind != "country"):
        return _rows(group, locale)[kind]
    return _alone(kind, locale)


@cache
def _alone(kind: str, locale: str) -> pa.Array:
    make = _maker(kind, locale)
    with _quietly():
        return pa.array(list(dict.fromkeys(_made(make))), pa.string())


@cache
def _rows(group: tuple[str, ...], locale: str) -> dict[str, pa.Array]:
    faker = _faker(locale)
    make = (lambda: _person(faker)) if group == PERSON else (lambda: _place(faker))
    with _quietly():
        # people by their names, places by their streets and towns
        distinct = {row[:2] if group == PLACE else row[:1]: row for row in _made(make)}
    columns = zip(*distinct.values(), strict=True)
    return {name: pa.array(column, pa.string()) for name, column in zip(group, columns, strict=True)}


def _made(make: Callable[[], Any]) -> Iterator[Any]:
    """Make many values; some locales fail now and then."""
    failed = 0
    for _ in range(_SIZE):
        try:
            yield make()
        except _UNKNOWN:
            failed += 1
    if failed == _SIZE:
        raise DataError("faker makes no value of this kind in this locale", code="fake-empty", hint="another locale, or another kind")


def _maker(kind: str, locale: str) -> Callable[[], Any]:
    faker = _faker(locale)
    if kind in PERSON:
        return lambda: _person(faker)
    if kind in PLACE and kind != "country":
        return lambda: _place(faker)
    if kind == "iban":
        # where a locale has no accounts of its own, faker takes British ones, not always of the right length
        return _faker("en_GB").iban if faker.iban().startswith("GB") else faker.iban  # type: ignore[no-any-return]  # Faker has no types
    if kind == "credit_card":
        # of the issuers whose numbers have 16 digits: others have 13 to 19
        return lambda: faker.credit_card_number(card_type=faker.random_element(("visa16", "mastercard", "discover")))
    if kind in _NATIONAL and _is_american(faker, kind) and locale not in _AMERICAN:
        own = _NUMBERS_OF_PEOPLE.get(locale) if kind == "ssn" else None
        if own is None:
            # faker takes those of the United States, which are nobody's there
            raise LookupError(kind)
        kind = own
    made: Callable[[], Any] = getattr(faker, kind)
    return made


def _is_american(faker: Any, kind: str) -> bool:
    """Return whether faker has no form of its own for a number of a locale."""
    from faker.providers.ssn import Provider

    (own,) = (each for each in faker.get_providers() if each.__provider__ == _NATIONAL[kind])
    return own.__lang__ in _AMERICAN or (kind == "ssn" and type(own).ssn is Provider.ssn and type(own).ssn_formats is Provider.ssn_formats)


def _faker(locale: str) -> Any:
    from faker import Faker

    with _quietly():
        made = Faker(locale, use_weighting=False)
    made.seed_instance(0)
    return made


def _person(faker: Any) -> tuple[str, ...]:
    sex = faker.random_element(("male", "female"))
    first, last = (str(getattr(faker, f"{part}_name_{sex}")()) for part in ("first", "last"))
    written = " ".join(_plain(part) for part in (first, last)).split()
    user = "".join((written[0][0], *written[1:])) if len(written) > 1 else str(faker.user_name())
    user = f"{user}{faker.random_int(10, 99)}"
    address = f"{'.'.join(written) if len(written) > 1 else user}@{faker.random_element(_DOMAINS)}"
    return _full_name(faker, first, last), first, last, address, user


def _full_name(faker: Any, first: str, last: str) -> str:
    """Return a whole name in the order and with the space that the locale has."""
    (provider,) = (each for each in faker.get_providers() if each.__provider__ == "faker.providers.person")
    form = next(iter(provider.formats))
    # a family name first, and perhaps without a space, as in Chinese
    between = " " if " " in form or "last_name" not in form else ""
    return between.join((last, first) if 0 <= form.find("last_name") < form.find("first_name") else (first, last))


def _plain(text: str) -> str:
    """Return a name in the letters of mail addresses; nothing of one in another script.

    >>> _plain("Zoë Große-Łoś"), _plain("太一")
    ('zoegrosselos', '')
    """
    parted = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(letter for letter in parted if letter.isascii() and letter.isalpha())


def _place(faker: Any) -> tuple[str, ...]:
    written = (str(getattr(faker, part)()).replace("\n", ", ") for part in ("street_address", "city", "postcode"))
    return (*written, _country(faker))


def _country(faker: Any) -> str:
    """Return the name of the locale's country, in its language where faker has countries in it."""
    (locale,) = faker.locales
    try:
        return OWN_NAMES.get(locale) or str(faker.current_country())
    except ValueError:
        # a locale of a country that faker has no name for
        return str(faker.country())


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what faker says of its locales to itself."""
    logger = logging.getLogger("faker")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)

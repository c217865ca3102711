"""Pools of made-up values, each made once by faker. A private part of ``fake``.

What belongs together is made together: a person has a first and a last name, and an e-mail address and a user name that follow from them; a place
has a street, a town and a postcode. The pools of one version of faker are always the same. Where faker has nothing of a locale it takes what is
American, or British: that is refused.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, UnreachableError
from sfumato.masking._mail_letters import mail_letters
from sfumato.masking._own_accounts import accounts
from sfumato.masking._own_countries import NOWHERE, OWN_NAMES

PERSON = ("name", "first_name", "last_name", "email", "user_name")
PLACE = ("street_address", "city", "postcode")
_SIZE = 10_000
# never those of real people
_DOMAINS = ("example.com", "example.net", "example.org")
# what every country has a form of its own for, and names, which are those of a language
_NATIONAL = {
    **dict.fromkeys(PERSON, "faker.providers.person"),
    **dict.fromkeys(PLACE, "faker.providers.address"),
    "phone_number": "faker.providers.phone_number",
    "ssn": "faker.providers.ssn",
    "license_plate": "faker.providers.automotive",
}
_AMERICAN = ("en", "en_US")
# Canadian numbers have the form of those of the United States
_AMERICAN_PHONES = ("fr_CA", "fr_QC")
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


def is_known(kind: str, locale: str, together: bool = False) -> bool:
    """Return whether a locale has a kind of value; of countries with ``together`` whether it has one of its own."""
    try:
        with _quietly():
            _maker(kind, locale, together)()
    except _UNKNOWN:
        return False
    return True


def pool(kind: str, locale: str, together: bool) -> pa.Array:
    """Return the values of which one is picked; with ``together`` values at the same place in pools of one group belong together."""
    group = next((group for group in (PERSON, PLACE) if kind in group), None)
    return _alone(kind, locale, together) if group is None else _rows(group, locale)[kind]


@cache
def _alone(kind: str, locale: str, together: bool) -> pa.Array:
    make = _maker(kind, locale, together)
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


def _maker(kind: str, locale: str, together: bool) -> Callable[[], Any]:
    faker = _faker(locale)
    if kind == "iban":
        return accounts(locale, _faker)
    if kind == "country" and together:
        # alone, a country is any one; in a place it is that of the locale
        return lambda: _country(faker)
    if kind == "credit_card":
        # of the issuers whose numbers have 16 digits: others have 13 to 19
        return lambda: faker.credit_card_number(card_type=faker.random_element(("visa16", "mastercard", "discover")))
    if kind in _NATIONAL and _is_american(faker, kind) and not _may_be_american(kind, locale):
        own = _NUMBERS_OF_PEOPLE.get(locale) if kind == "ssn" else None
        if own is None:
            # faker takes those of the United States, which are nobody's there
            raise LookupError(kind)
        kind = own
    if kind in PERSON:
        return lambda: _person(faker)
    if kind in PLACE:
        return lambda: _place(faker)
    made: Callable[[], Any] = getattr(faker, kind)
    return made


def _may_be_american(kind: str, locale: str) -> bool:
    """Return whether what is American is right in a locale: names are those of a language."""
    return locale in _AMERICAN or (kind in PERSON and locale.startswith("en_")) or (kind == "phone_number" and locale in _AMERICAN_PHONES)


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
    written = [letters for part in (first, last) if (letters := mail_letters(part, faker))]
    user = "".join((written[0][0], *written[1:])) if len(written) > 1 else "".join(written) or "user"
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


def _place(faker: Any) -> tuple[str, ...]:
    makers = (
        _japanese_street if faker.locales == ["ja_JP"] else lambda made: made.street_address(),
        lambda made: made.city(),
        lambda made: made.postcode(),
    )
    return tuple(" ".join(str(make(faker)).replace("\n", ", ").split()) for make in makers)


def _japanese_street(faker: Any) -> str:
    """Return a quarter and the numbers of block and house: faker would make an English street of a family name."""
    return "".join((faker.town(), faker.chome(), faker.ban(), faker.gou()))


def _country(faker: Any) -> str:
    """Return what the locale's country is called there."""
    (locale,) = faker.locales
    if locale in NOWHERE:
        raise LookupError(locale)
    return OWN_NAMES.get(locale) or str(faker.current_country())


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

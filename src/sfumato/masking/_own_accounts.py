"""International bank account numbers (ISO 13616) of the countries of locales. A private part of ``fake``.

The forms are those of the registry of SWIFT; where it allows letters and digits, there are digits here. What a country itself checks in its numbers
is made up too; the two digits of ISO 13616 are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# what faker itself makes in the form of the country
_MADE_BY_FAKER = frozenset(
    (
        "AT",
        "AZ",
        "BE",
        "BR",
        "CH",
        "CZ",
        "DE",
        "DK",
        "ES",
        "FI",
        "FR",
        "GB",
        "GR",
        "IE",
        "IR",
        "IT",
        "MK",
        "NL",
        "NO",
        "PL",
        "PT",
        "RO",
        "RU",
        "SK",
        "TR",
        "UA",
    )
)
# for locales of which faker knows nothing but other locales of the country
_ELSEWHERE = {"dk_DK": "da_DK", "es_CA": "es_ES", "fr_BE": "nl_BE", "ga_IE": "en_IE"}
_COUNTRIES = {"de": "DE", "es": "ES", "es_CA": "ES"}
FORMS = {
    "AE": "#" * 19,
    "AL": "#" * 24,
    "BA": "#" * 16,
    "BG": "????" + "#" * 14,
    "BH": "????" + "#" * 14,
    "CY": "#" * 24,
    "EE": "#" * 16,
    "EG": "#" * 25,
    "GE": "??" + "#" * 16,
    "HR": "#" * 17,
    "HU": "#" * 24,
    "IL": "#" * 19,
    "IS": "#" * 22,
    "JO": "????" + "#" * 22,
    "LI": "#" * 17,
    "LT": "#" * 16,
    "LU": "#" * 16,
    "LV": "????" + "#" * 13,
    "MT": "????" + "#" * 23,
    "PK": "????" + "#" * 16,
    "PS": "????" + "#" * 21,
    "SA": "#" * 20,
    "SE": "#" * 20,
    "SI": "#" * 15,
}
"""What follows the country and the two digits of the check, where faker has no accounts of a country: digits (#) and capital letters (?)."""


def accounts(locale: str, faker_of: Callable[[str], Any]) -> Callable[[], str]:
    """Return what makes account numbers of the country of a locale, British ones where it has none."""
    from faker.providers.bank import Provider

    country = _COUNTRIES.get(locale, locale[-2:])
    if country in _MADE_BY_FAKER:
        made: Callable[[], str] = faker_of(_ELSEWHERE.get(locale, locale)).iban
        return made
    if country not in FORMS:
        return accounts("en_GB", faker_of)
    form = {"country_code": country, "bban_format": FORMS[country]}
    return type("Provider", (Provider,), form)(faker_of(locale).factories[0]).iban  # type: ignore[no-any-return]  # Faker has no types

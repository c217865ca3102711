from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from faker.providers import BaseProvider

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking._fake_pools import _faker, _person, is_known, locales, pool
from sfumato.masking._own_countries import NOWHERE, OWN_NAMES
from sfumato.masking.fake import Fake

KEYS = Keys({"main": (Key("k1", bytes(range(32))),), "other": (Key("k2", bytes(32)),)})


def masked(values: list[Any], others: dict[str, list[Any]] | None = None, **settings: Any) -> list[Any]:
    mask = Fake(**settings)
    batch = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.string()), **(others or {})})
    found = mask.apply(batch, MaskContext("value", keys=KEYS))
    assert found.type == pa.string()
    result: list[Any] = found.to_pylist()
    return result


def is_account(text: str) -> bool:
    """Check an IBAN as ISO 13616 says."""
    turned = text[4:] + text[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


def is_card(text: str) -> bool:
    """Check the last digit as Luhn says."""
    digits = [int(digit) for digit in reversed(text)]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


@pytest.mark.parametrize(
    ("locale", "country", "length"),
    [
        ("de_DE", "DE", 22),
        ("en_GB", "GB", 22),
        ("ar_SA", "SA", 24),
        ("bg_BG", "BG", 22),
        ("de_LU", "LU", 20),
        ("es_CA", "ES", 24),
        ("fr_BE", "BE", 16),
        ("he_IL", "IL", 23),
        ("hr_HR", "HR", 21),
        ("hu_HU", "HU", 28),
        ("mt_MT", "MT", 31),
        ("sv_SE", "SE", 24),
        ("tr_TR", "TR", 26),
        # countries without such accounts
        ("en_US", "GB", 22),
        ("ja_JP", "GB", 22),
        ("th_TH", "GB", 22),
    ],
)
def test_accounts_are_of_the_country_with_right_check_digits_and_lengths(locale: str, country: str, length: int) -> None:
    found = masked(["x"] * 500, kind="iban", locale=locale)
    assert all(is_account(text) for text in found)
    assert {(text[:2], len(text)) for text in found} == {(country, length)}


def test_cards_have_right_check_digits() -> None:
    cards = masked(["x"] * 500, kind="credit_card")
    assert all(is_card(text) for text in cards)
    assert {len(text) for text in cards} == {16}


def test_under_a_key_the_same_value_gets_the_same_fake() -> None:
    one, two, three = masked(["Ann", "Bo", "Ann"], kind="name", key="main")
    assert one == three != two
    assert masked(["Ann"], kind="name", key="main") == [one]
    assert masked(["Ann"], kind="name", key="other") != [one]


def test_without_a_key_chance_decides() -> None:
    assert len(set(masked(["Ann"] * 100, kind="name"))) > 90


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["de_DE", "ja_JP", "cs_CZ", "zh_CN", "es_CL", "ar_AA"])
def test_the_names_of_one_person_belong_together(locale: str) -> None:
    people = [str(number) for number in range(50)]
    columns = {
        kind: masked(["x"] * 50, {"pid": people}, kind=kind, locale=locale, by=["pid"], key="main")
        for kind in ("name", "first_name", "last_name", "email", "user_name")
    }
    for name, first, last, mail, user in zip(*columns.values(), strict=True):
        assert first in name
        assert last in name
        assert mail.endswith(("@example.com", "@example.net", "@example.org"))
        assert mail.isascii()
        assert user.isascii()


def test_a_mail_address_follows_from_the_name() -> None:
    names, mails = (masked(["x"] * 3, {"pid": ["1", "2", "3"]}, kind=kind, by=["pid"], key="main") for kind in ("name", "email"))
    assert [mail.split("@")[0] for mail in mails] == [name.lower().replace(" ", ".") for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "name", "mail"),
    [
        ("ar_SA", "هايدي آل خضير", "hydy.alkhdyr"),
        ("az_AZ", "Səidə İsaxanlı", "seide.isaxanli"),
        ("bg_BG", "Славея Певецова", "slaveya.pevetsova"),
        ("el_GR", "Καλλίνικη Μαράκη", "kalliniki.maraki"),
        ("he_IL", "מיכאלה שטרן", "myklh.shtrn"),
        ("ja_JP", "岡田 桃子", "momoko.okada"),
        ("ko_KR", "전지우", "jiu.jeon"),
        ("ru_RU", "Маслов Ладислав", "ladislav.maslov"),
        ("uk_UA", "Богодар Ящук", "bohodar.yashchuk"),
        ("zh_CN", "成玉华", "yuhua.cheng"),
    ],
)
def test_a_mail_address_follows_from_a_name_in_another_script(locale: str, name: str, mail: str) -> None:
    found = dict(zip(*(pool(kind, locale, True).to_pylist() for kind in ("name", "email")), strict=True))
    assert found[name].split("@")[0] == mail


@pytest.mark.parametrize("locale", [locale for locale in locales() if is_known("name", locale)])
def test_a_mail_address_has_a_part_for_each_name_in_every_locale(locale: str) -> None:
    faker = _faker(locale)
    for _ in range(30):
        _, first, last, mail, user = _person(faker)
        told = mail.split("@")[0].split(".")
        assert len(told) == 2
        assert re.sub("[0-9]{2}$", "", user) == told[0][0] + told[1]
        # what is written in plain letters stays as it is
        assert all(letters == re.sub("[^a-z]", "", part.lower()) for letters, part in zip(told, (first, last), strict=True) if part.isascii())


def test_a_name_without_letters_of_mail_addresses_gets_a_neutral_one() -> None:
    faker = _faker("zh_CN")
    faker.add_provider(Nameless)
    *_, mail, user = _person(faker)
    assert re.fullmatch("user[0-9]{2}", user)
    assert mail.split("@")[0] == user


class Nameless(BaseProvider):
    """Makes names of which no table has a letter."""

    def first_name_male(self) -> str:
        return "\ue000"

    first_name_female = last_name_male = last_name_female = first_name_male


def test_the_parts_of_one_place_belong_together() -> None:
    pids = ["1", "2", "1"]
    places = [masked(["x"] * 3, {"pid": pids}, kind=kind, locale="de_DE", by=["pid"], key="main") for kind in ("city", "postcode", "country")]
    first, second, third = zip(*places, strict=True)
    assert first == third != second
    assert set(places[2]) == {"Deutschland"}
    assert len(set(masked(["x"] * 100, kind="country"))) > 20


@pytest.mark.parametrize(
    ("locale", "country"),
    [
        ("es_ES", "España"),
        ("en_GB", "United Kingdom"),
        ("fr_FR", "France"),
        ("ja_JP", "日本"),
        ("tr_TR", "Türkiye"),
        ("ar_SA", "المملكة العربية السعودية"),
        ("pl_PL", "Polska"),
        ("en_MS", "Malaysia"),
    ],
)
def test_the_country_of_a_place_has_the_name_that_it_has_there(locale: str, country: str) -> None:
    assert masked(["x"], {"pid": ["1"]}, kind="country", locale=locale, by=["pid"], key="main") == [country]


@pytest.mark.parametrize("locale", sorted(OWN_NAMES.keys() - {"zh_TW"}))
def test_names_of_countries_are_those_that_faker_uses_where_it_has_them_in_the_language(locale: str) -> None:
    countries = address_provider(locale).countries
    assert OWN_NAMES[locale] in countries or "Germany" in countries or "germany" in countries


@pytest.mark.parametrize("locale", locales())
def test_every_locale_has_a_country_of_its_own_or_none(locale: str) -> None:
    provider = address_provider(locale)
    own = locale in ("en", "en_US") or provider.__lang__ not in ("en", "en_US")
    assert locale in OWN_NAMES or locale in NOWHERE or (own and provider.current_country())


def address_provider(locale: str) -> Any:
    (found,) = (each for each in _faker(locale).get_providers() if each.__provider__ == "faker.providers.address")
    return found


@pytest.mark.parametrize(
    ("kind", "locale", "form"),
    [
        ("ssn", "en_US", r"[0-9]{3}-[0-9]{2}-[0-9]{4}"),
        ("ssn", "de_DE", r"[0-9]{8}[A-Z][0-9]{3}"),
        ("ssn", "es_ES", r"[0-9]{12}"),
        ("ssn", "it_IT", r"[A-Z]{6}[0-9A-Z]{2}[A-Z][0-9A-Z]{2}[A-Z][0-9A-Z]{3}[A-Z]"),
        ("ssn", "ko_KR", r"[0-9]{6}-[0-9]{7}"),
        ("license_plate", "de_DE", r"[A-ZÄÖÜ][A-ZÄÖÜa-z]{0,2}-[A-Z]{1,2}-[0-9]{1,4}"),
    ],
)
def test_numbers_of_people_and_cars_have_the_form_of_their_country(kind: str, locale: str, form: str) -> None:
    assert all(re.fullmatch(form, number) for number in masked(["x"] * 50, kind=kind, locale=locale))


def test_several_columns_decide_together() -> None:
    one, two, three = masked(["x"] * 3, {"a": ["1", "11", "1"], "b": ["12", "2", "12"]}, kind="name", by=["a", "b"], key="main")
    assert one == three != two


def test_whatever_was_there_is_gone_and_a_missing_value_can_be_made_up() -> None:
    found = masked(["", None, "🙂" * 1_000, "שלום"], kind="city", key="main")
    assert all(found)
    assert masked([None, None], kind="city", key="main") == found[1:2] * 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "name", "locale": "de-DE"}, "is no locale that faker knows; try de_DE"),
        ({"kind": "name", "locale": "pl"}, "is no locale that faker knows; try pl_PL"),
        ({"kind": "name", "by": ["pid"]}, "takes by only with a key: what belongs together would be picked by chance"),
        ({"kind": "phone_number", "locale": "en_PH"}, "finds no phone_number in the locale en_PH; another locale, or another kind"),
        ({"kind": "ssn", "locale": "ja_JP"}, "finds no ssn in the locale ja_JP; another locale, or another kind"),
        ({"kind": "license_plate", "locale": "cs_CZ"}, "finds no license_plate in the locale cs_CZ; another locale, or another kind"),
        ({"kind": "name", "domain": "a"}, "takes a domain only with a key"),
        ({"kind": "city", "locale": "tr_TR"}, "finds no city in the locale tr_TR; another locale, or another kind"),
        ({"kind": "phone_number", "locale": "ar_SA"}, "finds no phone_number in the locale ar_SA; another locale, or another kind"),
        ({"kind": "name", "locale": "el_CY"}, "finds no name in the locale el_CY; el_GR has some of the language"),
        ({"kind": "email", "locale": "sq_AL"}, "finds no email in the locale sq_AL; another locale, or another kind"),
        (
            {"kind": "country", "locale": "sw", "by": ["pid"], "key": "main"},
            "finds no country in the locale sw; another locale, or another kind",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Fake(**settings)
    assert raised.value.mistakes[0].message == words


@pytest.mark.slow
def test_without_faker_the_policy_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name\nAnn\n", encoding="utf-8")
    policy = "source: people.csv\ncolumns: {name: {role: identifier, mask: {fake: {kind: name}}}}\nsink: out.csv\n"
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    program = "import sys; sys.modules['faker'] = None; from sfumato.cli.app import run_command; sys.exit(run_command(['check', 'policy.yaml']))"

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 5
    assert done.stderr == "fake values need the library faker [fake-missing]\n  try: pip install 'sfumato[masking]'\n"

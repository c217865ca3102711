"""Numbers that authorities, encyclopaedias and checkers publish as examples, and the same numbers with one character changed."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pytest

from sfumato.core.national_identifiers import CHECKS, NationalIdentifier

RIGHT: dict[NationalIdentifier, list[str]] = {
    "us_ssn": ["219099999", "078051120", "899999999", "001010001"],
    "de_steuer_id": ["86095742719", "36574261809", "47036892816", "65929970489"],
    "fr_nir": ["184127645108946", "295109912611193", "253072B07300470", "253072A07300443"],
    "uk_nino": ["AB123456C", "JG103759A", "NP999999D"],
    "es_dni": ["12345678Z", "00000000T", "X1234567L", "Z8327649K", "54362315K"],
    "it_codice_fiscale": ["RSSMRA85T10A562S", "RCCMNL83S18D969H", "MRTMTT25D09F205Z"],
    "nl_bsn": ["111222333", "123456782", "100000009"],
    "pl_pesel": ["44051401359", "02122401358", "02211307589"],
}

WRONG: dict[NationalIdentifier, list[str]] = {
    "us_ssn": ["000123456", "666123456", "900123456", "999999999", "219009999", "219090000", "21909999", "2190999990"],
    "de_steuer_id": ["86095742718", "36574261890", "36554266806", "12345678903", "06095742719", "8609574271"],
    "fr_nir": ["184127645108947", "295109912611199", "253072C07300443", "984127645108946", "184137645108946", "18412764510894"],
    "uk_nino": ["QQ123456C", "AO123456A", "GB123456A", "ZZ123456A", "AB123456E", "AB12345C"],
    "es_dni": ["12345678A", "X1234567A", "54362315Z", "A1234567L", "1234567L"],
    "it_codice_fiscale": ["RSSMRA85T10A562T", "RCCMNL83S18D969", "RCCMNL83S18D969A", "RSSMRA85F10A562S"],
    "nl_bsn": ["123456789", "000000000", "11122233", "1112223330"],
    "pl_pesel": ["44051401358", "02381307589", "44991401356", "4405140135"],
}


def test_every_kind_has_a_check_and_examples() -> None:
    assert set(CHECKS) == set(RIGHT) == set(WRONG) == set(get_args(NationalIdentifier))


@pytest.mark.parametrize("kind", RIGHT)
def test_published_numbers_pass(kind: NationalIdentifier) -> None:
    assert CHECKS[kind](pa.array(RIGHT[kind])).tolist() == [True] * len(RIGHT[kind])


@pytest.mark.parametrize("kind", WRONG)
def test_numbers_that_cannot_be_fail(kind: NationalIdentifier) -> None:
    assert CHECKS[kind](pa.array(WRONG[kind])).tolist() == [False] * len(WRONG[kind])


@pytest.mark.parametrize("kind", ["de_steuer_id", "fr_nir", "es_dni", "it_codice_fiscale", "nl_bsn", "pl_pesel"])
def test_a_number_with_any_one_digit_changed_fails_where_there_is_a_checksum(kind: NationalIdentifier) -> None:
    for number in RIGHT[kind]:
        places = [place for place, character in enumerate(number) if character.isdigit()]
        changed = [number[:place] + str((int(number[place]) + 1) % 10) + number[place + 1 :] for place in places]
        assert not CHECKS[kind](pa.array(changed)).any()


@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_no_number_at_all_fails_and_changes_no_other_answer(kind: NationalIdentifier) -> None:
    texts = [None, "", "abc", RIGHT[kind][0], "日本語", "x" * 10_000, RIGHT[kind][1]]

    assert CHECKS[kind](pa.array(texts)).tolist() == [False, False, False, True, False, False, True]


@pytest.mark.parametrize("kind", RIGHT)
def test_no_rows_are_no_answers(kind: NationalIdentifier) -> None:
    assert len(CHECKS[kind](pa.array([], pa.string()))) == 0


def test_letters_may_stand_for_digits_in_an_italian_code() -> None:
    # 85T10A562 with its last digit as a letter, and the check letter that follows from it
    codes = [f"RSSMRA85T10A56N{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]

    assert CHECKS["it_codice_fiscale"](pa.array(codes)).sum() == 1

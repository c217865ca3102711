"""Numbers that standards, authorities and encyclopaedias publish as examples, and the same numbers with one character changed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.core.checksums import luhn, mod_11_10, mod_97, weighted

CARDS = ["4111111111111111", "5555555555554444", "378282246310005", "6011111111111117", "30569309025904", "79927398713", "3530111333300000"]
ACCOUNTS = ["GB82WEST12345698765432", "DE89370400440532013000", "FR1420041010050500013M02606", "NO9386011117947", "MT84MALT011000012345MTLCAST001S"]


def test_published_card_numbers_pass() -> None:
    assert luhn(pa.array(CARDS)).all()


@pytest.mark.parametrize("card", CARDS)
def test_a_card_number_with_any_one_digit_changed_fails(card: str) -> None:
    changed = [card[:place] + str((int(card[place]) + 1) % 10) + card[place + 1 :] for place in range(len(card))]

    assert not luhn(pa.array(changed)).any()


def test_what_is_not_all_digits_has_no_check_digit_of_luhn() -> None:
    texts = ["", "0", "4111 1111 1111 1111", "4111-1111", "abc", "４１１１", "٤١١١", None]

    assert luhn(pa.array(texts)).tolist() == [False] * len(texts)


def test_published_account_numbers_pass() -> None:
    assert mod_97(pa.array(ACCOUNTS)).all()


@pytest.mark.parametrize("account", ACCOUNTS)
def test_an_account_number_with_any_one_digit_changed_fails(account: str) -> None:
    places = [place for place, character in enumerate(account) if character.isdigit()]
    changed = [account[:place] + str((int(account[place]) + 1) % 10) + account[place + 1 :] for place in places]

    assert not mod_97(pa.array(changed)).any()


def test_what_has_not_the_form_of_an_account_number_fails() -> None:
    texts = ["", "GB82", "gb82west12345698765432", "GB82 WEST 1234 5698 7654 32", "1282WEST12345698765432", "GB82" + "0" * 40, None]

    assert mod_97(pa.array(texts)).tolist() == [False] * len(texts)


def test_numbers_of_several_lengths_are_told_apart_in_one_column() -> None:
    assert mod_97(pa.array([ACCOUNTS[3], "NO9386011117948", ACCOUNTS[4]])).tolist() == [True, False, True]


def test_eleven_digits_with_a_hybrid_check_digit() -> None:
    assert mod_11_10(pa.array(["36574261809", "36574261890", "86095742719", "3657426180", None])).tolist() == [True, False, True, False, False]


def test_weights_of_another_number_of_digits_find_nothing() -> None:
    assert weighted(pa.array(["121", "12", "1211", "abc"]), [1, 1, -3], 10).tolist() == [True, False, False, False]


@pytest.mark.parametrize("check", [luhn, mod_97, mod_11_10])
def test_no_rows_are_no_answers(check: object) -> None:
    assert len(check(pa.array([], pa.string()))) == 0  # type: ignore[operator]

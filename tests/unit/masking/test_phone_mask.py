from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.phone_mask import PhoneMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = PhoneMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_digits_are_masked_and_separators_stay() -> None:
    assert masked(["+49 (421) 123-456", "0421/12.34.56"]) == ["+** (***) ***-***", "****/**.**.**"]
    assert masked(["0421 123456"], keep_last=3, character="#") == ["#### ###456"]


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        ("+1 212 555 0100", "+1 *** *** **00"),
        ("+7 495 123-45-67", "+7 *** ***-**-67"),
        ("+49 30 123456", "+49 ** ****56"),
        ("+353 1 234 5678", "+353 * *** **78"),
        ("+4930123456", "+49******56"),
        ("0044 20 7946 0018", "0044 ** **** **18"),
        ("(+41) 44 668 18 00", "(+41) ** *** ** 00"),
        ("030 123456", "*** ****56"),
    ],
)
def test_a_country_code_is_known_by_what_stands_before_it(number: str, wanted: str) -> None:
    assert masked([number], keep_country=True, keep_last=2) == [wanted]


def test_country_codes_of_several_lengths_are_told_apart_in_one_column() -> None:
    assert masked(["+12125550100", "no", "+353123456", "030123456"], keep_country=True) == ["+1**********", None, "+353******", "*********"]


def test_a_number_that_would_be_shown_whole_is_masked_whole() -> None:
    assert masked(["12345", "123456"], keep_last=5) == ["*****", "*23456"]
    assert masked(["+49 12345", "+49 123456"], keep_country=True, keep_last=5) == ["+** *****", "+49 *23456"]


@pytest.mark.parametrize("value", ["", "+", "1234", "1234567890123456", "0421 123456 x12", "phone", "٠١٢٣٤٥٦", "++491234567", "12345\n"])
def test_what_is_no_phone_number_cannot_be_taken(value: str) -> None:
    assert masked(["12345", value, "12345"], keep_country=True) == ["*****", None, "*****"]


def test_numbers_that_were_read_as_numbers_are_taken() -> None:
    assert masked([491701234567], keep_last=2) == ["**********67"]


def test_a_number_of_digits_below_nothing_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        PhoneMask(keep_last=-1)
    assert str(raised.value) == "phone_mask: keep_last: must be at least 0 [policy-value]"

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.iban_mask import IbanMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = IbanMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_country_and_last_four_stay() -> None:
    assert masked(["DE89370400440532013000"]) == ["DE****************3000"]
    assert masked(["GB82 WEST 1234 5698 7654 32"]) == ["GB** **** **** **** **54 32"]


def test_less_can_be_kept() -> None:
    assert masked(["DE89370400440532013000"], keep_country=False, keep_last=0, character="#") == ["#" * 22]
    assert masked(["DE89370400440532013000"], keep_last=30) == ["*" * 22]


def test_letters_may_be_small() -> None:
    assert masked(["de89370400440532013000"]) == ["de****************3000"]


@pytest.mark.parametrize(
    "value", ["", "DE88370400440532013000", "DE89", "DE89 3704  0044 0532 0130 00", "DE89-3704-0044-0532-0130-00", "x", "ＤＥ89370400440532013000"]
)
def test_what_is_no_account_number_cannot_be_taken(value: str) -> None:
    assert masked(["NO9386011117947", value, "NO9386011117947"]) == ["NO*********7947", None, "NO*********7947"]


def test_a_number_of_characters_below_nothing_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        IbanMask(keep_last=-1)
    assert str(raised.value) == "iban_mask: keep_last: must be at least 0 [policy-value]"

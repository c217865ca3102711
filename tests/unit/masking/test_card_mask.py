from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.card_mask import CardMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = CardMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_the_last_four_digits_stay() -> None:
    assert masked(["4111111111111111", "378282246310005"]) == ["************1111", "***********0005"]


def test_separators_stay_where_they_are() -> None:
    assert masked(["4111 1111 1111 1111", "5555-5555-5555-4444"]) == ["**** **** **** 1111", "****-****-****-4444"]


def test_more_or_less_can_be_kept() -> None:
    assert masked(["4111 1111 1111 1111"], keep_first=6, character="#") == ["4111 11## #### 1111"]
    assert masked(["4111111111111111"], keep_last=0) == ["****************"]


@pytest.mark.parametrize(
    "value",
    ["", "4111111111111112", "411111111111", "4111  1111 1111 1111", "4111 1111 1111 1111 ", "x", "４１１１１１１１１１１１１１１１", "0" * 20],
)
def test_what_is_no_card_number_cannot_be_taken(value: str) -> None:
    assert masked(["4111111111111111", value, "4111111111111111"]) == ["************1111", None, "************1111"]


def test_numbers_that_were_read_as_numbers_are_taken() -> None:
    assert masked([4111111111111111]) == ["************1111"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep_last": 5}, "card_mask: keep_last: must be at most 4 [policy-value]"),
        ({"keep_first": 7}, "card_mask: keep_first: must be at most 6 [policy-value]"),
    ],
)
def test_more_than_people_may_see_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        CardMask(**settings)
    assert str(raised.value) == words

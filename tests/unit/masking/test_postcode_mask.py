from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.postcode_mask import PostcodeMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = PostcodeMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_the_first_characters_stay() -> None:
    assert masked(["28462", "1234 AB", "00-950", "SW1A 1AA"]) == ["28***", "12** **", "00-***", "SW** ***"]
    assert masked(["28462"], keep_first=3, character="x") == ["284xx"]
    assert masked(["28462"], keep_first=0) == ["*****"]


def test_a_postcode_that_would_be_shown_whole_is_masked_whole() -> None:
    assert masked(["284", "28462"], keep_first=3) == ["***", "284**"]


@pytest.mark.parametrize(
    ("postcode", "wanted"),
    [("SW1A 1AA", "SW1A ***"), ("SW1A1AA", "SW1A***"), ("M1 1AE", "M1 ***"), ("b33 8th", "b33 ***"), ("CR2 6XH", "CR2 ***"), ("GIR 0AA", "GIR ***")],
)
def test_the_outward_part_of_a_british_postcode_stays(postcode: str, wanted: str) -> None:
    assert masked([postcode], outward=True) == [wanted]


@pytest.mark.parametrize("value", ["28462", "SW1A", "SW1A  1AA", "1AA", ""])
def test_another_postcode_has_no_outward_part(value: str) -> None:
    assert masked(["M1 1AE", value], outward=True) == ["M1 ***", None]


@pytest.mark.parametrize("value", ["", "1", "12345678901", "12 - 34", "D–28462", "２８４６２", "a.b"])
def test_what_is_no_postcode_cannot_be_taken(value: str) -> None:
    assert masked(["28462", value]) == ["28***", None]


def test_numbers_that_were_read_as_numbers_are_taken() -> None:
    assert masked([28462]) == ["28***"]


def test_two_ways_to_say_how_much_stays_are_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        PostcodeMask(outward=True, keep_first=2)
    assert str(raised.value) == "postcode_mask: takes keep_first or outward: both say how much stays [policy-value]"

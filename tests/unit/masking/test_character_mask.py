from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.character_mask import CharacterMask


def masked(values: list[Any] | pa.Array, **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = CharacterMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_every_character_is_masked_unless_something_is_kept() -> None:
    assert masked(["Ann", "", "a b"]) == ["***", "", "***"]
    assert masked(["4111111111111111"], keep_last=4) == ["************1111"]
    assert masked(["Lovelace"], keep_first=2, keep_last=1, character="#") == ["Lo#####e"]


def test_a_value_that_would_be_shown_whole_is_masked_whole() -> None:
    assert masked(["abcde", "abcd", "abc", "a"], keep_first=2, keep_last=2) == ["ab*de", "****", "***", "*"]
    assert masked(["abc"], keep_last=1_000_000) == ["***"]


def test_a_fixed_length_hides_how_long_a_value_is() -> None:
    assert masked(["Ann", "Bartholomew", "", "日本語"], length=5) == ["*****"] * 4
    assert masked(["Bartholomew", "Bart"], keep_first=1, keep_last=3, length=2, character="x") == ["Bxxmew", "xx"]


def test_skipped_characters_stay_and_are_not_counted() -> None:
    assert masked(["4111-1111-1111-1234", "a@b.c", "--"], skip="-@.", keep_last=4) == ["****-****-****-1234", "*@*.*", "**"]
    assert masked(["12-3-4-5"], skip="-", keep_last=3) == ["**-3-4-5"]


def test_characters_are_code_points() -> None:
    assert masked(["日本語🙂", "שלום"], keep_first=1) == ["日***", "ש***"]
    # the accent is a mark of its own, and the family are seven code points
    assert masked(["e\u0301a", "👨‍👩‍👧‍👦"], keep_first=1) == ["e**", "👨******"]


def test_the_mask_character_may_be_any_that_can_be_printed() -> None:
    assert masked(["Ann", "ö"], character="•", keep_first=1) == ["A••", "•"]


def test_other_types_are_masked_as_text() -> None:
    assert masked([12345, 7], keep_last=2) == ["***45", "*"]
    assert masked([date(2020, 1, 31)], keep_first=4, skip="-") == ["2020-**-**"]
    berlin = pa.array([datetime(2020, 1, 31, 12, 30, tzinfo=UTC)], pa.timestamp("us", tz="Europe/Berlin"))
    assert masked(berlin, keep_first=13) == ["2020-01-31T12" + "*" * 7]
    assert masked(berlin, keep_last=7) == ["*" * 13 + ":30:00Z"]
    assert masked(pa.array(["Ann", "Bo"]).dictionary_encode(), keep_first=1) == ["A**", "B*"]


def test_a_very_long_value_is_masked_like_a_short_one() -> None:
    assert masked(["x" * 1_000_000 + "yz"], keep_last=2) == ["*" * 1_000_000 + "yz"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"character": ""}, "character_mask: character: must be one character that can be printed [policy-value]"),
        ({"character": "**"}, "character_mask: character: must be one character that can be printed [policy-value]"),
        ({"character": "\n"}, "character_mask: character: must be one character that can be printed [policy-value]"),
        ({"keep_last": -1}, "character_mask: keep_last: must be at least 0 [policy-value]"),
        ({"length": 0}, "character_mask: length: must be at least 1 [policy-value]"),
        (
            {"length": 3, "skip": "-"},
            "character_mask: takes length or skip: one hides how long a value is, the other shows it [policy-value]",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        CharacterMask(**settings)
    assert str(raised.value) == words


def test_only_a_mask_without_skipped_characters_is_done_by_a_database() -> None:
    assert CharacterMask().card.engines == ("arrow", "sql")
    assert CharacterMask(skip="-").card.engines == ("arrow",)

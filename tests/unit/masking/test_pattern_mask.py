from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.pattern_mask import PatternMask

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})


def masked(values: list[Any], **settings: Any) -> list[str]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str] = PatternMask(**settings).apply(batch, MaskContext("value", keys=KEYS)).to_pylist()
    return found


def test_each_place_of_the_template_says_what_becomes_of_a_character() -> None:
    assert masked(["123-45-6789"], pattern="XXX-XX-OOOO") == ["***-**-6789"]
    assert masked(["123456789"], pattern="XXX-OOOOO") == ["***-56789"]


def test_the_mask_character_is_the_one_that_was_asked_for() -> None:
    assert masked(["abcdef"], pattern="OXXO", character="#") == ["a##d##"]
    assert masked(["abcdef"], pattern="OXXO", character="•") == ["a••d••"]


def test_random_characters_are_of_the_class_that_was_asked_for() -> None:
    for text in masked(["??????"] * 500, pattern="NLUACO"):
        assert re.fullmatch(r"[0-9][a-z][A-Z][A-Za-z][A-Za-z0-9]\?", text)


def test_all_characters_of_a_class_occur() -> None:
    places = list(zip(*masked(["?????"] * 5000, pattern="NLUAC"), strict=True))

    assert [len(set(place)) for place in places] == [10, 26, 26, 52, 62]


def test_chance_decides_without_a_key() -> None:
    assert masked(["????????"], pattern="NNNNNNNN") != masked(["????????"], pattern="NNNNNNNN")


def test_under_a_key_a_value_always_becomes_the_same() -> None:
    first = masked(["a-secret", "b-secret", "a-secret"], pattern="CCCCCCCC", key="main")

    assert first[0] == first[2] != first[1]
    assert masked(["a-secret"], pattern="CCCCCCCC", key="main") == first[:1]
    assert masked(["a-secret"], pattern="CCCCCCCC", key="main", domain="other") != first[:1]


def test_characters_beyond_the_template_are_masked_unless_the_policy_says_otherwise() -> None:
    assert masked(["abcdef"], pattern="OX") == ["a*****"]
    assert masked(["abcdef"], pattern="OX", excess="keep") == ["a*cdef"]
    assert masked(["abcdef", "ab", ""], pattern="OX", excess="discard") == ["a*", "a*", ""]


def test_of_a_value_shorter_than_the_template_nothing_is_kept() -> None:
    assert masked(["abcd", "abc", "a", ""], pattern="OOOX") == ["abc*", "***", "*", ""]
    assert masked(["a1"], pattern="O-OO") == ["*-"]


def test_characters_that_stand_for_themselves_are_written_with_a_backslash_where_they_are_letters() -> None:
    assert masked(["abcd"], pattern=r"\I\DX\\") == ["ID*\\"]
    assert masked(["abc"], pattern=r"O.\é") == ["a.é"]
    assert masked(["abc"], pattern="O🙂O") == ["a🙂c"]


def test_characters_are_code_points() -> None:
    assert masked(["日本語", "שלום"], pattern="OXO") == ["日*語", "ש*ו*"]


def test_numbers_are_masked_as_text() -> None:
    assert masked([12345], pattern="OOXXX") == ["12***"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pattern": ""}, "pattern_mask: pattern: must have at least 1 character [policy-value]"),
        (
            {"pattern": "OOx"},
            "pattern_mask: pattern: has a letter that is none of O, X, N, L, U, A, C; one that stands for itself follows a backslash [policy-value]",
        ),
        ({"pattern": "OO\\"}, "pattern_mask: pattern: ends with a backslash, after which a character is missing [policy-value]"),
        ({"pattern": "O\n"}, "pattern_mask: pattern: has a character that cannot be printed [policy-value]"),
        ({"pattern": "O", "excess": "drop"}, "pattern_mask: excess: must be one of mask, keep, discard [policy-value]"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        PatternMask(**settings)
    assert str(raised.value) == words


def test_the_card_says_whether_chance_decides() -> None:
    assert not PatternMask(pattern="ON").card.deterministic
    assert PatternMask(pattern="ON", key="main").card.deterministic
    assert PatternMask(pattern="OX").card.deterministic
    assert PatternMask(pattern="ON", key="main").keys == ("main",)
    assert PatternMask(pattern="ON").keys == ()

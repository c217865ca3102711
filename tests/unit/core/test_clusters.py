from __future__ import annotations

import pyarrow as pa
import pytest

from sfumato.core.clusters import begins
from sfumato.core.code_points import CodePoints


def clusters_of(text: str) -> list[str]:
    found: list[str] = []
    for character, first in zip(text, begins(CodePoints.of(pa.array([text]))).tolist(), strict=True):
        found = [*found, character] if first else [*found[:-1], found[-1] + character]
    return found


@pytest.mark.parametrize(
    "wanted",
    [
        ["a", "b"],
        ["e\u0301", "a\u0300\u0323", "b"],
        ["👨‍👩‍👧‍👦", "x"],
        ["👍🏽", "👍"],
        ["❤️", "!"],
        ["🇩🇪", "🇫🇷", "x", "🇨🇭"],
        ["🇩🇪", "🇫"],
        ["\u1112\u1161\u11ab", "\u1100\u1173\u11af"],
        ["ש\u05b8", "ל", "ו\u05b9", "ם"],
        ["न", "म", "स\u094d", "त\u0947"],
        ["日", "本", "語"],
        ["🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "z"],
    ],
)
def test_what_a_reader_sees_as_one_character_is_one(wanted: list[str]) -> None:
    assert clusters_of("".join(wanted)) == wanted


def test_a_mark_at_the_beginning_of_a_value_belongs_to_nothing_before() -> None:
    assert begins(CodePoints.of(pa.array(["ö", "\u0301a", "", "🇩", "🇪"]))).tolist() == [True, True, True, True, True]
    assert begins(CodePoints.of(pa.array(["a\u200d", "b"]))).tolist() == [True, False, True]


def test_there_may_be_no_character_at_all() -> None:
    assert begins(CodePoints.of(pa.array(["", None], pa.string()))).tolist() == []

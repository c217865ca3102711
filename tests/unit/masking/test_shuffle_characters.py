from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.shuffle_characters import ShuffleCharacters

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})


def masked(values: list[Any], **settings: Any) -> list[Any]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[Any] = ShuffleCharacters(**settings).apply(batch, MaskContext("value", keys=KEYS)).to_pylist()
    return found


def test_every_value_keeps_its_own_characters() -> None:
    values = ["lovelace", "12-34", "a", "", "zz top", "日本語"]

    assert [Counter(text) for text in masked(values)] == [Counter(text) for text in values]


def test_every_order_occurs_about_as_often_as_any_other() -> None:
    counts = Counter(masked(["abc"] * 12_000))

    # six orders with 2000 each; six standard deviations are 245
    assert set(counts) == {"abc", "acb", "bac", "bca", "cab", "cba"}
    assert all(abs(count - 2000) < 250 for count in counts.values())


def test_with_repetition_characters_are_taken_whichever_were_taken_before() -> None:
    counts = Counter(masked(["ab"] * 4_000, repetition=True))

    # four with 1000 each; six standard deviations are 165
    assert set(counts) == {"aa", "ab", "ba", "bb"}
    assert all(abs(count - 1000) < 170 for count in counts.values())
    assert masked(["lovelace", None, ""], repetition=True, key="main") == masked(["lovelace", None, ""], repetition=True, key="main")


def test_with_repetition_letters_keep_their_accents_and_values_their_length() -> None:
    for first, empty, second in (masked(["e\u0301x", "", "Ab"], repetition=True) for _ in range(50)):
        assert first in ("e\u0301e\u0301", "e\u0301x", "xe\u0301", "xx")
        assert empty == ""
        assert second in ("Aa", "Ab", "Ba", "Bb")


def test_capitals_stand_where_they_stood() -> None:
    for text in masked(["McDonald 7", "ÄÖx"] * 20):
        capitals = [place for place, character in enumerate(text) if character.isupper()]
        wanted = (0, 2) if len(text) == 10 else (0, 1)
        letters = [place for place in wanted if text[place].isalpha()]
        assert capitals == letters


def test_all_letters_become_small_or_large_where_the_policy_says_so() -> None:
    assert sorted(masked(["AbC"], letters="lower")[0]) == ["a", "b", "c"]
    assert sorted(masked(["AbÖ"], letters="upper")[0]) == ["A", "B", "Ö"]


def test_a_letter_without_a_counterpart_stays() -> None:
    assert sorted(masked(["ßß"])[0]) == ["ß", "ß"]


def test_under_a_key_a_value_always_becomes_the_same() -> None:
    first = masked(["lovelace", "babbage, charles", "lovelace"], key="main")

    assert first[0] == first[2]
    assert masked(["x", "lovelace"], key="main")[1] == first[0]
    assert masked(["babbage, charles"], key="main", domain="other") != first[1:2]


def test_what_a_reader_sees_as_one_character_stays_together() -> None:
    family, flag, accent = "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301"
    for text in masked([f"{family}{flag}{accent}x"] * 50):
        assert len(text) == len(f"{family}{flag}{accent}x")
        assert text.count(family) == text.count(flag) == text.count(accent) == text.count("x") == 1


def test_values_with_clusters_and_without_share_a_column() -> None:
    found = masked(["abc", "e\u0301", "", None, "12"])

    assert sorted(found[0]) == ["a", "b", "c"]
    assert found[1:4] == ["e\u0301", "", None]
    assert sorted(found[4]) == ["1", "2"]


def test_a_very_long_value_is_shuffled() -> None:
    (found,) = masked(["ab" * 100_000])

    assert Counter(found) == {"a": 100_000, "b": 100_000}
    assert found != "ab" * 100_000


def test_numbers_are_shuffled_as_text() -> None:
    assert sorted(masked([120])[0]) == ["0", "1", "2"]


def test_the_card_says_whether_chance_decides() -> None:
    assert not ShuffleCharacters().card.deterministic
    assert ShuffleCharacters(key="main").card.deterministic
    assert ShuffleCharacters(key="main").keys == ("main",)
    assert ShuffleCharacters().keys == ()


def test_another_way_with_letters_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        ShuffleCharacters(letters="keep")
    assert str(raised.value) == "shuffle_characters: letters: must be one of keep_case_pattern, lower, upper [policy-value]"

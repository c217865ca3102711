from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, PolicyError
from sfumato.masking.regex_replace import RegexReplace


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = RegexReplace(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_everything_that_is_found_is_replaced() -> None:
    assert masked(["a1b22", "7"], pattern="[0-9]+", replacement="#") == ["a#b#", "#"]
    assert masked(["a1b22", "77"], pattern="[0-9]", replacement="#", first_only=True) == ["a#b22", "#7"]


@pytest.mark.parametrize("pattern", [r"^\C", r"a\\\C", r"\Qa\E\C"])
def test_an_expression_that_cuts_characters_in_two_is_refused(pattern: str) -> None:
    with pytest.raises(PolicyError, match="finds single bytes by"):
        RegexReplace(pattern=pattern, replacement="x")


def test_a_backslash_before_a_letter_is_found_where_it_is_quoted() -> None:
    assert masked([r"é\C"], pattern=r"\\C", replacement="x") == masked([r"é\C"], pattern=r"\Q\C\E", replacement="x") == ["éx"]


def test_groups_are_put_where_the_replacement_names_them() -> None:
    assert masked(["ada@example.org"], pattern="^.*@(.*)$", replacement=r"***@\1") == ["***@example.org"]
    assert masked(["ab"], pattern="(a)(b)", replacement=r"\2\1\0\\") == ["baab\\"]


def test_a_value_that_stays_as_it_was_cannot_be_taken() -> None:
    assert masked(["ab", "1", "#", ""], pattern="[0-9]", replacement="#") == [None, "#", None, ""]
    # found, and replaced by itself: it would be shown whole
    assert masked(["ab", "a"], pattern="^(.).*$", replacement=r"\1") == ["a", None]
    # found is nothing at all
    assert masked(["ab"], pattern="[0-9]*", replacement="") == [None]


def test_a_value_that_stays_as_it_was_stops_the_run_unless_the_policy_says_otherwise() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["1", "ab"]})
    invalid, removed, kept = (RegexReplace(pattern="[0-9]", replacement="#", unmatched=way) for way in ("invalid", "remove", "keep"))

    with pytest.raises(DataError) as raised:
        MaskedColumn("value", [invalid]).apply(batch, MaskContext("value"))
    assert raised.value.message == "column value: 1 row with a value that regex_replace cannot take"
    assert MaskedColumn("value", [removed]).apply(batch, MaskContext("value")).to_pylist() == ["#", None]
    assert MaskedColumn("value", [kept]).apply(batch, MaskContext("value")).to_pylist() == ["#", "ab"]


def test_the_card_says_where_values_may_be_shown_whole() -> None:
    settings = {"pattern": "a", "replacement": "b"}

    assert RegexReplace(**settings, unmatched="keep").card.reveals.endswith("Values in which it finds nothing are shown whole.")
    assert "whole" not in RegexReplace(**settings).card.reveals
    assert RegexReplace(**settings, unmatched="remove").card.empties
    assert not RegexReplace(**settings).card.empties


def test_characters_of_all_scripts_are_found() -> None:
    assert masked(["日本語", "שלום", "e\u0301"], pattern=r"\p{L}", replacement="x") == ["xxx", "xxxx", "x\u0301"]


def test_no_value_makes_it_slow() -> None:
    # an expression over which engines that go back take longer than anybody waits
    assert masked(["a" * 100_000 + "!"], pattern="(a+)+$|!", replacement="x") == ["a" * 100_000 + "x"]


def test_numbers_are_looked_at_as_text() -> None:
    assert masked([12345], pattern="^..", replacement="**") == ["**345"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"pattern": "(", "replacement": ""},
            "regex_replace: pattern: is no regular expression of RE2; look-ahead, look-behind and back references are not known there [policy-value]",
        ),
        (
            {"pattern": "a(?=b)", "replacement": ""},
            "regex_replace: pattern: is no regular expression of RE2; look-ahead, look-behind and back references are not known there [policy-value]",
        ),
        (
            {"pattern": "(a{1000}){1000}", "replacement": ""},
            "regex_replace: pattern: is too large for RE2, which repeats a part 1000 times at most, repetitions within each other multiplied "
            "[policy-value]",
        ),
        (
            {"pattern": "(a)", "replacement": r"\2"},
            "regex_replace: replacement: a backslash is followed by the number of a group of the pattern, or by another backslash [policy-value]",
        ),
        (
            {"pattern": "a", "replacement": "b\\"},
            "regex_replace: replacement: a backslash is followed by the number of a group of the pattern, or by another backslash [policy-value]",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        RegexReplace(**settings)
    assert str(raised.value) == words

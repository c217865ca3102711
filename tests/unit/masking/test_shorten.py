from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.shorten import Shorten


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = Shorten(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_the_side_that_was_asked_for_stays() -> None:
    assert masked(["Lovelace", "Ada", ""], length=3) == ["Lov", "Ada", ""]
    assert masked(["Lovelace", "Ada", ""], length=3, side="end") == ["ace", "Ada", ""]


def test_the_ellipsis_stands_only_where_something_was_cut() -> None:
    assert masked(["Lovelace", "Love", "L", ""], length=4, ellipsis=".") == ["Love.", "Love", "L", ""]
    assert masked(["Lovelace", "lace"], length=4, side="end", ellipsis="…") == ["…lace", "lace"]


def test_characters_are_code_points() -> None:
    assert masked(["日本語", "🙂🙃x", "שלום"], length=2) == ["日本", "🙂🙃", "של"]
    assert masked(["e\u0301a"], length=1, ellipsis=".") == ["e."]


def test_numbers_are_cut_as_text() -> None:
    assert masked([12345, 7], length=2) == ["12", "7"]


def test_a_very_long_value_is_cut() -> None:
    assert masked(["ab" * 500_000], length=3) == ["aba"]


def test_nothing_cannot_be_kept() -> None:
    with pytest.raises(PolicyError) as raised:
        Shorten(length=0)
    assert str(raised.value) == "shorten: length: must be at least 1 [policy-value]"

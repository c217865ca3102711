from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import code_points
from sfumato.core.code_points import CodePoints

TEXTS = st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=6)), max_size=6)


@given(TEXTS)
def test_text_comes_back_as_it_was(texts: list[str | None]) -> None:
    assert CodePoints.of(pa.array(texts, pa.string())).text().to_pylist() == texts


@given(TEXTS, st.integers(0, 3), st.integers(0, 3), st.sampled_from(["*", "ö", "🙂"]))
def test_ends_are_kept_as_python_would(texts: list[str | None], first: int, last: int, character: str) -> None:
    points = CodePoints.of(pa.array(texts, pa.string()))
    wanted = [None if text is None else kept_ends(text, first, last, character) for text in texts]

    assert points.masked_between(first, last, character).text().to_pylist() == wanted
    counted = np.ones(len(points.points), bool)
    assert points.masked(points.ends(counted, first, last), character).text().to_pylist() == wanted


def kept_ends(text: str, first: int, last: int, character: str) -> str:
    if len(text) <= first + last:
        return character * len(text)
    return text[:first] + character * (len(text) - first - last) + text[len(text) - last :]


def test_slices_are_looked_at_from_where_they_begin() -> None:
    texts = pa.array(["ab", "cde", "", "fgö"]).slice(1, 3)

    assert CodePoints.of(texts).lengths.tolist() == [3, 0, 3]
    assert CodePoints.of(texts).text().to_pylist() == ["cde", "", "fgö"]


def test_what_stands_behind_a_missing_value_is_never_read() -> None:
    texts = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffa"), pa.py_buffer(np.array([2], np.uint8)), 1
    )

    assert CodePoints.of(texts).text().to_pylist() == [None, "a"]


def test_characters_that_are_not_counted_stay_and_are_passed_over() -> None:
    points = CodePoints.of(pa.array(["12-34-5", "1-2"]))
    kept = points.ends(~points.among("-"), 1, 2)

    assert points.masked(kept, "#").text().to_pylist() == ["1#-#4-5", "#-#"]


def test_only_some_characters_may_be_looked_at() -> None:
    points = CodePoints.of(pa.array(["a1b2", "", "cd"]))

    assert points.only(points.among("0123456789")).text().to_pylist() == ["12", "", ""]


def test_values_that_are_not_valid_become_missing() -> None:
    assert CodePoints.of(pa.array(["a", "b"])).text(np.array([False, True])).to_pylist() == [None, "b"]


def test_more_text_than_a_column_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_points, "_LARGEST", 5)

    assert CodePoints.of(pa.array(["abcde"])).text().to_pylist() == ["abcde"]
    with pytest.raises(MemoryError):
        CodePoints.of(pa.array(["ab"])).masked_between(0, 0, "•").text()


@pytest.mark.parametrize("texts", [[], [""], [None]])
def test_there_may_be_no_character_at_all(texts: list[str | None]) -> None:
    assert CodePoints.of(pa.array(texts, pa.string())).masked_between(2, 2, "*").text().to_pylist() == texts

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, PolicyError, UnreachableError
from sfumato.masking.choice import Choice

KEYS = Keys({"main": (Key("k1", bytes(range(32))),)})
CONTEXT = MaskContext("value", keys=KEYS)


def masked(column: list[Any], **settings: Any) -> list[Any]:
    found: list[Any] = Choice(**settings).apply(pa.RecordBatch.from_pydict({"value": column}), CONTEXT).to_pylist()
    return found


def test_every_value_is_chosen_about_as_often_as_any_other() -> None:
    counts = Counter(masked(["x"] * 12_000, values=["a", "b", "c"]))

    # six standard deviations are 310
    assert set(counts) == {"a", "b", "c"}
    assert all(abs(count - 4000) < 320 for count in counts.values())


def test_weights_say_how_often_a_value_is_chosen() -> None:
    counts = Counter(masked(["x"] * 12_000, values=["a", "b"], weights=[3, 1.0]))

    # six standard deviations are 285
    assert abs(counts["a"] - 9000) < 300


def test_weights_may_be_very_large_or_very_small() -> None:
    assert set(masked(["x"] * 200, values=["a", "b"], weights=[1e308, 1e308])) == {"a", "b"}
    assert set(masked(["x"] * 200, values=["a", "b"], weights=[1e-308, 1e308])) == {"b"}


def test_one_value_is_no_choice() -> None:
    assert masked(["x", "", "日本"], values=["שלום 🙂"]) == ["שלום 🙂"] * 3


def test_whole_numbers_are_texts() -> None:
    assert masked(["x"], values=[7]) == ["7"]


def test_under_a_key_a_value_always_becomes_the_same() -> None:
    values = [str(number) for number in range(100)]
    first = masked(values, values=["a", "b", "c"], key="main")

    assert masked(values[::-1], values=["a", "b", "c"], key="main") == first[::-1]
    assert masked(values, values=["a", "b", "c"], key="main", domain="other") != first
    assert set(first) == {"a", "b", "c"}


@pytest.mark.parametrize("key", [None, "main"])
def test_missing_values_get_one_only_where_the_policy_says_so(key: str | None) -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["x", None]})
    mask = Choice(values=["a"], key=key)

    assert MaskedColumn("value", [mask]).apply(batch, CONTEXT).to_pylist() == ["a", None]
    assert MaskedColumn("value", [mask], on_null="generate").apply(batch, CONTEXT).to_pylist() == ["a", "a"]


def test_values_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "towns.txt").write_bytes("\ufeffBern\r\n\r\nSankt Gallen\r\nGenève".encode())

    assert set(masked(["x"] * 500, path=str(tmp_path / "towns.txt"))) == {"Bern", "Sankt Gallen", "Genève"}


def test_a_file_without_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "towns.txt"
    path.write_bytes(b"\n\n")

    with pytest.raises(DataError) as raised:
        Choice(path=str(path)).read_files()
    assert str(raised.value) == f"list of values {path} has no lines [mask-file]\n  try: write one value a line"


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "towns.txt"
    path.write_bytes(b"Gen\xe8ve\n")

    with pytest.raises(DataError) as raised:
        Choice(path=str(path)).read_files()
    assert str(raised.value) == f"list of values {path} is not UTF-8 text [mask-file]\n  try: convert it to UTF-8 first"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as raised:
        Choice(path=str(tmp_path / "towns.txt")).read_files()
    assert raised.value.code == "file-missing"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "choice: needs a list of values or the path of a file, one of them [policy-value]"),
        ({"values": ["a"], "path": "x"}, "choice: needs a list of values or the path of a file, one of them [policy-value]"),
        ({"values": ["a", None]}, "choice: values: needs texts or whole numbers; put other values in quotes [policy-value]"),
        ({"values": ["a"], "turn": "row", "key": "k"}, "choice: turn: takes neither weights nor a key, which decide what is chosen [policy-value]"),
        ({"values": ["a", "b"], "weights": [1]}, "choice: weights: needs one for each value of a list [policy-value]"),
        ({"path": "x", "weights": [1]}, "choice: weights: needs one for each value of a list [policy-value]"),
        ({"values": ["a", "b"], "weights": [1, 0]}, "choice: weights: must be more than 0 [policy-value]"),
        ({"values": ["a", "b"], "weights": [1, float("nan")]}, "choice: weights: must be more than 0 [policy-value]"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        Choice(**settings)
    assert str(raised.value) == words


def test_the_card_says_whether_chance_decides() -> None:
    assert not Choice(values=["a"]).card.deterministic
    assert Choice(values=["a"], key="main").card.deterministic
    assert Choice(values=["a"], key="main").keys == ("main",)


@pytest.mark.parametrize("turn", ["row", "value"])
def test_turns_tell_nothing_of_the_order_in_which_rows_came(turn: str) -> None:
    rows = [f"{number:03d}" for number in range(300)]
    found = masked(rows, values=rows, turn=turn)

    assert sorted(found) == rows
    # one of the 300 rows is expected to get the value of its own place
    assert sum(one == other for one, other in zip(rows, found, strict=True)) < 15

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.masking.map_values import MapValues
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = MapValues(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def written(folder: Path, text: str) -> str:
    (folder / "map.csv").write_bytes(text.encode())
    return str(folder / "map.csv")


def test_values_become_what_the_mapping_says() -> None:
    assert masked(["A", "B", "A"], mapping={"A": "one", "B": "two"}) == ["one", "two", "one"]


def test_other_values_become_the_default_or_cannot_be_taken() -> None:
    assert masked(["A", "a", "", "C"], mapping={"A": "one"}, default="other") == ["one", "other", "other", "other"]
    assert masked(["A", "a", ""], mapping={"A": "one"}) == ["one", None, None]
    assert masked(["A", "B"], mapping={"A": "one"}, default="") == ["one", ""]


def test_a_value_that_is_not_named_stops_the_run() -> None:
    batch = pa.RecordBatch.from_pydict({"value": ["A", "secret"]})

    with pytest.raises(DataError) as raised:
        MaskedColumn("value", [MapValues(mapping={"A": "one"})]).apply(batch, MaskContext("value"))
    assert raised.value.message == "column value: 1 row with a value that map_values cannot take"


def test_whole_numbers_are_texts_on_both_sides() -> None:
    assert masked([1, 2], mapping={1: "one", "2": 22}) == ["one", "22"]


def test_values_of_all_scripts_are_compared_byte_for_byte() -> None:
    # one ö is a letter, the other an o with a mark
    assert masked(["ö", "o\u0308", "日本", "🙂"], mapping={"ö": "1", "日本": "2", "🙂": "שלום"}, default="-") == ["1", "-", "2", "שלום"]


def test_a_mapping_is_read_from_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffold,new\r\nA,one\r\n"B, b","two\ntwo"\r\n\r\nA,one\r\n')

    assert masked(["A", "B, b"], path=path, header=True) == ["one", "two\ntwo"]
    assert masked(["A|"], path=written(tmp_path, "A|;B\n"), delimiter=";") == ["B"]


def test_a_file_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, "A,one\n")
    mask = MapValues(path=path)
    mask.read_files()
    Path(path).unlink()

    assert mask.apply(pa.RecordBatch.from_pydict({"value": ["A"]}), MaskContext("value")).to_pylist() == ["one"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", " has no lines [mask-file]\n  try: write lines `old,new`"),
        ("A,one\nB\n", ":2 has 1 fields, and 2 are needed [mask-file]\n  try: write the old value, ',', the new one"),
        ("A,one\nB,two\nA,three\n", ": lines 1 and 3 give one value two new ones [mask-file]\n  try: leave one of them out"),
        ('A,"one\n', ":1 has a quote that does not close, or text after one that does [mask-file]\n  try: mend the line"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(SfumatoError) as raised:
        MapValues(path=path).read_files()
    assert str(raised.value) == f"mapping {path}{words}"


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_bytes(b"\xe4,one\n")

    with pytest.raises(DataError) as raised:
        MapValues(path=str(tmp_path / "map.csv")).read_files()
    assert raised.value.message == f"mapping {tmp_path / 'map.csv'} is not UTF-8 text"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "map_values: needs a mapping or the path of a file, one of them [policy-value]"),
        ({"mapping": {"a": "b"}, "path": "x.csv"}, "map_values: needs a mapping or the path of a file, one of them [policy-value]"),
        ({"mapping": {"a": None}}, "map_values: mapping: needs texts or whole numbers on both sides; put other values in quotes [policy-value]"),
        ({"mapping": {True: "b"}}, "map_values: mapping: needs texts or whole numbers on both sides; put other values in quotes [policy-value]"),
        ({"mapping": {1: "a", "1": "b"}}, "map_values: mapping: has one value twice, as a text and as a number [policy-value]"),
        ({"mapping": ["a"]}, "map_values: mapping: must be a mapping of keys to values [policy-value]"),
        (
            {"mapping": {"a": "b"}, "delimiter": "\n"},
            "map_values: delimiter: must be one ASCII character that neither ends a line nor quotes a field [policy-value]",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as raised:
        MapValues(**settings)
    assert str(raised.value) == words


def test_the_card_says_whether_two_values_become_one() -> None:
    one_to_one = MapValues(mapping={"a": "1", "b": "2"}).card
    merged = MapValues(mapping={"a": "1", "b": "1"}).card

    assert (one_to_one.uniqueness, one_to_one.reversible) == ("preserved", False)
    assert (merged.uniqueness, merged.reversible) == ("lossy", False)
    assert MapValues(mapping={"a": "1"}, default="x").card.uniqueness == "lossy"
    assert MapValues(path="map.csv").card.uniqueness == "not guaranteed"


POLICY = """
source: people.csv
columns:
  ward: {{role: other, mask: {{map_values: {{path: map.csv}}}}}}
  age: {{role: quasi_identifier}}
promises:
  - k_anonymity: {{k: 2}}
sink: {sink}
"""


def test_the_file_of_a_mask_is_read_with_its_policy(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.format(sink="out.csv"), encoding="utf-8")
    (tmp_path / "people.csv").write_text("ward,age\nA,1\n", encoding="utf-8")
    (tmp_path / "map.csv").write_text("A,one\nA,two\n", encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve(load(tmp_path / "policy.yaml"))
    (mistake,) = raised.value.mistakes
    assert str(mistake) == (
        f"line 4 columns.ward.mask: mapping {tmp_path / 'map.csv'}: lines 1 and 2 give one value two new ones [mask-file]\n"
        "  try: leave one of them out"
    )


def test_a_sink_may_not_be_the_file_of_a_mask(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.format(sink="map.csv"), encoding="utf-8")
    (tmp_path / "people.csv").write_text("ward,age\nA,1\n", encoding="utf-8")
    (tmp_path / "map.csv").write_text("A,one\n", encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve(load(tmp_path / "policy.yaml"))
    assert [mistake.code for mistake in raised.value.mistakes] == ["sink-is-source"]

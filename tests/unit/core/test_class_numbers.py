"""Equivalence classes apart from their rows: what is numbered is what is joined again, and what does not belong together is told."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.class_numbers import ClassLinks, ClassNumbers
from sfumato.core.publication import GENERALISED
from sfumato.errors import DataError

LABEL = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([pa.field("age", LABEL, metadata={GENERALISED: b""}), ("ill", pa.string()), pa.field("town", LABEL, metadata={GENERALISED: b""})])
CLASSES = st.lists(st.tuples(st.sampled_from(["[1, 2]", "*", None]), st.sampled_from(["x", None])), unique=True, max_size=6)


@given(classes=CLASSES, sizes=st.lists(st.integers(1, 4), min_size=6, max_size=6), step=st.integers(1, 5))
def test_what_is_numbered_is_joined_again_however_it_comes(classes: list[tuple[str | None, str | None]], sizes: list[int], step: int) -> None:
    rows = [{"age": age, "ill": str(place), "town": town} for (age, town), size in zip(classes, sizes, strict=False) for place in range(size)]
    numbers = ClassNumbers(SCHEMA)
    numbered = [numbers.numbered(pa.RecordBatch.from_pylist(rows[start : start + step], SCHEMA)) for start in range(0, max(1, len(rows)), step)]

    shown = pa.Table.from_batches([numbers.shown()])
    links = ClassLinks(shown, ["age", "ill", "town"], "here")
    linked = [row for batch in numbered for row in links.linked(batch).to_pylist()]
    links.end()

    assert linked == rows
    assert shown["class_id"].to_pylist() == list(range(1, len(classes) + 1))
    assert shown["class_size"].to_pylist() == sizes[: len(classes)]


@pytest.mark.parametrize(
    ("classes", "rows", "words"),
    [
        ({"class_id": [1, 1], "age": ["a", "b"], "class_size": [1, 1]}, [1, 1], "a class has no number of its own"),
        ({"class_id": [1, 2], "age": ["a", "a"], "class_size": [1, 1]}, [1, 2], "two classes show the same"),
        ({"class_id": [1, 2], "age": ["a", "b"], "class_size": [1, 1]}, [1, 3], "a row has a class that is not there"),
        ({"class_id": [1, 2], "age": ["a", "b"], "class_size": [1, 1]}, [1, None], "a row has a class that is not there"),
        ({"class_id": [1, 2], "age": ["a", "b"], "class_size": [2, 0]}, [1, 2], "a class has another number of rows than it says"),
        ({"class_id": [1, 2], "age": ["a", "b"], "class_size": [2, 1]}, [1, 1], "a class has another number of rows than it says"),
    ],
)  # fmt: skip
def test_classes_that_are_not_those_of_the_rows_are_told(classes: dict[str, list[object]], rows: list[int | None], words: str) -> None:
    def join() -> None:
        links = ClassLinks(pa.table(classes), ["age"], "here")
        links.linked(pa.RecordBatch.from_pydict({"class_id": pa.array(rows, pa.int64())}))
        links.end()

    with pytest.raises(DataError) as caught:
        join()
    assert caught.value.message == f"here: the classes are not those of the rows: {words}"

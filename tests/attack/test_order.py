"""What the order of a release could tell beyond its text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.publication import Publication, in_published_order


def release(data: dict[str, list[Any]], columns: dict[str, Any], k: int = 3) -> list[dict[str, Any]]:
    return sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": k}}]}, data=pa.table(data)).table.to_pylist()


def test_the_order_of_classes_does_not_tell_which_values_of_a_node_they_hold() -> None:
    columns = {"job": {"role": "quasi_identifier"}, "age": {"role": "quasi_identifier"}}
    ages = [1, 1, 1, 2, 2, 2]

    one = release({"job": ["b", "c", "d", "a", "c", "d"], "age": ages}, columns)
    other = release({"job": ["a", "c", "d", "b", "c", "d"], "age": ages}, columns)

    assert one == other
    assert [row["age"] for row in one] == ["1", "1", "1", "2", "2", "2"]


@pytest.mark.parametrize("unknown", [[200, 300, 400], [10, 200, 300]])
def test_rows_that_publish_the_same_stand_in_one_order_whatever_was_generalised(unknown: list[int]) -> None:
    interval = {"interval": {"minimum": 0, "maximum": 100}}
    columns = {
        "age": {"role": "quasi_identifier", "hierarchy": interval, "on_unknown": "generalise"},
        "name": {"role": "other", "accept": "singling_out"},
    }
    names = ["A1", "A2", "A3", "B1", "B2", "B3"]

    one = release({"age": [10, None, None, *unknown], "name": names}, columns)
    other = release({"age": [*unknown, 10, None, None], "name": names}, columns)

    assert {row["age"] for row in one} == {"*"}
    assert one == other


def test_classes_that_publish_the_same_become_one() -> None:
    import numpy as np

    from sfumato.core.hierarchy import Hierarchy
    from sfumato.core.recoding import Recoding

    tree = Hierarchy.of_paths("job", [["a", "x"], ["b", "x"], ["c", "x"], ["d", "y"]])
    # two boxes below x, one of d: the first two show the same
    recoding = Recoding("boxes", np.array([2, 0, 1, -1], np.int32), np.array([[1], [3], [0]], np.int32), np.array([[2], [3], [1]], np.int32))

    ordered = in_published_order(recoding, [Publication("job", tree)])

    assert ordered.class_of.tolist() == [0, 0, 1, -1]
    assert (ordered.lows.tolist(), ordered.highs.tolist()) == ([[0], [3]], [[2], [3]])

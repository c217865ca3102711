"""Publication: what is written in each style is read back as what it stands for, and nothing else is."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.core import canonical
from sfumato.core.publication import UNREADABLE, Publication, Style
from sfumato.hierarchies.interval import Interval
from sfumato.hierarchies.network import Network

VALUES: dict[str, st.SearchStrategy[list[Any]]] = {
    "integer": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8, unique=True),
    "float": st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8, unique_by=lambda number: number or 0.0),
    "decimal": st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1, max_size=8, unique=True),
    "date": st.lists(st.dates(), min_size=1, max_size=8, unique=True),
    "timestamp": st.lists(st.datetimes(), min_size=1, max_size=8, unique=True),
    "zoned": st.lists(st.datetimes(timezones=st.just(datetime.UTC)), min_size=1, max_size=8, unique=True),
}


@pytest.mark.parametrize("style", ["bounds", "typed_bounds", "range", "interval"])
@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_written_covers_what_it_stands_for(kind: str, style: Style, data: st.DataObject) -> None:
    column = pa.array(data.draw(VALUES[kind]))
    typed = canonical.parse(column, canonical.infer(column))
    typed = typed.take(pa.compute.sort_indices(typed)).unique().drop_null()
    publication = Publication("value", Interval().build("value", typed, np.ones(len(typed), np.int64)), style, origin=column.type)
    size = publication.hierarchy.size
    low = np.array([data.draw(st.integers(0, size - 1)), size, 0], np.int64)
    high = np.array([data.draw(st.integers(int(low[0]), size - 1)), size, size + 1], np.int64)

    texts = publication.texts(low, high)
    read = publication.read(*(publication.as_text(publication.typed(text)) for text in texts))

    # typed bounds do not tell missing values from any values
    missing = [0, size + 1] if style == "typed_bounds" else [size, size]
    assert np.stack(read, axis=1).tolist() == [[low[0], high[0]], missing, [0, size + 1]]


@pytest.mark.parametrize(
    "text", ["", "*", "[20,29]", "(20,30)", "[20,)", "(,30)", "empty", "[30,20)", "[x,y)", "[20,30),[40,50)", "20", '["20","30")']
)
def test_what_is_no_range_of_the_column_means_nothing(text: str) -> None:
    publication = Publication("age", Interval().build("age", pa.array([20, 25, 29]), np.ones(3, np.int64)), "range")

    assert publication.read(pa.array([text]))[0].tolist() == [UNREADABLE]


def test_networks_are_read_as_the_addresses_that_they_hold() -> None:
    addresses = pa.array(["10.0.0.1", "10.0.1.2", "10.1.0.0"])
    publication = Publication("client", Network().build("client", addresses, np.ones(3, np.int64)), "range")

    lows, highs = publication.read(pa.array(["10.0.0.1/32", "10.0.0.0/16", "0.0.0.0/0", None, "11.0.0.0/8", "*"]))
    assert lows.tolist() == [0, 0, 0, 3, UNREADABLE, UNREADABLE]
    assert highs.tolist() == [0, 1, 4, 3, UNREADABLE, UNREADABLE]


@pytest.mark.parametrize("style", ["bounds", "typed_bounds"])
def test_columns_in_two_are_held_against_totals_of_another_view(style: str) -> None:
    table = pa.table({"age": list(range(20)), "group": ["a", "b"] * 10})
    total = {"age": {"role": "other", "accept": "singling_out", "mask": {"aggregate": {"function": "sum", "by": ["group"]}}}}
    columns = {"age": {"role": "quasi_identifier", "publish": style}, "group": {"role": "other"}}
    policy = {"columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "views": {"fine": {}, "coarse": {"columns": total, "promises": []}}}

    releases: Any = sfumato.run(policy, table)

    assert releases["fine"].table.column_names == ["age_from", "age_to", "group"]

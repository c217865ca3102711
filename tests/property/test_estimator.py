"""Whatever rows an anonymiser is given, what it returns covers them and keeps the promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import PromiseError

ROWS = st.lists(st.tuples(st.none() | st.integers(0, 30), st.sampled_from("abcdef"), st.sampled_from("xy")), min_size=4, max_size=40)


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    ages, jobs, ills = zip(*rows, strict=True)
    return pa.table({"age": pa.array(ages, pa.int64()), "job": pa.array(jobs), "ill": pa.array(ills)})


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(fitted=ROWS, other=ROWS, algorithm=st.sampled_from(["mondrian", "datafly"]), l=st.sampled_from([1, 2]))
def test_what_is_returned_covers_its_rows_and_keeps_the_promises(fitted: list[Any], other: list[Any], algorithm: str, l: int) -> None:
    policy = {
        "columns": {"age": {"role": "quasi_identifier"}, "job": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}},
        "promises": [{"k_anonymity": {"k": 2}}, *([{"l_diversity": {"column": "ill", "l": 2}}] if l == 2 else [])],
        "algorithm": algorithm,
    }
    anonymiser = sfumato.Anonymiser(policy, on_broken="suppress")
    try:
        same = anonymiser.fit_transform(table(fitted)).to_pylist()
        assert anonymiser.transform(table(fitted)).to_pylist() == same
        found = anonymiser.transform(table(other)).to_pylist()
    except PromiseError:
        return

    published = [(old, new) for old, new in zip(other, found, strict=True) if new["ill"] is not None]
    classes = Counter((new["age"], new["job"]) for _, new in published)
    assert min(classes.values()) >= 2
    for (age, job, ill), new in published:
        assert covers(new["age"], age)
        assert new["job"] in (job, "*")
        assert new["ill"] == ill
    if l == 2:
        assert len({(new["age"], new["job"], new["ill"]) for _, new in published}) == 2 * len(classes)


def covers(text: str | None, age: int | None) -> bool:
    if text is None or age is None:
        return text == "*" or text is age
    low, _, high = text.strip("[]").partition(", ")
    return text == "*" or int(low) <= age <= int(high or low)

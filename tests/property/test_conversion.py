"""Whatever converts, checks: the policy that is written says what the configuration said."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.policy.conversion import convert
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve

NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(
        ["age", "no", "null", "1", "1.5", "~", "*", "a: b", "# c", "- d", "2020-01-01", "\u2028", "\x85", "\x7f", "\ufeff", "😀", "=", "<<"]
    ),
)
TREES = st.recursive(
    st.builds(lambda value: {"value": value}, NAMES),
    lambda below: st.builds(lambda value, children: {"value": value, "children": children}, NAMES, st.lists(below, max_size=3)),
    max_leaves=8,
)
ATTRIBUTES = st.fixed_dictionaries(
    {"type": st.sampled_from(["numerical", "categorical", "hierarchical", "timestamp", "ip"])},
    optional={
        "tree": TREES,
        "datafly_num_of_buckets": st.integers(0, 50),
        "datafly_init_level": st.integers(0, 5),
    },
)


def tree_of(values: list[str]) -> dict[str, Any]:
    """Return a tree of all values, none of them twice: the second and third have children."""
    inner = [{"value": value, "children": [{"value": below} for below in values[3 + place :: 2]]} for place, value in enumerate(values[1:3])]
    return {"value": values[0], "children": inner}


FITTING_ATTRIBUTES = st.one_of(
    st.builds(lambda buckets: {"type": "numerical", "datafly_num_of_buckets": buckets}, st.integers(1, 50)),
    st.builds(
        lambda values, level: {"type": "hierarchical", "tree": tree_of(values), "datafly_init_level": level},
        st.lists(NAMES, min_size=2, max_size=9, unique=True),
        st.integers(0, 5),
    ),
    st.sampled_from([{"type": "numerical"}, {"type": "categorical"}]),
)
FITTING = st.builds(
    lambda k, names, attributes, further: {
        "k": k,
        "qids": dict(zip(names, attributes, strict=False)),
        "sensitive_attributes": names[len(attributes) :],
        **further,
    },
    st.integers(2, 20),
    st.lists(NAMES, min_size=3, max_size=6, unique=True),
    st.lists(FITTING_ATTRIBUTES, min_size=1, max_size=3),
    st.fixed_dictionaries(
        {},
        optional={"algorithm": st.sampled_from(["mondrian", "datafly"]), "suppression_limit": st.sampled_from([0, 0.05]), "sink": st.just("out.csv")},
    ),
)
CONFIGURATIONS = st.fixed_dictionaries(
    {"k": st.integers(1, 20), "qids": st.dictionaries(NAMES, ATTRIBUTES, max_size=4)},
    optional={
        "sensitive_attributes": st.lists(NAMES, max_size=3),
        "algorithm": st.sampled_from(["mondrian", "datafly", "Datafly", {"mondrian": {}}]),
        "suppression_limit": st.sampled_from([0, 0.05, 1, 2]),
        "source": st.sampled_from(["data.csv", {"delimited": {"path": "data.csv", "delimiter": ";"}}, "data.mysql"]),
        "sink": st.sampled_from(["release.csv", {"parquet": {"path": "release.parquet"}}]),
    },
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(configuration=FITTING)
def test_a_configuration_without_mistakes_converts_and_says_the_same(configuration: dict[str, Any]) -> None:
    assert converts(configuration)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(configuration=CONFIGURATIONS)
def test_whatever_converts_checks_and_all_else_is_refused_with_its_mistakes(configuration: dict[str, Any]) -> None:
    try:
        assert converts(configuration)
    except PolicyError as error:
        assert all(mistake.line == 1 for mistake in error.mistakes)


def converts(configuration: dict[str, Any]) -> bool:
    """Return whether the policy that is written says what the configuration says."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "config.json"
        path.write_text(json.dumps(configuration), encoding="utf-8")
        (folder / "policy.yaml").write_text(convert(path, folder), encoding="utf-8")
        return resolve(load(folder / "policy.yaml")).policy == resolve(load(path)).policy

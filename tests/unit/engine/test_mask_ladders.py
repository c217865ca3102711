"""Masks that show a level of their column's own hierarchy."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError, PolicyError, PromiseError

TREE = {"taxonomy": {"tree": {"Root": ["craft", "food"], "craft": ["smith", "welder"], "food": ["cook", "baker"]}}}
PEOPLE = pa.table({"age": [20, 21, 30, 31] * 3, "job": ["smith", "cook", "welder", "baker"] * 3})


def policy(job: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"columns": {"age": {"role": "quasi_identifier"}, "job": job}, "promises": [{"k_anonymity": {"k": 3}}], **others}


def mistakes(given: dict[str, Any]) -> list[str]:
    with pytest.raises(PolicyError) as raised:
        sfumato.plan(given, data=PEOPLE)
    return [mistake.words() for mistake in raised.value.mistakes]


@pytest.mark.parametrize("role", ["identifier", "other", "sensitive"])
def test_a_column_of_any_role_but_one_can_show_a_level(role: str) -> None:
    release: Any = sfumato.run(policy({"role": role, "mask": {"generalise": {"level": 1}}, "hierarchy": TREE}), data=PEOPLE)
    assert sorted(release.table["job"].to_pylist()) == ["craft"] * 6 + ["food"] * 6
    assert release.record.status == "published"


def test_a_promise_is_measured_on_the_labels_too() -> None:
    job = {"role": "sensitive", "mask": {"generalise": {"level": 1}}, "hierarchy": TREE}
    promises = [{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "job", "l": 2}}]
    release: Any = sfumato.run(policy(job, promises=promises), data=PEOPLE)
    found = [(result.settings.get("on"), result.measured) for result in release.record.promises if result.promise == "l_diversity"]
    assert found == [(None, 2.0), ("published values", 2.0)]
    # four jobs, but only two labels
    with pytest.raises(PromiseError):
        sfumato.run(policy(job, promises=[{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "job", "l": 3}}]), data=PEOPLE)


def test_a_value_that_the_hierarchy_does_not_know_stops_the_run_or_is_removed() -> None:
    strange = PEOPLE.set_column(1, "job", pa.array(["smith", "pilot"] * 6))
    job = {"role": "other", "mask": {"generalise": {"level": 1}}, "hierarchy": TREE}
    with pytest.raises(DataError) as raised:
        sfumato.run(policy(job), data=strange)
    assert raised.value.message == "column job: 6 rows with a value that generalise cannot take, the first in row 2"
    release: Any = sfumato.run(policy(job | {"on_invalid": "remove"}), data=strange)
    assert sorted(release.table["job"].to_pylist(), key=str) == [None] * 6 + ["craft"] * 6


def test_a_level_above_the_root_stops_the_run() -> None:
    with pytest.raises(DataError) as raised:
        sfumato.run(policy({"role": "other", "mask": {"generalise": {"level": 4}}, "hierarchy": TREE}), data=PEOPLE)
    assert raised.value.code == "mask-hierarchy"


def test_a_level_needs_a_hierarchy() -> None:
    assert mistakes(policy({"role": "other", "mask": {"generalise": {"level": 1}}})) == [
        "columns.job.mask: generalise shows a level of the column's hierarchy, which has none [policy-hierarchy-missing]\n"
        "  try: hierarchy: {taxonomy: {path: ...}} beside the mask"
    ]


def test_a_quasi_identifier_has_a_level_of_its_own() -> None:
    assert mistakes(policy({"role": "quasi_identifier", "mask": {"generalise": {"level": 1}}, "hierarchy": TREE})) == [
        "columns.job.mask: generalise shows a level of the hierarchy by which the column, a quasi_identifier, is generalised [policy-role-key]\n"
        "  try: level: {minimum: 1} in columns.job in place of the mask"
    ]


def test_a_hierarchy_that_no_mask_looks_at_is_of_no_use() -> None:
    assert mistakes(policy({"role": "other", "mask": "keep", "hierarchy": TREE})) == [
        "columns.job.hierarchy: is of no use in a column of role other [policy-role-key]\n  try: leave it out, or change the role"
    ]


def test_a_generalised_quasi_identifier_is_counted_by_its_intervals() -> None:
    columns = {"age": {"role": "quasi_identifier", "mask": {"generalise": {"size": 10}}}, "job": {"role": "other"}}
    release: Any = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 6}}]}, data=PEOPLE)
    assert set(release.table["age"].to_pylist()) == {"[20, 29]", "[30, 39]"}

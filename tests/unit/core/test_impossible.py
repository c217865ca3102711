"""What is tried next must be of use: a limit that is larger, levels that bind, a promise that can be pasted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError

TREE = {"taxonomy": {"tree": {"Root": ["smith", "cook", "baker"]}}}


def refused(jobs: list[str], algorithm: str = "mondrian", **policy: Any) -> PromiseError:
    job = {"role": "quasi_identifier", "hierarchy": TREE, "level": {"maximum": 0}, "on_unknown": "suppress"}
    columns = {"job": job, "sex": {"role": "quasi_identifier"}}
    data = pa.table({"job": jobs, "sex": ["f"] * len(jobs)})
    with pytest.raises(PromiseError) as raised:
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}], "algorithm": algorithm, **policy}, data=data)
    return raised.value


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_levels_that_bind_are_named_beside_the_limit_that_would_do(algorithm: str) -> None:
    error = refused(["smith"] * 8 + ["cook"] * 2, algorithm)

    assert error.code == "suppression-limit"
    assert error.hint == "suppression_limit: 0.2, or a larger level.maximum in columns.job, or weaker promises"


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
@pytest.mark.parametrize("limit", [0, 1])
def test_no_limit_is_proposed_where_none_would_help(limit: float, algorithm: str) -> None:
    error = refused(["smith"] * 2 + ["cook"] * 2, algorithm, suppression_limit=limit)

    assert error.message == (
        "within the levels that the policy allows no class keeps the promises: every row would be left out; nothing has been published"
    )
    assert error.hint == "a larger level.maximum in columns.job, or weaker promises"


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_the_limit_that_is_proposed_also_has_room_for_rows_outside_a_hierarchy(algorithm: str) -> None:
    jobs = ["smith"] * 6 + ["cook"] * 2 + ["stranger"] * 2
    error = refused(jobs, algorithm, suppression_limit=0.2)

    assert error.hint is not None
    assert error.hint.startswith("suppression_limit: 0.4, ")
    job = {"role": "quasi_identifier", "hierarchy": TREE, "level": {"maximum": 0}, "on_unknown": "suppress"}
    asked = {"columns": {"job": job}, "promises": [{"k_anonymity": {"k": 3}}], "algorithm": algorithm, "suppression_limit": 0.4}
    assert sfumato.run(asked, data=pa.table({"job": jobs})).table.num_rows == 6


def test_a_column_generalised_to_its_root_takes_missing_values_in() -> None:
    columns = {"job": {"role": "quasi_identifier", "hierarchy": TREE, "level": {"minimum": 1}}}
    data = pa.table({"job": ["smith", "cook", None]})
    release = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}, data=data)

    assert release.table["job"].to_pylist() == ["*"] * 3


def test_a_promise_of_a_column_is_proposed_with_all_its_settings() -> None:
    columns = {"sex": {"role": "quasi_identifier"}, "is: ill": {"role": "sensitive"}}
    promise = {"l_diversity": {"column": "is: ill", "l": 3, "kind": "recursive", "c": 0.1}}
    data = pa.table({"sex": ["f"] * 6, "is: ill": ["a", "b", "c"] * 2})
    with pytest.raises(PromiseError) as raised:
        sfumato.run({"columns": columns, "promises": [promise]}, data=data)

    assert raised.value.hint == 'the strictest that would hold: {l_diversity: {column: "is: ill", l: 3, kind: recursive, c: 1.01}}'


def test_no_level_is_proposed_where_not_even_everybody_in_one_class_keeps_the_promise() -> None:
    error = refused(["smith", "cook"], "mondrian")

    assert error.code == "promise-impossible"
    assert error.hint == "the strictest that would hold: {k_anonymity: {k: 2}}"

"""t-closeness by order and by hierarchy, and l-diversity given another column, through the whole road."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.core.record import RunRecord
from sfumato.errors import PolicyError

Write = Callable[..., Path]
SALARIES = "age,salary\n" + "".join(f"{20 + number},{salary}\n" for number, salary in enumerate([3, 11, 4, 10, 5, 9, 6, 8, 7, 3, 11, 7]))
COLUMNS = {"age": {"role": "quasi_identifier"}, "salary": {"role": "sensitive"}}


def record(write: Write, promise: dict[str, Any], data: str, columns: dict[str, Any], algorithm: str = "mondrian") -> RunRecord:
    policy = {"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}, promise]}
    policy |= {"algorithm": algorithm, "sink": "release.csv"}
    return sfumato.run(write(policy, data)).record


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_class_of_neighbouring_salaries_is_far_by_order_however_many_there_are(write_policy: Write, algorithm: str) -> None:
    found = {
        t: record(write_policy, {"t_closeness": {"column": "salary", "t": t, "distance": "ordered"}}, SALARIES, COLUMNS, algorithm)
        for t in (0.05, 0.2, 0.5)
    }
    classes = [found[t].measures["after"]["classes"] for t in (0.05, 0.2, 0.5)]
    assert all(found[t].promises[1].measured <= t for t in found)
    assert classes == sorted(classes)
    assert classes[0] < classes[-1]


def test_numbers_are_in_the_order_of_numbers_and_not_of_text(write_policy: Write) -> None:
    # 9 and 10 are neighbours: as text, 10 would stand first and 9 last
    data = "age,salary\n20,9\n20,10\n30,9\n30,10\n40,1\n40,100\n"

    measured = record(write_policy, {"t_closeness": {"column": "salary", "t": 1, "distance": "ordered"}}, data, COLUMNS).promises[1].measured

    # the class {1, 100} is farthest: of P - Q over 1, 9, 10 is 1/2 - 1/6, 1/2 - 1/2, 1/2 - 5/6
    assert measured == pytest.approx((1 / 3 + 0 + 1 / 3) / 3)


def test_a_hierarchy_says_how_far_apart_illnesses_are(write_policy: Write) -> None:
    tree = {"Root": ["lungs", "belly"], "lungs": ["flu", "cough"], "belly": ["ulcer", "gastritis"]}
    columns = {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive", "hierarchy": {"taxonomy": {"tree": tree}}}}
    data = "age,illness\n20,flu\n20,ulcer\n30,cough\n30,gastritis\n"

    by_tree = record(write_policy, {"t_closeness": {"column": "illness", "t": 1, "distance": "hierarchical"}}, data, columns)
    equal = record(write_policy, {"t_closeness": {"column": "illness", "t": 1}}, data, columns)

    # half of each class moves to its neighbour in the tree, half as far as across the root
    assert by_tree.promises[1].measured == pytest.approx(0.25)
    assert equal.promises[1].measured == pytest.approx(0.5)


def test_a_hierarchical_distance_needs_a_hierarchy(write_policy: Write) -> None:
    with pytest.raises(PolicyError) as refused:
        record(write_policy, {"t_closeness": {"column": "salary", "t": 0.2, "distance": "hierarchical"}}, SALARIES, COLUMNS)
    assert [mistake.code for mistake in refused.value.mistakes] == ["policy-hierarchy-missing"]


def test_an_illness_is_diverse_also_for_whoever_knows_the_drug(write_policy: Write) -> None:
    columns = {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}, "drug": {"role": "sensitive"}}
    data = "age,illness,drug\n20,flu,a\n20,cough,b\n30,cough,a\n30,flu,b\n"

    alone = record(write_policy, {"l_diversity": {"column": "illness", "l": 2}}, data, columns)
    given = record(write_policy, {"l_diversity": {"column": "illness", "l": 2, "given": ["drug"]}}, data, columns)

    assert alone.measures["after"]["classes"] == 2
    assert (given.measures["after"]["classes"], given.promises[1].measured) == (1, 2)

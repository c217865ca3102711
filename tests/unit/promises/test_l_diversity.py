"""l-diversity against cases worked out by hand and against the formulas of the paper, class by class."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.classes import Classes
from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve
from sfumato.promises.l_diversity import LDiversity


def ill(*histograms: list[int]) -> Classes:
    return Classes.of_histograms("illness", *histograms)


def diverse(l: float, **settings: Any) -> LDiversity:
    return LDiversity(column="illness", l=l, **settings)


def test_distinct_counts_different_values() -> None:
    classes = ill([5, 1, 1], [3, 4, 0], [7, 0, 0])
    assert diverse(3).holds(classes).tolist() == [True, False, False]
    assert diverse(2).holds(classes).tolist() == [True, True, False]
    assert diverse(3).measure(classes) == 1


def test_entropy_of_evenly_spread_values_is_their_number() -> None:
    classes = ill([2, 2, 2], [4, 4, 4])
    assert diverse(3, kind="entropy").holds(classes).tolist() == [True, True]
    assert diverse(3.001, kind="entropy").holds(classes).tolist() == [False, False]
    assert diverse(3, kind="entropy").measure(classes) == pytest.approx(3)


def test_entropy_of_unevenly_spread_values_is_less_than_their_number() -> None:
    # shares 1/2, 1/4, 1/4: entropy 1.5 bits, so 2 to the power of 1.5 values
    assert diverse(2.82, kind="entropy").holds(ill([4, 2, 2])).tolist() == [True]
    assert diverse(2.83, kind="entropy").holds(ill([4, 2, 2])).tolist() == [False]
    assert diverse(2, kind="entropy").measure(ill([4, 2, 2])) == pytest.approx(2**1.5)


def test_recursive_holds_the_most_frequent_value_against_the_rare_ones() -> None:
    # l = 2: 4 < c (2 + 1); l = 3: 4 < c 1
    assert diverse(2, kind="recursive", c=1.4).holds(ill([2, 4, 1])).tolist() == [True]
    assert diverse(2, kind="recursive", c=1.3).holds(ill([2, 4, 1])).tolist() == [False]
    assert diverse(3, kind="recursive", c=4.1).holds(ill([2, 4, 1])).tolist() == [True]
    assert diverse(2, kind="recursive", c=3).measure(ill([2, 4, 1])) == pytest.approx(4 / 3)


def test_recursive_is_strict() -> None:
    assert diverse(3, kind="recursive", c=4).holds(ill([2, 4, 1])).tolist() == [False]


def test_recursive_never_holds_with_fewer_than_l_values() -> None:
    promise = diverse(3, kind="recursive", c=1000)
    assert promise.holds(ill([2, 4, 0], [9, 0, 0])).tolist() == [False, False]
    assert promise.measure(ill([2, 4, 0])) == math.inf


def by_hand(kind: str, l: int, c: float, histogram: list[int]) -> bool:
    counts = sorted((count for count in histogram if count), reverse=True)
    if kind == "distinct":
        return len(counts) >= l
    if kind == "entropy":
        shares = [count / sum(counts) for count in counts]
        return -sum(share * math.log(share) for share in shares) >= math.log(l) - 1e-9
    return bool(counts) and counts[0] < c * sum(counts[l - 1 :])


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_every_kind_agrees_with_its_formula(kind: str) -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        histograms = random.integers(0, 6, (20, 6)) * random.integers(0, 2, (20, 6))
        histograms[:, 0] += 1
        l, c = int(random.integers(2, 5)), float(random.choice([0.5, 1, 2, 3.5]))
        promise = diverse(l, kind=kind, c=c if kind == "recursive" else None)
        expected = [by_hand(kind, l, c, histogram) for histogram in histograms.tolist()]
        assert promise.holds(ill(*histograms.tolist())).tolist() == expected


def test_a_person_with_several_rows_of_one_value_counts_once() -> None:
    classes = Classes(
        number=1,
        class_of=np.zeros(4, np.int32),
        counts=np.array([50, 1, 1, 1], np.int64),
        sensitive={"illness": np.array([0, 1, 0, 0], np.int32)},
        subject=np.array([7, 7, 8, 8], np.int64),
        references={"illness": np.array([2, 1], np.int64)},
    )
    # persons 7 and 8 have the first illness, person 7 the second
    assert diverse(2, kind="recursive", c=3).measure(classes) == 2


def test_classes_that_share_people_may_lose_the_entropy_kind_when_merged() -> None:
    def classes(*class_of: int) -> Classes:
        return Classes(
            number=max(class_of) + 1,
            class_of=np.array(class_of, np.int32),
            counts=np.ones(8, np.int64),
            sensitive={"illness": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int32)},
            subject=np.array([1, 2, 1, 2, 3, 4, 1, 2], np.int64),
            references={"illness": np.array([4, 2], np.int64)},
        )

    promise = diverse(2, kind="entropy")
    assert promise.holds(classes(0, 0, 0, 0, 1, 1, 1, 1)).tolist() == [True, True]
    assert promise.holds(classes(0, 0, 0, 0, 0, 0, 0, 0)).tolist() == [False]


@pytest.mark.parametrize(
    ("settings", "histogram", "nearest"),
    [
        ({}, [5, 1, 1, 0], {"l": 3}),
        ({}, [5, 0, 0, 0], None),
        ({"kind": "entropy"}, [3, 3, 3, 3], {"l": 4.0}),
        ({"kind": "entropy"}, [4, 2, 2, 0], {"l": 2.82}),
        ({"kind": "entropy"}, [1000, 1, 0, 0], None),
        ({"kind": "recursive", "c": 0.1}, [29, 50, 50, 0], {"c": 0.64}),
        ({"kind": "recursive", "c": 0.1}, [29, 29, 29, 42], {"c": 0.49}),
        ({"kind": "recursive", "c": 0.1}, [4, 0, 0, 0], None),
    ],
)
def test_the_nearest_settings_are_the_strictest_that_hold(settings: dict[str, Any], histogram: list[int], nearest: dict[str, Any] | None) -> None:
    promise = diverse(2, **settings)
    everybody = ill(histogram)
    assert promise.nearest(everybody) == nearest
    if nearest is not None:
        assert diverse(**{"l": 2, **settings, **nearest}).holds(everybody).all()


def test_the_nearest_c_is_above_the_lead_and_not_equal_to_it() -> None:
    promise = diverse(2, kind="recursive", c=0.1)
    for most, rest in ((29, 100), (2, 1), (57, 100)):
        everybody = ill([most, *[1] * rest])
        found = promise.nearest(everybody)
        assert found == {"c": pytest.approx(most / rest + 0.01)}
        assert diverse(2, kind="recursive", c=found["c"]).holds(everybody).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l": 1}, "must be more than 1.0"),
        ({"l": math.inf}, "must be a finite number"),
        ({"l": "2"}, "must be a number"),
        ({"l": 2.5}, "l must be a whole number with the kind distinct"),
        ({"l": 2.5, "kind": "recursive", "c": 1}, "l must be a whole number with the kind recursive"),
        ({"l": 2, "kind": "recursive"}, "needs c with the kind recursive, and only with it"),
        ({"l": 2, "kind": "entropy", "c": 1}, "needs c with the kind recursive, and only with it"),
        ({"l": 2, "kind": "recursive", "c": 0}, "must be more than 0.0"),
        ({"l": 2, "given": ["illness"]}, "needs given columns that differ from each other and from the one it protects"),
        ({"l": 2, "given": ["drug", "drug"]}, "needs given columns that differ from each other and from the one it protects"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        LDiversity(column="illness", **settings)
    assert [mistake.message for mistake in refused.value.mistakes] == [message]


def test_with_other_columns_given_a_class_must_be_diverse_among_those_who_share_them() -> None:
    # class 0: with drug a flu and cough, with drug b flu alone; class 1: both drugs with both illnesses
    class_of = np.array([0, 0, 0, 1, 1, 1, 1], np.int32)
    sensitive = {"illness": np.array([0, 1, 0, 0, 1, 0, 1], np.int32), "drug": np.array([0, 0, 1, 0, 0, 1, 1], np.int32)}
    classes = Classes(2, class_of, np.ones(7, np.int64), sensitive)

    assert diverse(2).holds(classes).tolist() == [True, True]
    assert LDiversity(column="illness", l=2, given=["drug"]).holds(classes).tolist() == [False, True]
    assert LDiversity(column="illness", l=2, given=["drug"]).measure(classes) == 1
    assert LDiversity(column="illness", l=2, kind="entropy", given=["drug"]).holds(classes).tolist() == [False, True]


def test_a_given_column_must_be_a_sensitive_one(write_policy: Callable[..., Path]) -> None:
    policy = {
        "columns": {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}, "drug": {"role": "other"}},
        "promises": [{"l_diversity": {"column": "illness", "l": 2, "given": ["drug", "dose"]}}],
    }
    with pytest.raises(PolicyError) as refused:
        resolve(load(write_policy(policy)))
    assert {mistake.code for mistake in refused.value.mistakes} >= {"policy-role", "policy-unknown-column"}


def test_a_whole_l_is_written_as_one() -> None:
    assert diverse(3).as_component() == {"l_diversity": {"column": "illness", "l": 3}}
    assert diverse(2.5, kind="entropy").as_component() == {"l_diversity": {"column": "illness", "l": 2.5, "kind": "entropy"}}
    assert isinstance(diverse(3).model_dump(mode="json")["l"], int)

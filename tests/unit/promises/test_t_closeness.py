"""t-closeness against cases worked out by hand and against the formula of the paper, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.core.classes import Classes
from sfumato.errors import PolicyError
from sfumato.promises.t_closeness import TCloseness


def ill(*histograms: list[int], reference: list[int] | None = None) -> Classes:
    return Classes.of_histograms("illness", *histograms, reference=reference)


def close(t: float) -> TCloseness:
    return TCloseness(column="illness", t=t)


def test_a_class_like_the_table_has_distance_0() -> None:
    assert close(0.1).measure(ill([1, 2, 3], [2, 4, 6])) == pytest.approx(0)


def test_a_class_of_one_rare_value_is_as_far_as_the_others_are_frequent() -> None:
    # q = 1/10, 9/10: nine tenths of the class would have to change
    classes = ill([1, 0], [0, 9])
    assert close(0.9).holds(classes).tolist() == [True, True]
    assert close(0.89).holds(classes).tolist() == [False, True]
    assert close(0.9).measure(classes) == pytest.approx(0.9)


def test_the_reference_is_the_table_as_read_and_not_what_is_left_of_it() -> None:
    # the rows with the third value were suppressed
    assert close(0.5).measure(ill([1, 1, 0], reference=[1, 1, 2])) == pytest.approx(0.5)


def test_the_distance_is_half_the_sum_of_all_differences() -> None:
    random = np.random.default_rng(6)
    for _ in range(50):
        histograms = random.integers(0, 6, (10, 7)) * random.integers(0, 2, (10, 7))
        histograms[:, 3] += 1
        reference = histograms.sum(axis=0) + random.integers(0, 5, 7)
        q = reference / reference.sum()
        distances = [0.5 * np.abs(histogram / histogram.sum() - q).sum() for histogram in histograms]
        classes = ill(*histograms.tolist(), reference=reference.tolist())
        t = float(random.choice([0.1, 0.2, 0.35]))
        assert close(t).measure(classes) == pytest.approx(max(distances))
        assert close(t).holds(classes).tolist() == [distance <= t + 1e-9 for distance in distances]


@pytest.mark.parametrize(
    ("histogram", "reference", "nearest"),
    [([1, 2, 3], None, 0.0001), ([3, 1, 0], [3, 1, 2], 0.3334), ([1, 1, 0], [1, 1, 2], 0.5), ([7, 3, 0], [4, 3, 3], 0.3)],
)
def test_the_nearest_t_is_the_smallest_that_holds(histogram: list[int], reference: list[int] | None, nearest: float) -> None:
    everybody = ill(histogram, reference=reference)
    assert close(0.01).nearest(everybody) == {"t": nearest}
    assert close(nearest).holds(everybody).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"t": 0}, "must be more than 0.0"),
        ({"t": 1.01}, "must be at most 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        TCloseness(column="illness", **settings)
    assert [mistake.message for mistake in refused.value.mistakes] == [message]

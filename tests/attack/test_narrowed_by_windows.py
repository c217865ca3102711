"""A person who is seen in many windows: each of their boxes holds k people, all of them together need not."""

from __future__ import annotations

import numpy as np

from benchmarks.clusters import narrowed
from sfumato.algorithms.mondrian import Mondrian


def test_boxes_of_several_windows_narrow_a_person_down() -> None:
    left = narrowed(Mondrian(), people=2000, size=400, seen=20, targets=8)

    # one window never tells fewer than k, for k people of it are in the box
    assert left[:, 0].min() >= 10
    # each further one can only take people away, and the target always fits
    assert (np.diff(left, axis=1) <= 0).all()
    assert left.min() >= 1
    # which is why the documentation says that k does not hold over windows
    assert np.median(left[:, -1]) < 10

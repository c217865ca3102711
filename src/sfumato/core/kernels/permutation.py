"""Permutations by the random numbers that are given: within each of several stretches, every order equally likely (Fisher and Yates)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import plain_kernel


@plain_kernel
def permute(places: Any, starts: Any, chance: Any) -> None:
    """Put the places of each stretch in another order; ``starts`` has the end of the last stretch too, ``chance`` one number of 32 bits a place."""
    for stretch in range(len(starts) - 1):
        begin = starts[stretch]
        for place in range(starts[stretch + 1] - 1, begin, -1):
            # 32 bits times the number of choices: which of them is off by less than one in four thousand million
            other = begin + np.int64((np.uint64(chance[place]) * np.uint64(place - begin + 1)) >> np.uint64(32))
            places[place], places[other] = places[other], places[place]

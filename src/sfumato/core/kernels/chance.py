"""Numbers by chance within a kernel, from a seed that is given: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.kernels import inner_kernel


@inner_kernel
def choice(chance: Any, number: Any) -> Any:
    """Return one of so many places; where there is one only, nothing is drawn. ``chance`` holds the state, which moves on."""
    if number == 1:
        return np.int64(0)
    chance[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = chance[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return np.int64(bits % np.uint64(number))

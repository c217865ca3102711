"""Measures of lost detail: loss, granularity, and the normalised and global certainty penalties (NCP, GCP).

Loss: Iyengar, "Transforming data to satisfy privacy constraints" (2002), scaled so that an unchanged column loses 0: (r - m) / (1 - m) with r the
mean share of leaves that a row's published value stands for and m = 1 / leaves. NCP: Xu et al., "Utility-based anonymization" (2006): of a
number, the width of its interval over that of the column; of a category, the leaves of its node over all, 0 for one leaf. GCP: Ghinita et al.
(2007): their mean over rows and columns. A suppressed row loses everything in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def information_loss(
    columns: Sequence[tuple[str, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], int]],
    weights: Sequence[float],
    suppressed: int = 0,
) -> dict[str, Any]:
    """Return the measures from, for each column: its name, leaf share and span of each distinct published value, its rows, and its leaves.

    ``gcp`` weighs all columns alike; ``weighted_gcp`` weighs them as the policy does.
    """
    loss, ncp, granularity_parts = {}, {}, []
    for name, shares, spans, rows, leaves in columns:
        total = max(1, int(rows.sum()) + suppressed)
        # added up so that the order of the values does not matter
        share = (math.fsum((shares * rows).tolist()) + suppressed) / total
        least = 1 / max(1, leaves)
        # shares that add up to the least may miss it by a hair
        loss[name] = max(0.0, (share - least) / (1 - least)) if leaves > 1 else 0.0
        ncp[name] = (math.fsum((spans * rows).tolist()) + suppressed) / total
        granularity_parts.append((share, least))
    mean = float(np.mean(list(loss.values()))) if loss else 0.0
    return {
        "loss": mean,
        "gcp": float(np.mean(list(ncp.values()))) if ncp else 0.0,
        "weighted_gcp": float(np.average(list(ncp.values()), weights=weights)) if ncp else 0.0,
        "granularity": _granularity(granularity_parts),
        "ncp": ncp,
        "loss_by_column": loss,
    }


def _granularity(parts: Sequence[tuple[float, float]]) -> float:
    if not parts:
        return 1.0
    share, least = (float(np.mean([part[place] for part in parts])) for place in (0, 1))
    return 1 - (share - least) / (1 - least) if least < 1 else 1.0

"""What overlapping boxes gained: how much would have been lost had rows that are alike stayed together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.problem import Problem
from sfumato.core.publication import Publication
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding
from sfumato.core.relaxed_search import RelaxedSearch
from sfumato.engine.count import Counted
from sfumato.engine.covered import Extents, among_published
from sfumato.engine.plan import Plan
from sfumato.measures.information_loss import information_loss


def beside_strict(plan: Plan, problem: Problem, counted: Counted, recoding: Recoding, publications: Sequence[Publication]) -> list[str]:
    """Return what to say of a recoding whose boxes overlap; nothing of any other. The strict search is run too, which costs little."""
    search = plan.resolved.algorithm
    if recoding.dealing is None or not isinstance(search, RelaxedSearch):
        return []
    strict = search.strict().search(problem, counted.frequencies, Quiet())
    least, lost = (loss_of(plan, counted, each, publications) for each in (strict, recoding))
    words = f"strict Mondrian would have lost {least:.2%}, relaxed lost {lost:.2%}: rows that are alike may be published differently"
    return [words if lost < least else f"{words}; nothing was gained by it, leave relaxed out"]


def loss_of(plan: Plan, counted: Counted, recoding: Recoding, publications: Sequence[Publication]) -> float:
    """Return the loss of what a recoding publishes, as the record would tell it of the release."""
    suppressed = counted.refused_rows + int(counted.frequencies.combination_rows[recoding.suppressed].sum())
    rows = recoding.classes(counted.frequencies).rows
    columns = [_extents(counted, recoding, rows, publication, place, suppressed > 0) for place, publication in enumerate(publications)]
    # a few rows that were left out must not be countable
    told = 0 if suppressed < plan.threshold else suppressed
    return float(information_loss(columns, [1.0] * len(columns), told)["loss"])


def _extents(counted: Counted, recoding: Recoding, rows: NDArray[np.int64], publication: Publication, place: int, in_part: bool) -> Extents:
    """Return what classes of so many rows show in one column."""
    rendered = publication.render(recoding, place)
    shares, spans = publication.extents(*(array.dictionary for array in rendered))
    rows = np.bincount(rendered[0].indices.to_numpy(), rows, minlength=len(shares)).astype(np.int64)
    hierarchy = publication.hierarchy
    if hierarchy.ordered and in_part:
        leaves = counted.frequencies.combinations[~recoding.suppressed, place].astype(np.int32)
        return publication.column, *among_published(hierarchy, leaves, shares, spans, rows)
    return publication.column, shares, spans, rows, hierarchy.size

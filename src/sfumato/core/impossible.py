"""What a search says when no recoding keeps the promises: which are out of reach, and the nearest settings that are not."""

from __future__ import annotations

import json

import numpy as np

from sfumato.core.frequencies import Frequencies
from sfumato.core.problem import Problem
from sfumato.errors import PromiseError


def refuse_the_impossible(problem: Problem, frequencies: Frequencies) -> None:
    """Raise an error where not even everybody in one class keeps the promises.

    Where a person is in one class only, a promise that survives merging can then be kept by no partition. Otherwise a finer one might keep
    it; it is not looked for.
    """
    everybody = frequencies.classes(np.zeros(len(frequencies.combinations), np.int32))
    broken = [promise for promise in problem.promises if not promise.holds(everybody).all()]
    if not broken:
        return
    named = ", ".join(f"{promise.component_name()} (asked {promise.asked:g})" for promise in broken)
    settings = [_written(promise.component_name(), promise.nearest(everybody)) for promise in broken]
    raise PromiseError(
        f"cannot be kept, even with everybody in one class: {named}; nothing has been published",
        code="promise-impossible",
        hint=f"the strictest that would hold: {'; '.join(settings)}",
    )


def too_many_suppressed(suppressed: int, rows: int) -> PromiseError:
    """Return the error for a recoding that would leave out more rows than it may."""
    share = np.ceil(10_000 * suppressed / max(1, rows) - 1e-6) / 10_000
    return PromiseError(
        "the promises can be kept only by leaving out more rows than the suppression limit allows; nothing has been published",
        code="suppression-limit",
        hint=f"suppression_limit: {min(1.0, share):g}, a larger maximum level, or weaker promises",
    )


def _written(name: str, settings: dict[str, object] | None) -> str:
    return f"no {name} at all" if settings is None else json.dumps({name: settings}).replace('"', "")

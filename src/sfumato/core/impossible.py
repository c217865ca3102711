"""What a search says when no recoding keeps the promises: which are out of reach, and the nearest settings that are not."""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.frequencies import Frequencies
from sfumato.core.interfaces import Promise
from sfumato.core.masked_column import AS_PUBLISHED
from sfumato.core.problem import Problem
from sfumato.core.yaml_text import yaml_text
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
    named = ", ".join(f"{_named(promise)} (asked {promise.asked:g})" for promise in broken)
    raise PromiseError(
        f"cannot be kept, even with everybody in one class: {named}; nothing has been published",
        code="promise-impossible",
        hint=f"the strictest that would hold: {'; '.join(_strictest(promise, everybody) for promise in broken)}",
    )


def too_many_suppressed(problem: Problem, suppressed: int, rows: int) -> PromiseError:
    """Return the error for a recoding that would leave out more rows, of those that were counted, than it may."""
    share = (suppressed + problem.refused) / max(1, rows + problem.refused)
    bounded = [hierarchy.column for hierarchy, most in zip(problem.hierarchies, problem.maximum_levels, strict=True) if most < hierarchy.height]
    ways = [f"a larger level.maximum in {', '.join(f'columns.{name}' for name in bounded)}"] if bounded else []
    if suppressed == rows:
        # no limit helps where nothing would be left
        message = "within the levels that the policy allows no class keeps the promises: every row would be left out"
    else:
        message = "the promises can be kept only by leaving out more rows than the suppression limit allows"
        ways.insert(0, f"suppression_limit: {math.ceil(10_000 * share - 1e-6) / 10_000:g}")
    return PromiseError(f"{message}; nothing has been published", code="suppression-limit", hint=", or ".join([*ways, "weaker promises"]))


def _named(promise: Promise) -> str:
    return f"{promise.component_name()} of {', '.join(promise.reads)}" if promise.reads else promise.component_name()


def _strictest(promise: Promise, everybody: Classes) -> str:
    """Return the promise as a policy would write it with the strictest settings that hold."""
    nearest = promise.nearest(everybody)
    if nearest is None:
        return f"no {_named(promise)} at all"
    written = {name: settings | nearest for name, settings in promise.as_component().items()}
    # what a masked column becomes is promised under the column's own name
    return yaml_text(written).replace(AS_PUBLISHED, "")

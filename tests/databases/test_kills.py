"""Runs that are ended by SIGKILL at random moments: nothing is half done for anybody who looks, and the next run finishes it.

``make benchmark-kills`` does it a hundred times.
"""

from __future__ import annotations

import random

import pytest

from tests.databases.kills import TRIALS, Trial, killed


@pytest.mark.slow
@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql"])
@pytest.mark.parametrize("kind", TRIALS, ids=lambda kind: kind.name.replace(" ", "_"))
def test_a_run_that_is_killed_at_any_moment_leaves_nothing_half_done(request: pytest.FixtureRequest, server: str, kind: type[Trial]) -> None:
    trial = kind(request.getfixturevalue(f"{server}_url"))
    try:
        found = killed(trial, 4, random.Random(17))
    finally:
        trial.close()
    assert found.kills == 4

"""A stream that is ended by SIGKILL at random moments: nothing is lost, doubled or published below the promise. ``benchmarks/stream_kills.py`` does
it fifty times during a million records.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stream_kills import check, killed_stream


@pytest.mark.slow
def test_a_stream_that_is_killed_at_any_moment_accounts_for_every_record_once(tmp_path: Path) -> None:
    ended = killed_stream(tmp_path, 12_000, 4, random.Random(17))

    assert (ended["killed"], ended["done"], ended["failed"]) == (4, 1, 0)
    assert ended["after a commit"]
    check(tmp_path, 12_000)

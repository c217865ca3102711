"""What is said of the records of a stream."""

from __future__ import annotations

import pytest

from sfumato.cli.stream import _of_view


@pytest.mark.parametrize(
    ("accounts", "rows", "words"),
    [
        ({"released": 0, "aggregated": 0, "held": 7}, 0, "release   0 released, 7 held"),
        ({"released": 0, "aggregated": 3889, "dead": 1}, 3889, "release   3,889 released in aggregates, 1 dead letter"),
        ({"released": 8800, "suppressed": 3, "dead": 2}, 8809, "release   8,800 released, 3 suppressed, 2 dead letters, and 9 made-up rows"),
        ({"released": 8, "held": 0}, 9, "release   8 released, and 1 made-up row"),
    ],
)
def test_what_became_of_records(accounts: dict[str, int], rows: int, words: str) -> None:
    assert _of_view("", accounts, {"rows": float(rows)}, {})[0] == words

"""A cluster that is used again shows what it has always shown: another text would be a class of its own, with nobody else in it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import sfumato

POLICY: dict[str, Any] = {
    "subject": "person",
    "columns": {"person": {"role": "identifier"}, "dose": {"role": "quasi_identifier", "type": "decimal"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "algorithm": {"castle": {"delta": 2}},
    "stream": {"learn": 2},
}


def texts_of_clusters(pieces: list[list[Any]]) -> dict[int, set[str]]:
    session, texts, number = sfumato.stream(POLICY, secret=bytes(32)), defaultdict(set), 0
    for piece in [*pieces, None]:
        releases = session.flush() if piece is None else session.push([{"person": number + place, "dose": dose} for place, dose in enumerate(piece)])
        number += len(piece or [])
        for release in releases:
            for cluster, row in zip(release.clusters.tolist(), release.batch.to_pylist(), strict=True):
                texts[cluster].add(row["dose"])
    return texts


@pytest.mark.parametrize("later", [["1", "10.25", "10.25", "6"], ["1", "1e1", "1e1", "6"], ["1", "0.0000000001", "10", "6"]])
def test_numbers_that_come_later_do_not_change_how_a_cluster_is_written(later: list[str]) -> None:
    texts = texts_of_clusters([["1", "6"], ["5", "2.5"], later])

    assert len(texts) > 1
    assert all(len(each) == 1 for each in texts.values())


def test_no_cluster_of_a_random_stream_has_two_texts() -> None:
    chance = np.random.default_rng(7)
    for _ in range(60):
        doses = [f"{dose:.{digits}f}" for dose, digits in zip(chance.normal(20, 9, 40), chance.integers(0, 6, 40), strict=True)]
        assert all(len(each) == 1 for each in texts_of_clusters([doses[start : start + 5] for start in range(0, 40, 5)]).values())

"""Straight lines: which numbers follow from what was made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.straight_line import on_a_line

Numbers = NDArray[np.float64]
PAYS = np.sort(np.round(np.random.default_rng(4).lognormal(8, 0.5, 60), 2))
LIMIT = float(PAYS[-3:].min()) - 400


@pytest.mark.parametrize(
    "made",
    [
        lambda pays: pays,
        lambda pays: pays * 12 + 30,
        lambda pays: -pays / 7,
        lambda pays: np.round(pays * 1.0837, 1),
        lambda pays: np.round(pays / 5) * 5,
        lambda pays: pays + np.random.default_rng(5).uniform(-1, 1, len(pays)),
    ],
    ids=["same", "scaled", "turned", "rounded", "base", "noise"],
)
def test_all_but_those_beyond_a_limit_are_on_the_line(made: Callable[[Numbers], Numbers]) -> None:
    assert on_a_line(PAYS, made(np.minimum(PAYS, LIMIT))).tolist() == (PAYS <= LIMIT).tolist()
    assert on_a_line(PAYS, made(PAYS)).all()


@pytest.mark.parametrize(
    "made",
    [np.sqrt, np.square, lambda pays: np.floor(pays / 1000), lambda pays: (pays > 3000) * 1.0, lambda pays: pays * 0 + 5, lambda pays: pays * np.nan],
    ids=["root", "square", "brackets", "flag", "constant", "missing"],
)
def test_what_is_no_line_tells_nobody(made: Callable[[Numbers], Numbers]) -> None:
    assert not on_a_line(PAYS, made(PAYS)).any()


@pytest.mark.parametrize("seed", range(40))
def test_numbers_that_chance_has_made_are_on_no_line_or_all_on_one(seed: int) -> None:
    chance = np.random.default_rng(seed)
    pays = np.round(chance.lognormal(8, 0.5, chance.integers(0, 40)))
    for amount in (1, 100, 100_000):
        assert len(set(on_a_line(pays, np.round(pays + chance.laplace(0, amount, len(pays))), by_chance=True).tolist())) <= 1


def test_the_line_of_some_is_not_hidden_by_what_all_others_show_alike() -> None:
    some = np.arange(len(PAYS)) % 4 == 0
    assert on_a_line(PAYS, np.where(some, PAYS * 3, -1.0)).tolist() == some.tolist()


def test_two_numbers_are_always_on_a_line_and_tell_nothing() -> None:
    assert not on_a_line(np.array([1.0, 2.0]), np.array([5.0, 9.0])).any()


@pytest.mark.parametrize("seed", range(20))
def test_numbers_that_are_any_bits_are_on_no_line(seed: int) -> None:
    # as those are that stand for texts
    given, made = np.random.default_rng(seed).integers(0, 2**64, (2, 50), np.uint64).view(np.float64)
    assert not on_a_line(given, made).any()

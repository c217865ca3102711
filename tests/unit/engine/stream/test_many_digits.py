"""Numbers with many digits in a stream: each is judged by itself, whatever stands beside it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import sfumato
from sfumato.errors import PromiseError

POLICY: dict[str, Any] = {
    "subject": "person",
    "columns": {"person": {"role": "identifier"}, "place": {"role": "quasi_identifier", "type": "decimal"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "window": {"count": 10},
}


def released(places: list[str], policy: dict[str, Any], at_once: int) -> tuple[list[str], list[int]]:
    session = sfumato.stream(policy, secret=bytes(32))
    rows = [{"person": f"p{number}", "place": place} for number, place in enumerate(places)]
    texts: list[str] = []
    dead: list[int] = []
    for releases in [*(session.push(rows[start : start + at_once]) for start in range(0, len(rows), at_once)), session.flush()]:
        texts += [text for release in releases for text in release.batch.column("place").to_pylist()]
        dead += [letter.number for letter in releases.dead]
    return texts, dead


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "microaggregation"])
@pytest.mark.parametrize("odd", ["52.51631234567891", "0.30000000000000004", "21.25"])
def test_a_number_that_needs_many_decimals_takes_no_other_with_it(odd: str, algorithm: str) -> None:
    places = [f"{20 + number % 10}.5" for number in range(50)]
    places[23] = odd

    texts, dead = released(places, POLICY | {"algorithm": algorithm}, 10)

    assert (len(texts), dead) == (50, [])


@pytest.mark.parametrize("at_once", [1, 10, 50])
def test_a_number_that_no_float_tells_is_the_only_dead_letter(at_once: int) -> None:
    places = [f"{20 + number % 10}.5" for number in range(50)]
    places[23] = "0.12345678901234567"

    texts, dead = released(places, POLICY, at_once)

    assert (len(texts), dead) == (49, [23])


@pytest.mark.parametrize("at_once", [1, 2, 3, 6])
def test_a_number_of_many_digits_is_a_dead_letter_also_beside_one_with_an_exponent(at_once: int) -> None:
    texts, dead = released(["1e3", "6", "5", "99999999999999999", "7", "8"], POLICY | {"window": {"count": 2}}, at_once)

    assert dead == [3]
    assert not any("1e+17" in text for text in texts)


def test_what_is_published_has_no_digits_that_nobody_wrote() -> None:
    texts, _ = released(["20.3", "20.3", "52.51631234567891", "52.51631234567891"], POLICY | {"window": {"count": 4}}, 4)

    assert sorted(set(texts)) == ["20.30000000000000", "52.51631234567891"]


def test_a_number_gets_zeros_and_no_digits_of_its_own_beside_one_of_many_decimals() -> None:
    texts, _ = released(["1234567.1", "1234567.1", "0.0000000001", "0.0000000001"], POLICY | {"window": {"count": 4}}, 4)

    assert sorted(set(texts)) == ["0.0000000001", "1234567.1000000000"]


def test_digits_that_nobody_wrote_are_found_before_anything_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.engine.stream.scales._written", lambda number, digits: f"{Decimal(number):.16f}")

    with pytest.raises(PromiseError, match="a number that is not the one that stands there"):
        released(["52.1", "52.1", "52.2", "52.2"], POLICY | {"window": {"count": 4}}, 4)


@pytest.mark.parametrize("small", ["1e-400", "-1e-400", "2e-324"])
def test_a_number_too_small_for_a_float_is_a_dead_letter_and_no_zero(small: str) -> None:
    texts, dead = released(["7", small, "7", "0", "0", "0.0"], POLICY | {"window": {"count": 6}}, 6)

    assert (dead, len(texts)) == ([1], 5)

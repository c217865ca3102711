from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.core.draws import below, draws, fractions

SECRET = bytes(range(32))


def numbers_of(texts: list[str | None], numbers: list[int], secret: bytes | None = SECRET, purpose: str = "test") -> list[int]:
    found: list[int] = draws(pa.array(texts, pa.string()), np.array(numbers, np.int64), secret, purpose).tolist()
    return found


def test_numbers_under_a_key_are_known() -> None:
    # HMAC-SHA-256 and SHAKE-256 as Python has them, under the key that HKDF derives
    import hashlib
    import hmac

    from sfumato.core.keys import derived_key

    seed = hmac.digest(derived_key(SECRET, b"draws:test"), b"Ann", "sha256")
    wanted = hashlib.shake_256(seed).digest(16)
    assert numbers_of(["Ann"], [2]) == [int.from_bytes(wanted[:8], "little"), int.from_bytes(wanted[8:], "little")]


def test_a_text_has_the_same_numbers_wherever_it_stands() -> None:
    first, second, third = (numbers_of(texts, [1] * len(texts)) for texts in (["a", "b"], ["b", "a", "a"], ["b"]))

    assert first == [second[1], second[0]]
    assert second[1] == second[2]
    assert third == second[:1]


def test_more_numbers_begin_with_the_same_ones() -> None:
    assert numbers_of(["a"], [3])[:2] == numbers_of(["a"], [2])


def test_missing_values_have_numbers_of_their_own() -> None:
    missing, other, empty, again = numbers_of([None, "a", "", None], [1, 1, 1, 1])

    assert missing == again
    assert len({missing, other, empty}) == 3


def test_without_a_key_chance_decides() -> None:
    assert numbers_of(["a"], [4], secret=None) != numbers_of(["a"], [4], secret=None)


def test_another_key_or_purpose_gives_other_numbers() -> None:
    usual = numbers_of(["a"], [1])

    assert numbers_of(["a"], [1], secret=bytes(32)) != usual
    assert numbers_of(["a"], [1], purpose="other") != usual


def test_nothing_asked_for_is_nothing() -> None:
    assert numbers_of(["a", "b"], [0, 0]) == []
    assert numbers_of([], []) == []


def test_numbers_below_a_limit_and_fractions_stay_in_their_range() -> None:
    largest = np.array([2**64 - 1, 0], np.uint64)

    assert below(largest, 10).tolist() == [5, 0]
    assert fractions(largest)[0] < 1
    assert fractions(largest)[1] == 0

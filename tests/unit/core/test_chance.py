"""Random bytes."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from sfumato.core.by_chance import generator
from sfumato.core.chance import derived_chance, random_bytes

MANY = 1 << 20


def test_so_many_bytes_are_returned_as_were_asked_for() -> None:
    assert [len(random_bytes(number)) for number in (0, 1, 65535, 65536, 65537, MANY)] == [0, 1, 65535, 65536, 65537, MANY]


@pytest.mark.parametrize("number", [32, MANY])
def test_no_call_repeats_another(number: int) -> None:
    assert len({random_bytes(number) for _ in range(4)}) == 4


def test_every_byte_is_as_likely_as_every_other() -> None:
    counted = np.bincount(np.frombuffer(random_bytes(MANY), np.uint8), minlength=256)
    expected = MANY / 256

    # chi-square with 255 degrees of freedom: above 400 once in a hundred million calls
    assert ((counted - expected) ** 2 / expected).sum() < 400


def test_neighbouring_blocks_of_the_cipher_have_nothing_in_common() -> None:
    blocks = np.frombuffer(random_bytes(MANY), np.uint64)

    assert len(np.unique(blocks)) > len(blocks) - 2


def test_many_bytes_are_the_systems_own_where_there_is_no_cipher(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    system = os.urandom

    def watched(number: int) -> bytes:
        asked.append(number)
        return system(number)

    monkeypatch.setattr(os, "urandom", watched)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)

    assert (len(random_bytes(MANY)), asked) == (MANY, [MANY])


def derived(secret: bytes, purpose: str, *numbers: int) -> list[bytes]:
    with derived_chance(secret, purpose):
        return [random_bytes(number) for number in numbers] + [generator().bytes(8)]


def test_derived_chance_is_the_same_again_and_hangs_on_secret_and_purpose() -> None:
    one = derived(bytes(32), "records from 0", 4, MANY, 4)

    assert one == derived(bytes(32), "records from 0", 4, MANY, 4)
    assert len({part[:4] for part in one}) == 4
    assert not {part[:4] for part in one} & {part[:4] for part in derived(bytes(32), "records from 7", 4, MANY, 4)}
    assert not {part[:4] for part in one} & {part[:4] for part in derived(b"x" * 32, "records from 0", 4, MANY, 4)}


def test_derived_chance_needs_no_cipher_and_ends_with_its_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    one = derived(bytes(32), "a", MANY)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)

    assert one == derived(bytes(32), "a", MANY)
    assert random_bytes(16) != random_bytes(16)

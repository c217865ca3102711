"""Random bytes."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from sfumato.core.chance import random_bytes

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

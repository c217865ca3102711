"""Attributes are known by SipHash-2-4 with 128 bits: the vectors of its authors, with the key 00 01 ... 0f and messages 00 01 02 ..."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.algorithms._event_window import Ways, Window

SECRET = np.frombuffer(bytes(range(16)) + bytes(16), np.uint64)
VECTORS = {
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
}


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & (2**64 - 1)


def plain(message: bytes) -> str:
    """Return the digest by the text of the paper."""
    k0, k1 = (int.from_bytes(bytes(range(16))[place : place + 8], "little") for place in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(times: int) -> None:
        for _ in range(times):
            v[0], v[2] = (v[0] + v[1]) % 2**64, (v[2] + v[3]) % 2**64
            v[1], v[3] = rotated(v[1], 13) ^ v[0], rotated(v[3], 16) ^ v[2]
            v[0] = rotated(v[0], 32)
            v[2], v[0] = (v[2] + v[1]) % 2**64, (v[0] + v[3]) % 2**64
            v[1], v[3] = rotated(v[1], 17) ^ v[2], rotated(v[3], 21) ^ v[0]
            v[2] = rotated(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v[3] ^= word
        turn(2)
        v[0] ^= word
    v[2] ^= 0xEE
    turn(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    turn(4)
    return (first.to_bytes(8, "little") + (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")).hex()


@pytest.mark.parametrize("length", VECTORS)
def test_the_plain_version_gives_the_vectors(length: int) -> None:
    assert plain(bytes(range(length))) == VECTORS[length]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 40, 63])
def test_the_kernel_gives_what_the_plain_version_gives(length: int) -> None:
    window = Window(1, 1, Ways(True, True, False), False)
    window._secret[:] = SECRET
    data = np.frombuffer(bytes(range(length)) + bytes(8), np.uint8)
    path = window.number_texts(data, np.array([0, length]), np.array([True]), b"\xff", True)
    assert window._paths[1][path[0]].tobytes().hex() == plain(bytes(range(length)))

"""FF1, held to the sample vectors that NIST publishes for it, and to its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.ff1 import FF1

SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
AES128 = "2B7E151628AED2A6ABF7158809CF4F3C"
AES192 = AES128 + "EF4359D8D580AA4F"
AES256 = AES192 + "7F036D6F04FC6A94"
TWEAK, LONGER_TWEAK = "39383736353433323130", "3737373770717273373737"

# NIST, "FF1 samples", for Special Publication 800-38G: samples 1 to 9
SAMPLES = [
    (AES128, 10, "", "0123456789", "2433477484"),
    (AES128, 10, TWEAK, "0123456789", "6124200773"),
    (AES128, 36, LONGER_TWEAK, "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
    (AES192, 10, "", "0123456789", "2830668132"),
    (AES192, 10, TWEAK, "0123456789", "2496655549"),
    (AES192, 36, LONGER_TWEAK, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
    (AES256, 10, "", "0123456789", "6657667009"),
    (AES256, 10, TWEAK, "0123456789", "1001623463"),
    (AES256, 36, LONGER_TWEAK, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
]


def numerals(text: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint16]]:
    return np.array([[SIGNS.index(sign) for sign in text]], np.uint16)


@pytest.mark.parametrize(("key", "radix", "tweak", "plain", "cipher"), SAMPLES)
def test_it_gives_the_sample_of_the_standard_and_takes_it_back(key: str, radix: int, tweak: str, plain: str, cipher: str) -> None:
    ff1 = FF1(bytes.fromhex(key), bytes.fromhex(tweak), radix)
    assert ff1.encrypted(numerals(plain)).tolist() == numerals(cipher).tolist()
    assert ff1.decrypted(numerals(cipher)).tolist() == numerals(plain).tolist()


def plainly(key: bytes, tweak: bytes, radix: int, text: list[int]) -> list[int]:
    """Algorithm 7 of the standard, step by step, for one text: slow, and written apart from what is tested."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    def encrypt(block: bytes) -> bytes:
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)

    def number(numerals: list[int]) -> int:
        found = 0
        for one in numerals:
            found = found * radix + one
        return found

    n, u = len(text), len(text) // 2
    v = n - u
    a, b = text[:u], text[u:]
    size = -(-(radix**v - 1).bit_length() // 8)
    d = 4 * -(-size // 4) + 4
    p = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([10, u % 256]) + n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
    for i in range(10):
        q = tweak + bytes((-len(tweak) - size - 1) % 16) + bytes([i]) + number(b).to_bytes(size, "big")
        r = bytes(16)
        for start in range(0, len(p + q), 16):
            r = encrypt(bytes(x ^ y for x, y in zip(r, (p + q)[start : start + 16], strict=True)))
        s = r
        for j in range(1, -(-d // 16)):
            s += encrypt(bytes(x ^ y for x, y in zip(r, j.to_bytes(16, "big"), strict=True)))
        m = u if i % 2 == 0 else v
        c = (number(a) + int.from_bytes(s[:d], "big")) % radix**m
        written = []
        for _ in range(m):
            c, rest = divmod(c, radix)
            written.insert(0, rest)
        a, b = b, written
    return a + b


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(2, 300), st.integers(2, 90), st.binary(max_size=40))
def test_many_rows_at_once_are_what_the_standard_says_of_each(data: st.DataObject, radix: int, length: int, tweak: bytes) -> None:
    rows = [data.draw(st.lists(st.integers(0, radix - 1), min_size=length, max_size=length)) for _ in range(3)]
    ff1 = FF1(bytes(range(32)), tweak, radix)
    found = ff1.encrypted(np.array(rows, np.uint16))
    assert found.tolist() == [plainly(bytes(range(32)), tweak, radix, row) for row in rows]
    assert ff1.decrypted(found).tolist() == rows


@pytest.mark.parametrize("length", range(6, 61))
def test_digits_of_every_length_come_back(length: int) -> None:
    rows = np.random.default_rng(length).integers(0, 10, (200, length)).astype(np.uint16)
    ff1 = FF1(bytes(32), b"domain:x", 10)
    found = ff1.encrypted(rows)
    assert (ff1.decrypted(found) == rows).all()
    assert found.max() < 10
    assert (found != rows).any(axis=1).all() or length < 8


def test_no_rows_are_no_rows() -> None:
    assert FF1(bytes(32), b"", 10).encrypted(np.empty((0, 8), np.uint16)).shape == (0, 8)


@pytest.mark.parametrize("bits", [8, 9, 12])
def test_numbers_of_so_many_bits_are_permuted_among_themselves(bits: int) -> None:
    ff1, numbers = FF1(bytes(32), b"tokens", 2), np.arange(1 << bits, dtype=np.uint64)
    found = ff1.permuted_numbers(numbers, bits)
    assert sorted(found.tolist()) == numbers.tolist()
    assert found.tolist() != numbers.tolist()
    assert ff1.permuted_numbers(found, bits, decrypt=True).tolist() == numbers.tolist()


@settings(deadline=None)
@given(st.lists(st.integers(0, (1 << 63) - 1), min_size=1, max_size=20))
def test_numbers_of_63_bits_come_back(numbers: list[int]) -> None:
    ff1, given_numbers = FF1(bytes(32), b"", 2), np.array(numbers, np.uint64)
    assert ff1.permuted_numbers(ff1.permuted_numbers(given_numbers, 63), 63, decrypt=True).tolist() == numbers

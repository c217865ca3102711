"""FF1: encryption of texts of some alphabet to texts of the same alphabet and length.

NIST Special Publication 800-38G, "Methods for Format-Preserving Encryption" (2016), algorithms 7 and 8, with AES from the library ``cryptography``.
Here many texts of one length are encrypted at once: a round is one call of AES over all rows. Halves below 2**56 are whole numbers of the machine;
longer texts are calculated with Python's, exactly, and more slowly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cipher_library import refuse_missing_library

_ROUNDS = 10
_BLOCK = 16
_MACHINE_BITS = 56
_PIECE = 1 << 14

Numerals = NDArray[np.unsignedinteger[Any]]
Numbers = NDArray[Any]
"""Whole numbers, one a row: unsigned of 64 bits, or Python's own."""


class FF1:
    """The permutation of texts of one radix, under one key and tweak. Texts are rows of numerals from 0 to radix - 1."""

    def __init__(self, key: bytes, tweak: bytes, radix: int) -> None:
        refuse_missing_library()
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # every block is encrypted by itself, as the rounds of the standard ask for; no text is ever encrypted in this mode
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - FF1 is made of single blocks
        self._tweak = tweak
        self._radix = radix

    def encrypted(self, numerals: Numerals) -> Numerals:
        """Return the encrypted rows; all are of one length, 2 at least."""
        return self._in_pieces(numerals, decrypt=False)

    def decrypted(self, numerals: Numerals) -> Numerals:
        """Return the rows as they were."""
        return self._in_pieces(numerals, decrypt=True)

    def _in_pieces(self, numerals: Numerals, decrypt: bool) -> Numerals:
        """Work on so many rows at a time that what is calculated stays in the processor's cache."""
        pieces = [self._permuted(numerals[start : start + _PIECE], decrypt) for start in range(0, len(numerals), _PIECE)]
        return np.concatenate(pieces) if pieces else numerals

    def _permuted(self, numerals: Numerals, decrypt: bool) -> Numerals:
        length = numerals.shape[1]
        half = length // 2
        machine = (self._radix ** (length - half)).bit_length() <= _MACHINE_BITS
        left, right = (_number_of(part, self._radix, machine) for part in (numerals[:, :half], numerals[:, half:]))
        left, right = self.permuted_halves(left, right, length, decrypt)
        return np.concatenate([_numerals_of(left, self._radix, half), _numerals_of(right, self._radix, length - half)], axis=1)

    def permuted_numbers(self, numbers: NDArray[np.uint64], bits: int, decrypt: bool = False) -> NDArray[np.uint64]:
        """Return numbers of up to 64 bits permuted among all of so many bits; the radix must be 2."""
        low = np.uint64(bits - bits // 2)
        left, right = self.permuted_halves(numbers >> low, numbers & np.uint64((1 << int(low)) - 1), bits, decrypt)
        found: NDArray[np.uint64] = left << low | right
        return found

    def permuted_halves(self, left: Numbers, right: Numbers, length: int, decrypt: bool) -> tuple[Numbers, Numbers]:
        """Return the halves of texts of a length, given as numbers, after all rounds."""
        rounding = _Rounding(self._cipher, self._tweak, self._radix, length)
        sizes = length // 2, length - length // 2
        for number in reversed(range(_ROUNDS)) if decrypt else range(_ROUNDS):
            modulus = self._radix ** sizes[number % 2]
            if decrypt:
                left, right = _reduced_difference(right, rounding.noise(number, left, modulus), modulus), left
            else:
                left, right = right, _reduced_sum(left, rounding.noise(number, right, modulus), modulus)
        return left, right


class _Rounding:
    """The round function for texts of one length: what is added to one half, calculated from the other."""

    def __init__(self, cipher: Any, tweak: bytes, radix: int, length: int) -> None:
        self._encrypt = cipher.encryptor()
        larger = length - length // 2
        self._bytes = -(-(radix**larger - 1).bit_length() // 8)
        self._drawn = 4 * -(-self._bytes // 4) + 4
        first = bytes([1, 2, 1]) + radix.to_bytes(3, "big") + bytes([_ROUNDS, length // 2 % 256]) + length.to_bytes(4, "big")
        whole = first + len(tweak).to_bytes(4, "big") + tweak + bytes(-(len(tweak) + self._bytes + 1) % _BLOCK)
        # the blocks before the one that the round's number stands in are the same for all rows and rounds
        fixed = len(whole) // _BLOCK * _BLOCK
        chain = bytes(_BLOCK)
        for start in range(0, fixed, _BLOCK):
            chain = self._encrypt.update(bytes(a ^ b for a, b in zip(chain, whole[start : start + _BLOCK], strict=True)))
        self._chain = np.frombuffer(chain, np.uint8)
        self._before = whole[fixed:]

    def noise(self, number: int, half: Numbers, modulus: int) -> Numbers:
        """Return what a round adds, below the modulus."""
        if half.dtype != object:
            return _reduced(self._last_block(number, half), self._drawn, modulus)
        chained = self._chained(number, half)
        more = [self._blocks(chained ^ _counter(place)) for place in range(1, -(-self._drawn // _BLOCK))]
        drawn = np.concatenate([chained, *more], axis=1)[:, : self._drawn]
        whole, size = drawn.tobytes(), self._drawn
        return _python_numbers(int.from_bytes(whole[start : start + size], "big") % modulus for start in range(0, len(whole), size))

    def _last_block(self, number: int, half: Numbers) -> NDArray[np.uint8]:
        """Return what ``_chained`` does where number and half are the last 8 bytes of a block, or fewer: two words of the machine."""
        before = np.frombuffer(self._before.ljust(_BLOCK, b"\0"), np.uint8) ^ self._chain
        high, low = np.frombuffer(before.tobytes(), ">u8").tolist()
        rows = np.empty((len(half), 2), ">u8")
        rows[:, 0] = high
        rows[:, 1] = half ^ np.uint64(low ^ number << 8 * self._bytes)
        return self._blocks(rows.view(np.uint8))

    def _chained(self, number: int, half: Numbers) -> NDArray[np.uint8]:
        """Return the last block of AES in the mode CBC over all that is put into a round, one row a text."""
        rows = np.empty((len(half), len(self._before) + 1 + self._bytes), np.uint8)
        rows[:, : len(self._before)] = np.frombuffer(self._before, np.uint8)
        rows[:, len(self._before)] = number
        rows[:, len(self._before) + 1 :] = np.frombuffer(b"".join(one.to_bytes(self._bytes, "big") for one in half), np.uint8).reshape(len(half), -1)
        chained = np.broadcast_to(self._chain, (len(half), _BLOCK))
        for start in range(0, rows.shape[1], _BLOCK):
            chained = self._blocks(chained ^ rows[:, start : start + _BLOCK])
        return chained

    def _blocks(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return every block encrypted by itself."""
        given = np.ascontiguousarray(blocks)
        found = np.empty(given.size + _BLOCK - 1, np.uint8)
        self._encrypt.update_into(given.reshape(-1).data, found.data)
        return found[: given.size].reshape(-1, _BLOCK)


def _counter(place: int) -> NDArray[np.uint8]:
    return np.frombuffer(place.to_bytes(_BLOCK, "big"), np.uint8)


def _number_of(numerals: Numerals, radix: int, machine: bool) -> Numbers:
    kind: Any = np.uint64 if machine else object
    found = np.zeros(len(numerals), kind)
    for place in range(numerals.shape[1]):
        found = found * (np.uint64(radix) if machine else radix) + numerals[:, place].astype(kind)
    return found


def _numerals_of(numbers: Numbers, radix: int, length: int) -> Numerals:
    found = np.empty((len(numbers), length), np.uint16)
    base: Any = radix if numbers.dtype == object else np.uint64(radix)
    for place in reversed(range(length)):
        rest = numbers // base
        found[:, place] = (numbers - rest * base).astype(np.uint16)
        numbers = rest
    return found


def _reduced(blocks: NDArray[np.uint8], drawn: int, modulus: int) -> Numbers:
    """Return the number that the first bytes of each block are, 8 or 12, modulo another; piece by piece, so that 64 bits are always enough."""
    size = 8 if drawn == 8 else next(size for size in (4, 2, 1) if modulus.bit_length() + 8 * size <= 64)
    pieces = blocks.view(f">u{size}")
    rest = pieces[:, 0].astype(np.uint64) % np.uint64(modulus)
    for place in range(1, drawn // size):
        rest = ((rest << np.uint64(8 * size)) + pieces[:, place].astype(np.uint64)) % np.uint64(modulus)
    return rest


def _python_numbers(numbers: Iterable[int]) -> Numbers:
    """Return an array of Python's numbers; numpy, left to itself, would make machine numbers of small ones."""
    given = list(numbers)
    found = np.empty(len(given), object)
    found[:] = given
    return found


def _reduced_sum(one: Numbers, other: Numbers, modulus: int) -> Numbers:
    total = one + other
    # a difference below zero becomes a very large number, and is not the smaller one
    return total % modulus if total.dtype == object else np.minimum(total, total - np.uint64(modulus))


def _reduced_difference(one: Numbers, other: Numbers, modulus: int) -> Numbers:
    left = one - other
    return left % modulus if left.dtype == object else np.minimum(left, left + np.uint64(modulus))

"""Networks of IP addresses: each level keeps fewer leading bits, ``10.1.2.3`` becomes ``10.1.2.0/24``, then ``10.1.0.0/16``."""

from __future__ import annotations

import socket
from itertools import pairwise
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sfumato.core import canonical
from sfumato.core.hierarchy import Hierarchy, Level
from sfumato.core.settings import Settings
from sfumato.hierarchies._tree import tree, wrong_type

_BITS = {4: 32, 6: 128}


class Network(Settings):
    """Prefixes of IPv4 and IPv6 addresses, side by side below the root. Where one family has fewer levels, its last one goes on.

    >>> clients = Network().build("client", pa.array(["10.1.2.3", "10.1.9.9", "2001:db8::1"]), np.array([1, 1, 1]))
    >>> [level.labels for level in clients.levels[1:3]]
    [('10.1.0.0/16', '2001:db8::/48'), ('10.0.0.0/8', '2001:db8::/32')]
    """

    ipv4: Annotated[list[int], Field(min_length=1, description="how many leading bits of an IPv4 address each level keeps, falling")] = [24, 16, 8]
    ipv6: Annotated[list[int], Field(min_length=1, description="how many leading bits of an IPv6 address each level keeps, falling")] = [64, 48, 32]

    @field_validator("ipv4", "ipv6")
    @classmethod
    def _falling(cls, value: list[int], info: object) -> list[int]:
        most = _BITS[int(str(getattr(info, "field_name", "ipv6"))[-1])]
        if not all(1 <= length <= most for length in value) or any(later >= earlier for earlier, later in pairwise(value)):
            raise ValueError(f"needs lengths from {most} down to 1 that fall from level to level")
        return value

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build one level a length over the distinct addresses."""
        del counts
        texts = canonical.as_text(values)
        addresses = canonical.parse(texts, "ip")
        if addresses.null_count:
            kind = "text" if pa.types.is_string(values.type) else canonical.infer(values)
            raise wrong_type(column, kind, "networks", "declare type: ip, list what stands for a missing value under `missing`, or use prefix")
        packed = sorted({_packed(text) for text in addresses.to_pylist()})
        leaves = pa.array([_text(address) for address in packed], pa.string())
        if not packed:
            return tree(column, "ip", leaves, (), self)
        family = np.array([address[0] for address in packed])
        bits = np.frombuffer(b"".join(address[1:].ljust(16, b"\0") for address in packed), np.uint8).reshape(-1, 16)
        steps = max(len(self.ipv4), len(self.ipv6))
        return tree(column, "ip", leaves, [self._level(step, family, bits) for step in range(steps)], self)

    def _level(self, step: int, family: NDArray[np.int64], bits: NDArray[np.uint8]) -> Level:
        """Return the level that keeps the leading bits of one step, each family its own number of them."""
        lengths = {4: self.ipv4[min(step, len(self.ipv4) - 1)], 6: self.ipv6[min(step, len(self.ipv6) - 1)]}
        masks = np.array([_mask(lengths[4]), _mask(lengths[6])])
        kept = bits & masks[(family == 6).astype(int)]
        changes = (family[1:] != family[:-1]) | (kept[1:] != kept[:-1]).any(axis=1)
        starts = np.flatnonzero(np.r_[True, changes]).astype(np.int32)
        labels = [f"{_text(_address(int(family[start]), kept[start].tobytes()))}/{lengths[int(family[start])]}" for start in starts.tolist()]
        return Level(starts, tuple(labels))


def _packed(text: str) -> bytes:
    """Return an address as bytes that sort by family and number."""
    if ":" in text:
        return b"\x06" + socket.inet_pton(socket.AF_INET6, text)
    return b"\x04" + socket.inet_pton(socket.AF_INET, text)


def _text(packed: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET6 if packed[0] == 6 else socket.AF_INET, packed[1:])


def _address(family: int, bits: bytes) -> bytes:
    return bytes([family]) + bits[: _BITS[family] // 8]


def _mask(length: int) -> NDArray[np.uint8]:
    return np.packbits(np.arange(128) < length)

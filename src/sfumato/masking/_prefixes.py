"""The beginnings of codes and of IP addresses. A private part of ``generalise``."""

from __future__ import annotations

import socket

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core import canonical


def code_prefixes(texts: pa.Array, length: int) -> pa.Array:
    """Return the first characters of codes and a star; null for a code that has no more than these: nothing of it would be hidden."""
    long = pc.greater(pc.utf8_length(texts), length)
    return pc.if_else(long, pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, length), "*", ""), pa.scalar(None, pa.string()))


def is_address(texts: pa.Array) -> pa.Array:
    """Return which texts are addresses."""
    likely = pc.match_substring_regex(texts, r"[0-9A-Fa-f:][.:]")
    found = np.zeros(len(texts), bool)
    places = np.flatnonzero(pc.fill_null(likely, False).to_numpy(zero_copy_only=False))
    found[places] = canonical.parse(texts.take(pa.array(places)), "ip").is_valid().to_numpy(zero_copy_only=False)
    return pa.array(found)


def networks(texts: pa.Array, ipv4: int, ipv6: int) -> pa.Array:
    """Return the networks of addresses, by so many leading bits; null for what is no address, or would be shown whole.

    >>> networks(pa.array(["10.1.2.3", "2001:db8:1:2::3", "x"]), 24, 48).to_pylist()
    ['10.1.2.0/24', '2001:db8:1::/48', None]
    """
    return pa.array([None if text is None else _network(text, ipv4, ipv6) for text in canonical.parse(texts, "ip").to_pylist()], pa.string())


def _network(address: str, ipv4: int, ipv6: int) -> str | None:
    family, size, kept = (socket.AF_INET6, 128, ipv6) if ":" in address else (socket.AF_INET, 32, ipv4)
    if kept >= size:
        return None
    rest = size - kept
    number = int.from_bytes(socket.inet_pton(family, address)) >> rest << rest
    return f"{socket.inet_ntop(family, number.to_bytes(size // 8))}/{kept}"

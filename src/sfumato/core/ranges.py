"""Ranges as PostgreSQL writes them: ``[20,30)`` for whole numbers and days, which it counts, ``[1.50,2.50]`` for what lies on a line, and networks.

Writing starts from the two ends of a closed interval in their canonical form, reading gives them back. The text is the one that the server itself
shows of a value, so that what was written and what is read back can be compared byte for byte.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable
from decimal import Decimal
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

RangeType = Literal["int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange", "cidr"]
"""What PostgreSQL calls the types."""

UNBOUNDED = "(,)"
"""The range that holds everything."""

_COUNTED = ("int4range", "int8range", "daterange")
_EVERY_NETWORK = {4: "0.0.0.0/0", 6: "::/0"}
# Python's calendar ends the day before, PostgreSQL's does not
_BEYOND = "10000-01-01"


def range_texts(kind: RangeType, lows: pa.Array, highs: pa.Array) -> pa.Array:
    """Return closed intervals as ranges; null stays null.

    >>> range_texts("int4range", pa.array(["20", None]), pa.array(["29", None])).to_pylist()
    ['[20,30)', None]
    >>> range_texts("daterange", pa.array(["2020-01-31"]), pa.array(["2020-01-31"])).to_pylist()
    ['[2020-01-31,2020-02-01)']
    >>> range_texts("tstzrange", pa.array(["2020-01-31T12:30:00Z"]), pa.array(["2020-02-01T00:00:00.5Z"])).to_pylist()
    ['["2020-01-31 12:30:00+00","2020-02-01 00:00:00.5+00"]']
    """
    if kind in _COUNTED:
        return pc.binary_join_element_wise("[", lows, ",", _each(highs, _after_day if kind == "daterange" else _after), ")", "")
    form = _plain if kind == "numrange" else _zoned if kind == "tstzrange" else _unzoned
    return pc.binary_join_element_wise("[", _each(lows, form), ",", _each(highs, form), "]", "")


def range_ends(kind: RangeType, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the ends of the closed intervals that ranges stand for, in their canonical form; null where a text is no such range.

    >>> [ends.to_pylist() for ends in range_ends("int8range", pa.array(["[20,30)", "(,)", None]))]
    [['20', None, None], ['29', None, None]]
    """
    close = r"\)" if kind in _COUNTED else r"\]"
    inner = pc.extract_regex(texts, rf'^\[(?P<low>[^,"]+|"[^,"]+"),(?P<high>[^,"]+|"[^,"]+"){close}$')
    low, high = (pc.struct_field(inner, part) for part in (0, 1))
    if kind in _COUNTED:
        return low, _each(high, _before_day if kind == "daterange" else _before)
    if kind == "numrange":
        return low, high
    form = _instant if kind == "tstzrange" else _unzoned_instant
    return _each(low, form), _each(high, form)


def network_text(label: str) -> str | None:
    """Return an address or a network as PostgreSQL shows a ``cidr``; None where the text is neither.

    >>> network_text("10.0.0.1"), network_text("2001:db8::/48"), network_text("home")
    ('10.0.0.1/32', '2001:db8::/48', None)
    """
    try:
        return str(ipaddress.ip_network(label))
    except ValueError:
        return None


def every_network(addresses: pa.Array) -> str | None:
    """Return the network that holds all addresses; None where they are of both families, of which there is none.

    >>> every_network(pa.array(["10.0.0.1"])), every_network(pa.array(["10.0.0.1", "2001:db8::1"]))
    ('0.0.0.0/0', None)
    """
    families = {6 if ":" in text else 4 for text in addresses.to_pylist()}
    return _EVERY_NETWORK[families.pop()] if len(families) == 1 else None


def _each(texts: pa.Array, change: Callable[[str], str | None]) -> pa.Array:
    return pa.array([None if text is None else change(text) for text in texts.to_pylist()], pa.string())


def _after(text: str) -> str:
    return str(int(text) + 1)


def _before(text: str) -> str | None:
    return str(int(text) - 1) if text.lstrip("-").isdecimal() else None


def _after_day(text: str) -> str:
    day = datetime.date.fromisoformat(text)
    return _BEYOND if day == datetime.date.max else (day + datetime.timedelta(days=1)).isoformat()


def _before_day(text: str) -> str | None:
    if text == _BEYOND:
        return datetime.date.max.isoformat()
    try:
        return (datetime.date.fromisoformat(text) - datetime.timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return None


def _plain(text: str) -> str:
    """Return a number without an exponent."""
    return f"{Decimal(text):f}" if "e" in text.lower() else text


def _zoned(text: str) -> str:
    return f'"{text.replace("T", " ").removesuffix("Z")}+00"'


def _unzoned(text: str) -> str:
    return f'"{text.replace("T", " ").removesuffix("Z")}"'


def _instant(text: str) -> str | None:
    inner = text.strip('"')
    return inner.removesuffix("+00").replace(" ", "T") + "Z" if inner.endswith("+00") else None


def _unzoned_instant(text: str) -> str:
    return text.strip('"').replace(" ", "T") + "Z"

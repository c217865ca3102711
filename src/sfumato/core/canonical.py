"""One canonical form for each type of value, the same on every engine.

Text is kept byte for byte (no trimming, no normalisation) and ordered by its bytes. Integers lose their plus sign; decimals are written
at the column's scale, so that ``5`` and ``5.0`` are one value; minus zero is zero. Dates are ISO dates, instants ISO timestamps in UTC.
A number with leading zeros (``01234``) is text: it is a code, not a quantity. Addresses are IPv4 or IPv6 as the standards write them; an IPv4
address within an IPv6 one (``::ffff:10.0.0.1``) is that IPv4 address.
"""

from __future__ import annotations

import socket
from decimal import Decimal
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ValueType = Literal["text", "integer", "decimal", "date", "timestamp", "ip"]

FORMS: dict[ValueType, str] = {
    "integer": "as in 1250",
    "decimal": "with a point, as in 12.50, and up to 18 digits on either side of it",
    "date": "as in 2020-01-31",
    "timestamp": "as in 2020-01-31T12:30:00Z",
    "ip": "as in 10.0.0.1 or 2001:db8::1",
}
"""How values of a type are written."""

_FEW = 0.5
_EXACT_DIGITS = 15
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_800
_INTEGER = r"^[+-]?(0|[1-9][0-9]{0,18})$"
_DECIMAL = r"^[+-]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$"
# a binary fraction has up to 17 digits, and zeros before them
_FLOAT = r"^[+-]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?$"
_LIKE_ADDRESS = r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$|^[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*$"
_LEADING_ZERO = r"^0[0-9]+$"
_OTHER_FORMS = {
    r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$": "%d.%m.%Y",
    r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$": "%d/%m/%Y",
    r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}$": "%Y/%m/%d",
    r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$": "%Y-%m-%d",
    r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4} [0-9]{2}:[0-9]{2}$": "%d.%m.%Y %H:%M",
    r"^[+-]?[0-9]{1,3}(\.[0-9]{3})*,[0-9]+$|^[+-]?[0-9]+,[0-9]+$": "1.234,56",
}
_ADDRESS = r"^[0-9A-Fa-f:.]{2,45}$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"

# years beyond 9999 have more digits, and stay what they are
_AS_ARROW_WRITES = r"^([0-9]+-[0-9]{2}-[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]*[1-9])?(?:\.?0*)$"


def infer(values: pa.Array) -> ValueType:
    """Return the narrowest type that every value of a column has. Looks at all of them, never at a sample.

    >>> infer(pa.array(["17", "42"])), infer(pa.array(["17", "4.5"])), infer(pa.array(["017", "42"]))
    ('integer', 'decimal', 'text')
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        kind = _of_arrow(values.type)
        # decimals that are too long to be numbers here are told apart as text
        too_long = pa.types.is_decimal(values.type) and parse_exactly(values, kind).null_count > values.null_count
        return "text" if too_long else kind
    if len(values) == values.null_count:
        return "text"
    if _all_match(values, _INTEGER) and parse(values, "integer").null_count == values.null_count:
        return "integer"
    if _all_match(values, _FLOAT) and parse_exactly(values, "decimal").null_count == values.null_count:
        return "decimal"
    times: list[tuple[str, ValueType]] = [(_DATE, "date"), (_TIMESTAMP, "timestamp")]
    for pattern, name in times:
        if _all_match(values, pattern) and parse(values, name).null_count == values.null_count:
            return name
    if _all_match(values, _ADDRESS) and parse(values, "ip").null_count == values.null_count:
        return "ip"
    return "text"


def nearly(values: pa.Array, rows: NDArray[np.int64]) -> tuple[ValueType, int] | None:
    """Return the type that most rows of a text column have, and how many rows do not have it; None where there is no such type.

    >>> nearly(pa.array(["17", "42", "n.a."]), np.array([50, 49, 1]))
    ('integer', 1)
    >>> nearly(pa.array(["2020-01-31", "2020-13-45"]), np.array([3, 1]))
    ('date', 1)
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)) or not len(values):
        return None
    if pc.any(pc.match_substring_regex(values, _LEADING_ZERO)).as_py():
        # codes, such as postcodes: no quantities, and nothing is wrong with them
        return None
    kinds: list[tuple[ValueType, str]] = [
        ("integer", _INTEGER),
        ("decimal", _FLOAT),
        ("date", _DATE),
        ("timestamp", _TIMESTAMP),
        ("ip", _LIKE_ADDRESS),
    ]
    for kind, pattern in kinds:
        if rows[~pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)].sum() > _FEW * rows.sum():
            continue
        # what has the form of a day may still be none
        strangers = int(rows[parse_exactly(values, kind).is_null().to_numpy(zero_copy_only=False)].sum())
        if strangers <= _FEW * rows.sum():
            return kind, strangers
    return None


def another_form(values: pa.Array, rows: NDArray[np.int64]) -> str | None:
    """Return how most rows of a text column seem to write dates or numbers, as ``formats`` would say it; None where they are no such thing.

    >>> another_form(pa.array(["31.12.1999", "1.1.2000"]), np.array([1, 1])), another_form(pa.array(["75,3"]), np.array([1]))
    ('%d.%m.%Y', '1.234,56')
    """
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)) or not len(values):
        return None
    for pattern, form in _OTHER_FORMS.items():
        if rows[~pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)].sum() <= _FEW * rows.sum():
            return form
    return None


def parse(values: pa.Array, kind: ValueType) -> pa.Array:
    """Return the values as that type; what is not of the type becomes null.

    >>> parse(pa.array(["+7", "x"]), "integer").to_pylist()
    [7, None]
    """
    if kind == "text":
        return pc.cast(values, pa.string())
    if kind == "decimal" and pa.types.is_floating(values.type):
        return _parse_float(values)
    if kind == "timestamp" and pa.types.is_timestamp(values.type):
        return _within_calendar(values)
    if kind == "date" and pa.types.is_timestamp(values.type):
        return _whole_days(_within_calendar(values))
    if kind == "integer" and pa.types.is_integer(values.type) and values.type != pa.uint64():
        return values if pa.types.is_int64(values.type) else pc.cast(values, pa.int64())
    if kind == "date" and pa.types.is_date32(values.type):
        # a day of no year that is written with four digits is none
        days = pc.cast(values, pa.int32())
        inside = pc.and_(pc.greater_equal(days, _FIRST_SECOND // 86_400), pc.less(days, _LAST_SECOND // 86_400))
        return pc.if_else(inside, values, pa.scalar(None, pa.date32()))
    if not pa.types.is_string(values.type):
        values = _as_text(values)
    if kind == "integer":
        return _cast_or_null(_matching(pc.replace_substring_regex(values, r"^\+", ""), _INTEGER), pa.int64())
    if kind == "decimal":
        return _parse_decimal(values)
    if kind == "date":
        return _cast_or_null(_matching(values, _DATE), pa.date32())
    if kind == "timestamp":
        return _parse_timestamp(_matching(values, _TIMESTAMP))
    return pa.array([_address(text) for text in values.to_pylist()], pa.string())


def parse_exactly(values: pa.Array, kind: ValueType) -> pa.Array:
    """Return the values as that type; null also where a binary fraction would be another number than was written.

    >>> parse_exactly(pa.array(["9007199254740993", "1e3", "1e-400", "0e5"]), "decimal").to_pylist()
    [None, 1000.0, None, 0.0]
    """
    typed = parse(values, kind)
    if not pa.types.is_floating(typed.type) or pa.types.is_floating(values.type):
        return typed
    return _as_written(typed, as_text(values))


def exact_fractions(values: pa.Array) -> pa.Array:
    """Return decimals as binary fractions, null where those would be other numbers.

    >>> exact_fractions(pa.array([Decimal("2.50"), Decimal("9007199254740993.00"), None])).to_pylist()
    [2.5, None, None]
    """
    texts = as_text(values)
    return _as_written(pc.cast(texts, pa.float64()), texts)


def _as_written(typed: pa.Array, values: pa.Array) -> pa.Array:
    """Return binary fractions, null where one is another number than its text says."""
    digits = pc.utf8_length(pc.replace_substring_regex(pc.replace_substring_regex(values, r"[eE].*$|[^0-9]", ""), r"^0+", ""))
    # so small a fraction holds fewer digits, or none
    is_small = pc.and_(pc.less(pc.abs(typed), np.finfo(np.float64).tiny), pc.greater(digits, 0))
    doubtful = pc.fill_null(pc.or_(pc.greater(digits, _EXACT_DIGITS), is_small), False).to_numpy(zero_copy_only=False)
    changed = np.zeros(len(values), bool)
    for place in np.flatnonzero(doubtful).tolist():
        number = typed[place].as_py()
        changed[place] = number is not None and Decimal(values[place].as_py()) != Decimal(repr(number))
    return pc.if_else(pa.array(changed), pa.scalar(None, typed.type), typed) if changed.any() else typed


def is_of_type(values: pa.Array, kind: ValueType) -> pa.Array:
    """Return which values are exactly of that type, each by its own digits: what stands beside one has no part in it.

    >>> is_of_type(pa.array(["9007199254740993", "9007199254740993e0", "1e3"]), "decimal").to_pylist()
    [True, False, True]
    """
    if kind != "decimal" or not pa.types.is_string(values.type):
        return parse_exactly(values, kind).is_valid()
    plain = _matching(values, _DECIMAL)
    others = pc.if_else(plain.is_valid(), pa.scalar(None, pa.string()), values)
    return pc.or_(plain.is_valid(), parse_exactly(others, kind).is_valid())


def render(values: pa.Array) -> pa.Array:
    """Return the canonical text of typed values.

    >>> render(parse(pa.array(["5", "-0.0", "7.25"]), "decimal")).to_pylist()
    ['5.00', '0.00', '7.25']
    """
    return as_text(values)


def positions(values: pa.Array) -> NDArray[np.float64]:
    """Return where each typed value stands on the line of its type: the number, the day, the microsecond."""
    if pa.types.is_date32(values.type):
        values = pc.cast(values, pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.int64())
    elif pa.types.is_decimal(values.type):
        # by way of text: the direct cast rounds 0.3 and 0.300 differently
        values = pc.cast(values, pa.string())
    result: NDArray[np.float64] = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return result


def compared(*arrays: pa.Array) -> list[NDArray[np.float64]]:
    """Return numbers by which typed values of one type, in several arrays, compare exactly; NaN for null.

    A float tells whole numbers apart up to 2**53, and decimal numbers of 15 digits; of others it is their place among all of them that is told.

    >>> first, second = compared(pa.array([2**53]), pa.array([2**53 + 1, None]))
    >>> bool(first[0] < second[0])
    True
    """
    places = [positions(values) for values in arrays]
    kinds = {values.type for values in arrays}
    if any(map(pa.types.is_floating, kinds)) or all(map(_is_told, arrays, places)):
        return places
    if any(map(pa.types.is_decimal, kinds)):
        widest = pa.decimal256(76, max(kind.scale for kind in kinds if pa.types.is_decimal(kind)))
        arrays = tuple(pc.cast(values, widest) for values in arrays)
    joined = pa.concat_arrays(arrays)
    distinct = joined.drop_null().unique()
    ranks = np.empty(len(distinct))
    ranks[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))
    codes = pc.index_in(joined, value_set=distinct)
    ranked = np.append(ranks, np.nan)[pc.fill_null(codes, len(distinct)).to_numpy()]
    return np.split(ranked, np.cumsum([len(values) for values in arrays])[:-1])


def _is_told(values: pa.Array, places: NDArray[np.float64]) -> bool:
    """Return whether floats tell values apart."""
    if pa.types.is_decimal(values.type):
        return bool(np.nanmax(np.abs(places), initial=0.0) * 10.0**values.type.scale < 10.0**_EXACT_DIGITS)
    return bool(np.nanmax(np.abs(places), initial=0.0) < 2.0**53)


def is_ordered(kind: ValueType) -> bool:
    """Return whether values of the type have an order that people read, so that an interval of them means something.

    >>> is_ordered("date"), is_ordered("text")
    (True, False)
    """
    return kind in ("integer", "decimal", "date", "timestamp")


def as_text(values: pa.Array) -> pa.Array:
    """Return values of any Arrow type as the text by which they are counted and compared, and with which they stand in files of text.

    >>> as_text(pa.array([1580473800500], pa.timestamp("ms", tz="Europe/Berlin"))).to_pylist()
    ['2020-01-31T12:30:00.5Z']
    >>> as_text(pa.array([0.1, 36561728.0], pa.float32())).to_pylist()
    ['0.1', '36561728']
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values if pa.types.is_string(values.type) else _as_text(values)


def _as_text(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = widened(values)
        values = pc.if_else(pc.equal(values, 0.0), 0.0, values)
        text = pc.cast(values, pa.string())
        return pc.replace_substring_regex(text, r"\.0$", "")
    if pa.types.is_timestamp(values.type):
        # a cast between zones moves no instant; without one Arrow writes no zone, and what it writes is UTC
        text = pc.cast(pc.cast(pc.cast(values, pa.timestamp(values.type.unit, tz="UTC")), pa.timestamp(values.type.unit)), pa.string())
        return pc.replace_substring_regex(text, _AS_ARROW_WRITES, r"\1T\2\3Z")
    text = pc.cast(values, pa.string())
    return _plain_decimals(text, values) if pa.types.is_decimal(values.type) else text


def _plain_decimals(text: pa.Array, values: pa.Array) -> pa.Array:
    """Return decimals at their scale; Arrow writes small ones with an exponent."""
    if not pc.any(pc.match_substring(text, "E")).as_py():
        return text
    return pa.array([None if value is None else f"{value:f}" for value in values.to_pylist()], pa.string())


def _of_arrow(kind: pa.DataType) -> ValueType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_date(kind):
        return "date"
    return "timestamp" if pa.types.is_timestamp(kind) else "text"


def _address(text: str | None) -> str | None:
    """Return an address in its canonical form, None where the text is none.

    >>> _address("2001:DB8:0::1"), _address("::ffff:10.0.0.1"), _address("10.0.0.256")
    ('2001:db8::1', '10.0.0.1', None)
    """
    if text is None:
        return None
    try:
        if ":" not in text:
            return socket.inet_ntop(socket.AF_INET, socket.inet_pton(socket.AF_INET, text))
        packed = socket.inet_pton(socket.AF_INET6, text)
    except (OSError, ValueError, UnicodeError):
        return None
    if packed.startswith(b"\0" * 10 + b"\xff\xff"):
        return socket.inet_ntop(socket.AF_INET, packed[12:])
    return socket.inet_ntop(socket.AF_INET6, packed)


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _matching(values: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(values, pattern), values, pa.scalar(None, pa.string()))


def _parse_decimal(values: pa.Array) -> pa.Array:
    exact, floating = _matching(values, _DECIMAL), _matching(values, _FLOAT)
    if exact.null_count > floating.null_count:
        text = pc.replace_substring_regex(floating, r"^\+", "")
        return _parse_float(pc.cast(text, pa.float64()))
    text = pc.replace_substring_regex(exact, r"^\+", "")
    scale = pc.max(pc.utf8_length(pc.replace_substring_regex(text, r"^[^.]*\.?", ""))).as_py() or 0
    return pc.cast(text, pa.decimal128(38, scale))


def _parse_float(values: pa.Array) -> pa.Array:
    wide = widened(values)
    finite = pc.if_else(pc.is_finite(wide), wide, pa.scalar(None, pa.float64()))
    return pc.if_else(pc.equal(finite, 0.0), 0.0, finite)


def widened(values: pa.Array) -> pa.Array:
    """Return binary fractions in eight bytes: the number that was meant by four of them, of which all but whole ones hold the nearest alone.

    >>> widened(pa.array([0.1, 36561728.0], pa.float32())).to_pylist(), widened(pa.array([0.1, 65504.0], pa.float16())).to_pylist()
    ([0.1, 36561728.0], [0.1, 65504.0])
    """
    wide = pc.cast(values, pa.float64())
    if pa.types.is_float64(values.type):
        return wide
    return pc.if_else(pc.equal(pc.trunc(wide), wide), wide, _shortest(values))


def _shortest(values: pa.Array) -> pa.Array:
    """Return binary fractions as the shortest numbers with which they are written."""
    if pa.types.is_float16(values.type):
        return pa.array([None if value is None else float(str(np.float16(value))) for value in values.to_pylist()], pa.float64())
    return pc.cast(pc.cast(values, pa.string()), pa.float64())


def as_held(values: pa.Array) -> pa.Array:
    """Return numbers that four bytes were meant to hold as those hold them; a server compares a column of four bytes as such numbers.

    >>> as_held(pa.array([0.5, 0.2, 1e300, None])).to_pylist()
    [0.5, 0.20000000298023224, 1e+300, None]
    """
    narrow = _narrow(values)
    return pc.if_else(pc.equal(widened(narrow), values), narrow.cast(pa.float64()), values)


def as_meant(values: pa.Array) -> pa.Array:
    """Return what was meant by numbers as four bytes hold them.

    >>> as_meant(pa.array([0.5, 0.20000000298023224, 1e300, 0.2])).to_pylist()
    [0.5, 0.2, 1e+300, 0.2]
    """
    narrow = _narrow(values)
    return pc.if_else(pc.equal(narrow.cast(pa.float64()), values), widened(narrow), values)


def _narrow(values: pa.Array) -> pa.Array:
    return values.cast(pa.float32(), safe=False)


def _parse_timestamp(values: pa.Array) -> pa.Array:
    text = pc.replace_substring(values, " ", "T")
    zoned = pc.match_substring_regex(text, r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    # a timestamp without a zone is taken as UTC: the one reading that is the same on every machine
    text = pc.if_else(zoned, text, pc.binary_join_element_wise(text, "Z", ""))
    return _cast_or_null(text, pa.timestamp("us", tz="UTC"))


def _within_calendar(values: pa.Array) -> pa.Array:
    """Return instants in UTC; what is not in the years 1 to 9999 is null."""
    units = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[values.type.unit]
    numbers = pc.cast(values, pa.int64())
    ends = pc.min_max(numbers)
    if (
        values.type.unit == "us"
        and ends["min"].is_valid
        and _FIRST_SECOND * units <= ends["min"].as_py() <= ends["max"].as_py() < _LAST_SECOND * units
    ):
        return pc.cast(numbers, pa.timestamp("us", tz="UTC"))
    inside = pc.and_(pc.greater_equal(numbers, _FIRST_SECOND * units), pc.less(numbers, _LAST_SECOND * units)) if units < 1e9 else True
    kept = pc.if_else(inside, numbers, pa.scalar(None, pa.int64()))
    if values.type.unit != "ns":
        return pc.cast(pc.cast(kept, pa.timestamp(values.type.unit, tz="UTC")), pa.timestamp("us", tz="UTC"))
    # nanoseconds are cut off downwards, before 1970 too; Arrow's own floor cannot, within the last microsecond that there is
    floored = np.floor_divide(kept.fill_null(0).to_numpy(zero_copy_only=False), 1_000)
    return pa.array(floored, mask=kept.is_null().to_numpy(zero_copy_only=False)).cast(pa.timestamp("us", tz="UTC"))


def _whole_days(instants: pa.Array) -> pa.Array:
    """Return instants at midnight as days, others as null."""
    days = pc.cast(instants, pa.date32())
    return pc.if_else(pc.equal(pc.cast(days, instants.type), instants), days, pa.scalar(None, pa.date32()))


def _cast_or_null(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the text cast to a number, a date or an instant, null where there is no such number, day or hour."""
    try:
        return pc.cast(text, kind)
    except pa.ArrowInvalid:
        return pa.array([_one_or_none(value, kind) for value in text.to_pylist()], kind)


def _one_or_none(text: str | None, kind: pa.DataType) -> object:
    if text is None:
        return None
    try:
        return pc.cast(pa.scalar(text), kind).as_py()
    except (pa.ArrowInvalid, OverflowError, ValueError):
        # Python's calendar has no year 0
        return None

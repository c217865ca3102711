"""What a published text covers, read from the text as anybody would: intervals, sets, prefixes, networks, stretches of the calendar, nodes of a tree.

Nothing here is shared with what writes these texts. Whoever asks about a text that only its own hierarchy explains gets no answer, None.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

Tells = Callable[[str, str], bool | None]
_ROOT = "*"
_CLOCKS = ("%H", "%H:%M", "%H:%M:%S")
_EDGE, _KNOWN = 5, 2036


def covers_text(published: str | None, original: str | None, tells: Tells | None = None) -> bool | None:
    """Return whether a text covers an original, None where that cannot be told; ``tells`` knows of labels.

    >>> covers_text("[20, 29]", "25"), covers_text("[20, 29]", "30"), covers_text("{flu, gout}", "gout"), covers_text("*", None)
    (True, False, True, True)
    >>> covers_text("[2024-01-01, 2024-02-01]", "2024-01-31"), covers_text("[10.0.0.1, 10.0.0.9]", "10.0.0.4"), covers_text("often", "flu")
    (True, True, None)
    >>> covers_text("10.0.0.0/24", "::ffff:10.0.0.7"), covers_text("10.0.0.0/24", "::ffff:10.0.1.7"), covers_text("10.0.0.0/24", "::1")
    (True, False, False)
    >>> covers_text("2024", "2024-01-31"), covers_text("2023", "2024-01-31"), covers_text("2024", "2025")
    (True, False, False)
    """
    if published == _ROOT:
        return True
    if not published or original is None:
        return not published and not original
    if published == original or (place_of(published) is not None and place_of(published) == place_of(original)):
        return True
    if published[0] == "[" and published[-1] == "]":
        low, _, high = published[1:-1].partition(", " if ", " in published else " - ")
        return covers_between(low, high, original)
    if published[0] == "{" and published[-1] == "}":
        return original in _members(published)
    if "/" in published and (network := _network(published)) is not None:
        return _address(original) in network if _address(original) is not None else False
    if tells is not None:
        return tells(published, original)
    # a year looks like a number, and is a stretch of the calendar beside days and instants
    if _is_time(original) and stretch_of("UTC")(published, original):
        return True
    return False if place_of(published) is not None else None


def covers_between(low: str | None, high: str | None, original: str | None) -> bool:
    """Return whether an original lies between two ends; without ends anything does.

    >>> covers_between("1", "3", "2.5"), covers_between("1", "3", "x"), covers_between("*", "*", "x"), covers_between(None, None, "7")
    (True, False, True, True)
    """
    if low == high and low in (None, "", _ROOT):
        return True
    if low is None or high is None or original is None:
        return False
    first, place, last = place_of(low), place_of(original), place_of(high)
    if first is None or place is None or last is None or not first[0] == place[0] == last[0]:
        return False
    return bool(first[1] <= place[1] <= last[1])


@lru_cache(1 << 16)
def place_of(text: str) -> tuple[str, Any] | None:
    """Return where a text stands on the line of numbers, of instants or of addresses; None where it stands on none.

    >>> place_of("7"), place_of("2024-01-31T00:00:00Z") == place_of("2024-01-31"), place_of("soon")
    (('number', Decimal('7')), True, None)
    """
    try:
        number = Decimal(text)
        return ("number", number) if number.is_finite() else None
    except InvalidOperation:
        pass
    instant = _instant(text)
    if instant is not None:
        return "time", instant
    address = _address(text)
    return None if address is None else (f"address {address.version}", int(address))


def microseconds_of(text: str | None, unit: int, is_number: bool | None) -> int | None:
    """Return when a record was, in microseconds since 1970, where a number counts so many of them.

    >>> microseconds_of("1.5", 1_000_000, None), microseconds_of("1970-01-01T00:00:02Z", 1, False), microseconds_of("soon", 1, None)
    (1500000, 2000000, None)
    """
    place = None if text is None else place_of(text) if is_number is not False else ("time", _instant(text))
    if place is None or place[1] is None:
        return None
    return round(place[1] * unit) if place[0] == "number" else int(place[1]) if place[0] == "time" else None


def prefix_of(mask: str) -> Tells:
    """Return what tells of codes whose last characters are masked.

    >>> prefix_of("*")("109**", "10969"), prefix_of("*")("109**", "11969")
    (True, False)
    """

    def tells(published: str, original: str) -> bool:
        return published.endswith(mask) and original.startswith(published.rstrip(mask))

    return tells


@lru_cache(64)
def stretch_of(time_zone: str) -> Tells:
    """Return what tells of stretches of the calendar.

    >>> tells = stretch_of("UTC")
    >>> [tells(label, "2024-05-17") for label in ("2024-05", "2024-Q2", "2024", "2020s", "2024-W20", "2023")]
    [True, True, True, True, True, False]
    """
    zone = ZoneInfo(time_zone)

    @lru_cache(1 << 14)
    def labels(original: str) -> frozenset[str]:
        try:
            return frozenset(_stretches(datetime.combine(date.fromisoformat(original), time()), 0))
        except ValueError:
            instant = _instant(original)
        if instant is None:
            return frozenset()
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
        # a clock of the zone may show a year that Python has not; the calendar, with its weeks, comes again every 400 years
        away = 400 if moment.year < _EDGE else -400 if moment.year > 9999 - _EDGE else 0
        moment = moment.replace(year=moment.year + away)
        # nobody has said yet when clocks will be changed so far ahead: some go on as today, and some without
        asked = [moment, *(moment.replace(month=month, day=1) for month in (1, 7))] if moment.year - away > _KNOWN else [moment]
        offsets = {each.astimezone(zone).utcoffset() or timedelta() for each in asked}
        return frozenset(label for offset in offsets for label in _stretches(moment.replace(tzinfo=None) + offset, away, offset))

    return lambda published, original: published in labels(original)


def node_of(paths: Mapping[Hashable, Sequence[Hashable]]) -> Tells:
    """Return what tells of the nodes of a tree; ``paths`` has what stands above each value.

    >>> node_of({"Berlin": ["Germany", "EU"]})("EU", "Berlin")
    True
    """
    return lambda published, original: published in paths.get(original, ())


def _stretches(local: datetime, away: int, offset: timedelta | None = None) -> Iterator[str]:
    """Yield what the stretches are called in which a clock lies that shows so many years more; with an offset also those of a clock."""
    of_week, week, _ = local.isocalendar()
    year = f"{local.year - away:04}"
    day = f"{year}-{local:%m-%d}"
    yield from (day, day[:-3], f"{year}-Q{(local.month + 2) // 3}", year, f"{year[:-1]}0s", f"{of_week - away:04}-W{week:02}")
    if offset is not None:
        yield from (f"{day}T{local:{form}}{_offset(offset)}" for form in _CLOCKS)


def _offset(away: timedelta) -> str:
    """Return a distance from UTC as ISO 8601 writes it; before there were zones it could have seconds.

    >>> _offset(timedelta(hours=2)), _offset(-timedelta(seconds=17762)), _offset(timedelta())
    ('+02:00', '-04:56:02', 'Z')
    """
    if not away:
        return "Z"
    return f"{'-' if away < timedelta() else '+'}{(datetime.min + abs(away)):%H:%M:%S}".removesuffix(":00")


def _is_time(text: str) -> bool:
    place = place_of(text)
    return place is not None and place[0] == "time"


def _instant(text: str) -> int | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    since = found - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _address(text: str) -> Any:
    """Return an address; one of IPv4 within one of IPv6 is that of IPv4.

    >>> _address("::ffff:10.0.0.1"), _address("10.0.0.256")
    (IPv4Address('10.0.0.1'), None)
    """
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None) or found


@lru_cache(1 << 12)
def _network(text: str) -> Any:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


@lru_cache(1 << 12)
def _members(text: str) -> frozenset[str]:
    """Return what stands in a set; what holds a comma or a brace stands in quotes there, as JSON writes them."""
    found, rest = [], text[1:-1]
    decoder = json.JSONDecoder()
    while rest:
        if rest.startswith('"'):
            value, end = decoder.raw_decode(rest)
            rest = rest[end:].removeprefix(", ")
        else:
            value, _, rest = rest.partition(", ")
        found.append(str(value))
    return frozenset(found)

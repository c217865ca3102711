"""The page of a stream: how much left in which detail, and how z, p_kanon, entropy, delay and loss went; a page of HTML that needs nothing else.

Along all charts runs the time of the stream, where a column says it, or the number of records.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from statistics import median
from typing import Any

from sfumato.core.charts import Chart
from sfumato.core.html import html_folded, html_table
from sfumato.errors import number_of

Point = Mapping[str, Any]
_LINES = {
    "z": ("z: how many people must share what is published", "z"),
    "p_kanon": ("p_kanon: people whose published attributes {k} share; a measure, no promise", "p_kanon"),
    "residual": ("residual information: entropy after as a share of entropy before", "residual_information"),
    "silent": ("people of whom nothing is published; 1 to z - 1 are drawn as z - 1", "silent"),
    "held": ("records held", "accounts.held"),
}
_MEANS = {
    "delay": ("delay: how many records came after one until it could leave, on average", "delay.mean"),
    "loss": ("loss: the part of its column's range that a published value covers", "loss"),
}
_SHARES = ("p_kanon", "loss")
_STEPPED = ("z", "silent", "held")
_ENTROPIES = {"before": "entropy_before", "after": "entropy_after"}
_BECAME = ("released", "aggregated", "suppressed", "late", "dead", "held")
_MOST_BINS, _MOST_LABELS = 120, 8
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_STEPS = {
    1.0: "a second",
    10.0: "10 seconds",
    _MINUTE: "a minute",
    5 * _MINUTE: "5 minutes",
    10 * _MINUTE: "10 minutes",
    30 * _MINUTE: "half an hour",
    _HOUR: "an hour",
    3 * _HOUR: "3 hours",
    6 * _HOUR: "6 hours",
    _DAY: "a day",
    7 * _DAY: "a week",
    30 * _DAY: "30 days",
}
_FURTHEST = 4e9
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 sans-serif;max-width:780px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
    "svg{width:100%;height:auto;margin:.4em 0 1em}h2{margin-top:2em}"
)


def stream_page(title: str, views: Mapping[str, Sequence[Point]]) -> str:
    """Return the page; each view has what was measured of it over time, in order."""
    parts = [f"<h1>{escape(title)}</h1>"]
    for name, points in views.items():
        parts.append(f"<h2>{escape(name or 'release')}</h2>")
        parts += _view(points) if points else ["<p>Nothing has been committed yet.</p>"]
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(title)}</title><style>{_STYLE}</style>"
    rest = f"{head}</head><body>{''.join(parts)}</body></html>\n"
    return _begun(rest) + rest


def is_own_page(page: str) -> bool:
    """Return whether a page was written here, and nobody has changed it since.

    >>> is_own_page(stream_page("a stream", {})), is_own_page(stream_page("a stream", {}).replace("a stream", "mine"))
    (True, False)
    """
    rest = page[len(_begun("")) :]
    return page == _begun(rest) + rest


def _begun(rest: str) -> str:
    """Return how a page begins: with a mark of all that follows."""
    mark = hashlib.sha256(rest.encode()).hexdigest()
    return f"<!doctype html><html lang='en'><head><meta name='generator' content='sfumato stream report {mark}'>"


def charts_of(points: Sequence[Point]) -> list[Chart]:
    """Return the charts of a view: those of which something was measured."""
    axis = _Axis.of(points)
    found = [_volumes(points, axis)]
    for name, (title, key) in _LINES.items():
        values = [_silent(point) if name == "silent" else _number(point.get(key)) for point in points]
        known = [value for value in values if math.isfinite(value)]
        if len(known) > 1 and (any(known) or name not in ("silent", "held")):
            title = title.format(k=points[-1].get("k", "k"))
            found.append(axis.chart(title, {name: values}, most=1.0 if name in _SHARES else None, is_stepped=name in _STEPPED))
    for name, (title, key) in _MEANS.items():
        values = _between([(_number(point.get("rows")), _number(point.get(key))) for point in points])
        if any(math.isfinite(value) and (value or name == "loss") for value in values):
            found.append(axis.where_known(values).chart(title, {name: _known(values)}, most=1.0 if name in _SHARES else None))
    entropies = {name: [_number(point.get(key)) for point in points] for name, key in _ENTROPIES.items()}
    if any(math.isfinite(value) for value in entropies["before"]):
        found.insert(-1, axis.chart("entropy of what people show, in bits, without made-up records", entropies))
    return found


_ONE_POINT = (
    "One point is no chart: look again when more has come. Of a file that is read at once a smaller <code>stream: {batch: ...}</code> gives more."
)


@dataclass(frozen=True)
class _Axis:
    """What runs along the charts: seconds since 1970, or records."""

    values: Sequence[float]
    is_time: bool
    begin: float = 0.0
    """Where nothing had come yet."""
    spans: tuple[float, float] | None = None
    """From where to where charts go, where that is not what these values say."""

    @classmethod
    def of(cls, points: Sequence[Point]) -> _Axis:
        times = [_number(point.get("time")) for point in points]
        known = [time for time in times if math.isfinite(time)]
        if known and known[-1] > known[0] and all(0 <= time < _FURTHEST for time in known):
            # before the first record that says a time there was none
            for place in range(len(times)):
                times[place] = times[place] if math.isfinite(times[place]) else times[place - 1] if place else known[0]
            began = _number(points[-1].get("began"))
            # a stream whose first record is not told has begun when it was first looked at
            return cls(times, True, min(times[0], began) if began >= 0 else times[0])
        return cls([float(point["records"]) for point in points], False)

    @property
    def along(self) -> str:
        return "time of the stream, UTC" if self.is_time else "records that have come"

    @property
    def step(self) -> float:
        """How long a bar of the volume is: round, so long that there are not too many, and mostly no shorter than from one point to the next."""
        gaps = [after - before for before, after in pairwise([self.begin, *self.values]) if after > before]
        least = max((self.values[-1] - self.begin) / _MOST_BINS, median(gaps) if gaps else 0.0)
        if self.is_time:
            return next((step for step in _STEPS if step >= least), 30 * _DAY)
        return max(1.0, _round(least))

    @property
    def per(self) -> str:
        return _STEPS[self.step] if self.is_time else f"{self.step:,.0f} records"

    @property
    def edges(self) -> list[float]:
        """Where bars of the volume begin and end: the first before all points, the last behind them."""
        return [self.step * place for place in range(math.floor(self.begin / self.step), math.ceil(self.values[-1] / self.step) + 1)]

    @property
    def span(self) -> tuple[float, float]:
        """From where to where all charts go."""
        edges = self.edges
        return self.spans or (min(edges[0], self.values[0]), edges[-1])

    def where_known(self, values: Sequence[float]) -> _Axis:
        """Return the axis at the places at which there is a value: between two releases a line goes on."""
        places = [place for place, value in zip(self.values, values, strict=True) if math.isfinite(value)]
        return replace(self, values=places, spans=self.span)

    def labels(self) -> dict[float, str]:
        """Return what stands along the axis: days, or hours of a day, at round times."""
        first, last = self.span
        if not self.is_time:
            step = _round((last - first) / _MOST_LABELS) or 1.0
            return {step * place: f"{step * place:,.0f}" for place in range(math.ceil(first / step), math.floor(last / step) + 1)}
        step = next((step for step in (*_STEPS, 90 * _DAY, 365 * _DAY) if step >= (last - first) / _MOST_LABELS), 365 * _DAY)
        places = [step * place for place in range(math.ceil(first / step), math.floor(last / step) + 1)]
        form = "%d %b" if step >= _DAY else "%d %b %H:%M" if last - first > _DAY else "%H:%M" if step >= _MINUTE else "%H:%M:%S"
        return {place: f"{datetime.fromtimestamp(place, UTC):{form}}" for place in places or [first]}

    def chart(self, title: str, series: Mapping[str, Sequence[float]], most: float | None = None, is_stepped: bool = False) -> Chart:
        return Chart(title, self.values, series, labels=self.labels(), most=most, along=self.along, span=self.span, is_stepped=is_stepped)


def _view(points: Sequence[Point]) -> list[str]:
    last = points[-1]
    became = [(name, int(last.get(f"accounts.{name}", 0))) for name in _BECAME]
    became += [("made up, beside them", int(made_up))] if (made_up := _made_up(last)) else []
    charts = [chart.svg() for chart in charts_of(points)] if len(points) > 1 else [f"<p>{_ONE_POINT}</p>"]
    keys = list(dict.fromkeys(key for point in points for key in point))
    table = html_table([[_shown(key, point.get(key)) for key in keys] for point in points], keys)
    return [html_table(became, ("records", "number")), *_detail(last), *charts, html_folded(f"all numbers, {number_of(len(points), 'point')}", table)]


def _detail(last: Point) -> list[str]:
    """Return in which detail records left, as a table, where there are several."""
    shares = {key.rpartition(".")[2]: last[key] for key in last if key.startswith("shares.")}
    rows = [(level_name(int(level)), f"{share:.1%}") for level, share in sorted(shares.items())]
    rows += [(name, f"{last[name] / last['records']:.1%}") for name in ("suppressed", "late") if shares and last.get(name)]
    return [html_table(rows, ("detail", "share"))] if rows else []


def level_name(level: int) -> str:
    """Return what a level of detail is called.

    >>> level_name(0), level_name(2)
    ('finest', '2 levels up')
    """
    return "finest" if not level else f"{level} level{'s' if level > 1 else ''} up"


def _volumes(points: Sequence[Point], axis: _Axis) -> Chart:
    """Return how many records left in which detail, and how many did not, in stretches of the axis that are all alike."""
    levels = sorted({int(key.rpartition(".")[2]) for point in points for key in point if key.startswith("by_level.")})
    names = {level_name(level): f"by_level.{level}" for level in levels} or {"released": "accounts.released", "aggregated": "accounts.aggregated"}
    names |= {name: f"accounts.{name}" for name in ("suppressed", "late", "dead")}
    edges, series = axis.edges, {}
    all_totals = {name: [_number(point.get(key, 0)) for point in points] for name, key in names.items()}
    for name, totals in (all_totals | {"made up": [_made_up(point) for point in points]}).items():
        reached = [_reached(edge, axis.values, totals, axis.begin) for edge in edges]
        steps = [after - before for before, after in pairwise(reached)]
        if any(steps):
            series[name] = [value for each in steps for value in (each, each)]
    # a bar for each stretch: it begins where the one before ends
    corners = [edge for one, other in pairwise(edges) for edge in (one, other)]
    title = f"records in {axis.per}, by what became of them"
    return Chart(title, corners, series, stacked=True, labels=axis.labels(), along=axis.along, span=axis.span)


def _made_up(point: Point) -> float:
    """Return how many rows have left beside those of records.

    >>> _made_up({"rows": 12.0, "accounts.released": 9}), _made_up({"rows": 3.0, "accounts.released": 0, "accounts.aggregated": 3}), _made_up({})
    (3.0, 0.0, 0.0)
    """
    return max(0.0, float(point.get("rows", 0.0) - point.get("accounts.released", 0) - point.get("accounts.aggregated", 0)))


def _reached(edge: float, axis: Sequence[float], totals: Sequence[float], begin: float) -> float:
    """Return how many there were at a place of the axis, as if they had come evenly between two points."""
    after = bisect_right(axis, edge)
    if edge < begin:
        return 0.0
    if after == len(axis):
        return totals[-1]
    low, before = (axis[after - 1], totals[after - 1]) if after else (begin, 0.0)
    part = (edge - low) / (axis[after] - low) if axis[after] > low else 1.0
    return before + part * (totals[after] - before)


def _between(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return the means of what came between points, of means over all up to each.

    >>> _between([(10, 1.0), (20, 2.0), (20, 2.0)])
    [1.0, 3.0, nan]
    """
    found, before, sum_before = [], 0.0, 0.0
    for rows, mean in points:
        total = rows * mean if math.isfinite(mean) else sum_before
        found.append((total - sum_before) / (rows - before) if rows > before and math.isfinite(mean) else math.nan)
        before, sum_before = rows, total
    return found


def _silent(point: Point) -> float:
    """Return of how many people nothing is published, and where it is not told the most that it can be: a line with holes shows nothing."""
    untold = "silent" in point and point["silent"] is None
    return max(0.0, _number(point.get("z")) - 1) if untold else _number(point.get("silent"))


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _round(value: float) -> float:
    """Return the next round number.

    >>> _round(730.0), _round(0.0)
    (1000.0, 0.0)
    """
    if value <= 0:
        return 0.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(factor * size for factor in (1, 2, 5, 10) if factor * size >= value * 0.999)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _shown(key: str, value: Any) -> object:
    if key in ("began", "time") and isinstance(value, int | float) and 0 <= value < _FURTHEST:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return "" if value is None else value

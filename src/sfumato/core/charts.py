"""Charts as SVG, in few words: lines and stacked areas over a common axis, which need no library and can be looked at anywhere."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 720, 260
_LEFT, _RIGHT, _BOTTOM = 64, 20, 46
# below the title, and below the names of series where there are several
_TOP, _TOP_WITH_NAMES = 30, 48
# told apart by those who see few colours too (Okabe and Ito, 2008), on white and on black
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#f0e442")
_MOST_POINTS = 600
_LEGEND_WIDTH = 6.4


@dataclass(frozen=True, eq=False)
class Chart:
    """What a chart shows: series by name over one axis, as lines or one upon the other; a gap stands where a value is not a number.

    ``is_stepped`` says that a value holds until the next one. ``labels`` are what stands along the axis and where, ``along`` what it counts,
    ``span`` where it begins and ends, so that charts above each other have the same places. Lines and words are in the colour of the page that it
    stands on.
    """

    title: str
    axis: Sequence[float]
    series: Mapping[str, Sequence[float]]
    unit: str = ""
    stacked: bool = False
    labels: Mapping[float, str] = field(default_factory=dict)
    most: float | None = None
    along: str = ""
    span: tuple[float, float] | None = None
    is_stepped: bool = False

    def svg(self) -> str:
        """Return the chart."""
        axis, series = _thinned(self.axis, self.series)
        drawn = _stacked(series) if self.stacked else series
        largest = max((value for values in drawn.values() for value in values if math.isfinite(value)), default=1.0)
        top = self.most if self.most is not None else _rounded_up(largest)
        place = _Place(axis, top, _TOP_WITH_NAMES if len(drawn) > 1 else _TOP, self.span)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(self.title)}" '
            'font-family="sans-serif" font-size="11" fill="currentColor">',
            f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{html.escape(self.title)}</text>',
            *self._grid(place, axis),
        ]
        below: Sequence[float] = [0.0] * len(axis)
        for colour, (_, values) in zip(_colours(len(drawn)), drawn.items(), strict=True):
            if self.stacked:
                parts.append(f'<path d="{place.area(below, values)}" fill="{colour}" fill-opacity="0.85" stroke="none"/>')
                below = values
            else:
                parts.append(
                    f'<path d="{place.line(values, self.is_stepped)}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"/>'
                )
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in place.alone(values)]
        return "".join([*parts, *self._legend(list(drawn)), "</svg>"])

    def _grid(self, place: _Place, axis: Sequence[float]) -> list[str]:
        found = []
        for value in _ticks(place.top):
            y = place.y(value)
            found.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-opacity="0.18"/>')
            found.append(
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill-opacity="0.75">{_number(value)}{html.escape(self.unit)}</text>'
            )
        bottom = HEIGHT - _BOTTOM
        for value, label in (self.labels or _axis_labels(axis)).items():
            x = place.x(value)
            half = 3.1 * len(label)
            # no label runs out of the picture
            anchor = "end" if x + half > WIDTH else "start" if x - half < 0 else "middle"
            found.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}" stroke="currentColor" stroke-opacity="0.5"/>')
            found.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="{anchor}" fill-opacity="0.75">{html.escape(label)}</text>')
        if self.along:
            found.append(f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}" text-anchor="end" fill-opacity="0.75">{html.escape(self.along)}</text>')
        return found

    def _legend(self, names: Sequence[str]) -> list[str]:
        """Return the names of series below the title, from the left."""
        if len(names) < 2:
            return []
        found, x = [], float(_LEFT)
        for colour, name in zip(_colours(len(names)), names, strict=True):
            found.append(f'<rect x="{x:.0f}" y="26" width="9" height="9" fill="{colour}"/><text x="{x + 13:.0f}" y="34.5">{html.escape(name)}</text>')
            x += 26 + _LEGEND_WIDTH * len(name)
        return found


class _Place:
    """Where values stand on the page."""

    def __init__(self, axis: Sequence[float], top: float, margin: int, span: tuple[float, float] | None) -> None:
        self.top, self._height, self._axis = top, HEIGHT - margin - _BOTTOM, axis
        self._first, last = span or ((axis[0], axis[-1]) if axis else (0.0, 0.0))
        self._span = last - self._first or 1.0

    def x(self, value: float) -> float:
        return _LEFT + (value - self._first) / self._span * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - min(value, self.top) / self.top * self._height

    def line(self, values: Sequence[float], is_stepped: bool) -> str:
        found, open_ = [], False
        for at, value in zip(self._axis, values, strict=True):
            if math.isfinite(value):
                found += [f"H{self.x(at):.1f}"] if open_ and is_stepped else []
                found.append(f"{'L' if open_ else 'M'}{self.x(at):.1f} {self.y(value):.1f}")
            open_ = math.isfinite(value)
        return "".join(found)

    def alone(self, values: Sequence[float]) -> list[tuple[float, float]]:
        """Return where values stand that have no neighbour, of which a line would show nothing."""
        known = [False, *map(math.isfinite, values), False]
        lonely = [place for place in range(len(values)) if known[place + 1] and not known[place] and not known[place + 2]]
        return [(self.x(self._axis[place]), self.y(values[place])) for place in lonely]

    def area(self, below: Sequence[float], above: Sequence[float]) -> str:
        if not self._axis:
            return ""
        upper = [f"{self.x(at):.1f} {self.y(value):.1f}" for at, value in zip(self._axis, above, strict=True)]
        lower = [f"{self.x(at):.1f} {self.y(value):.1f}" for at, value in zip(self._axis, below, strict=True)]
        return "M" + "L".join([*upper, *reversed(lower)]) + "Z"


def _thinned(axis: Sequence[float], series: Mapping[str, Sequence[float]]) -> tuple[list[float], dict[str, list[float]]]:
    """Return fewer points where there are more than can be seen; the last one stays."""
    step = max(1, math.ceil(len(axis) / _MOST_POINTS))
    places = sorted({*range(0, len(axis), step), len(axis) - 1}) if axis else []
    return [axis[place] for place in places], {name: [values[place] for place in places] for name, values in series.items()}


def _stacked(series: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    sums: list[float] = []
    for name, values in series.items():
        known = [value if math.isfinite(value) else 0.0 for value in values]
        sums = [before + value for before, value in zip(sums, known, strict=True)] if sums else known
        found[name] = sums
    return found


def _colours(number: int) -> list[str]:
    return [COLOURS[place % len(COLOURS)] for place in range(number)]


def _ticks(top: float) -> list[float]:
    """Return round values from nothing to about the top.

    >>> _ticks(7.3), _ticks(1.0)
    ([0.0, 2.0, 4.0, 6.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    rough = top / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * 0.999)
    return [round(place * step, 12) for place in range(int(top / step + 1e-9) + 1)]


def _rounded_up(top: float) -> float:
    """Return the next round value above the largest, so that no line touches the title.

    >>> _rounded_up(7.3), _rounded_up(0.0)
    (8.0, 1.0)
    """
    if top <= 0:
        return 1.0
    ticks = _ticks(top)
    return top if math.isclose(ticks[-1], top) else round(ticks[-1] + (ticks[1] if len(ticks) > 1 else top), 12)


def _axis_labels(axis: Sequence[float]) -> dict[float, str]:
    return {value: _number(value) for value in dict.fromkeys((axis[0], axis[len(axis) // 2], axis[-1]))} if axis else {}


def _number(value: float) -> str:
    """Return a number in few characters.

    >>> _number(0.25), _number(1200), _number(3_400_000)
    ('0.25', '1,200', '3.4M')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"

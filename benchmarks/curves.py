"""Draws curves as SVG: panels side by side, axes, ticks and a legend, readable on light and dark paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 400, 270
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 34, 44
COLOURS = ("#2a78b8", "#d9742c", "#3f9b54", "#a254a8", "#8a7a1f", "#c0415a", "#6b7480")
DASHES = ("", "6 3", "2 3", "8 3 2 3")
STYLE = """
text { font: 12px sans-serif; fill: #222 } .title { font-weight: bold } .axis { stroke: #555 } .grid { stroke: #ddd }
path { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #e6e6e6 } .axis { stroke: #aaa } .grid { stroke: #444 } }
"""


@dataclass(frozen=True)
class Panel:
    """One picture: series by name, each a list of points; ``logarithmic`` says which axes grow by factors.

    Where it is ``stacked`` series are bands, one upon the other; all have their points at the same places.
    """

    title: str
    across: str
    series: dict[str, list[tuple[float, float]]]
    logarithmic: str = ""
    ticks: Sequence[float] = field(default_factory=tuple)
    stacked: bool = False

    def drawn(self) -> dict[str, list[tuple[float, float]]]:
        """Return the series as they are drawn."""
        if not self.stacked:
            return self.series
        found, below = {}, [0.0] * max(map(len, self.series.values()), default=0)
        for name, series in self.series.items():
            below = [under + y for under, (_, y) in zip(below, series, strict=True)]
            found[name] = [(x, y) for (x, _), y in zip(series, below, strict=True)]
        return found


def draw(panels: Sequence[Panel], columns: int = 2) -> str:
    """Return the panels as one SVG."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    rows = math.ceil(len(panels) / columns)
    legend = 26 * math.ceil(len(names) / 3) + 8
    width, height = columns * WIDTH, rows * HEIGHT + legend
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<style>{STYLE}</style>",
    ]
    for place, panel in enumerate(panels):
        parts.append(f'<g transform="translate({place % columns * WIDTH} {place // columns * HEIGHT})">{_panel(panel, names)}</g>')
    for place, name in enumerate(names):
        x, y = 24 + place % 3 * (width // 3), rows * HEIGHT + 20 + place // 3 * 26
        is_band = any(panel.stacked and name in panel.series for panel in panels)
        shown = (
            f'<rect x="{x}" y="{y - 10}" width="28" height="12" fill="{_colour(place)}"/>'
            if is_band
            else f'<path d="M{x} {y - 4}h28" {_stroke(place)}/>'
        )
        parts.append(f'{shown}<text x="{x + 36}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, names: Sequence[str]) -> str:
    drawn = panel.drawn()
    points = [point for series in drawn.values() for point in series]
    across = _Scale([x for x, _ in points], LEFT, WIDTH - RIGHT, "x" in panel.logarithmic, panel.ticks)
    up = _Scale([y for _, y in points], HEIGHT - BOTTOM, TOP, "y" in panel.logarithmic)
    parts = [f'<text class="title" x="{LEFT}" y="20">{escape(panel.title)}</text>']
    for tick in up.ticks:
        y = up.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    for tick in across.ticks:
        x = across.at(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<path class="axis" style="stroke-width: 1" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(panel.across)}</text>')
    below: list[tuple[float, float]] = []
    for name, series in drawn.items():
        place = names.index(name)
        if panel.stacked:
            edge = [*series, *reversed(below or [(x, 0.0) for x, _ in series])]
            corners = "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y in edge)
            parts.append(f'<path d="M{corners}Z" style="fill: {_colour(place)}; stroke: none"/>')
            below = series
            continue
        line = "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y in series)
        if line:
            parts.append(f'<path d="M{line}" {_stroke(place)}/>')
        parts += [f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{_colour(place)}"/>' for x, y in series]
    return "".join(parts)


class _Scale:
    """From numbers to places on the paper."""

    def __init__(self, values: Sequence[float], start: float, end: float, logarithmic: bool, ticks: Sequence[float] = ()) -> None:
        self._start, self._end, self._logarithmic = start, end, logarithmic
        low, high = min(values), max(values)
        if logarithmic:
            powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
            self.ticks = list(ticks) or powers
        else:
            step = _step(high if not ticks else high - low)
            self.ticks = list(ticks) or [step * number for number in range(math.ceil(high / step) + 1)]
        self._low, self._high = min(low, *self.ticks), max(high, *self.ticks)

    def at(self, value: float) -> float:
        if self._logarithmic:
            share = math.log(value / self._low) / math.log(self._high / self._low)
        else:
            share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _step(span: float) -> float:
    """Return a round distance of ticks, of which there are about five."""
    rough = (span or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _stroke(place: int) -> str:
    dash = DASHES[place // 3 % len(DASHES)]
    return f'stroke="{_colour(place)}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _number(value: float) -> str:
    if 10_000 <= value < 1_000_000:
        return f"{value / 1000:g}k"
    if value >= 1_000_000 or 0 < value < 0.001:
        digits, power = f"{value:.0e}".split("e")
        return f"{digits}e{int(power)}"
    return f"{value:g}" if value < 10 or value == int(value) else f"{value:.1f}"

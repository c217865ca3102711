"""The page of a stream: how much left in which detail, and how z, p_kanon, entropy, delay and loss went; a page of HTML that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sfumato.core.charts import Chart
from sfumato.core.html import html_folded, html_table

_LINES = {
    "z": ("z: how many people must share what is published", "z"),
    "p_kanon": ("p_kanon: the share of people whose published attributes k people share; a measure, no promise", "p_kanon"),
    "residual": ("residual information: entropy after as a share of entropy before", "residual_information"),
    "delay": ("delay: how many records came before one left, on average", "delay.mean"),
    "loss": ("loss: the part of its column's range that a published value covers", "loss"),
    "held": ("records held", "accounts.held"),
}
_SHARES = ("p_kanon", "residual", "loss")
_ENTROPIES = {"before": "entropy_before", "after": "entropy_after"}
_BECAME = ("released", "aggregated", "suppressed", "late", "dead", "held")
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:780px;margin:2em auto;padding:0 1em;color:#222}"
    "svg{width:100%;height:auto;margin:.4em 0 1em}h2{margin-top:2em}"
)


def stream_page(title: str, views: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the page; each view has what was measured of it at every commit, in order."""
    parts = [f"<h1>{escape(title)}</h1><p>Each point is a commit of the stream; the axis counts the records that had come by then.</p>"]
    for name, points in views.items():
        parts.append(f"<h2>{escape(name or 'release')}</h2>")
        parts += _view(points) if points else ["<p>Nothing has been committed yet.</p>"]
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(title)}</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def charts_of(points: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Return the charts of a view: those of which something was measured."""
    axis = [float(point["records"]) for point in points]
    found = [Chart("what became of records, by detail: records since the commit before", axis, _volumes(points), stacked=True)]
    for name, (title, key) in _LINES.items():
        values = [_number(point.get(key)) for point in points]
        if any(math.isfinite(value) for value in values):
            found.append(Chart(title, axis, {name: values}, most=1.0 if name in _SHARES else None))
    entropies = {name: [_number(point.get(key)) for point in points] for name, key in _ENTROPIES.items()}
    if any(math.isfinite(value) for value in entropies["before"]):
        found.append(Chart("entropy of what people show, in bits", axis, entropies))
    return found


def _view(points: Sequence[Mapping[str, Any]]) -> list[str]:
    last = points[-1]
    became = [(name, int(last.get(f"accounts.{name}", 0))) for name in _BECAME]
    charts = [chart.svg() for chart in charts_of(points)]
    keys = list(dict.fromkeys(key for point in points for key in point))
    table = html_table([[_shown(point.get(key)) for key in keys] for point in points], keys)
    return [html_table(became, ("records", "number")), *charts, html_folded("all numbers", table)]


def _volumes(points: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return how many records left in which detail, and how many did not, between each commit and the one before."""
    levels = sorted({key for point in points for key in point if key.startswith("by_level.")}, key=lambda key: int(key.rpartition(".")[2]))
    names = {f"level {key.rpartition('.')[2]}": key for key in levels} or {"released": "accounts.released", "aggregated": "accounts.aggregated"}
    names |= {name: f"accounts.{name}" for name in ("suppressed", "late", "dead")}
    found = {}
    for name, key in names.items():
        totals = [_number(point.get(key, 0)) for point in points]
        steps = [after - before for before, after in zip([0.0, *totals], totals, strict=False)]
        if any(steps):
            found[name] = steps
    return found


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _shown(value: Any) -> object:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else ""
    return "" if value is None else value

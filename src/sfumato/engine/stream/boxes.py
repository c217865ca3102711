"""Boxes: what clusters publish of each quasi-identifier, written as a table's release writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT, Hierarchy
from sfumato.core.publication import Publication
from sfumato.core.stream import Clusters
from sfumato.engine.plan import Plan
from sfumato.engine.stream.scales import Placed, Scale

_MEAN_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Written:
    """What each cluster shows of one quasi-identifier, one array a published column, and what part of the column's range that covers."""

    publication: Publication
    columns: Sequence[pa.Array]
    spans: NDArray[np.float64]
    shows_means: bool = False


def written(plan: Plan, placed: Sequence[Placed], clusters: Clusters) -> list[Written]:
    """Return what clusters show of all quasi-identifiers."""
    return [_of_column(plan, place, each, clusters) for place, each in enumerate(placed)]


def publication_of(plan: Plan, scale: Scale, ladder: Hierarchy) -> Publication:
    """Return how the column of a scale is published on a ladder."""
    column = plan.resolved.policy.columns[scale.name]
    # the ladder of a window may have fewer levels than that of the first one: its highest is the root, which shows the least
    least = 0 if scale.ordered else min(column.level.minimum, ladder.height)
    return Publication(scale.name, ladder, column.publish, least, plan.schema.field(scale.name).type)


def published_fields(plan: Plan, name: str) -> list[pa.Field]:
    """Return the columns as which a quasi-identifier is published: text, or with typed bounds in the column's own type."""
    column, field = plan.resolved.policy.columns[name], plan.schema.field(name)
    kind = pa.string()
    if column.publish == "typed_bounds":
        typed = {"integer": pa.int64(), "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC")}
        kind = typed[column.type] if pa.types.is_string(field.type) and column.type in typed else field.type
    return [pa.field(shown, kind) for shown in plan.shown_as(name)]


def _of_column(plan: Plan, place: int, placed: Placed, clusters: Clusters) -> Written:
    scale, lows, highs = placed.scale, clusters.lows[:, place], clusters.highs[:, place]
    mixed, alone = np.isinf(lows) | np.isinf(highs), np.isnan(lows)
    # what a search sees as missing may be there and unknown, which only the root stands for
    strange = np.zeros(len(lows), bool)
    strange[clusters.cluster_of[placed.unknown]] = True
    mixed, alone = mixed | (alone & strange), alone & ~strange
    plain = ~(mixed | alone)
    if placed.ladder is None:
        ladder, ends = scale.line(np.concatenate([lows[plain], highs[plain]]))
        low, high = np.searchsorted(ends, np.where(plain, lows, ends[0])), np.searchsorted(ends, np.where(plain, highs, ends[0]))
    else:
        ladder = placed.ladder
        low, high = (np.where(plain, side, 0).astype(np.int64) for side in (lows, highs))
    low = np.where(mixed, 0, np.where(alone, ladder.missing, low)).astype(np.int64)
    high = np.where(mixed, ladder.outside, np.where(alone, ladder.missing, high)).astype(np.int64)
    publication = publication_of(plan, scale, ladder)
    span = ladder.size + 2
    pairs, of_cluster = np.unique(low * span + high, return_inverse=True)
    texts = publication.texts(*np.divmod(pairs, span))
    columns = [text.take(pa.array(of_cluster.reshape(-1))) for text in texts]
    spans = _spans(placed, low, high, ladder, plain)
    shows_means = clusters.centres is not None and placed.ladder is None and not bool(np.isnan(clusters.centres[:, place]).all())
    if clusters.centres is not None and shows_means:
        columns = [_with_means(column, scale, clusters.centres[:, place], lows, highs) for column in columns]
    fields = published_fields(plan, scale.name)
    return Written(publication, [_typed(column, field.type, scale) for column, field in zip(columns, fields, strict=True)], spans, shows_means)


def _typed(texts: pa.Array, kind: pa.DataType, scale: Scale) -> pa.Array:
    """Return ends of intervals in the type in which they are published; what stands for any value is missing there."""
    if pa.types.is_string(kind):
        return texts
    if pa.types.is_floating(kind):
        # by way of text: Arrow's own cast of decimals is another number now and then
        return pc.cast(pc.if_else(pc.equal(texts, ROOT), pa.scalar(None, pa.string()), texts), kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if text in (None, ROOT) else Decimal(text) for text in texts.to_pylist()], kind)
    return canonical.parse(texts, scale.kind).cast(kind)


def _spans(placed: Placed, low: NDArray[np.int64], high: NDArray[np.int64], ladder: Hierarchy, plain: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return which part of its range a cluster's box covers: of the line between the outermost, of a ladder the leaves below its node."""
    if placed.ladder is None:
        positions = ladder.positions
        # halves: the range may be more than a float holds
        whole = positions[-1] / 2 - positions[0] / 2
        inside = np.where(plain, low, 0), np.where(plain, high, 0)
        part = positions[inside[1]] / 2 - positions[inside[0]] / 2
        return np.where(plain, part / whole if whole > 0 else 0.0, np.where(high >= ladder.size, (low != high).astype(np.float64), 0.0))
    found = np.where(plain, 0.0, (low != high).astype(np.float64))
    within = np.flatnonzero(plain & (low != high))
    for number, level in enumerate(ladder.levels, start=1):
        first, last = (np.searchsorted(level.starts, ends[within], side="right") - 1 for ends in (low, high))
        firsts, lasts = ladder.nodes(number)
        held = first == last
        found[within[held]] = (lasts[first[held]] - firsts[first[held]] + 1) / max(1, ladder.size)
        within = within[~held]
    return found


def _with_means(texts: pa.Array, scale: Scale, centres: NDArray[np.float64], lows: NDArray[np.float64], highs: NDArray[np.float64]) -> pa.Array:
    """Return what clusters show where some show the mean of their people in place of an interval; no digits are cut off beyond its ends."""
    told = ~np.isnan(centres)
    if not told.any():
        return texts
    if scale.kind in ("integer", "decimal"):
        with np.errstate(over="ignore"):
            rounded = np.round(np.where(told, centres, 0.0), max(scale.digits or 0, _MEAN_DIGITS))
        # of the largest numbers there is nothing to round, and trying leaves none
        rounded = np.where(np.isfinite(rounded), rounded, centres)
        means = canonical.render(pa.array(np.where(told, np.clip(rounded, lows, highs), 0.0), pa.float64()))
    else:
        means = canonical.render(scale.typed(np.where(told, centres, 0.0)))
    return pc.if_else(pa.array(told), means, texts)

"""The ladders that a policy writes down, and what levels and styles a ladder allows.

Of a ladder that is made from the data one thing can often be told before: whether it has an order, whatever the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa

from sfumato.core import canonical
from sfumato.core.hierarchy import ROOT
from sfumato.core.interfaces import HierarchyBuilder, WrittenHierarchy
from sfumato.core.mistakes import key_text
from sfumato.core.publication import ALONG_A_LINE
from sfumato.core.ranges import every_network, network_text
from sfumato.errors import DataError, Mistake, UnreachableError
from sfumato.policy.lines import Lines
from sfumato.policy.load import Loaded
from sfumato.policy.model import Column

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy


def read_ladders(loaded: Loaded, builders: Mapping[str, HierarchyBuilder | None]) -> tuple[dict[str, Hierarchy], list[Mistake]]:
    """Read the hierarchies that do not depend on the data, and return them with all that is wrong with them."""
    ladders: dict[str, Hierarchy] = {}
    mistakes: list[Mistake] = []
    for name, builder in builders.items():
        column = loaded.policy.columns[name]
        if column.hierarchy is None or builder is None:
            continue
        if not isinstance(builder, WrittenHierarchy):
            ordered = order_of(name, column, builder)
            mistakes += [] if ordered is None or _may_be_networks(column) else _styles(name, column, ordered, loaded.lines)
            continue
        path = ("columns", name, "hierarchy", column.hierarchy.name)
        try:
            ladders[name] = builder.read(name)
        except (DataError, UnreachableError) as error:
            mistakes.append(Mistake(key_text(path), error.message, error.code, error.hint, loaded.lines.at(path)))
        else:
            mistakes += misfits(name, column, ladders[name], loaded.lines)
    return ladders, mistakes


def misfits(name: str, column: Column, hierarchy: Hierarchy, lines: Lines) -> list[Mistake]:
    """Return what a column asks for and its hierarchy cannot give."""
    if column.publish == "range" and not hierarchy.ordered and hierarchy.kind == "ip":
        return [*_levels(name, column, hierarchy, lines), *_networks(name, hierarchy, lines)]
    return [*_levels(name, column, hierarchy, lines), *_styles(name, column, hierarchy.ordered, lines)]


def order_of(name: str, column: Column, builder: HierarchyBuilder) -> bool | None:
    """Return whether a ladder has an order, as one without values shows; None where that depends on their type."""
    found = set()
    for kind in [column.type] if column.type else get_args(canonical.ValueType):
        with suppress(DataError):
            nothing = canonical.parse(pa.array([], pa.string()), kind)
            found.add(builder.build(name, nothing, np.zeros(0, np.int64)).ordered)
    return found.pop() if len(found) == 1 else None


def _levels(name: str, column: Column, hierarchy: Hierarchy, lines: Lines) -> list[Mistake]:
    asked = max(column.level.minimum, column.level.maximum or 0)
    if asked <= hierarchy.height:
        return []
    return [
        Mistake(
            f"columns.{name}.level",
            f"level {asked} asked for, but this hierarchy has levels 0 to {hierarchy.height}",
            "policy-level-range",
            f"level: {{maximum: {hierarchy.height}}}, or leave the key out and let the algorithm choose",
            lines.at(("columns", name, "level")),
        )
    ]


def _may_be_networks(column: Column) -> bool:
    """Return whether the ranges of a column without an order may be networks of addresses."""
    return column.publish == "range" and column.type in (None, "ip")


def _networks(name: str, hierarchy: Hierarchy, lines: Lines) -> list[Mistake]:
    """Addresses are published as networks: each node must be one, and so must the root."""
    labels = [hierarchy.leaves.to_pylist(), *(level.labels for level in hierarchy.levels)]
    if every_network(hierarchy.leaves) is None:
        wrong = "range asked for, but the column has IPv4 and IPv6 addresses, and no network holds both"
    elif any(network_text(label) is None for nodes in labels for label in nodes if label != ROOT):
        wrong = "range asked for, but nodes of the hierarchy are no networks"
    else:
        return []
    return [Mistake(f"columns.{name}.publish", wrong, "policy-range", "label or set", lines.at(("columns", name, "publish")))]


def _styles(name: str, column: Column, ordered: bool, lines: Lines) -> list[Mistake]:
    """Bounds, ranges and intervals need an order, a set needs a tree."""
    if column.publish not in (("set",) if ordered else ALONG_A_LINE):
        return []
    what = "is ordered" if ordered else "has no order"
    return [
        Mistake(
            f"columns.{name}.publish",
            f"{column.publish} asked for, but the column {what}",
            "policy-publish",
            "interval or bounds" if ordered else "label or set",
            lines.at(("columns", name, "publish")),
        )
    ]

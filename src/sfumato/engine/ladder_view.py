"""The ladder of one column beside its data: how many rows each node has, what it does not know, and the same as a table to edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.canonical import as_text
from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.html import html_bar, html_sentence
from sfumato.core.interfaces import Progress
from sfumato.core.quiet import Quiet
from sfumato.core.reading import CodedColumn, read
from sfumato.engine.columns_read import narrowed_to
from sfumato.engine.count import build_hierarchy
from sfumato.engine.ladder_tree import Node, drawn, readable
from sfumato.engine.plan import AnyPolicy, Plan, make_plan
from sfumato.errors import UsageError, number_of, suggestion
from sfumato.policy.model import Column

_SHOWN = 20
_BESIDE = {"role", "type", "weight", "level", "on_unknown", "missing", "accept"}


@dataclass(frozen=True, eq=False)
class LadderView:
    """A ladder, the distinct values of its column as they were read, their rows, and the smallest class that is promised.

    ``unknown_stops`` says that a value which the ladder does not know stops a run; ``entry`` is what the policy says of the column beside its ladder.
    """

    column: str
    hierarchy: Hierarchy
    values: pa.Array
    rows: NDArray[np.int64]
    missing_rows: int
    codes: NDArray[np.int32]
    smallest: int
    unknown_stops: bool
    entry: Mapping[str, Any]

    @cached_property
    def leaf_rows(self) -> NDArray[np.int64]:
        """How many rows each leaf has, then the missing and the unknown ones."""
        counted = np.bincount(self.codes, self.rows, minlength=self.hierarchy.size + 2).astype(np.int64)
        counted[self.hierarchy.missing] += self.missing_rows
        return counted

    @property
    def unknown_rows(self) -> int:
        """How many rows have a value that the ladder does not know."""
        return int(self.leaf_rows[self.hierarchy.outside])

    @property
    def unused_leaves(self) -> int:
        """How many leaves no row has."""
        return int((self.leaf_rows[: self.hierarchy.size] == 0).sum())

    def tree(self, depth: int | None = None) -> Node:
        """Return the nodes below the root, as many levels as asked for; nodes that no row has are left out."""
        hierarchy = self.hierarchy
        lowest = 0 if depth is None else max(0, hierarchy.height - depth)
        # in brackets: a value may be called so
        special = [("(missing)", int(self.leaf_rows[hierarchy.missing]), ()), ("(unknown)", self.unknown_rows, self._strangers())]
        children = self._children(hierarchy.height, 0, hierarchy.size, lowest) if hierarchy.height > lowest else ()
        odd = tuple(Node(label, rows, below if lowest == 0 else ()) for label, rows, below in special if rows)
        return Node(hierarchy.root, int(self.leaf_rows.sum()), (*children, *odd))

    def _strangers(self) -> tuple[Node, ...]:
        """Return the values that the ladder does not know, those of most rows first."""
        places = np.flatnonzero((self.codes == self.hierarchy.outside) & (self.rows > 0))
        texts = as_text(self.values.take(pa.array(places))).to_pylist()
        found = [Node(text, int(rows), ()) for text, rows in zip(texts, self.rows[places], strict=True)]
        return tuple(sorted(found, key=lambda node: (-node.rows, node.label)))

    def _children(self, level: int, first: int, end: int, lowest: int) -> tuple[Node, ...]:
        firsts, _ = self.hierarchy.nodes(level - 1)
        places = np.arange(*np.searchsorted(firsts, (first, end)))
        ends = np.append(firsts, self.hierarchy.size)
        found = []
        for place in places.tolist():
            low, high = int(firsts[place]), int(ends[place + 1])
            rows = int(self.leaf_rows[low:high].sum())
            below = self._children(level - 1, low, high, lowest) if level - 1 > lowest else ()
            label = self.hierarchy.node_label(level - 1, place)
            # where a level does nothing to a branch its node is its only child
            if len(below) == 1 and below[0].label == label:
                below = below[0].children
            if rows:
                found.append(Node(label, rows, below))
        return tuple(found)

    def __str__(self) -> str:
        """Return the tree, as deep as anybody reads."""
        return drawn(readable(self), self.smallest, _SHOWN)

    def __repr__(self) -> str:
        """Say what it is, and no value of it."""
        return f"LadderView({self.column}, {self.hierarchy.size} leaves, {self.hierarchy.height} levels above them)"

    def _repr_html_(self) -> str:
        """Return the tree as nested lists, for notebooks; nodes with fewer rows than a class must have are marked, of many only some shown."""
        tree = self.tree()
        levels = number_of(self.hierarchy.height, "level")
        told = html_sentence(f"{self.column}: {tree.rows:,} rows, {number_of(self.hierarchy.size, 'leaf value')}, {levels} above them")
        return f"{told}<ul>{self._item(tree, tree.rows)}</ul>"

    def _item(self, node: Node, all_rows: int) -> str:
        few = f" <strong>fewer than {self.smallest}</strong>" if node.rows < self.smallest else ""
        more = f"<li>and {len(node.children) - _SHOWN} more</li>" if len(node.children) > _SHOWN else ""
        below = f"<ul>{''.join(self._item(child, all_rows) for child in node.children[:_SHOWN])}{more}</ul>" if node.children else ""
        return f"<li>{escape(node.label)}: {node.rows:,}{few}{html_bar(node.rows / max(1, all_rows))}{below}</li>"

    def table(self) -> Iterator[list[str]]:
        """Yield one line a value as it was read: the value, and what each level makes of it."""
        texts = as_text(self.values).to_pylist()
        groups = [self.hierarchy.groups(level) for level in range(1, self.hierarchy.height + 1)]
        for place in np.argsort(self.codes, kind="stable").tolist():
            code = int(self.codes[place])
            if code < self.hierarchy.size:
                yield [texts[place], *(self.hierarchy.node_label(level, int(group[code])) for level, group in enumerate(groups, start=1))]


def hierarchy(policy: AnyPolicy, column: str, data: Any = None, view: str | None = None) -> LadderView:
    """Return the ladder of a column, as a policy says it or as it is made from the values, with the rows of each node."""
    return _view(_reading(make_plan(policy, data, view), column), column, Quiet())


def view_ladder(policy: AnyPolicy, column: str, progress: Progress | None = None, view: str | None = None) -> LadderView:
    """Read one column of the policy's source and build its ladder."""
    return _view(_reading(make_plan(policy, view=view), column), column, progress or Quiet())


def view_ladders(policy: AnyPolicy, progress: Progress | None = None, view: str | None = None) -> list[LadderView]:
    """Read the columns that are generalised and build their ladders."""
    plan = make_plan(policy, view=view)
    plan = _reading(plan, *plan.quasi_identifiers)
    return [_view(plan, name, progress or Quiet()) for name in plan.quasi_identifiers]


def _reading(plan: Plan, *columns: str) -> Plan:
    return replace(plan, source=narrowed_to(plan.source, columns))


def _entry(column: Column) -> dict[str, Any]:
    """Return what a policy says of a column and still holds with a ladder that is a table, which has no order."""
    kept: dict[str, Any] = column.model_dump(mode="json", exclude_unset=True, include=_BESIDE)
    return kept | ({"publish": column.publish} if column.publish in ("set", "label") else {})


def _view(plan: Plan, column: str, progress: Progress) -> LadderView:
    if column not in plan.resolved.policy.columns:
        hint = suggestion(column, plan.resolved.policy.columns)
        raise UsageError(f"the policy has no column {column}", code="column-unknown", hint=hint)
    progress.stage("reading", plan.source.about())
    coded: CodedColumn = read(plan.source, [column], {}, progress).columns[column]
    counts = coded.counts()
    policy = plan.resolved.policy.columns[column]
    values = plan.as_counted(column, coded.values) if policy.role == "quasi_identifier" else coded.values
    hierarchy = build_hierarchy(plan, column, policy, values, counts[:-1])
    codes = encode(hierarchy, values, policy.missing).codes
    return LadderView(column, hierarchy, values, counts[:-1], int(counts[-1]), codes, plan.threshold, policy.on_unknown == "error", _entry(policy))

"""A taxonomy: a tree of categories, unbalanced where life is.

Written as lines ``parent: child1, child2`` (the format of text taxonomies in the literature), in a file or in the policy. The top is the
parent that is nobody's child; called ``Root`` it is published as ``*``. Categories may be data values: messages name lines, of a tree in the
policy entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from sfumato.core.files import PolicyPath, file_errors, refuse_pipes
from sfumato.core.hierarchy import ROOT, Hierarchy
from sfumato.core.settings import Settings
from sfumato.errors import DataError

_MOST_NAMED = 8


class _Entry(NamedTuple):
    number: int
    parent: str
    children: list[str]


_DEEPEST = 100


class Taxonomy(Settings):
    """A tree of categories. Each value of the column is a leaf; what the tree does not name is outside it."""

    path: Annotated[PolicyPath | None, Field(description="a text file with lines `parent: child1, child2`")] = None
    tree: Annotated[dict[str, list[str]] | None, Field(description="the same within the policy: parent to children")] = None

    @field_validator("tree", mode="before")
    @classmethod
    def _of_texts(cls, value: Any) -> Any:
        """Say once what would be said of each of them; which they are is nobody's business."""
        lists = [children for children in value.values() if isinstance(children, list)] if isinstance(value, dict) else []
        if any(isinstance(child, int | float) for children in lists for child in children):
            raise ValueError('has categories that are numbers or truth values, and all must be text: write them in quotes, as in ["18", "no"]')
        return value

    @model_validator(mode="after")
    def _one_of_them(self) -> Taxonomy:
        if (self.path is None) == (self.tree is None):
            raise ValueError("needs either path or tree")
        return self

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the tree; the values of the data change nothing."""
        del values, counts
        return self.read(column)

    def read(self, column: str) -> Hierarchy:
        """Read the tree as it is written."""
        entries = self._entries()
        self._refuse_two_parents(entries)
        self._refuse_circles(entries)
        top = self._top(entries)
        paths = _paths(entries, top)
        if max(len(path) for path in paths) > _DEEPEST:
            raise self._broken(f": the tree has more than {_DEEPEST} levels", "join levels that nobody would publish")
        return Hierarchy.of_paths(column, paths, ROOT if top.lower() == "root" else top)

    def _entries(self) -> list[_Entry]:
        entries = self._lines() if self.tree is None else [_Entry(n, *pair) for n, pair in enumerate(self.tree.items(), start=1)]
        if not entries:
            raise self._broken(" is empty", "write `parent: child1, child2`")
        return entries

    def _lines(self) -> list[_Entry]:
        found = []
        assert self.path is not None  # noqa: S101 - the validator has seen to it
        refuse_pipes(self.path)
        with file_errors(self.path):
            try:
                text = Path(self.path).read_text(encoding="utf-8-sig")
            except UnicodeDecodeError:
                raise self._broken(" is not UTF-8 text", "convert it to UTF-8 first") from None
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            parent, colon, rest = line.partition(":")
            children = [child.strip() for child in rest.split(",")]
            if not colon or not all(children) or not parent.strip():
                raise self._broken(f": line {number} is not `parent: child1, child2`", "mend the line")
            found.append(_Entry(number, parent.strip(), children))
        return found

    def _refuse_two_parents(self, entries: Sequence[_Entry]) -> None:
        stands: dict[str, int] = {}
        for entry in entries:
            for child in entry.children:
                if child in stands:
                    place = self._places({stands[child], entry.number})
                    raise self._broken(f": {place}: one category stands below two parents or twice below one", "leave one of them out")
                stands[child] = entry.number

    def _refuse_circles(self, entries: Sequence[_Entry]) -> None:
        circle = _circle(entries)
        if circle:
            raise self._broken(f": {self._places(circle)}: the way up goes round in a circle", "put no category above itself")

    def _top(self, entries: Sequence[_Entry]) -> str:
        """Return the one parent that is nobody's child."""
        known = {child for entry in entries for child in entry.children}
        tops = {entry.parent: entry.number for entry in reversed(entries) if entry.parent not in known}
        if len(tops) != 1:
            place = self._places(set(tops.values()))
            raise self._broken(f": {place}: {len(tops)} categories have no parent; only the root has none", "put one root above all others")
        return next(iter(tops))

    def _places(self, numbers: set[int]) -> str:
        one, many = ("entry", "entries") if self.path is None else ("line", "lines")
        named = [str(number) for number in sorted(numbers)]
        if len(named) == 1:
            return f"{one} {named[0]}"
        if len(named) > _MOST_NAMED:
            return f"{many} {', '.join(named[:_MOST_NAMED])} and {len(named) - _MOST_NAMED} more"
        return f"{many} {', '.join(named[:-1])} and {named[-1]}"

    def _broken(self, what: str, hint: str) -> DataError:
        return DataError(f"taxonomy {self.path or 'in the policy'}{what}", code="taxonomy-broken", hint=hint)


def _circle(entries: Sequence[_Entry]) -> set[int]:
    """Return the entries by which one climbs from a category to itself; none where every way ends at a top."""
    above = {child: entry for entry in entries for child in entry.children}
    ends: set[str] = set()
    for start in above:
        trail: dict[str, int] = {}
        name = start
        while name in above and name not in ends and name not in trail:
            trail[name] = above[name].number
            name = above[name].parent
        if name in trail:
            steps = list(trail)
            return {trail[step] for step in steps[steps.index(name) :]}
        ends.update(trail)
    return set()


def _paths(entries: Sequence[_Entry], top: str) -> list[list[str]]:
    """Return the path of each leaf, depth first, from the leaf to below the top."""
    children: dict[str, list[str]] = {}
    for entry in entries:
        children.setdefault(entry.parent, []).extend(entry.children)
    paths: list[list[str]] = []
    stack: list[tuple[str, list[str]]] = [(top, [])]
    while stack:
        name, above = stack.pop()
        below = children.get(name, [])
        if not below:
            paths.append([name, *reversed(above[1:])])
        stack.extend((child, [*above, name]) for child in reversed(below))
    return paths

"""A taxonomy: a tree of categories, unbalanced where life is.

Written as lines ``parent: child1, child2`` (the format of text taxonomies in the literature), in a file or in the policy. The top is the
parent that is nobody's child; called ``Root`` it is published as ``*``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sfumato.core.files import PolicyPath, file_errors
from sfumato.core.hierarchy import ROOT, Hierarchy
from sfumato.core.settings import Settings
from sfumato.errors import DataError


class Taxonomy(Settings):
    """A tree of categories. Each value of the column is a leaf; what the tree does not name is outside it."""

    path: Annotated[PolicyPath | None, Field(description="a text file with lines `parent: child1, child2`")] = None
    tree: Annotated[dict[str, list[str]] | None, Field(description="the same within the policy: parent to children")] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Taxonomy:
        if (self.path is None) == (self.tree is None):
            raise ValueError("needs either path or tree")
        return self

    def build(self, column: str, values: pa.Array, counts: NDArray[np.int64]) -> Hierarchy:
        """Build the tree; the values of the data change nothing."""
        del values, counts
        children = self._children()
        known = {child for kids in children.values() for child in kids}
        tops = [parent for parent in children if parent not in known]
        if len(tops) != 1:
            raise self._broken(f"has {len(tops)} tops; a taxonomy has one", "write one line for the root, above all others")
        paths = list(self._paths(children, tops[0]))
        return Hierarchy.of_paths(column, paths, ROOT if tops[0].lower() == "root" else tops[0])

    def _children(self) -> dict[str, list[str]]:
        if self.tree is not None:
            lines = [(0, parent, kids) for parent, kids in self.tree.items()]
        else:
            lines = self._lines()
        children: dict[str, list[str]] = {}
        parent_of: dict[str, int] = {}
        for number, parent, kids in lines:
            children.setdefault(parent, []).extend(kids)
            for kid in kids:
                if kid in parent_of:
                    line = parent_of[kid]
                    place = f"lines {line} and {number}: " if number else ""
                    raise self._broken(f"{place}one category stands below two parents or twice below one", "leave one of them out")
                parent_of[kid] = number
        return children

    def _lines(self) -> list[tuple[int, str, list[str]]]:
        found = []
        assert self.path is not None  # noqa: S101 - the validator has seen to it
        with file_errors(self.path):
            try:
                text = Path(self.path).read_text(encoding="utf-8-sig")
            except UnicodeDecodeError:
                raise self._broken("is not UTF-8 text", "convert it to UTF-8 first") from None
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            parent, colon, kids = line.partition(":")
            names = [kid.strip() for kid in kids.split(",")]
            if not colon or not all(names) or not parent.strip():
                raise self._broken(f"line {number} is not `parent: child1, child2`", "mend the line")
            found.append((number, parent.strip(), names))
        if not found:
            raise self._broken("is empty", "write lines `parent: child1, child2`")
        return found

    def _paths(self, children: dict[str, list[str]], top: str) -> list[list[str]]:
        paths: list[list[str]] = []
        stack: list[tuple[str, list[str]]] = [(top, [])]
        while stack:
            name, above = stack.pop()
            kids = children.get(name, [])
            if name in above:
                raise self._broken("goes round in a circle", "no category stands above itself")
            if not kids:
                paths.append([name, *reversed(above[1:])])
            stack.extend((kid, [*above, name]) for kid in reversed(kids))
        reached = {label for path in paths for label in path}
        if any(parent not in reached and parent != top for parent in children):
            raise self._broken("goes round in a circle", "no category stands above itself")
        return paths

    def _broken(self, what: str, hint: str) -> DataError:
        return DataError(f"taxonomy {self.path or 'in the policy'} {what}", code="taxonomy-broken", hint=hint)

"""The nodes of a ladder as a tree, and the tree as lines to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

_MANY = 200


@dataclass(frozen=True)
class Node:
    """A node of a ladder: its label, its rows, and its children."""

    label: str
    rows: int
    children: tuple[Node, ...]

    @property
    def size(self) -> int:
        """How many nodes there are from here on."""
        return 1 + sum(child.size for child in self.children)

    @property
    def depth(self) -> int:
        """How many levels there are below."""
        return max((1 + child.depth for child in self.children), default=0)

    def as_mapping(self) -> dict[str, Any]:
        """Return the node as plain values."""
        below = {"children": [child.as_mapping() for child in self.children]} if self.children else {}
        return {"label": self.label, "rows": self.rows, **below}


class HasTree(Protocol):
    """What can show its tree as deep as asked."""

    def tree(self, depth: int | None = None) -> Node:
        """Return the nodes below the root, as many levels as asked for."""
        ...


def readable(view: HasTree) -> Node:
    """Return the tree, without the levels that would make it more than anybody reads."""
    tree = view.tree()
    while tree.size > _MANY and tree.depth > 1:
        tree = view.tree(tree.depth - 1)
    return tree


def drawn(tree: Node, smallest: int, most: int) -> str:
    """Return a tree as text, with the rows of each node and a mark where they are fewer than a class must have."""
    lines = _lines(tree, smallest, most)
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {rows}" for name, rows in lines)


def _lines(node: Node, smallest: int, most: int, before: str = "", own: str = "") -> list[tuple[str, str]]:
    """Return a node and what is below it, one line each: the branch with its label, and the rows."""
    few = f"  fewer than {smallest}" if node.rows < smallest else ""
    lines = [(before + own + on_one_line(node.label), f"{node.rows:,}{few}")]
    inner = before + {"": "", "├─ ": "│  ", "└─ ": "   "}[own]
    first = node.children[:most]
    for place, child in enumerate(first):
        last = place + 1 == len(node.children)
        lines += _lines(child, smallest, most, inner, "└─ " if last else "├─ ")
    if len(first) < len(node.children):
        rest = node.children[most:]
        lines.append((f"{inner}└─ and {len(rest):,} more", f"{sum(child.rows for child in rest):,}"))
    return lines


def on_one_line(label: str) -> str:
    """Return a label on one line, without anything that moves the cursor."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in label) or '""'

"""``sfumato hierarchy``: a column's ladder as a tree with its rows, held against the data, or as a file to edit."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.new_file import write_new
from sfumato.cli.progress import Bars
from sfumato.core.yaml_text import yaml_text
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.engine.ladder_view import LadderView


def show(policy: Path, column: str, depth: int | None, most: int, view_name: str | None, format: str) -> None:
    """Print the ladder as a tree; nodes with fewer rows than a class must have are marked."""
    from sfumato.engine.ladder_tree import drawn, readable
    from sfumato.engine.ladder_view import view_ladder

    with Bars() as progress:
        view = view_ladder(policy, column, progress, view_name)
    if format == "json":
        tree = view.tree(depth)
        answer = {"column": column, "type": view.hierarchy.kind, "levels": view.hierarchy.height + 1, "smallest": view.smallest}
        sys.stdout.write(json.dumps(answer | {"tree": tree.as_mapping()}, indent=1, ensure_ascii=False) + "\n")
        return
    tree = readable(view) if depth is None else view.tree(depth)
    sys.stdout.write(f"{drawn(tree, view.smallest, most)}\n")
    if depth is None and tree.depth < view.hierarchy.height:
        sys.stdout.write(f"{tree.depth} of {view.hierarchy.height} levels below the root are shown; all with --depth {view.hierarchy.height}\n")


def check(policy: Path, view_name: str | None, format: str) -> None:
    """Print for each ladder its levels and leaves, and what data and ladder do not know of each other."""
    from sfumato.engine.ladder_view import view_ladders

    with Bars() as progress:
        views = view_ladders(policy, progress, view_name)
    found = [_checked(view) for view in views]
    if format == "json":
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    else:
        for one in found:
            sys.stdout.write(
                f"{one['column']}: {one['type']}, {one['leaves']} leaves, levels 0 to {one['height']}; "
                f"{one['unknown_rows']} rows with a value it does not know, {one['unused_leaves']} leaves that no row has\n"
            )
    stopping = [view.column for view in views if view.unknown_rows and view.unknown_stops]
    if stopping and format == "json":
        raise typer.Exit(DataError.status)
    if stopping:
        raise DataError(
            f"a run would stop: rows have values that the hierarchy does not know, in {', '.join(stopping)}",
            code="value-outside-hierarchy",
            hint="add the values to the hierarchy, or say on_unknown: suppress, or generalise",
        )


def draft(policy: Path, column: str, output: Path, view_name: str | None, force: bool, format: str) -> None:
    """Write the ladder as a table, one line a value, and say how a policy names it."""
    from sfumato.engine.ladder_view import view_ladder

    with Bars() as progress:
        view = view_ladder(policy, column, progress, view_name)
    if not view.hierarchy.size or not len(view.values):
        raise DataError(f"column {column} has no value to draft a hierarchy from", code="source-empty", hint="run again when there are some")
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(view.table())
    write_new(output, text.getvalue(), force, private=True)
    line = f"{yaml_text(column)}: {yaml_text({**view.entry, 'hierarchy': {'table': {'path': str(output)}}})}"
    if format == "json":
        sys.stdout.write(json.dumps({"file": str(output), "policy": line}, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{output} has one line a value of {column}: it is as private as the source. Edit it, then write in the policy:\n  {line}\n")


def _checked(view: LadderView) -> dict[str, object]:
    return {
        "column": view.column,
        "type": view.hierarchy.kind,
        "leaves": view.hierarchy.size,
        "height": view.hierarchy.height,
        "unknown_rows": view.unknown_rows,
        "unused_leaves": view.unused_leaves,
    }

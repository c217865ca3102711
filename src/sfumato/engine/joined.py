"""Joined: whether what was written is joined by a foreign key as the source was, row by row.

Each written row of the one table must find the rows of the other that it found in the source, as far as these were published, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfumato.core.interfaces import Source, Staged
from sfumato.core.record import Joined, people
from sfumato.core.yaml_text import yaml_text
from sfumato.engine.foreign_keys import Link
from sfumato.engine.plan import Plans
from sfumato.errors import PromiseError, number_of


def joined(plans: Plans, staged: Mapping[str, Staged], link: Link) -> tuple[Joined, list[str]]:
    """Return how many written rows find what they refer to, and what is to be known of the others; refuse a release that is joined otherwise."""
    import duckdb

    parent = str(link.parent)
    child_plan, parent_plan = plans.views[link.child], plans.views[parent]
    whole = _columns(parent_plan.source, link.referred, "s")
    tables = {
        "child": _beside(_columns(child_plan.source, link.columns, "s"), staged[link.child], link.columns),
        "parent": _beside(whole, staged[parent], link.referred),
        "everybody": whole,
    }
    database = duckdb.connect()
    try:
        for name, table in tables.items():
            database.register(name, table)
        counts = _counted(database, len(link.columns))
    finally:
        database.close()
    if not counts["before"] == counts["after"] == counts["same"] or not counts["pairs"] == counts["keys"] == counts["written_keys"]:
        raise PromiseError(
            f"the written release is not joined by {link.shown} as the source is",
            code="verify-joined",
            hint="a mask that keeps all values apart, such as hash without a length, and one type in both columns",
        )
    k = max(child_plan.threshold, parent_plan.threshold)
    orphans = counts["there"] - counts["before"]
    notes = []
    if orphans:
        notes.append(f"{link.shown}: rows refer to rows that were left out, and find nothing")
    if counts["referring"] > counts["there"]:
        lost = people(counts["referring"] - counts["there"], k)
        notes.append(f"{link.shown}: {lost} rows refer to nothing that is in the source, byte for byte")
    found = Joined(columns=list(link.columns), table=parent, referred=list(link.referred), joined=counts["after"], orphans=people(orphans, k))
    return found, notes


def refuse_lost(plans: Plans, link: Link, found_there: Callable[[], int | None]) -> None:
    """Refuse tables of which rows find what they refer to by the rules of the database alone: what is made of two writings is not one.

    ``found_there`` asks how many rows find it by those rules; None where the database does not hold them to it.
    """
    child = plans.views[link.child]
    if "broken_key" in child.resolved.accepts:
        return
    referring, found = _found_by_bytes(child.source, plans.views[str(link.parent)].source, link)
    by_rules = found_there() if found < referring else None
    if by_rules is not None and by_rules > found:
        lost = f"{number_of(by_rules - found, 'row')} {'finds' if by_rules - found == 1 else 'find'}"
        hint = (
            "in place of the tables name views that bring the writings together, as lower(trim(...)) does, for both columns; "
            f"or accept: broken_key in the table {yaml_text(link.child)}"
        )
        words = f"{lost} another there only by the rules of the database, and not byte for byte"
        raise PromiseError(f"the release could not be joined by {link.shown} as the source is: {words}", code="verify-joined", hint=hint)


def _found_by_bytes(child: Source, parent: Source, link: Link) -> tuple[int, int]:
    """Return how many rows refer to something, and how many of them find it."""
    import duckdb

    database = duckdb.connect()
    try:
        database.register("child", _columns(child, link.columns, "s"))
        database.register("everybody", _columns(parent, link.referred, "s"))
        queries = _of_source(len(link.columns))
        return _number(database, queries["referring"]), _number(database, queries["there"])
    finally:
        database.close()


def _number(database: Any, query: str) -> int:
    return int(database.execute(query).fetchone()[0])


def _counted(database: Any, width: int) -> dict[str, int]:
    """Return numbers of rows: those that refer to something, that find it in the source, in what was published of it, and in what was written."""
    source, written = _names("s", width), _names("w", width)

    def distinct(names: Sequence[str]) -> str:
        there = " AND ".join(f"{name} IS NOT NULL" for name in source)
        return f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(names)} FROM parent WHERE {there})"  # noqa: S608 - as above

    queries = {
        **_of_source(width),
        "before": _found("parent", source),
        "after": _found("parent", written),
        "same": _found("parent", [*source, *written]),
        "pairs": distinct([*source, *written]),
        "keys": distinct(source),
        "written_keys": distinct(written),
    }
    return {name: _number(database, query) for name, query in queries.items()}


def _of_source(width: int) -> dict[str, str]:
    """Return what counts the rows that refer to something, and those that find it in the source."""
    source = _names("s", width)
    refers = " AND ".join(f"child.{name} IS NOT NULL" for name in source)
    return {"referring": f"SELECT count(*) FROM child WHERE {refers}", "there": _found("everybody", source)}  # noqa: S608 - all names are ours


def _found(other: str, names: Sequence[str]) -> str:
    alike = " AND ".join(f"child.{name} = other.{name}" for name in names)
    return f"SELECT count(*) FROM child SEMI JOIN {other} AS other ON {alike}"  # noqa: S608 - as above


def _beside(source: pa.Table, staged: Staged, columns: Sequence[str]) -> pa.Table:
    """Return the key of each written row as it was in the source and as it was written."""
    before = source.take(pa.array(staged.link))
    after = _columns(staged.written, columns, "w")
    return pa.Table.from_arrays([*before.columns, *after.columns], names=[*before.column_names, *after.column_names])


def _columns(source: Source, columns: Sequence[str], prefix: str) -> pa.Table:
    """Return some columns under names that no database has trouble with; two of them may be the same."""
    read = list(dict.fromkeys(columns))
    batches: Iterable[pa.RecordBatch] = source.batches(read)
    schema = source.describe()
    table = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in read]))
    return pa.Table.from_arrays([table.column(name) for name in columns], names=_names(prefix, len(columns)))


def _names(prefix: str, width: int) -> list[str]:
    return [f"{prefix}{place}" for place in range(width)]

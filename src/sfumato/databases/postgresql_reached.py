"""What a deletion reaches on PostgreSQL: the tables beneath a view, partitions at every level, tables that inherit, and what acts on all of these.

The server itself says which tables it would delete from by way of a view, whatever lies between: it is asked for the plan. What conditions leave out
of a plan today they need not leave out tomorrow, so that the catalogue is asked for partitions and heirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from sfumato.databases.postgresql_types import quoted
from sfumato.databases.reached import Reached
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError, UnreachableError

_IS_VIEW = "SELECT FROM pg_class WHERE oid = %s AND relkind = 'v'"
# heirs of a table that is not in partitions are left out on request
_PARTS = """
WITH RECURSIVE held AS (
    SELECT n.number, false AS in_part FROM unnest(%(tables)s::oid[]) n(number)
    UNION SELECT i.inhrelid, true FROM held JOIN pg_class c ON c.oid = held.number JOIN pg_inherits i ON i.inhparent = c.oid
        WHERE c.relkind = 'p' OR %(heirs)s
)
SELECT n.nspname, c.relname, bool_and(held.in_part) FROM held JOIN pg_class c ON c.oid = held.number JOIN pg_namespace n ON n.oid = c.relnamespace
GROUP BY 1, 2 ORDER BY 3, 1, 2
"""
# a trigger of a table in partitions is there once more for each of these; who names a table has no statement on its parts
_ACTING = """
WITH RECURSIVE views AS (
    SELECT %(table)s::oid AS number
    UNION SELECT c.oid FROM views JOIN pg_rewrite w ON w.ev_class = views.number
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
        JOIN pg_class c ON c.oid = d.refobjid AND c.relkind = 'v'
), found AS (
    SELECT 'trigger' AS what, t.tgname AS name, t.tgrelid AS number FROM pg_trigger t
    WHERE (t.tgrelid = ANY(%(whole)s::oid[]) OR (t.tgrelid = ANY(%(parts)s::oid[]) AND (t.tgtype::integer & 1) <> 0))
        AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND (t.tgtype::integer & 8) <> 0
        AND NOT EXISTS (SELECT FROM pg_trigger p WHERE p.oid = t.tgparentid AND p.tgrelid = ANY(%(whole)s::oid[] || %(parts)s::oid[]))
    UNION SELECT 'rule', rulename, ev_class FROM pg_rewrite
    WHERE (ev_class = ANY(%(whole)s::oid[]) OR ev_class IN (SELECT number FROM views)) AND ev_type = '4' AND ev_enabled IN ('O', 'A')
)
SELECT found.what, found.name, found.number = %(table)s, n.nspname, c.relname
FROM found JOIN pg_class c ON c.oid = found.number JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 3 DESC, 1, 4, 5, 2
"""


class Asked(Protocol):
    """A connection that asks the catalogue."""

    def placed(self, table: TableName) -> TableName:
        """Return the name of a table with that of its schema."""
        ...

    def number_of(self, table: TableName) -> int:
        """Return the number by which the catalogue knows a table."""
        ...

    def facts(self, query: str, values: Any) -> list[tuple[Any, ...]]:
        """Return what the catalogue says."""
        ...

    def shown_rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query gives, of the rows that row-level security allows."""
        ...


def reached(connection: Asked, table: TableName) -> list[Reached]:
    """Return all tables whose rows are deleted with those of a table or a view."""
    placed = connection.placed(table)
    is_view = bool(connection.facts(_IS_VIEW, [connection.number_of(placed)]))
    named = _beneath(connection, placed) if is_view else [placed]
    return [Reached(each, alike=not is_view, in_part=in_part) for each, in_part in _held(connection, named, heirs=True)]


def parts(connection: Asked, table: TableName) -> list[TableName]:
    """Return a table and its partitions."""
    return [each for each, _ in _held(connection, [table], heirs=False)]


def acting(connection: Asked, table: TableName, reached: Sequence[Reached]) -> list[str]:
    """Return the triggers and rules that act when rows are deleted, with the names of their tables where these are not the one that is named."""
    whole = [connection.number_of(each.table) for each in reached if not each.in_part]
    of_parts = [connection.number_of(each.table) for each in reached if each.in_part]
    own = connection.number_of(table)
    rows = connection.facts(_ACTING, {"table": own, "whole": [own, *whole], "parts": of_parts})
    return [f"the {what} {name}{'' if is_own else f' of {TableName(other, schema)}'}" for what, name, is_own, schema, other in rows]


def _held(connection: Asked, tables: Sequence[TableName], heirs: bool) -> list[tuple[TableName, bool]]:
    rows = connection.facts(_PARTS, {"tables": [connection.number_of(table) for table in tables], "heirs": heirs})
    return [(TableName(name, schema), in_part) for schema, name, in_part in rows]


def _beneath(connection: Asked, view: TableName) -> list[TableName]:
    """Return the tables from which rows would be deleted by way of a view; the view itself, or one beneath it, where a trigger does that instead."""
    try:
        ((plans,),) = connection.shown_rows(f"EXPLAIN (VERBOSE, FORMAT JSON) DELETE FROM {quoted(view)}")
    except SfumatoError as error:
        if error.code != "database-failed":
            raise
        words = f"{view} is a view by way of which the server deletes no rows"
        raise UnreachableError(words, code="retention-view", hint="name the table itself as the source, or another view of it") from None
    return list(dict.fromkeys(table for plan in plans for table in _deleted_from(plan.get("Plan", {}))))


def _deleted_from(step: dict[str, Any]) -> Iterator[TableName]:
    if step.get("Operation") == "Delete":
        yield TableName(step["Relation Name"], step["Schema"])
    for further in step.get("Plans", []):
        yield from _deleted_from(further)

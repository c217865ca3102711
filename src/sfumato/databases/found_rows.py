"""Rows that find, by a foreign key, what they refer to: by the rules of their database, which may hold texts to be one that differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.databases.connection import Connection
from sfumato.databases.keyed_rows import one_value
from sfumato.databases.table import Referring, TableName


def found_by_server(connection: Connection, child: TableName, columns: Sequence[str], parent: TableName, referred: Sequence[str]) -> int | None:
    """Return how many rows find what they refer to by the rules of the server, in the state that is seen; None where it does not hold them to it."""
    identity, own = connection.identity(child), (tuple(columns), tuple(referred))
    known = (each for each in connection.referring([parent]) if (each.columns, each.referred) == own and not each.by_period)
    link = next((each for each in known if connection.identity(each.table) == identity), None)
    if link is None:
        return None
    one, other = rows_of(connection, link.table, link.spares_heirs), rows_of(connection, link.to, link.to_itself)
    return int(one_value(connection, f"SELECT COUNT(*) FROM {one} g WHERE EXISTS (SELECT 1 FROM {other} t WHERE {_alike(connection, link)})"))


def rows_of(connection: Connection, table: TableName, without_heirs: bool) -> str:
    """Return the rows of a table as a query takes them, with or without those of tables that inherit from it."""
    return f"{'ONLY ' if without_heirs else ''}{connection.quoted(table)}"


def same_reference(connection: Connection, link: Referring, one: str, other: str) -> str:
    """Return the condition that a row refers to another one, by the rules of the column that is referred to."""
    named = connection.quoted_name
    told = [f" COLLATE {collation}" if collation else "" for collation in link.collations or [None] * len(link.columns)]
    pairs = zip(link.columns, link.referred, told, strict=True)
    return " AND ".join(f"{one}.{named(column)} = {other}.{named(referred)}{collate}" for column, referred, collate in pairs)


def _alike(connection: Connection, link: Referring) -> str:
    """Return the condition for all columns; that of a type without regard to case is none of the server's own, and says what it does."""
    careless = {column.name for column in connection.columns(link.to) if column.called.rpartition(".")[2] == "citext"}
    named, parts = connection.quoted_name, []
    for place, (column, referred) in enumerate(zip(link.columns, link.referred, strict=True)):
        if referred in careless:
            parts.append(f"lower(g.{named(column)}::text) = lower(t.{named(referred)}::text)")
        else:
            single = replace(link, columns=(column,), referred=(referred,), collations=link.collations[place : place + 1])
            parts.append(same_reference(connection, single, "g", "t"))
    return " AND ".join(parts)

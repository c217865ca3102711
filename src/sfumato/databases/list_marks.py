"""Marks at lists of keys, as comments of these tables: of which table the rows are that will be deleted.

A list is found by the name of that table. Who has renamed it, or reaches it by way of a view, would find none, and archive its rows once more.
"""

from __future__ import annotations

from sfumato.databases.table import TableName


def mark_of(table: TableName) -> str:
    """Return a table as a comment names it: in digits, so that no name means anything in a statement.

    >>> mark_of(TableName("v", "public")), marked(mark_of(TableName("Ä b", None)))
    ('7075626c6963.76', TableName(name='Ä b', schema=None))
    """
    return f"{(table.schema or '').encode().hex()}.{table.name.encode().hex()}"


def marked(text: str) -> TableName | None:
    """Return the table that a comment names; None where it is none of ours.

    >>> marked("keys of visits") is None
    True
    """
    schema, _, name = text.partition(".")
    try:
        return TableName(bytes.fromhex(name).decode(), bytes.fromhex(schema).decode() or None) if name else None
    except ValueError:
        return None

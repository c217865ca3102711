"""How the columns of a table differ from what they were, in words."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.databases.table import TableColumn


def alteration(before: Sequence[TableColumn], now: Sequence[TableColumn]) -> str | None:
    """Return what has become of the columns of a table; None where nothing has.

    >>> one, other = TableColumn("age", "integer", None), TableColumn("town", "text", None)
    >>> alteration([one], [one, other]), alteration([one, other], [one])
    ('the column town is new', 'the column town is gone')
    >>> alteration([one], [TableColumn("age", "text", None)]), alteration([one, other], [other, one])
    ('the column age is of another type', 'its columns are in another order')
    """
    then, types = {column.name: column.called for column in before}, {column.name: column.called for column in now}
    words = [f"the column {name} is gone" for name in then if name not in types]
    words += [f"the column {name} is new" for name in types if name not in then]
    words += [f"the column {name} is of another type" for name in then if types.get(name, then[name]) != then[name]]
    if not words and list(then) != list(types):
        words = ["its columns are in another order"]
    return ", ".join(words) or None

"""The table whose rows are deleted by way of a view of MySQL or MariaDB.

The catalogue of MariaDB does not say which it is. But rows are deleted by way of a view only where it is made of one table, or of one such view, and
the servers keep what a view is made by in a form of their own: what it reads stands behind the first ``from`` that is in no brackets.
"""

from __future__ import annotations

import re

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName
from sfumato.errors import UnreachableError

_KIND = "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_MADE_BY = "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_WORDS = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|\w+|\S", re.DOTALL)
_BEHIND = (None, "where", "order")


def table_beneath(session: Session, table: TableName) -> TableName:
    """Return a table itself, and of a view the table whose rows it shows; refuse a view that does not say it to this user."""
    found, seen = table, set[TableName]()
    while (kind := _kind(session, found)) == "VIEW" and found not in seen:
        seen.add(found)
        made = session.facts(_MADE_BY, [found.schema, found.name])
        beneath = read_by(text_of(made[0][0] or "")) if made else None
        if beneath is None:
            raise _unknown(table)
        found = TableName(beneath.name, beneath.schema or found.schema)
    if found != table and kind is None:
        raise _unknown(table)
    return found


def read_by(text: str) -> TableName | None:
    """Return the one table that a view reads, by what it is made by; None where it reads several, or does not say it.

    >>> read_by("select `w`.`b`.`id` AS `id`,(select max(`w`.`c`.`n`) from `w`.`c`) AS ` from `,' from ' AS `x` from `w`.`b` where `w`.`b`.`id` > 1")
    TableName(name='b', schema='w')
    >>> read_by("select `a`.`id` AS `id` from `w`.`b` `a`")
    TableName(name='b', schema='w')
    >>> read_by("select 1 AS `id` from (`w`.`b` join `w`.`c`)"), read_by("select 1 AS `1` from `w`.`b` union select 2 AS `2`"), read_by("")
    (None, None, None)
    """
    words, depth = words_of(text), 0
    for place, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0 and word.lower() == "from":
            return _named(words[place + 1 :])
    return None


def words_of(text: str) -> list[str]:
    """Return the words of what a view is made by: names in their quotation marks, texts, and what else there is."""
    return _WORDS.findall(text)


def named(word: str) -> str:
    """Return the name that stands between quotation marks."""
    return word[1:-1].replace("``", "`")


def _named(words: list[str]) -> TableName | None:
    """Return the table that some words begin with, where nothing comes behind it that would be a further one."""
    names = [named(word) for word in words[:3:2] if word.startswith("`")]
    if not names:
        return None
    qualified = len(names) > 1 and words[1] == "."
    rest = words[3 if qualified else 1 :]
    # another name that it goes by
    rest = rest[1:] if rest and rest[0].startswith("`") else rest
    if (rest[0].lower() if rest else None) not in _BEHIND:
        return None
    return TableName(names[1], names[0]) if qualified else TableName(names[0])


def _kind(session: Session, table: TableName) -> str | None:
    found = session.facts(_KIND, [table.schema, table.name])
    return text_of(found[0][0]) if found else None


def _unknown(view: TableName) -> UnreachableError:
    words = f"{view} is a view, and the server does not say of which one table its rows are: what else goes with them nobody knows"
    hint = "name the table itself as the source; or GRANT SHOW VIEW on the view, and SELECT on what it reads, where that is one table"
    return UnreachableError(words, code="retention-view", hint=hint)

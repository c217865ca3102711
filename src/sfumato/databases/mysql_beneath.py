"""What a view of MySQL or MariaDB reads: all tables and views beneath it, and the one table whose rows are deleted by way of it.

The catalogue of MariaDB does not say which it is. Rows are deleted by way of a view only where it is made of one table, or of one such view, and
the servers keep what a view is made by in a form of their own: what it reads stands behind the first ``from`` that is in no brackets.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName
from sfumato.errors import UnreachableError

_KIND = "SELECT table_type FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_MADE_BY = "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_WORDS = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|\w+|\S", re.DOTALL)
# where a text ends that has a backslash hangs on the mode in which the view was made
_WORDS_OTHERWISE = re.compile(r"`(?:[^`]|``)*`|'(?:[^']|'')*'|\w+|\S", re.DOTALL)
_BEHIND = (None, "where", "order")
_BEFORE = ("from", "join", "straight_join")


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


def tables_beneath(session: Session, table: TableName) -> tuple[list[TableName], list[str]]:
    """Return a table itself and, of a view, all that is beneath it; and what this user is not shown of that."""
    found, unknown = [table], []
    # those that are found on the way are looked at too
    for each in found:
        if _kind(session, each) != "VIEW":
            continue
        made = session.facts(_MADE_BY, [each.schema, each.name])
        text = text_of(made[0][0] or "") if made else ""
        if not text:
            unknown.append(f"what {each} is made by")
        placed = (TableName(read.name, read.schema or each.schema) for read in all_read_by(text))
        found += [read for read in dict.fromkeys(placed) if read not in found]
    return found, unknown


def all_read_by(text: str) -> list[TableName]:
    r"""Return all that a view reads, by what it is made by; also what might be one only where a text in it holds a backslash.

    >>> all_read_by("select 1 AS `a` from ((`w`.`b` `x` join `w`.`c` on(1)) left join (select max(`d`.`n`) AS `n` from `w`.`d`) `y` on(1))")
    [TableName(name='b', schema='w'), TableName(name='c', schema='w'), TableName(name='d', schema='w')]
    >>> all_read_by("select ' from `w`.`b`' AS `a` from `c` union select 1 AS `1`")
    [TableName(name='c', schema=None)]
    >>> all_read_by(r"select '\' from `w`.`b` -- ' AS `a`")
    [TableName(name='b', schema='w')]
    """
    readings = [words_of(text), *([_WORDS_OTHERWISE.findall(text)] if "\\" in text else [])]
    return list(dict.fromkeys(table for words in readings for table in _all_named(words)))


def _all_named(words: list[str]) -> Iterator[TableName]:
    for place, word in enumerate(words):
        if word.lower() not in _BEFORE:
            continue
        rest = list(itertools.dropwhile("(".__eq__, words[place + 1 :]))
        names = [named(each) for each in rest[:3:2] if each.startswith("`")]
        if names and rest[0].startswith("`"):
            yield TableName(names[1], names[0]) if len(names) > 1 and rest[1] == "." else TableName(names[0])


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

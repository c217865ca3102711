"""What hangs on a table of MySQL or MariaDB that is replaced: its indexes are made again as they are written, or the table is not replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_foreign_keys import UNSEEN, is_bound
from sfumato.databases.mysql_types import quoted, text_of
from sfumato.databases.table import TableName
from sfumato.errors import UnreachableError

Facts = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""What asks the catalogue."""

TRIGGERED = (1435,)
"""The error with which a server refuses to let a table with triggers go to another database, whoever may see them."""

_TABLE = "SELECT table_type, create_options FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
# what hangs on a table and would be lost with it, or would go on with the old one
_DEPENDENT = """
SELECT DISTINCT CONCAT('a foreign key of ', table_name) FROM information_schema.key_column_usage
    WHERE referenced_table_schema = %s AND referenced_table_name = %s AND NOT (table_schema = %s AND table_name = %s)
UNION ALL SELECT DISTINCT CONCAT('its foreign key ', constraint_name) FROM information_schema.key_column_usage
    WHERE table_schema = %s AND table_name = %s AND referenced_table_name IS NOT NULL
UNION ALL SELECT CONCAT('the trigger ', trigger_name) FROM information_schema.triggers WHERE event_object_schema = %s AND event_object_table = %s
"""
# all that may come to hang on it meanwhile; the name of the table itself is another when it is elsewhere
_STATE = """
SELECT 'key', CONCAT_WS(' ', table_schema, table_name, constraint_name, referenced_column_name) FROM information_schema.key_column_usage
    WHERE referenced_table_schema = %s AND referenced_table_name = %s
UNION ALL SELECT 'trigger', trigger_name FROM information_schema.triggers WHERE event_object_schema = %s AND event_object_table = %s
ORDER BY 1, 2
"""
# the next number that is given to a row is no part of what a table is
_COUNTED = re.compile(r" AUTO_INCREMENT=[0-9]+")
_INDEXES = """
SELECT index_name, index_type, column_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s
ORDER BY index_name, seq_in_index
"""
# a line of the statement by which the server says that a table is made: names and texts in it may have lines of their own
_LINE = re.compile(r"""^(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|[^"`'\n])+$""", re.MULTILINE | re.DOTALL)
# columns begin with their quoted names, and keys of other tables otherwise
_INDEX_LINE = re.compile(r"  ((?:PRIMARY |UNIQUE |FULLTEXT |SPATIAL )?KEY .*?),?", re.DOTALL)


def state_of(facts: Facts, target: TableName) -> str:
    """Return what a table is and what hangs on it, to be held against what does later, wherever the table is then; nothing where there is none."""
    if not facts(_TABLE, [target.schema, target.name]):
        return ""
    # the first line has the name
    made = "\n".join(_lines(facts, target)[1:])
    hanging = [f"{kind} {text_of(what)}" for kind, what in facts(_STATE, [target.schema, target.name] * 2)]
    return "\n".join([_COUNTED.sub("", made), *hanging])


def is_replaced(session: Session, table: TableName, target: TableName, names: Sequence[str] | None = None) -> bool:
    """Return whether there is a table to be replaced; refuse where something would be lost with it.

    ``table`` is that as a policy names it, and ``names`` the columns of what takes its place, where they are known.
    """
    facts = session.facts
    found = facts(_TABLE, [target.schema, target.name])
    if not found:
        return False
    if text_of(found[0][0]) != "BASE TABLE":
        raise UnreachableError(f"{table} is no plain table", code="sink-not-table", hint="name another table, or remove it yourself")
    hanging = [text_of(name) for (name,) in facts(_DEPENDENT, [target.schema, target.name] * 4)]
    hanging += ["its partitions"] if "partitioned" in text_of(found[0][1] or "") else []
    for index, kind, column in facts(_INDEXES, [target.schema, target.name]):
        if text_of(kind) == "SPATIAL":
            hanging.append(f"the spatial index {text_of(index)}")
        elif names is not None and column is not None and text_of(column) not in names:
            hanging.append(f"the index {text_of(index)} (its column {text_of(column)} is not released)")
    if not hanging and is_bound(session, target):
        hanging.append(f"a foreign key of {UNSEEN}")
    if hanging:
        raise refused_replacing(table, hanging)
    return True


def refused_replacing(table: TableName | str, hanging: Sequence[str]) -> UnreachableError:
    """Return what is said of a table on which something hangs."""
    words = f"{table} cannot be replaced: {', '.join(sorted(set(hanging)))} would be lost with it"
    return UnreachableError(words, code="sink-table-used", hint="name another table, or remove what hangs on it yourself")


def indexing(facts: Facts, target: TableName, staged: TableName) -> list[str]:
    """Return the statements that give a staged table the indexes of another, each as the server writes it: with its type, order and parser."""
    known = {text_of(index) for index, _, _ in facts(_INDEXES, [target.schema, target.name])}
    lines = [found[1] for line in _lines(facts, target) if (found := _INDEX_LINE.fullmatch(line)) is not None]
    if len(lines) != len(known):
        words = f"{target} cannot be replaced: it has an index whose definition cannot be told from others"
        raise UnreachableError(words, code="sink-table-used", hint="name another table, or remove what hangs on it yourself")
    return [f"ALTER TABLE {quoted(staged)} ADD {line}" for line in lines]


def _lines(facts: Facts, table: TableName) -> list[str]:
    """Return what the server writes a table by, line by line."""
    ((_, made),) = facts(f"SHOW CREATE TABLE {quoted(table).replace('%', '%%')}", [])
    return _LINE.findall(text_of(made))

"""Which columns of a table or a view of MySQL and MariaDB show a value that stands in a table, and do not compute it for whoever reads it.

What is computed at the time of reading may hang on a setting of the reader's session, and no catalogue says which functions do. So a column of a view
is known only where the view reads one table and has nothing but a name of a column there; servers keep what it is made by in a form of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_beneath import named, read_by, words_of
from sfumato.databases.mysql_types import text_of
from sfumato.databases.table import TableName

_TABLE = "SELECT table_type, COALESCE(engine, '') FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
_COLUMNS = "SELECT column_name, extra FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"
_MADE_BY = "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_TABLES = ("BASE TABLE", "SYSTEM VERSIONED")
# those of other engines are elsewhere, or made of others
_ENGINES = ("InnoDB", "MyISAM", "Aria", "MEMORY", "ROCKSDB", "ARCHIVE", "ndbcluster")
# rows of several tables, or made of several rows
_OTHER_ROWS = ("union", "except", "intersect", "minus", "group", "having", "with", "procedure")
_NAMES_OF_A_COLUMN = (1, 3, 5)


def stored_columns(session: Session, table: TableName) -> Collection[str]:
    """Return the columns that are known to show what stands in a table."""
    return _stored(session, session.placed(table), frozenset())


def _stored(session: Session, table: TableName, above: frozenset[TableName]) -> Collection[str]:
    place = [table.schema, table.name]
    found = session.facts(_TABLE, place)
    kind, engine = (text_of(word) for word in found[0]) if found else ("", "")
    columns = [(text_of(name), text_of(extra)) for name, extra in session.facts(_COLUMNS, place)]
    if kind in _TABLES:
        return {name for name, extra in columns if engine in _ENGINES and "VIRTUAL" not in extra.upper()}
    made = session.facts(_MADE_BY, place) if kind == "VIEW" and table not in above else []
    text = text_of(made[0][0] or "") if made else ""
    beneath, passed = read_by(text), passed_through(text)
    # by their places, for a view can have names of its own for what it is made by
    if beneath is None or len(passed) != len(columns):
        return set()
    known = _stored(session, TableName(beneath.name, beneath.schema or table.schema), above | {table})
    return {name for (name, _), of in zip(columns, passed, strict=True) if of in known}


def passed_through(text: str) -> list[str | None]:
    r"""Return for each column of a view of one table, by what the view is made by, the column there that it is; None of one that it computes.

    >>> passed_through("select `w`.`b`.`id` AS `id`,upper(`w`.`b`.`c`) AS `c`,`w`.`b`.`d` AS `e,f` from `w`.`b` where `w`.`b`.`id` > 1")
    ['id', None, 'd']
    >>> passed_through("select `b`.`id` AS `id` from `b` union select `c`.`id` AS `id` from `c`"), passed_through(r"select '\' AS `a` from `b`")
    ([], [])
    """
    words = words_of(text)
    # where a text ends that has a backslash hangs on the mode in which the view was made
    if "\\" in text or not words or words[0].lower() != "select" or any(word.lower() in _OTHER_ROWS for word in words):
        return []
    return [_passed(item) for item in _items(words[1:])]


def _items(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each column, as far as to what is read."""
    item: list[str] = []
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word.lower() in (",", "from"):
            yield item
            item = []
            if word != ",":
                return
        else:
            item.append(word)


def _passed(item: Sequence[str]) -> str | None:
    *value, as_, other = item if len(item) > 1 else ("", "")
    is_name = len(value) in _NAMES_OF_A_COLUMN and all(word == "." for word in value[1::2]) and all(word.startswith("`") for word in value[::2])
    return named(value[-1]) if is_name and as_.lower() == "as" and other.startswith("`") else None

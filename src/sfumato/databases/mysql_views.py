"""What views of MySQL and MariaDB read, whoever may see it; tables of the engine MERGE are made of others too.

The catalogue of MariaDB does not say which tables a view reads, and no catalogue says it of those that its functions read, or that the user has no
right to. But the server holds all of them as long as a transaction lasts that has read the view, though it asked for no row; and it gives nobody
a name who would take it from such a table. A table cannot be given the name that it has, so that the question changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sfumato.databases.failures import LOCKED
from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_session import SECONDS
from sfumato.databases.mysql_types import quoted, quoted_name, text_of
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError

_MADE_OF_OTHERS = """
SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = %s AND (table_type LIKE '%%VIEW' OR engine = 'MRG_MyISAM')
"""
_VIEWS = "SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE table_schema <> 'sys'"
_HAS_THE_NAME, _HELD = 1050, 1205
_ROUNDS, _ENOUGH = 6, 2
_BROKEN = ("database-failed", "database-changed")


def reads(reading: Session, table: TableName, replacing: Session, replaced: TableName) -> bool:
    """Return whether what one session reads is made of a table that another one would replace.

    Somebody else may hold that table too. So it must be held with the view, and not without it, and that twice.
    """
    view, target = reading.placed(table), replacing.placed(replaced)
    if not reading.facts(_MADE_OF_OTHERS, [view.schema, view.name]) or reading.place != replacing.place:
        return False
    found = 0
    for _ in range(_ROUNDS):
        if not _held_by(reading, view, replacing, target):
            return False
        found += not _is_held(replacing, target)
        if found == _ENOUGH:
            return True
    raise LOCKED.error(replacing.shown)


def views_that_work(session: Session, tables: Collection[TableName]) -> list[TableName]:
    """Return the views of some tables, and those of these, that this user can read."""
    if not tables:
        return []
    known = {TableName(text_of(name), text_of(schema)): text_of(made or "") for schema, name, made in session.facts(_VIEWS, [])}
    return [view for view in _hanging_on({table.name for table in tables}, known) if _broken(session, view) is None]


def views_that_broke(session: Session, views: Collection[TableName]) -> list[str]:
    """Return those of some views that can be read no more, in words."""
    found = []
    for view in views:
        error = _broken(session, view)
        if error is not None and error.code not in _BROKEN:
            raise error
        found += [] if error is None else [f"the view {view}"]
    return found


def _held_by(reading: Session, view: TableName, replacing: Session, target: TableName) -> bool:
    """Return whether a table is held while a view is read."""
    reading.do("START TRANSACTION")
    try:
        reading.do(_asked_for_nothing(view))
        return _is_held(replacing, target)
    finally:
        reading.do("ROLLBACK")


def _is_held(session: Session, table: TableName) -> bool:
    """Return whether somebody reads a table at this moment; who has no right to give it another name cannot replace it either."""
    session.do("SET SESSION lock_wait_timeout = 1")
    try:
        return session.refused_with(f"RENAME TABLE {quoted(table)} TO {quoted(table)}", (_HAS_THE_NAME, _HELD)) == _HELD
    except SfumatoError as error:
        if error.code != "database-rights":
            raise
        return False
    finally:
        session.do(f"SET SESSION lock_wait_timeout = {SECONDS}")


def _hanging_on(names: Collection[str], known: Mapping[TableName, str]) -> list[TableName]:
    """Return the views that have one of some names in what they are made by, or that of such a view; those too that do not say by what they are."""
    found, looked_for = {view for view, made in known.items() if not made}, set(names)
    while True:
        looked_for |= {view.name for view in found}
        more = {view for view, made in known.items() if any(quoted_name(name) in made for name in looked_for)} - found
        if not more:
            return sorted(found, key=str)
        found |= more


def _broken(session: Session, view: TableName) -> SfumatoError | None:
    """Return what the server says of a view that cannot be read."""
    try:
        session.do(_asked_for_nothing(view))
    except SfumatoError as error:
        return error
    return None


def _asked_for_nothing(view: TableName) -> str:
    return f"SELECT 1 FROM {quoted(view)} LIMIT 0"

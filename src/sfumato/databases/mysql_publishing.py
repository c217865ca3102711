"""How staged tables of MySQL and MariaDB take the places of others: by one ``RENAME TABLE``, and by another one back where something was overlooked.

No lock lasts over that statement. So what hangs on a table is looked at before it, and once more behind it, where nobody else reaches the table any
more: an index that was added between both would be lost, and a foreign key would refer to what is removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sfumato.databases.failures import CHANGED, LOCKED
from sfumato.databases.mysql_asking import Session
from sfumato.databases.mysql_foreign_keys import REFERRED, UNSEEN, is_bound, sees_all
from sfumato.databases.mysql_replacing import indexing, is_replaced, refused_replacing, state_of
from sfumato.databases.mysql_types import quoted
from sfumato.databases.mysql_views import views_that_broke, views_that_work
from sfumato.databases.table import TableName
from sfumato.errors import SfumatoError, UnreachableError

_TRIES = 3
Moves = list[tuple[TableName, TableName]]


class Publishing(Session, Protocol):
    """A connection that gives tables other names."""

    def put_away(self, staged: TableName) -> TableName:
        """Return the name of the table whose place a staged one takes, until it is removed."""
        ...

    def keep(self, away: TableName) -> TableName:
        """Give a table that was put away a name under which nobody removes it."""
        ...

    def rename(self, moves: Sequence[tuple[TableName, TableName]]) -> None:
        """Give tables other names, all of them or none."""
        ...


@dataclass(frozen=True)
class _Place:
    """A staged table, the table as a policy names it and where it is, where the old one goes, and what hung on that."""

    staged: TableName
    table: TableName
    target: TableName
    away: TableName | None
    state: str

    @property
    def moves(self) -> Moves:
        """What the tables are called so that the staged one is in its place."""
        old = [] if self.away is None else [(self.target, self.away)]
        return [*old, (self.staged, self.target)]

    @property
    def moves_back(self) -> Moves:
        """What they are called so that all is as it was."""
        return [(now, before) for before, now in reversed(self.moves)]


def publish(session: Publishing, tables: Sequence[tuple[TableName, TableName]]) -> None:
    """Let staged tables take the places of others, all of them or none."""
    places = [_prepared(session, staged, table) for staged, table in tables]
    for place in places:
        if state_of(session.facts, place.target) != place.state:
            raise CHANGED.error(session.shown)
    working = views_that_work(session, [place.target for place in places if place.away is not None])
    session.rename([move for place in places for move in place.moves])
    try:
        _refuse_broken(session, places, working)
        _refuse_overlooked(session, places)
    except BaseException:
        _go_back(session, places)
        raise


def _go_back(session: Publishing, places: Sequence[_Place]) -> None:
    """Put old tables back; where somebody goes on to read the new ones, or has made a trigger of one, keep the old ones and say where."""
    for _ in range(_TRIES):
        try:
            session.rename([move for place in reversed(places) for move in place.moves_back])
        except SfumatoError as error:
            if error.code != LOCKED.code:
                break
        else:
            return
    kept = [f"{place.table} as {session.keep(place.away).name}" for place in places if place.away is not None]
    words = f"{session.shown} did not let a release that was refused be taken out of its place, for somebody uses it"
    hint = "look what hangs on the old tables, put them back by RENAME TABLE, or drop them"
    raise UnreachableError(f"{words}; kept is, where the user stages, {', '.join(kept)}", code="database-replaced", hint=hint)


def _prepared(session: Publishing, staged: TableName, table: TableName) -> _Place:
    """Give a staged table the indexes of the one whose place it takes, if there is one that may be replaced."""
    target = session.placed(table)
    state = state_of(session.facts, target)
    if not is_replaced(session, table, target, [column.name for column in session.columns(staged)]):
        return _Place(staged, table, target, None, state)
    for statement in indexing(session.facts, target, staged):
        session.do(statement)
    return _Place(staged, table, target, session.put_away(staged), state)


def _refuse_broken(session: Publishing, places: Sequence[_Place], views: Sequence[TableName]) -> None:
    """Refuse new tables with which views cannot be read any more: they go by the names of their tables."""
    broken = views_that_broke(session, views)
    if broken:
        raise refused_replacing(", ".join(str(place.table) for place in places if place.away is not None), broken)


def _refuse_overlooked(session: Publishing, places: Sequence[_Place]) -> None:
    """Refuse what came to hang on old tables at the last moment, or cannot be seen by this user; until all was looked at, every one of them stays."""
    unknown = [place for place in places if place.away is not None and _is_unknown(session, place, place.away)]
    # where the server does not say so, it does when the table shall go; of two, the first would be gone when it says so of the second
    if len(unknown) > 1 or any(session.refused_with(f"DROP TABLE {quoted(place.away)}", REFERRED) for place in unknown if place.away is not None):
        raise refused_replacing(unknown[0].table, [f"a foreign key of {UNSEEN}{', if there is one,' if len(unknown) > 1 else ''}"])


def _is_unknown(session: Publishing, place: _Place, away: TableName) -> bool:
    """Refuse what hangs on an old table; return whether nothing says whether foreign keys do."""
    if state_of(session.facts, away) != place.state:
        raise CHANGED.error(session.shown)
    bound = is_bound(session, away)
    if bound:
        raise refused_replacing(place.table, [f"a foreign key of {UNSEEN}"])
    return bound is None and not sees_all(session)

"""Several tables of one database: read in one state, published in one step, and held against each other before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sfumato.core.interfaces import PUBLISHED, InOneStep, Progress, Staged
from sfumato.core.record import RunRecord
from sfumato.databases.found_rows import found_by_server
from sfumato.databases.together import Together
from sfumato.engine.joined import joined, refuse_lost
from sfumato.engine.ladder_tree import on_one_line
from sfumato.engine.plan import Plans
from sfumato.engine.translated import Translated
from sfumato.sinks._dumps_together import DumpsTogether
from sfumato.sinks.sql import Sql as SqlSink
from sfumato.sinks.sql_dump import SqlDump
from sfumato.sources.sql import Sql


def take_tables(plans: Plans, progress: Progress) -> None:
    """Read all tables, in one session that sees one state of the database."""
    sources = {name: _origin(plan.source) for name, plan in plans.views.items()}
    with next(iter(sources.values())).connected() as connection:
        connection.one_state([source.table_name for source in sources.values()])
        for name, source in sources.items():
            progress.stage(f"reading {on_one_line(name)}", connection.about(source.table_name))
            source.take(connection)
        for link in plans.links:
            if link.is_kept:
                child, parent = (sources[name].table_name for name in (link.child, str(link.parent)))
                refuse_lost(plans, link, partial(found_by_server, connection, child, link.columns, parent, link.referred))


def published_together(plans: Plans) -> tuple[Plans, InOneStep | None]:
    """Return the plans with sinks that are published in one step, and what does it; none where all are kept in memory."""
    first: Any = next(iter(plans.views.values())).sink
    if not isinstance(first, SqlSink | SqlDump):
        return plans, None
    together = Together(first.connected) if isinstance(first, SqlSink) else DumpsTogether(first.path, first.dialect, first.compression)
    sinks: dict[str, Any] = {name: plan.sink for name, plan in plans.views.items()}
    views = {name: replace(plan, sink=sinks[name].within(together)) for name, plan in plans.views.items()}
    return replace(plans, views=views), together


def in_table(plans: Plans, progress: Progress) -> Progress:
    """Return a progress that says of which table a stage is; that of other policies stays as it is."""
    return _InTable(progress, next(iter(plans.views))) if plans.are_tables else progress


def joined_records(plans: Plans, staged: Mapping[str, Staged], records: Mapping[str, RunRecord], progress: Progress) -> dict[str, RunRecord]:
    """Join the tables by their foreign keys as they were and as they were written, and return the records with what was found."""
    progress.stage("joining")
    told = {name: _noted(record, plans.lost_keys.get(name)) for name, record in records.items()}
    for link in plans.links:
        record = told[link.child]
        if not link.is_kept:
            told[link.child] = _noted(record, link.words())
            continue
        found, notes = joined(plans, staged, link)
        told[link.child] = record.model_copy(update={"foreign_keys": [*record.foreign_keys, found], "notes": [*record.notes, *notes]})
    return told


def _noted(record: RunRecord, *notes: str | None) -> RunRecord:
    return record.model_copy(update={"notes": [*record.notes, *(note for note in notes if note is not None)]})


@dataclass(frozen=True)
class _InTable:
    """Names the table behind every stage."""

    progress: Progress
    table: str

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage."""
        self.progress.stage(name if name == PUBLISHED else f"{name} {on_one_line(self.table)}", total)

    def advance(self, rows: int) -> None:
        """Say that further rows are done."""
        self.progress.advance(rows)


def _origin(source: object) -> Sql:
    found = source.source if isinstance(source, Translated) else source
    if not isinstance(found, Sql):
        raise AssertionError("tables are read from a database")
    return found

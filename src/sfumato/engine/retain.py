"""Retain: rows that are old enough are anonymised into an archive, period by period, and only then deleted.

Where source and archive are in one database, and a batch is no larger than a chunk, it is appended, its rows are deleted and its line is written in
one transaction. Otherwise what is half done when a process dies is finished by the next run: a batch that is in the ledger is never made again, and
its rows are deleted by the keys that were written down before it was made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import periods
from sfumato.core.interfaces import Progress
from sfumato.core.nested_types import is_readable
from sfumato.core.quiet import Quiet
from sfumato.core.record import Count, RunRecord, people
from sfumato.core.workplace import Workplace
from sfumato.databases.address import Address
from sfumato.databases.archive import BATCH, LEDGER, Archive
from sfumato.databases.connection import Connection
from sfumato.databases.going_along import Gone
from sfumato.databases.local_copy import CopiedTable, LocalCopy
from sfumato.databases.located import Located
from sfumato.databases.needed_rights import Need, Right, refuse_missing
from sfumato.databases.retained import Deleted, Retained
from sfumato.databases.table import TableColumn, TableName
from sfumato.engine.on_text import looked_at, results_on_text
from sfumato.engine.plan import AnyPolicy, Plan, Plans, make_plans, with_keys
from sfumato.engine.publish import add_notes
from sfumato.engine.run import Timings, counted_views, run_plans
from sfumato.engine.singling_out import ENOUGH_TO_JUDGE, whatever_singles_out
from sfumato.engine.verify import not_kept
from sfumato.errors import DataError, Mistake, PolicyError, PromiseError, SfumatoError, number_of
from sfumato.policy.load import Loaded, load
from sfumato.policy.model import Retention
from sfumato.sinks._archive import ArchiveSink, record_of_batch
from sfumato.sinks.sql import Sql

# of the lists of keys, and of what is read back from the archive's place before it is appended
_OF_KEYS: tuple[Right, ...] = ("CREATE", "SELECT", "INSERT", "DELETE", "INDEX", "DROP")
_OF_STAGED: tuple[Right, ...] = ("CREATE", "SELECT", "INSERT", "DROP")
_LOOKED_AT_SINGLY = (
    "Mind that a batch is refused in which rows refer to each other by the table's own foreign key: the server looks at each row by itself when they "
    "are deleted."
)
_TOO_SMALL = ("promise-impossible", "suppression-limit", "nothing-left")


class _TooSmallError(Exception):
    """A batch cannot be released because it has too few rows; ``waits_for`` says what only more rows can tell, where they may not be deleted."""

    def __init__(self, waits_for: str = "") -> None:
        super().__init__(waits_for)
        self.waits_for = waits_for


@dataclass(frozen=True)
class Batch:
    """What became of the rows of a period: archived and deleted, deleted only, or left where they are because they are too few.

    ``along`` are rows of other tables that went with them, or were changed with them, by foreign keys. ``missing`` are rows of the batch that were
    not in the source any more when they were to be deleted, or had another time: where somebody puts them back they are archived once more.
    ``expected`` are the rows that would have gone along when the batch was begun, as its record has them. ``waits_for`` says why rows wait
    that are enough for the promises. Of the rows ``suppressed`` many are not in the archive; of fewer than ``threshold`` nobody is told how many.
    """

    name: str
    outcome: Literal["archived", "finished", "deleted", "waiting"]
    rows: int
    deleted: int = 0
    record: RunRecord | None = None
    along: Sequence[Gone] = ()
    missing: int = 0
    expected: Sequence[Gone] | None = None
    waits_for: str = ""
    suppressed: int = 0
    threshold: int = 2

    @property
    def appended(self) -> int:
        """How many of the rows are in the archive."""
        return self.rows - self.suppressed

    @property
    def rows_told(self) -> Count:
        """How many rows there were, as the record says it."""
        return self._told(self.rows)

    @property
    def suppressed_told(self) -> Count:
        """How many rows were suppressed, as the record says it."""
        told: Count = people(self.suppressed, self.threshold)
        return told

    @property
    def deleted_told(self) -> Count:
        """How many rows were deleted from the source, of which nobody may work out how few of them were suppressed."""
        return self._told(self.deleted)

    def _told(self, rows: int) -> Count:
        return f"< {self.appended + self.threshold}" if 0 < self.suppressed < self.threshold else rows

    @property
    def notes(self) -> list[str]:
        """What is to be said of rows that wait, and of those that were changed, or of other tables came or went, while the batch was made."""
        if self.waits_for:
            return [self.waits_for]
        words = f"{number_of(self.missing, 'row')} of the batch had gone from the source, or had another time, before being deleted there"
        missing = [f"{words}; what somebody puts back is archived once more"] if self.missing else []
        if self.expected is None or set(self.expected) == set(self.along):
            return missing
        return [*missing, f"other rows went along than were counted before: {', '.join(map(str, self.along)) or 'none'}"]


@dataclass(frozen=True)
class Outcome:
    """What was done with the batches that were old enough, and how many rows have no time and never will be."""

    batches: list[Batch]
    without_time: int


def retain(policy: AnyPolicy, now: datetime | None = None, progress: Progress | None = None) -> Outcome:
    """Archive and delete what the policy says is old enough, and return what was done, oldest first.

    ``now`` is the instant from which ages are counted; the present where it is not given. Raises an error where anything but too few rows is in the
    way; what was archived before stays so.
    """
    loaded = load(policy)
    plans = make_plans(loaded)
    plan, retention = _asked(loaded, plans)
    source: Any = plan.source
    sink: Any = plan.sink
    moment = (now or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None)
    with source.connected() as connection:
        _refuse_without_rights(connection, source, sink)
        with _alone(connection, source.table_name):
            retained = _retained(connection, plan, retention)
            work = _Work(loaded, plans, plan, retention, retained, connection, sink, progress or Quiet())
            batches = [*work.finish(), *work.archive(moment - periods.age(retention.older_than))]
            return Outcome(batches, retained.without_time())


@contextmanager
def _alone(connection: Connection, table: TableName) -> Iterator[None]:
    """Hold all tables whose rows are deleted, in one order for all: another run may reach them by way of a view, or as parts of another table."""
    with ExitStack() as held:
        for name in sorted({f"retain {connection.identity(each.table)}" for each in connection.retaining.reached(table)}):
            held.enter_context(connection.alone(name))
            connection.claim(name)
        yield


def _retained(connection: Connection, plan: Plan, retention: Retention) -> Retained:
    source: Any = plan.source
    way = way_of(source, plan.sink)
    retained = Retained(connection, source.table_name, retention.column, retention.key, way, retention.cascade == "accept")
    # the server deletes along whoever deletes, but lets only those count who may read
    needs = [Need("SELECT", table) for table in retained.tables_along]
    refuse_missing(source.address.shown, source.address.kind, connection.missing_rights(needs))
    return retained


def way_of(source: Any, sink: Any) -> str:
    """Return what tells the way from a table to an archive from others, as a policy writes both addresses."""
    return f"{table_of(source.address, source.table_name)}\0{table_of(sink.address, sink.table_name)}"


def table_of(address: Address, table: TableName) -> str:
    """Return what tells a table of a database from others."""
    return "\0".join(map(str, (address.socket or address.host, address.port, address.database, table)))


def retention_steps(loaded: Loaded, plans: Plans) -> list[str]:
    """Return what ``sfumato retain`` would do, one sentence a step, and refuse what stands against it; nothing where rows are not retained."""
    if loaded.policy.retention is None:
        return []
    plan, retention = _asked(loaded, plans)
    source: Any = plan.source
    sink: Any = plan.sink
    with source.connected() as connection:
        _refuse_without_rights(connection, source, sink)
        retained = _retained(connection, plan, retention)
        tables, acting = retained.tables_along, [*retained.acting, *_acting_on_archive(sink)]
        looks_at_each = retained.looks_at_each
    along = f"With them rows of {', '.join(map(str, tables))} go, or are changed, by foreign keys; the record of a batch says how many."
    triggers = f"Mind that {', '.join(acting)} {'act' if len(acting) > 1 else 'acts'} by itself when rows are archived or deleted."
    return [
        f"With sfumato retain do so for the rows of each {retention.period} that ended {retention.older_than} ago, append each as a batch, and "
        "delete them from the source by their keys.",
        *([along] if tables else []),
        *([_LOOKED_AT_SINGLY] if looks_at_each else []),
        *([triggers] if acting else []),
    ]


def _refuse_without_rights(connection: Connection, source: Any, sink: Sql) -> None:
    """Refuse to begin without the rights that a batch needs to its end."""
    table, keys = connection.placed(source.table_name), connection.beside("retained", source.table_name)
    needs = [Need("SELECT", table), Need("DELETE", table), *(Need(right, keys) for right in _OF_KEYS)]
    refuse_missing(source.address.shown, source.address.kind, connection.missing_rights(needs))
    with sink.connected() as other:
        archive = other.placed(sink.table_name)
        ledger, staged = TableName(LEDGER, archive.schema), other.staged_name(sink.table_name)
        needs = [Need("CREATE", archive), Need("SELECT", archive), Need("INSERT", archive)]
        needs += [Need("SELECT", ledger), Need("INSERT", ledger), Need("UPDATE", ledger), *(Need(right, staged) for right in _OF_STAGED)]
        # it is given its character set when it is made
        needs += [] if other.identity(ledger) is not None else [Need("ALTER", ledger)]
        refuse_missing(sink.address.shown, sink.address.kind, other.missing_rights(needs))


def _acting_on_archive(sink: Sql) -> list[str]:
    with sink.connected() as connection:
        Archive(connection, sink.table_name, "").refuse_without_transactions()
        if connection.identity(sink.table_name) is None:
            return []
        return [f"{name} of the archive" for name in connection.acting(sink.table_name, "INSERT")]


def _asked(loaded: Loaded, plans: Plans) -> tuple[Plan, Retention]:
    """Return the plan and what is to be retained; refuse a policy that does not say so, or of which it cannot be done."""
    plan = next(iter(plans.views.values()))
    retention = loaded.policy.retention
    mistake: tuple[str, str, str] | None = None
    if retention is None:
        mistake = "retention", "the policy does not say which rows are archived and deleted", "retention: {column: seen_at, older_than: 90d}"
    elif not isinstance(plan.source, Located) or not isinstance(plan.sink, Sql):
        mistake = "retention", "rows are retained from a table of a database to another one", "source: {sql: ...} and sink: {sql: ...}"
    elif plan.sink.classes is not None:
        mistake = "sink", "an archive is one table", "leave classes out"
    elif len(plans.views) > 1:
        mistake = "views", "an archive has one view", "one policy for each"
    elif BATCH in plan.released:
        mistake = "columns", f"the column {BATCH} is the archive's own", "rename it in a view of the database"
    if mistake is not None or retention is None:
        key, words, hint = mistake or ("", "", "")
        raise PolicyError([Mistake(key, words, "policy-retention", hint, loaded.lines.at((key,)))], name=loaded.name)
    return plan, retention


@dataclass(frozen=True, eq=False)
class _Work:
    loaded: Loaded
    plans: Plans
    plan: Plan
    retention: Retention
    retained: Retained
    connection: Connection
    sink: Sql
    progress: Progress

    def finish(self) -> list[Batch]:
        """Delete the rows of batches that were archived by a run that did not come to its end."""
        found = []
        with self.sink.connected() as connection:
            archive = self._archive(connection)
            archive.refuse_without_transactions()
            connection.claim(f"append {archive.table}")
            lines = archive.own_lines()
            self.retained.forget_all_but([line.batch for line in lines])
            for line in lines:
                keys = self.retained.keys_of(line.batch)
                if line.state == "deleted":
                    self.retained.forget(keys)
                elif not self.retained.has(keys):
                    raise _keys_missing(line.batch)
                else:
                    self.retained.refuse_altered(line.batch)
                    archive.refuse_lost(line.batch)
                    deleted = self._delete(line.batch, archive)
                    batch = Batch(line.batch, "finished", line.rows, deleted.rows, along=deleted.along, missing=deleted.missing)
                    found.append(self._with_suppressed(batch, line.rows - line.appended))
        return found

    def archive(self, before: datetime) -> list[Batch]:
        """Go through the periods that ended before an instant and in which there are rows."""
        found: list[Batch] = []
        waiting: periods.Period | None = None
        earliest = self.retained.earliest()
        while earliest is not None:
            period = next(periods.closed_periods(self.retention.period, earliest, before), None)
            if period is None:
                break
            joined = period if waiting is None else periods.Period(waiting.first, period.end, f"{waiting.name.split('..')[0]}..{period.name}")
            if waiting is not None:
                found.pop()
            batch = self._batch(joined)
            found += [batch] if batch is not None else []
            waiting = joined if batch is not None and batch.outcome == "waiting" else None
            earliest = self.retained.earliest(period.end)
        return found

    def _batch(self, period: periods.Period) -> Batch | None:
        """Archive the rows of a period and delete them; None where somebody has deleted them all meanwhile."""
        with self.sink.connected() as connection:
            archive = self._archive(connection)
            name = _new(period.name, {line.batch for line in archive.lines()})
            keys = self.retained.begin(name, period.first, period.end)
            deleted: list[Deleted] = []
            try:
                copy, rows, unread = self._copied(keys)
                if not rows:
                    self.retained.forget(keys)
                    return None
                along = self.retained.going_along(keys)
                together = self._one_database and rows <= self.retention.chunk
                told = [*_told_of_unread(unread), *(f"by foreign keys {gone}, as counted before the batch was made" for gone in along)]
                record = self._release(copy, name, rows, told, partial(self._deleted_within, keys, deleted) if together else None)
            except _TooSmallError as error:
                return self._too_few(name, archive, keys, rows, error.waits_for)
            except BaseException:
                self._forget_unless_archived(name, keys)
                raise
            if together:
                self.retained.forget(keys)
            else:
                deleted.append(self._delete(name, archive))
            done = sum(deleted, Deleted())
            batch = Batch(name, "archived", rows, done.rows, record, done.along, done.missing, along)
            return self._noted(self._with_suppressed(batch, rows - record.rows.out))

    def _with_suppressed(self, batch: Batch, suppressed: int) -> Batch:
        return replace(batch, suppressed=suppressed, threshold=self.plan.threshold)

    def _noted(self, batch: Batch) -> Batch:
        """Return a batch with what its record did not know yet; write that into its file too."""
        if batch.record is None or not batch.notes:
            return batch
        path = record_of_batch(self.sink, batch.name)
        if path is not None:
            add_notes(path, batch.notes)
        return replace(batch, record=batch.record.model_copy(update={"notes": [*batch.record.notes, *batch.notes]}))

    def _forget_unless_archived(self, name: str, keys: TableName) -> None:
        """Remove the list of a batch that did not come to be; where nobody can say whether it did, the next run finds out."""
        with suppress(SfumatoError), self.sink.connected() as connection:
            archive = self._archive(connection)
            connection.claim(f"append {archive.table}")
            if name not in [line.batch for line in archive.own_lines()]:
                self.retained.forget(keys)

    def _archive(self, connection: Connection) -> Archive:
        return Archive(connection, self.sink.table_name, self._source)

    @property
    def _source(self) -> str:
        """Which table rows are taken from, as the ledger has it."""
        source: Any = self.plan.source
        return hashlib.sha256(table_of(source.address, self.connection.placed(source.table_name)).encode()).hexdigest()[:32]

    @property
    def _one_database(self) -> bool:
        """Whether one session reaches the source and the archive, and sees all rows of both."""
        source: Any = self.plan.source
        return bool(source.address == self.sink.address and source.rows == "all")

    def _deleted_within(self, keys: TableName, deleted: list[Deleted], connection: Connection) -> None:
        """Delete the rows of a batch in the transaction that appends it."""
        deleted.append(self.retained.delete_within(keys, connection))

    def _copied(self, keys: TableName) -> tuple[CopiedTable, int, int]:
        """Read the rows whose keys are written down, strike the others from the list, and return how many there were of both."""
        source: Any = self.plan.source
        columns = self.connection.columns(source.table_name)
        readable = [column for column in columns if is_readable(column.field)]
        numbers: list[NDArray[np.int64]] = [np.empty(0, np.int64)]

        def kept_apart() -> Iterator[pa.RecordBatch]:
            for batch in self.retained.read(keys, readable):
                numbers.append(batch.column(0).to_numpy())
                yield batch.select(list(range(1, batch.num_columns)))

        copy = LocalCopy(pa.schema([column.field for column in readable]), kept_apart())
        read = np.concatenate(numbers)
        unread = self.retained.keep_only(keys, read)
        self.connection.commit()
        return CopiedTable(copy, pa.schema([column.field for column in columns]), str(source.table_name)), len(read), unread

    def _release(self, copy: CopiedTable, name: str, rows: int, told: Sequence[str], delete: Callable[[Connection], None] | None) -> RunRecord:
        """Anonymise a copy of the rows, verify it, and append it; delete them in the same transaction on request."""
        plans = with_keys(make_plans(self.loaded, copy))
        plan = next(iter(plans.views.values()))
        sink: Any = ArchiveSink(self.sink, name, rows, self._source, partial(_refuse_archive, plan), delete)
        notes = [*self.plan.told, *told, *self._acting]
        try:
            return run_plans(replace(plans, views={"": replace(plan, sink=sink, told=notes)}), self.progress)[""].record
        except PromiseError as error:
            too_small = error.code in _TOO_SMALL or (error.code == "singling-out" and self._breaks_promises(plans))
            if too_small or (error.code == "singling-out" and rows < ENOUGH_TO_JUDGE):
                raise _TooSmallError("" if too_small else f"{error.message}, of which more rows are needed to judge") from None
            raise

    def _breaks_promises(self, plans: Plans) -> bool:
        """Return whether a batch could not keep its promises whatever its columns single out; nothing is written."""
        try:
            with Workplace() as workplace:
                for _ in counted_views(whatever_singles_out(plans), workplace, self.progress, Timings()):
                    pass
        except PromiseError as error:
            return error.code in _TOO_SMALL
        return False

    @cached_property
    def _acting(self) -> list[str]:
        """What acts by itself when rows are archived and deleted, as the record tells it."""
        acting = [*self.retained.acting, *_acting_on_archive(self.sink)]
        return [f"{name} acts by itself when rows are archived or deleted, and may do more with them than that" for name in acting]

    def _too_few(self, name: str, archive: Archive, keys: TableName, rows: int, waits_for: str) -> Batch:
        # a column that nobody should publish is a slip in the policy as often as chance among few rows: no row is lost by it
        if self.retention.too_small == "wait" or waits_for:
            self.retained.forget(keys)
            return Batch(name, "waiting", rows, waits_for=waits_for)
        archive.leave_out(name, rows)
        deleted = self._delete(name, archive)
        return Batch(name, "deleted", rows, deleted.rows, along=deleted.along, missing=deleted.missing)

    def _delete(self, batch: str, archive: Archive) -> Deleted:
        """Delete the rows whose keys were written down for a batch that is in the ledger."""
        keys = self.retained.keys_of(batch)
        deleted = self.retained.delete(keys, self.retention.chunk)
        archive.mark_deleted(batch)
        self.retained.forget(keys)
        return deleted


def _told_of_unread(rows: int) -> list[str]:
    words = f"{number_of(rows, 'row')} of the period had gone, or had another time, when the others were read"
    return [f"{words}: the batch is without them, and where they are in the source they stay for the next run"] if rows else []


def _keys_missing(batch: str) -> DataError:
    """Return what is said where nobody knows any more which rows of the source are archived: to guess would lose rows, or archive them twice."""
    return DataError(
        f"batch {batch} is in the archive, and the list of its rows that are to be deleted from the source is gone",
        code="retention-keys",
        hint="delete those rows yourself, and set state to deleted in the line of the batch in sfumato_ledger",
    )


def _new(name: str, known: set[str]) -> str:
    """Return the name of a batch; rows that came late to a period are a further one."""
    number = 1
    while (found := name if number == 1 else f"{name}/{number}") in known:
        number += 1
    return found


def _refuse_archive(plan: Plan, connection: Connection, table: TableName, columns: Sequence[TableColumn]) -> None:
    """Measure the promises on the text of the whole archive, and refuse a batch with which they do not hold."""
    known = {column.name: column for column in columns}
    names = [name for part in looked_at(plan) for name in part]
    if not names or not plan.resolved.promises:
        return
    found = pa.Table.from_batches(connection.counted(table, [known[name] for name in names]))
    results = results_on_text(plan, found.select(names), found.column(len(names)).to_numpy())
    if not all(result.holds for result in results):
        raise PromiseError(
            f"with this batch the archive as a whole would not keep {not_kept(results)}; nothing has been archived",
            code="archive-promise",
            hint="longer periods, or a weaker promise",
        )

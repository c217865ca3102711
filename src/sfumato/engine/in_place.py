"""In place: a policy whose sink is the table that it reads, masked where it is.

This is the one exception to the rule that nothing is seen before it is published: rows are copied over the old ones some at a time, after all of them
have been verified elsewhere, and nobody of the audience may read the table meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from sfumato.core.interfaces import Progress
from sfumato.core.nested_types import is_readable
from sfumato.core.record import RunRecord
from sfumato.core.staging import StagedFile
from sfumato.databases.in_place import DIGEST, half_masked
from sfumato.databases.local_copy import CopiedTable, LocalCopy
from sfumato.databases.masked_table import SEEN, Change, Ledger, MaskedTable
from sfumato.engine.in_place_checks import change_of
from sfumato.engine.plan import Plans
from sfumato.engine.release import Release
from sfumato.errors import DataError, nothing_to_resume, number_of
from sfumato.policy.identity import policy_hash
from sfumato.policy.load import Loaded
from sfumato.policy.views import resolve_views
from sfumato.sinks._in_place import InPlaceSink
from sfumato.sinks.sql import Sql


@dataclass(frozen=True, eq=False)
class InPlaceRun:
    """A run of a policy that may mask in place: the release that an earlier run had begun and that is finished now, if there was one."""

    loaded: Loaded
    progress: Progress
    masked: MaskedTable | None = None
    finished: Release | None = None

    def taken(self, plans: Plans) -> Plans:
        """Return the plans, of a table that is masked in place with its rows in a private copy; others as they are."""
        plan = next(iter(plans.views.values()))
        if self.masked is None or not isinstance(plan.sink, Sql) or not plan.sink.in_place:
            return plans
        change, standing = change_of(plan, self.masked)
        self.progress.stage("reading", plan.source.about())
        copy, known = _read(self.masked, change)
        source = CopiedTable(copy, copy.source.describe(), str(plan.sink.table_name))
        sink = InPlaceSink(plan.sink, change, standing, known, policy_hash(self.loaded.policy), self.progress)
        return replace(plans, views={"": replace(plan, source=source, sink=sink)})


@contextmanager
def in_place(loaded: Loaded, progress: Progress, resume: bool = False) -> Iterator[InPlaceRun]:
    """Finish what an earlier run of the policy has begun to mask in place, and keep other runs away from the table; nothing of other policies."""
    sink = _asked(loaded)
    if sink is None:
        yield InPlaceRun(loaded, progress)
        return
    with sink.connected() as connection:
        masked = MaskedTable(connection, sink.address.kind, sink.table_name)
        with connection.alone(f"mask {masked.original}"):
            connection.claim(f"mask {masked.original}")
            ledger = masked.ledger()
            if ledger is not None and ledger.facts["policy"] != policy_hash(loaded.policy):
                raise half_masked(masked.original)
            if ledger is None and resume:
                raise nothing_to_resume("no earlier run of this policy has begun to mask in place")
            finished = _finished(sink, masked, ledger, progress, resume) if ledger is not None else None
            connection.disclaim(f"mask {masked.original}")
            yield InPlaceRun(loaded, progress, masked, finished)


def _asked(loaded: Loaded) -> Sql | None:
    """Return the sink of a policy that masks in place."""
    sink = loaded.policy.sink
    if sink is None or sink.name != "sql" or sink.settings.get("in_place") is not True or loaded.policy.tables or loaded.policy.views:
        return None
    found = next(iter(resolve_views(loaded).views.values())).sink
    return found if isinstance(found, Sql) else None


def _finished(sink: Sql, masked: MaskedTable, ledger: Ledger, progress: Progress, resume: bool) -> Release | None:
    """Copy the rest of the rows, and publish the record that the earlier run would have published.

    None where it had only kept the audience out, and others have changed the table since: the audience is let in again, and who did not ask to
    ``resume`` masks it from the beginning.
    """
    try:
        deleted = masked.finish(progress)
    except DataError as error:
        if resume or error.code != "in-place-changed":
            raise
        return None
    record = RunRecord.model_validate(ledger.facts["record"])
    notes = [*record.notes, "an earlier run had begun to mask the table, and this one has finished it"]
    if ledger.facts.get(SEEN):
        notes.append("while it was masked in part others could read the table, by rights that were given to them or by what was made of it meanwhile")
    if deleted:
        notes.append(f"{number_of(deleted, 'row')} had been deleted by others meanwhile")
    record = record.model_copy(update={"notes": notes})
    if sink.record is not None:
        file = StagedFile(sink.record)
        file.write((json.dumps(record.as_mapping(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        file.publish()
    return Release(record, sink.as_source())


def _read(masked: MaskedTable, change: Change) -> tuple[LocalCopy, pa.Table]:
    """Read the table in one state: its rows into a private file, their keys and digests into memory."""
    columns = [column for column in change.columns if is_readable(column.field)]
    known: list[pa.RecordBatch] = []
    names = [column.name for column in columns]
    key = [names.index(name) for name in change.names]
    schema = pa.schema([*(pa.field(column.name, column.kind) for column in change.key), pa.field(DIGEST, pa.int64())])

    def kept_apart() -> Iterator[pa.RecordBatch]:
        for batch in masked.read(columns, change.columns):
            # by their places: a column of the table may be called as the digest is
            known.append(pa.RecordBatch.from_arrays([*(batch.column(place) for place in key), batch.column(len(names))], schema=schema))
            yield batch.select(list(range(len(names))))

    copy = LocalCopy(pa.schema([column.field for column in columns]), kept_apart())
    masked.connection.commit()
    return copy, pa.Table.from_batches(known, schema)

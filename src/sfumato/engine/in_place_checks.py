"""What can be seen to stand against masking a table in place, by the policy and the catalogue, before a row is read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sfumato.core.mistakes import key_text
from sfumato.databases.in_place import InPlace
from sfumato.databases.masked_table import Change, MaskedTable
from sfumato.databases.standing import Standing
from sfumato.databases.table import TableColumn
from sfumato.engine.plan import Plan, Plans
from sfumato.errors import Mistake, PolicyError
from sfumato.sinks.sql import Sql

_COPY = "publish a copy: another table, without in_place"
_TYPE = f"a mask that keeps the type, a column of text for it, or {_COPY}"
_KEY = "role: other and accept: singling_out, if whoever knows keys may find rows again"


def refuse_in_place(plans: Plans) -> None:
    """Refuse what stands against masking in place, where a policy asks for it; nothing is read but the catalogue."""
    for plan in plans.views.values():
        if isinstance(plan.sink, Sql) and plan.sink.in_place:
            with plan.sink.connected() as connection:
                change_of(plan, MaskedTable(connection, plan.sink.address.kind, plan.sink.table_name))


def change_of(plan: Plan, masked: MaskedTable) -> tuple[Change, Standing]:
    """Return what becomes of the columns of a table, and what the catalogue says of it; refuse what would fail, or not be what the policy says."""
    standing, columns = masked.standing(), masked.connection.columns(masked.original)
    made = [name for name in plan.published if name not in plan.kept]
    emptied = [column.name for column in columns if column.name not in plan.published]
    key = [column for name in standing.key for column in columns if column.name == name]
    sink = plan.sink
    change = Change(columns, key, made, emptied, sink.chunk if isinstance(sink, Sql) else 1)
    mistakes = [*_of_the_table(plan, change, standing), *_of_columns(plan, change, standing, masked.how)]
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)
    return change, standing


def _of_the_table(plan: Plan, change: Change, standing: Standing) -> Iterator[Mistake]:
    """Yield what stands against masking the table at all."""
    line = plan.resolved.lines.at(("sink",))
    if not change.key:
        yield Mistake("sink", "no key, no in place: the table has no primary key by which rows could be found again", "in-place-key", _COPY, line)
    if standing.hanging:
        words = (
            f"the table cannot be masked in place because of {', '.join(standing.hanging)}: rows could be seen or kept elsewhere, or not be changed"
        )
        yield Mistake("sink", words, "in-place-table", f"take it away, or {_COPY}", line)
    if plan.resolved.policy.formats:
        yield Mistake("formats", "columns of a table that is masked in place stay as they are written", "in-place-column", _COPY, line)


def _of_columns(plan: Plan, change: Change, standing: Standing, how: InPlace) -> Iterator[Mistake]:
    """Yield the columns that cannot become what the policy says."""
    for column in change.columns:
        path = ("columns", column.name)
        wrong = _wrong(plan, column, change, standing, how)
        if wrong is not None:
            code, words, hint = wrong
            yield Mistake(key_text(path), words, code, hint, plan.resolved.lines.at(path))


def _wrong(plan: Plan, column: TableColumn, change: Change, standing: Standing, how: InPlace) -> tuple[str, str, str] | None:
    name, code = column.name, "in-place-column"
    if name in standing.computed:
        return code, "the server computes it from other columns, and would write it anew", _COPY
    if name in change.names:
        if name in change.written:
            return (
                "in-place-key",
                "is part of the primary key, by which rows are found again, and cannot be masked or removed in place",
                f"{_KEY}; or {_COPY}",
            )
        return (
            None
            if column.kind is not None
            else ("in-place-key", f"is part of the primary key, of type {column.called} that nobody here can read", _COPY)
        )
    if name not in change.written:
        return None
    if name in standing.referred:
        whose = ", ".join(sorted(other for other, names in standing.referring.items() if name in names))
        return code, f"foreign keys of {whose} refer to it, and would find nothing any more, or be changed with it", _COPY
    if name in change.emptied:
        return (
            (code, "is emptied in place where a copy would not have it, and may not be empty (NOT NULL)", f"a mask for it, or {_COPY}")
            if (name in standing.required)
            else None
        )
    if name in standing.foreign:
        return code, "is a foreign key, and what it becomes is not in the table that it refers to", f"mask: empty, or {_COPY}"
    if len(plan.shown_as(name)) > 1:
        return code, "publish: bounds needs two columns, and in place there is one", f"publish: interval in a column of text, or {_COPY}"
    if name in plan.quasi_identifiers:
        words = f"is of type {column.called}, which cannot hold a generalised value such as an interval"
        return None if how.holds_text(column) else (code, words, _TYPE)
    made = plan.resolved.masks[name].output_type(plan.schema.field(name).type)
    return None if _fits(made, column, how) else (code, f"is of type {column.called}, which cannot hold what the mask makes, {made}", _TYPE)


def _fits(made: pa.DataType, column: TableColumn, how: InPlace) -> bool:
    """Return whether a type holds all values of another as they are."""
    kind = column.kind
    if kind is None:
        return False
    if pa.types.is_string(made) or pa.types.is_large_string(made):
        # a number or a day that is written as text is none any more; of other types the server says whether it takes the text
        return how.holds_text(column) or (pa.types.is_string(kind) and not column.called.startswith(("character", "bpchar")))
    if pa.types.is_integer(made):
        return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))
    if pa.types.is_decimal(made):
        return bool(pa.types.is_decimal(kind) and made.scale <= kind.scale)
    for is_kind in (pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp, pa.types.is_boolean, pa.types.is_time):
        if is_kind(made):
            return bool(is_kind(kind))
    return bool(made == kind)

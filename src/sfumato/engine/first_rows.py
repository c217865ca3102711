"""The first rows of a source, looked at for what its policy may have missed: rows of one person, and values that say who somebody is.

Only the beginning is read, so that it costs a moment whatever the size of the source. What is found there is told; that nothing is found says little.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.canonical import as_text
from sfumato.core.entities import Kind, entities_in
from sfumato.core.interfaces import BegunSource, Source
from sfumato.core.nested_types import is_readable, nested_type
from sfumato.engine.plan import Plan
from sfumato.errors import SfumatoError, first_few

_ROWS = "as it is, promises count rows and not people"
_LOOKED_AT = 20_000
_DISTINCT = 500
_MANY, _DIFFERENT = 1 / 3, 1 / 10
# more values than there are kinds of people, however many rows of each stand together, as where a server keeps a table in the order of its key
_PEOPLE = 200
_MOST, _SOME, _NEARLY_ALL = 1 / 2, 1 / 5, 0.95
_SAY_WHO: dict[Kind, str] = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "iban": "accounts",
    "card": "card numbers",
    "us_ssn": "numbers in the form of social security numbers",
    "national_id": "national numbers",
}
# nothing else looks like these, so that some of them say enough
_SURE: tuple[Kind, ...] = ("email", "iban")
# other numbers look like these, but for some of them that nobody has: where many are such, they are other numbers
_LIKE_OTHERS: tuple[Kind, ...] = ("us_ssn",)


def first_rows(source: Source, columns: Sequence[str], rows: int) -> tuple[list[pa.RecordBatch], int]:
    """Return batches that hold the first rows of a source, and how many rows these are; more than asked for where there are more."""
    found, number = [], 0
    for batch in source.beginning(columns, rows + 1) if isinstance(source, BegunSource) else source.batches(columns):
        found.append(batch)
        number += batch.num_rows
        if number > rows:
            break
    return found, number


def first_rows_notes(plans: Sequence[Plan]) -> dict[str, list[str]]:
    """Return what the first rows show that the policy does not say, beside the promises of each view; they are read once for all."""
    unsaid = {plan.view: _unsaid(plan) for plan in plans if plan.resolved.promises}
    shown = {plan.view: _shown(plan) for plan in plans if plan.resolved.promises}
    looked_at = _Looked(plans[0].source, [name for names in unsaid.values() for name in names], [name for names in shown.values() for name in names])
    several = {
        plan.view: _several(plan, [name for name in unsaid[plan.view] if looked_at.are_several(name)]) for plan in plans if plan.view in unsaid
    }
    return {view: [*notes, *filter(None, map(looked_at.says_who, shown[view]))] for view, notes in several.items()}


def _unsaid(plan: Plan) -> list[str]:
    """Return the identifiers of which one may say whose rows they are, where the policy does not."""
    plain = _plain(plan)
    return [name for name in plan.resolved.columns("identifier") if name in plain] if plan.resolved.policy.subject is None else []


def _shown(plan: Plan) -> list[str]:
    """Return the columns that are published as they are, and of which nobody has said that this is known."""
    columns, plain = plan.resolved.policy.columns, _plain(plan)
    return [name for name in plan.kept if name in plain and columns[name].role == "other" and "warnings" not in columns[name].accept]


def _plain(plan: Plan) -> set[str]:
    return {field.name for field in plan.schema if is_readable(field) and nested_type(field) is None}


def _several(plan: Plan, found: Sequence[str]) -> list[str]:
    """Return a note on each identifier that may say whose rows they are, and one on all of those together that the policy never named."""
    unnamed = [name for name in found if name in plan.unnamed]
    notes = [
        f"many values of the identifier {name} stand in several rows: if it says whose they are, say subject: {name}; {_ROWS}"
        for name in found
        if name not in unnamed or len(unnamed) == 1
    ]
    if len(unnamed) > 1:
        words = f"of {len(unnamed)} columns that the policy does not name many values stand in several rows ({first_few(unnamed)})"
        notes.append(f"{words}: if one of them says whose they are, name it and say subject; {_ROWS}")
    return notes


class _Looked:
    """Columns of the first rows."""

    def __init__(self, source: Source, removed: Sequence[str], shown: Sequence[str]) -> None:
        try:
            self._table = _beginning(source, [*removed, *shown])
        except SfumatoError:
            # what is removed may be of a kind that cannot be read, and is in no copy: whoever has it may be gone by now
            self._table = _beginning(source, shown)
        self._names = set(self._table.column_names)

    def are_several(self, name: str) -> bool:
        """Return whether many rows share their value with another row, and there are many values: few of them are kinds of people."""
        if name not in self._names:
            return False
        values = self._table.column(name).drop_null()
        counts = values.value_counts().field("counts")
        several = pc.sum(counts.filter(pc.greater(counts, 1))).as_py() or 0
        return bool(several > _MANY * max(1, len(values)) and len(counts) > min(_PEOPLE, _DIFFERENT * len(values)))

    def says_who(self, name: str) -> str | None:
        """Return a note where most values of a column are identifiers of one kind, or many of one that nothing else looks like; else None."""
        distinct = as_text(self._table.column(name).unique().drop_null().slice(0, _DISTINCT))
        found = entities_in(distinct, list(_SAY_WHO)) if len(distinct) else {}
        for kind, words in _SAY_WHO.items():
            share = sum(any(entity.kind == kind for entity in entities) for entities in found.values()) / max(1, len(distinct))
            if share > (_NEARLY_ALL if kind in _LIKE_OTHERS else _MOST):
                return f"most values of column {name} are {words}, and they are published as they are"
            if share > _SOME and kind in _SURE:
                return f"many values of column {name} are {words}, and they are published as they are"
        return None


def _beginning(source: Source, columns: Sequence[str]) -> pa.Table:
    wanted = list(dict.fromkeys(columns))
    batches = first_rows(source, wanted, _LOOKED_AT)[0] if wanted else []
    # a source that a run goes on without may have no row any more
    return pa.Table.from_batches(batches).slice(0, _LOOKED_AT) if batches else pa.table({name: pa.nulls(0, pa.string()) for name in wanted})

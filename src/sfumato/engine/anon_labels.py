"""Masks as security labels of PostgreSQL Anonymizer, the extension ``anon``: the table itself is shown masked to roles that are labelled.

https://postgresql-anonymizer.readthedocs.io, version 2. Its rules know no promise, and few of its functions do what ours do. A column whose mask has
no counterpart there is shown as nothing, never as it is: a label that is missing would show it to everybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.located import Located
from sfumato.databases.postgresql_types import quoted, quoted_name
from sfumato.databases.table import TableColumn, TableName
from sfumato.engine.plan import Plan
from sfumato.errors import UsageError

_NOTHING = "MASKED WITH VALUE NULL"
_HINT = "run the policy with a sink of its own: a copy that is verified"


def anon_labels(plan: Plan) -> list[str]:
    """Return the statements, with a comment where a mask has no counterpart."""
    source = plan.source
    if not isinstance(source, Located) or source.address.kind != "postgresql":
        raise UsageError("labels of anon are for tables of PostgreSQL, and the source is none", code="plan-no-labels", hint=_HINT)
    if plan.quasi_identifiers or plan.resolved.promises:
        raise UsageError("labels of anon keep no promise, and generalise nothing by what other rows hold", code="plan-no-labels", hint=_HINT)
    with source.connected() as connection:
        columns = connection.columns(source.table_name)
    return [line for column in columns for line in _labelled(plan, source.table_name, column)]


def _labelled(plan: Plan, table: TableName, column: TableColumn) -> Iterator[str]:
    label = _label(plan, column)
    if isinstance(label, _Nothing):
        # a name may hold a line end, after which the comment would be no comment
        yield f"-- column {json.dumps(column.name)}: {label.why}; it is shown as nothing"
    text = _NOTHING if isinstance(label, _Nothing) else label
    yield f"SECURITY LABEL FOR anon ON COLUMN {quoted(table)}.{quoted_name(column.name)} IS {literal(text)}"


@dataclass(frozen=True)
class _Nothing:
    """Why a column is shown as nothing, though its mask does not say so."""

    why: str


def _label(plan: Plan, column: TableColumn) -> str | _Nothing:
    masked = plan.resolved.masks.get(column.name)
    if column.name not in plan.published:
        return _Nothing("the policy does not name it" if column.name in plan.unnamed else "the policy removes it")
    return "NOT MASKED" if masked is None else _of_mask(masked, column)


def _of_mask(masked: MaskedColumn, column: TableColumn) -> str | _Nothing:
    name = masked.component_name()
    if masked.when is not None or masked.on_null is not None or len(masked.steps) != 1:
        return _Nothing(f"{name} has no counterpart in anon with a condition, with something for missing values, or in several steps")
    (step,) = masked.steps
    written = _COUNTERPARTS.get(step.component_name())
    if written is None:
        return _Nothing(f"{name} has no counterpart in anon")
    if step.card.changes_type and not (pa.types.is_string(column.kind) and not column.as_text):
        return _Nothing(f"{name} gives text, the column is of type {column.called}, and a label cannot change that")
    return written(step, quoted_name(column.name)) or _Nothing(f"{name} has no counterpart in anon with these settings")


def _shortened(step: Any, name: str) -> str | None:
    return f"MASKED WITH FUNCTION anon.{'left' if step.side == 'start' else 'right'}({name}, {step.length})" if not step.ellipsis else None


def _digest(step: Any, name: str) -> str | None:
    plain = step.unkeyed in ("sha256", "sha512") and step.length is None and step.output == "hex"
    return f"MASKED WITH FUNCTION anon.digest({name}, '', {literal(step.unkeyed)})" if plain else None


def literal(text: str) -> str:
    """Return a text as a literal of SQL, whatever stands in it and however the server reads backslashes.

    >>> literal("it's")
    "'it''s'"
    """
    quoted_text = text.replace("'", "''")
    return f"E'{quoted_text.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{quoted_text}'"


_COUNTERPARTS: Mapping[str, Callable[[Any, str], str | None]] = {
    "keep": lambda _step, _name: "NOT MASKED",
    "empty": lambda _step, _name: _NOTHING,
    "drop": lambda _step, _name: _NOTHING,
    "constant": lambda step, _name: f"MASKED WITH VALUE {literal(step.value)}",
    "shorten": _shortened,
    "hash": _digest,
}

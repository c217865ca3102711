"""Masks as SQL: what an engine computes is, byte for byte, what the mask itself would make of every value, or there is no expression.

The expression is one of ibis over an unbound table, compiled for the engine; functions that engines call by different names are put in afterwards
(``dialects``). Text of it never holds a value of a row or a key: only names of columns, which are quoted, and constants of the policy, as literals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sfumato.core.mask import Mask, MaskContext, Removing
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.dialects import COMPILERS, FUNCTIONS, Engine
from sfumato.databases.entries import entry, unreadable
from sfumato.databases.pads import Pads
from sfumato.databases.policy_texts import PolicyTexts, policy_texts
from sfumato.databases.table import TableColumn

_LONGEST = 200_000


@dataclass(frozen=True)
class Expressed:
    """A masked column in the SQL of an engine, over the columns of one table.

    Beside the value stand truth values by which rows are counted, for what was masked must be known as exactly as what it became: ``held`` where the
    condition holds, ``missing`` where a missing value is refused, ``invalid`` and ``removed`` where an operation, by its name, could not take a
    value. ``unreadable`` is where a column holds something that its type allows and nobody could publish, such as infinity, ``unplaced`` where the
    condition compares a number that is too long for it: one such row stops the run. ``joins`` says that the table of pads must be joined.
    """

    value: str
    held: str | None = None
    missing: str | None = None
    invalid: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    unreadable: Sequence[str] = ()
    unplaced: Sequence[str] = ()
    joins: bool = False


def expressed(
    masked: MaskedColumn,
    context: MaskContext,
    columns: Mapping[str, TableColumn],
    engine: Engine,
    refer: Callable[[str], str],
    pads: Pads | None = None,
    texts: PolicyTexts | None = None,
) -> Expressed | None:
    """Return a masked column as SQL over columns that ``refer`` writes; None where the engine cannot do exactly what the mask does.

    Keyed masks have an expression only where ``pads`` are given: those of the keys that may be on this server. Where ``texts`` are given those of the
    policy are columns of them, else they stand in the SQL.
    """
    names = [masked.column, *masked.reads]
    entries = {name: entry(engine, columns[name], refer(name)) for name in names}
    found = _whole(masked, context, {name: kind for name, (kind, _) in entries.items()}, columns[masked.column].kind, pads)
    written = None if found is None else _written(engine, found, [sql for _, sql in entries.values()], pads, _Held(policy_texts(masked), texts))
    if written is None:
        return None
    return Expressed(
        written["value"],
        written.get("held"),
        written.get("missing"),
        _of_names(written, "invalid "),
        _of_names(written, "removed "),
        [text for name in names if (text := unreadable(engine, columns[name], refer(name))) is not None],
        list(_of_names(written, "unplaced ").values()),
        pads is not None and any(column in text for text in written.values() for column in pads.columns.values()),
    )


def _of_names(written: Mapping[str, str], beginning: str) -> dict[str, str]:
    return {name.removeprefix(beginning): text for name, text in written.items() if name.startswith(beginning)}


def _whole(
    masked: MaskedColumn, context: MaskContext, kinds: Mapping[str, Any], original: pa.DataType | None, pads: Pads | None
) -> dict[str, Any] | None:
    """Return the expressions of a masked column by what they are."""
    import ibis

    from sfumato.databases.condition_expressions import holds, unplaced
    from sfumato.databases.server_functions import in_zone

    if masked.card.scope not in ("value", "row") or not masked.card.deterministic or original is None:
        return None
    if set(masked.keys) and (pads is None or not set(masked.keys) <= pads.names):
        return None
    table = ibis.table({**{f"c{place}": kind for place, kind in enumerate(kinds.values())}, **_pad_columns(pads)}, name="people")
    given = {name: table[f"c{place}"] for place, name in enumerate(kinds)}
    context = replace(context, pads=None if pads is None else pads.among(table))
    held = None if masked.when is None else holds(masked.when, given)
    if masked.when is not None and held is None:
        return None
    found: dict[str, Any] = {}
    value = _steps(masked, masked.steps, given, context, held, found)
    if value is not None and held is not None:
        rest = _steps(masked, masked.otherwise, given, context, ~held, found)
        value = None if rest is None else _either(masked, original, held, value, rest)
    if value is None:
        return None
    if masked.on_null == "error":
        found["missing"] = given[masked.column].isnull()
    if held is not None and masked.when is not None:
        found["held"] = held
        found |= {f"unplaced {place}": rows for place, rows in enumerate(unplaced(masked.when, given))}
    return {**found, "value": in_zone(value) if value.type().is_timestamp() and value.type().timezone else value}


def _steps(
    masked: MaskedColumn, steps: Sequence[Mask], given: Mapping[str, Any], context: MaskContext, rows: Any, found: dict[str, Any]
) -> Any | None:
    """Return the column after some operations; note which rows of theirs they cannot take."""
    seen = dict(given)
    for number, step in enumerate(steps):
        before, made = seen[masked.column], step.express(seen, context)
        if made is None:
            return None
        if masked.masks_missing(step, number):
            if step.card.nulls != "masked":
                return None
        else:
            _note(step, before.notnull() & made.isnull(), rows, found)
            if step.card.nulls == "masked":
                import ibis

                made = before.isnull().ifelse(ibis.null(), made)
        seen[masked.column] = made
        if step.card.changes_type:
            context = replace(context, kind=None)
    return seen[masked.column]


def _note(step: Mask, wrong: Any, rows: Any, found: dict[str, Any]) -> None:
    removes = isinstance(step, Removing) and step.removes
    if step.card.empties and not removes:
        return
    name = f"{'removed' if removes else 'invalid'} {step.component_name()}"
    wrong = wrong if rows is None else wrong & rows
    found[name] = found[name] | wrong if name in found else wrong


def _either(masked: MaskedColumn, original: pa.DataType, held: Any, value: Any, rest: Any) -> Any | None:
    """Return one of two branches, as text where they are of two types."""
    from sfumato.databases.server_functions import text_of

    if pa.types.is_string(masked.output_type(original)):
        value, rest = text_of(value), text_of(rest)
    return None if value is None or rest is None else held.ifelse(value, rest)


def _pad_columns(pads: Pads | None) -> dict[str, str]:
    return {} if pads is None else dict.fromkeys(pads.columns, "binary")


@dataclass(frozen=True)
class _Held:
    """The texts of the policy for a column, and where they are held, if anywhere."""

    own: frozenset[str]
    texts: PolicyTexts | None

    def replaced(self, tree: Any) -> bool:
        """Put columns into the place of texts that stand in the policy; return whether they could all be held."""
        from sqlglot import exp

        if self.texts is None:
            return True
        for literal in list(tree.find_all(exp.Literal)):
            if literal.is_string and literal.this in self.own:
                column = self.texts.column(literal.this)
                if column is None:
                    return False
                literal.replace(exp.Var(this=column))
        return True


def _written(engine: Engine, found: Mapping[str, Any], entries: Sequence[str], pads: Pads | None, held: _Held) -> dict[str, str] | None:
    """Return expressions in the SQL of an engine; None where it lacks a function, or where they would be too long or hold a zero byte."""
    import ibis
    import sqlglot

    compiler, dialect = COMPILERS[engine]
    table = next(iter(found["value"].op().find(ibis.expr.operations.UnboundTable)), None)
    if table is None:
        # a constant stands in no table
        table = ibis.table({"c0": "string"}, name="people").op()
    named = {f"e{place}": value for place, value in enumerate(found.values())}
    query = str(ibis.to_sql(table.to_expr().select(**named), dialect=compiler))
    tree = sqlglot.parse_one(query, dialect=dialect)
    refers = {f"c{place}": sql for place, sql in enumerate(entries)}
    refers |= {} if pads is None else pads.columns
    texts: dict[str, str] = {}
    for name, part in zip(found, tree.expressions, strict=True):
        text = _filled(part.this, refers, engine, dialect, held)
        if text is None or len(text) > _LONGEST or "\0" in text:
            return None
        texts[name] = text
    return texts


def _filled(tree: Any, refers: Mapping[str, str], engine: Engine, dialect: str, held: _Held) -> str | None:
    """Return a tree as SQL, with columns and functions as the engine writes them; nothing is left of the tree then, so that nothing is copied."""
    from sqlglot import exp

    from sfumato.databases.server_functions import PREFIX

    holder = exp.Paren(this=tree)
    if any("\0" in literal.this for literal in holder.find_all(exp.Literal)):
        return None
    if not held.replaced(holder):
        return None
    for column in list(holder.find_all(exp.Column)):
        column.replace(exp.Var(this=refers[column.name]))
    # the innermost first: what is around a function writes it as it has become
    for call in reversed(list(holder.find_all(exp.Anonymous, bfs=True))):
        name = str(call.this).lower()
        if not name.startswith(PREFIX):
            continue
        written = FUNCTIONS[engine].get(name.removeprefix(PREFIX))
        if written is None:
            return None
        arguments = [argument.sql(dialect=dialect, copy=False) for argument in call.expressions]
        call.replace(exp.Var(this=written.format(*arguments) if isinstance(written, str) else written(*arguments)))
    return str(holder.sql(dialect=dialect, copy=False))

"""Explain: a plan in plain sentences."""

from __future__ import annotations

import pyarrow as pa

from sfumato.core import canonical
from sfumato.core.mask import Reversible
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.memory import MEMORY as BUDGET
from sfumato.core.memory import most_cells
from sfumato.core.record import record_of
from sfumato.core.relaxed_search import deals_out
from sfumato.core.standard_streams import in_words
from sfumato.core.undoing import not_undone
from sfumato.databases.duckdb_file import MEMORY
from sfumato.databases.located import Located
from sfumato.engine.inside import not_inside
from sfumato.engine.live_view import live_view_steps
from sfumato.engine.plan import Plan, Plans
from sfumato.engine.search_elsewhere import undivided
from sfumato.errors import first_few
from sfumato.policy.seed import FOR_TESTS
from sfumato.policy.told_ways import accepted_words
from sfumato.sinks.live_view import LiveView
from sfumato.sinks.sql import Sql

_INFERRED = "whole numbers, decimals, dates, timestamps or IP addresses where all values of the column are such, else for text"

_RELAXED = (
    "Let boxes overlap: rows that are alike may be published differently, which of them is left to chance, and every class keeps the promises. "
    "Whoever knows somebody's values finds several classes that they may be in; two runs deal the rows out differently, so publish one of them. "
    "Relaxed sometimes loses more than strict: where boxes overlap the run measures both, and it and the record say which loses more."
)


def explain(plan: Plan) -> list[str]:
    """Return what a run would do, one sentence a step."""
    if isinstance(plan.sink, LiveView):
        return live_view_steps(plan, plan.sink, [masked_step(plan, name) for name in plan.masked])
    policy, in_place = plan.resolved.policy, _in_place(plan)
    scan = plan.source.scan()
    steps = [f"Mind that {FOR_TESTS}."] if policy.seed is not None else []
    steps.append(f"Read {len(plan.schema.names)} columns from {', '.join(map(in_words, scan.places)) if scan else 'memory'}.")
    told_twice = accepted_words(plan.as_read)
    steps += [f"Mind that {words}." for words in (*plan.told, *told_twice)]
    for name, form in policy.formats.items():
        written = form.form()
        clocks = f" by the clocks of {written.time_zone}" if written.time_zone else ""
        ours = "a number with a point" if written.point else "ISO 8601"
        steps.append(f"Read {name} as it is written there, {written.pattern}{clocks}, and write it as {ours}.")
    gone = [name for name in plan.schema.names if name not in plan.published]
    removed = [name for name in gone if name not in plan.unnamed]
    if removed and in_place:
        steps.append(f"Empty {listed(removed)}, which {'stays as a column' if len(removed) == 1 else 'stay as columns'}: it is in place.")
    elif removed:
        steps.append(f"Remove {listed(removed)}.")
    if plan.unnamed:
        steps.append(f"{'Empty' if in_place else 'Remove'} what the policy does not name: {first_few(plan.unnamed)}.")
    for name in plan.masked:
        steps.append(masked_step(plan, name))
    inferred = [name for name in plan.quasi_identifiers if _type(plan, name) is None]
    if inferred:
        steps.append(f"Take {listed(inferred)} for {_INFERRED}; the record says which.")
    for name in plan.quasi_identifiers:
        steps.append(generalised_step(plan, name))
    if plan.kept:
        steps.append(f"Keep {listed(plan.kept)} as {'it is' if len(plan.kept) == 1 else 'they are'}.")
    if policy.subject:
        steps.append(f"Count people, not rows: {policy.subject} says whose row it is.")
    if plan.quasi_identifiers:
        limit = f"leave out at most {policy.suppression_limit:.2%} of the rows" if policy.suppression_limit else "leave out no row"
        steps.append(f"Search with {policy.algorithm.name} for a recoding (by what each value is replaced) that loses little detail; {limit}.")
        if deals_out(plan.resolved.algorithm):
            steps.append(_RELAXED)
    for promise in plan.resolved.promises:
        settings = ", ".join(f"{key} {value}" for key, value in promise.model_dump(exclude_defaults=True).items())
        steps.append(f"Keep {promise.component_name()} ({settings}) in every class, or publish nothing.")
    steps.append(_where(plan))
    places = plan.sink.places()
    if in_place:
        steps += _copied_over(plan, in_place)
    elif places:
        record = record_of(plan.sink) or "the private folder"
        steps.append(f"Publish it as {', '.join(map(in_words, places))}, {_order(plan)}, with its record in {record}.")
    else:
        steps.append(f"Return it as a table, {_order(plan)}.")
    return steps


def explain_together(plans: Plans) -> list[str]:
    """Return what is done because there are several views, one sentence a step."""
    if plans.are_tables:
        return _tables_together(plans)
    if len(plans.views) < 2:
        return []
    steps = [f"All {len(plans.views)} views come from one read of the source, and all are verified before the first is published."]
    for name, finer in plans.derived_from.items():
        steps.append(f"The classes of {name} are unions of those of {finer}, and what {finer} leaves out it leaves out too.")
    for reader, names in plans.readers.items():
        if len(set(names)) > 1:
            told = "the classes of all their values must keep what each of them promises, but for what one tells alone"
            steps.append(f"{reader} reads {listed(list(dict.fromkeys(names)))}: {told}.")
    steps += [f"Mind that {words}." for _, words in plans.accepted]
    steps.append("The smallest joint class of any other two views goes into their records.")
    return steps


def _tables_together(plans: Plans) -> list[str]:
    """Return how tables are read, joined and published together."""
    number = len(plans.views)
    all_of_them = f"All {number} tables are" if number > 1 else "The table is"
    steps = [f"{all_of_them} read in one state of the database, worked on and verified before the first is published; all are published in one step."]
    for link in plans.links:
        if link.is_kept:
            steps.append(f"The foreign key {link.shown} can be joined by in the release as in the source, which is measured on what is written.")
        else:
            steps.append(f"Mind the foreign key {link.words()}.")
    steps += [f"Mind of {name} that {words}." for name, words in plans.lost_keys.items()]
    if any(plan.resolved.promises for plan in plans.views.values()):
        steps.append("A promise is kept in its table alone: what the tables tell together of one person is not looked at.")
    return steps


def _in_place(plan: Plan) -> int | None:
    """Return how many rows are copied over at a time, where the table is masked in place."""
    return plan.sink.chunk if isinstance(plan.sink, Sql) and plan.sink.in_place else None


def _copied_over(plan: Plan, chunk: int) -> list[str]:
    """Return how the table is masked in place: the one case in which something is changed before all of it is there."""
    record, places = record_of(plan.sink) or "the private folder", ", ".join(map(in_words, plan.sink.places()))
    return [
        f"Mask {places} in place: keep the audience out, copy the verified rows over it by their key, {chunk:,} in a transaction with the ledger, "
        f"delete those that are left out, and let the audience in again, with the record in {record}.",
        "Mind that this cannot be undone, that each row keeps its key, and that a run which dies leaves the table masked in part, "
        "with the audience kept out, until the next run finishes it.",
    ]


def _where(plan: Plan) -> str:
    """Return where the release is made and verified."""
    if _in_place(plan) is not None:
        return (
            "Work in this process, on a private copy of the rows, because they are masked in place. Put the release into a private table like "
            "theirs, read it back, and measure every promise on its text."
        )
    reason = not_inside(plan)
    if reason is None:
        address = plan.source.address if isinstance(plan.source, Located) else None
        place = address.shown if address else ""
        if address and address.kind == "duckdb":
            return (
                f"Do all of this inside {place}, by DuckDB in this process, with at most {MEMORY >> 20} MiB beside what is counted: copy the columns "
                f"into a temporary table, {_looked_at(plan)}"
            )
        return f"Do all of this inside {place}: copy the columns into a private table, {_looked_at(plan)}"
    here = "Write the release under a private name, read it back, and measure every promise on its text."
    return f"Work in this process, on a private copy of the rows, because {reason}. {here}" if isinstance(plan.source, Located) else here


def _looked_at(plan: Plan) -> str:
    """Return what is done with a copy in a database, and what of it is looked at here."""
    masked = [name for name in plan.masked if name not in plan.quasi_identifiers]
    again = f" Do the masks of {', '.join(masked)} again here, on the distinct values that they were made of." if masked else ""
    if not plan.quasi_identifiers:
        return f"write the release under a private name, and hold its rows against those of the copy by their number and fingerprints.{again}"
    all_read = "" if masked else ", which is all that is read"
    counted = f"count which values occur together{all_read}, write the release under a private name, and measure every promise on its text."
    return f"{counted}{again} {_when_too_many(plan)}"


def _when_too_many(plan: Plan) -> str:
    """Return what becomes of more combinations than this process may hold."""
    most = most_cells(len(dict.fromkeys([*plan.quasi_identifiers, *plan.watched])))
    reason = undivided(plan)
    become = "the run stops, because " + reason if reason is not None else "they are cut there until the fragments fit"
    return f"Where more than {most:,} combinations occur ({BUDGET}), {become}."


def _order(plan: Plan) -> str:
    if not_inside(plan) is None:
        return "in random order"
    if all(name in plan.quasi_identifiers for name in plan.masked):
        return "sorted by what is published"
    return "sorted by class, in random order within it" if plan.quasi_identifiers else "in random order"


def masked_step(plan: Plan, name: str) -> str:
    """Return what is done by the mask of a column."""
    mask, column = plan.resolved.masks[name], plan.resolved.policy.columns[name]
    parts = [f"Mask {name} with {mask.in_words(values=True)}"]
    if any(isinstance(step, Reversible) and step.component_name() != "keep" for step in mask.operations):
        parts += _undone(mask)
    nulls = {"keep": "a missing value stays missing", "generate": "a missing value gets one too", "error": "a missing value stops the run"}
    if mask.on_null is not None:
        parts.append(nulls[mask.on_null])
    if mask.on_invalid == "remove":
        parts.append("a value that cannot be masked is removed")
    if column.unique:
        parts.append("two values that become one stop the run")
    return "; ".join([*parts, *(f"mind that {words}" for words in mask.warnings)]) + "."


def _undone(mask: MaskedColumn) -> list[str]:
    """Return what whoever has the keys cannot have again."""
    if not_undone(mask) is not None:
        return ["sfumato reveal cannot undo it"]
    return [] if mask.card.reversible else ["sfumato reveal undoes it in part"]


def generalised_step(plan: Plan, name: str) -> str:
    """Return how a quasi-identifier is generalised."""
    column = plan.resolved.policy.columns[name]
    ladder = f"by {column.hierarchy.name}" if column.hierarchy else "by a ladder made from its values"
    unknown = {
        "error": "a value outside it stops the run",
        "suppress": "a row with a value outside it is left out",
        "generalise": "a value outside it is published as everything",
    }[column.on_unknown]
    kind = _type(plan, name)
    return f"Generalise {name}{f', read as {kind},' if kind else ''} {ladder}; {unknown}."


def _type(plan: Plan, name: str) -> canonical.ValueType | None:
    """Return the type of a column; None where it is only known when all values are read."""
    declared, read = plan.resolved.policy.columns[name].type, plan.schema.field(name).type
    if name in plan.resolved.ladders:
        return plan.resolved.ladders[name].kind
    if declared is not None:
        return declared
    if pa.types.is_string(read) or pa.types.is_large_string(read):
        return None
    return canonical.infer(pa.nulls(0, read))


def listed(names: list[str]) -> str:
    """Return names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

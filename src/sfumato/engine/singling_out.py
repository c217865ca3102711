"""Columns that alone single people out: published value by value, and most of their values occur once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from sfumato.engine.plan import Plan, Plans
from sfumato.errors import PromiseError
from sfumato.policy.model import Column

ENOUGH_TO_JUDGE = 1_000
"""Among so many rows a column of some hundred values shows most of them more than once; among fewer those of any column may occur once."""


class Occurrences(Protocol):
    """What knows how often the values of a column occur: rows that a store has taken, or any others."""

    def occurrences(self, column: str) -> tuple[int, int]:
        """Return how many distinct values a column has, and how many of them one person alone has."""
        ...


def singling_out(plan: Plan, attached: Occurrences) -> list[str]:
    """Return the columns that may single people out, whatever the promises say; refuse one that the policy does not accept.

    A sensitive column is published for what it says, and is only named: who knows a value of it from elsewhere finds the row.
    """
    if not plan.resolved.promises:
        return []
    found = []
    for name in _shown(plan):
        distinct, once = attached.occurrences(name)
        if once * 2 > distinct:
            refuse_unless_accepted(plan, name, distinct)
            found.append(name)
    return found


def _shown(plan: Plan) -> list[str]:
    """Return the columns whose values a reader who knows them can tell apart as in the source."""
    masks = plan.resolved.masks
    generalised = set(plan.quasi_identifiers)
    return [name for name in plan.published if name not in generalised and not (name in masks and masks[name].hides)]


def refuse_linking(plan: Plan, name: str, distinct: int) -> None:
    """Refuse a column most of whose values are one person's alone and stand in several rows, unless it is accepted.

    Nobody needs to know what a pseudonym stands for: rows that it puts together tell more than each of them, and promises are about single rows.
    """
    if not _is_accepted(plan, name):
        raise _refused(
            f"most of the {distinct} values of column {name} that would be published are one person's alone and show which rows are theirs",
            f"remove it, or use a mask that is another one in every row, {_accept(name)}",
        )


def refuse_rows_of_one(plan: Plan, names: Sequence[str]) -> None:
    """Refuse classes that hold fewer values of identifiers than they promise people, where nothing says whose rows they are, unless accepted."""
    told = [name for name in names if not _is_accepted(plan, name)]
    if not told:
        return
    identifiers = f"the identifier {told[0]}" if len(told) == 1 else f"each of the identifiers {', '.join(told)}"
    raise PromiseError(
        f"there are classes with fewer than {plan.threshold} values of {identifiers}, as everybody can see who reads them: "
        f"if {'it' if len(told) == 1 else 'one'} says whose rows they are, fewer people than promised are in them",
        code="subject-missing",
        hint=f"subject: {told[0]}; or say accept: singling_out in {' and '.join(f'columns.{name}' for name in told)}, "
        f"if {'it says' if len(told) == 1 else 'they say'} nothing of people",
    )


def refuse_found(plan: Plan, name: str) -> None:
    """Refuse a column whose values chance has moved so little that most people are found by their own, unless it is sensitive or accepted."""
    if not _is_accepted(plan, name) and plan.resolved.policy.columns[name].role != "sensitive":
        words = f"most values of column {name} are moved so little that whoever knows one finds its row"
        raise _refused(words, f"more noise, a coarser value, {_accept(name)}")


def refuse_unless_accepted(plan: Plan, name: str, distinct: int) -> None:
    """Refuse a column most of whose published values occur once, unless it is sensitive or the policy accepts it."""
    column = plan.resolved.policy.columns[name]
    if not _is_accepted(plan, name) and column.role != "sensitive":
        words = f"most of the {distinct} values of column {name} that would be published occur once: it singles people out"
        raise _refused(words, f"{_instead(column)}, {_accept(name)}")


def whatever_singles_out(plans: Plans) -> Plans:
    """Return plans that find out about their promises alone: nothing may be published by them."""
    return replace(plans, views={name: _accepting(plan) for name, plan in plans.views.items()})


def _accepting(plan: Plan) -> Plan:
    policy = plan.resolved.policy
    accepting = policy.model_copy(update={"accept": [*policy.accept, "singling_out"]})
    return replace(plan, resolved=replace(plan.resolved, policy=accepting))


def _is_accepted(plan: Plan, name: str) -> bool:
    return "singling_out" in (*plan.resolved.policy.columns[name].accept, *plan.resolved.policy.accept)


def _accept(name: str) -> str:
    return f"or say accept: singling_out in columns.{name}"


def _refused(words: str, hint: str) -> PromiseError:
    return PromiseError(words, code="singling-out", hint=hint)


def _instead(column: Column) -> str:
    if column.mask is not None:
        return "another mask that leaves less of it" if column.role != "identifier" else "leave its mask out, which removes it"
    return "give it the role identifier or quasi_identifier, mask it"

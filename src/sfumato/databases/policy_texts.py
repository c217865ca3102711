"""Texts of a policy that a server needs to mask: values that conditions name, and what masks put in the place of others.

``equals: Ada`` names a person. So such texts stand in no statement, where logs and lists of statements would show them, but come in bulk, as one row
of a temporary table that queries join. Only a live view has them in its definition, which could not hold them otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa

from sfumato.core.condition import Condition
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.policy_bounds import first_moment
from sfumato.core.settings import Settings

ALIAS = "sfumato_texts"
"""What a query calls the table of texts that it joins."""

# a row of MySQL has at most 65,535 bytes, a character up to 4; one of PostgreSQL 1,600 columns
_CHARACTERS, _MOST = 12_000, 500


class TextHolder(Protocol):
    """A connection that can hold a row of texts for a session."""

    def hold_texts(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of texts, and return its name as SQL writes it."""
        ...


class PolicyTexts:
    """The texts that expressions have asked for, each a column with a number."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._places)

    def column(self, text: str) -> str | None:
        """Return how a query names a text; None where a row cannot hold so many."""
        if text not in self._places:
            if len(self._places) >= _MOST or sum(map(len, self._places)) + len(text) > _CHARACTERS:
                return None
            self._places[text] = len(self._places)
        return f"{ALIAS}.t{self._places[text]}"

    @property
    def texts(self) -> list[str]:
        """The texts, in their order."""
        return list(self._places)

    def brought_to(self, connection: TextHolder) -> str:
        """Bring them to a server, and return what a query joins: the table under its alias."""
        row = [pa.array([text], pa.string()) for text in self._places]
        return f"{connection.hold_texts(pa.RecordBatch.from_arrays(row, names=[f't{place}' for place in range(len(row))]))} {ALIAS}"


def policy_texts(masked: MaskedColumn) -> frozenset[str]:
    """Return the texts that stand in a policy for a column, also as expressions write them."""
    settings = (step.model_dump(exclude_defaults=True).values() for step in (*masked.steps, *masked.otherwise) if isinstance(step, Settings))
    conditions = () if masked.when is None else _conditions(masked.when)
    return frozenset([*_texts(settings), *(text for each in conditions for text in _named(each))])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for each in value:
            yield from _texts(each)


def _conditions(condition: Condition) -> Iterator[Condition]:
    yield condition
    for inner in (*(condition.and_ or ()), *(condition.or_ or ()), *((condition.not_,) if condition.not_ is not None else ())):
        yield from _conditions(inner)


def _named(condition: Condition) -> Iterator[str]:
    """Yield the values of one condition as text, numbers and instants too."""
    from sfumato.databases.condition_expressions import moment_text

    for value in (condition.equals, *(condition.one_of or ())):
        if isinstance(value, str):
            yield value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from (str(value), *([str(int(value))] if value == int(value) else []))
    for bound in (condition.at_least, condition.at_most, condition.above, condition.below):
        if isinstance(bound, str):
            yield moment_text(first_moment(bound))

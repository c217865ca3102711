"""Count: types, ladders and codes of the quasi-identifiers, and how often each combination of them occurs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.core import canonical
from sfumato.core.encoding import distinct_typed, encode, not_of_type
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import ROOT, Hierarchy, Level
from sfumato.core.interfaces import Attached, CountPlan, Dictionary, Encoding
from sfumato.core.mask_effect import Effect, refuse
from sfumato.core.publication import ALONG_A_LINE
from sfumato.engine.alike_values import alike
from sfumato.engine.as_published import original_of, published_names
from sfumato.engine.mask_effects import effects_on_counted
from sfumato.engine.plan import Plan
from sfumato.engine.sensitive import encode_published, encode_sensitive, measured_by_ladder, present
from sfumato.engine.singling_out import singling_out
from sfumato.errors import DataError, PolicyError, PromiseError, number_of
from sfumato.policy.ladders import misfits
from sfumato.policy.model import Column
from sfumato.registry import find


@dataclass(frozen=True, eq=False)
class Counted:
    """The ladders, the frequencies over their leaf codes, and the columns that alone may single people out.

    ``every_combination`` has all columns of the count, of which the frequencies of a derived view have only its own. ``mask_ladders`` are those that
    masks look at, ``effects`` what masks did to quasi-identifiers. ``alike`` says of sensitive columns how many
    values only their writing tells apart, and ``people_alike`` how many of those who the subject names; ``strangers`` how many rows have a subject
    that is not of its type.
    """

    hierarchies: Mapping[str, Hierarchy]
    frequencies: Frequencies
    count_plan: CountPlan
    every_combination: NDArray[Any]
    outside: Mapping[str, int]
    refused_rows: int
    rows: int
    singling_out: Sequence[str]
    nearly: Mapping[str, canonical.ValueType]
    other_forms: Mapping[str, str]
    mask_ladders: Mapping[str, Hierarchy]
    effects: Mapping[str, Effect]
    alike: Mapping[str, int]
    people_alike: int
    strangers: int


def count(plan: Plan, attached: Attached) -> Counted:
    """Build the ladders from the distinct values and count the combinations."""
    if attached.rows == 0 and plan.resolved.promises:
        raise DataError("the source has no rows", code="source-empty", hint="run again when there are some")
    singling = singling_out(plan, attached)
    effects = effects_on_counted(plan, attached)
    refuse(effects)
    hierarchies, encodings, outside = {}, [], {}
    for name in plan.quasi_identifiers:
        column = plan.resolved.policy.columns[name]
        dictionary = attached.dictionary(name)
        values = plan.as_counted(name, dictionary.values)
        hierarchies[name] = build_hierarchy(plan, name, column, values, dictionary.counts, partial(attached.first_row, name))
        encodings.append(encode(hierarchies[name], values, column.missing))
        outside[name] = _strangers(name, column, hierarchies[name], dictionary, encodings[-1])
    ladders = sensitive_ladders(plan, attached.dictionary)
    sensitive = [encode_sensitive(plan, name, attached.dictionary(name).values, ladders) for name in plan.watched]
    mask_ladders = _mask_ladders(plan, attached)
    sensitive += [
        encode_published(plan, name, attached.dictionary(original_of(name)).values, mask_ladders) for name in published_names(plan.promises)
    ]
    count_plan = CountPlan(encodings, sensitive, plan.resolved.policy.subject, _refused(plan, hierarchies, outside))
    frequencies = replace(plan.store.frequencies(attached, count_plan), ladders=ladders)
    refused_rows = attached.rows - frequencies.rows
    _refuse_too_many(plan, refused_rows, attached.rows)
    if frequencies.rows == 0 and attached.rows:
        raise PromiseError(
            "every row has a value outside a hierarchy: none would be left",
            code="nothing-left",
            hint="complete the hierarchies, or say on_unknown: generalise",
        )
    nearly, forms = _nearly(plan, attached, hierarchies)
    every, told_apart = frequencies.combinations, {name: number for name in plan.watched if (number := alike(attached.dictionary(name).values))}
    writings = attached.writings()
    people = 0 if writings is None else alike(writings)
    found = (hierarchies, frequencies, count_plan, every, outside, refused_rows, attached.rows, singling, nearly, forms, mask_ladders, effects)
    return Counted(*found, told_apart, people, attached.strangers)


def _nearly(plan: Plan, attached: Attached, hierarchies: Mapping[str, Hierarchy]) -> tuple[dict[str, canonical.ValueType], dict[str, str]]:
    """Return the columns that were read as text though most of their values are of another type, or written in another form."""
    found, forms = {}, {}
    for name in plan.quasi_identifiers:
        column, dictionary = plan.resolved.policy.columns[name], attached.dictionary(name)
        if column.type is None and column.hierarchy is None and hierarchies[name].kind == "text":
            values = plan.as_counted(name, dictionary.values)
            # what a mask has removed is of no type
            there, counts = values.drop_null(), dictionary.counts[values.is_valid().to_numpy(zero_copy_only=False)]
            near = canonical.nearly(there, counts)
            # what has a format is in our own form by now
            form = canonical.another_form(there, counts) if name not in plan.resolved.policy.formats else None
            if form is not None:
                forms[name] = form
            elif near is not None:
                found[name] = near[0]
    return found, forms


def sensitive_ladders(plan: Plan, dictionary_of: Callable[[str], Dictionary]) -> dict[str, Hierarchy]:
    """Return the hierarchies of sensitive columns by which a promise measures distances, made of the values at hand."""
    ladders = {}
    for name in measured_by_ladder(plan):
        column, dictionary = plan.resolved.policy.columns[name], dictionary_of(name)
        ladders[name] = build_hierarchy(plan, name, column, dictionary.values, dictionary.counts)
        _strangers(name, column, ladders[name], dictionary, encode(ladders[name], dictionary.values, column.missing))
    return ladders


def _mask_ladders(plan: Plan, attached: Attached) -> dict[str, Hierarchy]:
    """Return the hierarchies whose levels masks show; values that they do not know are the mask's business."""
    ladders = {}
    for name in plan.laddered:
        dictionary = attached.dictionary(name)
        column, first_row = plan.resolved.policy.columns[name], partial(attached.first_row, name)
        ladders[name] = build_hierarchy(plan, name, column, dictionary.values, dictionary.counts, first_row)
    return ladders


def _strangers(name: str, column: Column, hierarchy: Hierarchy, dictionary: Dictionary, encoding: Encoding) -> int:
    """Return how many rows have a value that the hierarchy does not know; refuse them unless the policy says what to do."""
    strangers = int(dictionary.counts[encoding.codes == hierarchy.outside].sum())
    if strangers and column.on_unknown == "error":
        raise DataError(
            f"column {name}: {number_of(strangers, 'row')} with a value that its hierarchy does not know",
            code="value-outside-hierarchy",
            hint=f"add the values to the hierarchy, or list them under columns.{name}.missing"
            + (", or say on_unknown: suppress, or generalise, there" if column.role == "quasi_identifier" else ""),
        )
    return strangers


def build_hierarchy(
    plan: Plan, name: str, column: Column, values: pa.Array, counts: np.ndarray, first_row: Callable[[NDArray[np.bool_]], int | None] | None = None
) -> Hierarchy:
    """Return the ladder of a column for its distinct values as they were read, and how many rows have each.

    ``first_row`` says which row is the first that has one of some values, where that is known.
    """
    kind = column.type or canonical.infer(present(values, column.missing))
    # whoever asks for intervals or bounds of a date does not want nodes of the calendar
    builder = plan.resolved.hierarchies.get(name) or find("hierarchies", "automatic")(intervals=column.publish in ALONG_A_LINE)
    typed, rows, strangers = distinct_typed(values, counts, kind, column.missing)
    if strangers and column.on_unknown == "error":
        raise DataError(
            f"column {name}: {number_of(strangers, 'row')} not of type {kind}{_first(first_row, values, kind, column, strangers)}",
            code="value-type",
            hint=_beyond(values, kind)
            or f"{kind} values are written {_form(plan, name, kind)}; list what stands for a missing value under "
            f"columns.{name}.missing, declare another type, or say on_unknown: suppress",
        )
    written = plan.resolved.ladders.get(name)
    try:
        hierarchy = builder.build(name, typed, rows) if written is None else written
    except DataError as error:
        near = canonical.nearly(typed, rows) if error.code == "hierarchy-type" else None
        if near is None:
            raise
        raise _nearly_of_a_type(name, *near, int(rows.sum())) from None
    if not hierarchy.size:
        # a column without any value: one leaf that nobody has keeps the arithmetic of ladders whole
        hierarchy = _nothing(name, column, kind)
    mistakes = misfits(name, column, hierarchy, plan.resolved.lines)
    if mistakes:
        raise PolicyError(mistakes, name=plan.resolved.name)
    return hierarchy


def _beyond(values: pa.Array, kind: canonical.ValueType) -> str | None:
    """Return what to do about numbers of a type of eight bytes without a sign that one with a sign does not hold; None where there are none."""
    if kind not in ("integer", "decimal") or not pa.types.is_uint64(values.type):
        return None
    largest = np.iinfo(np.int64).max
    if (pc.max(values).as_py() or 0) <= largest:
        return None
    return f"numbers above {largest:,} have no order here: type: text, or a view that makes smaller numbers of them, such as SELECT ... DIV 1000"


def _first(
    first_row: Callable[[NDArray[np.bool_]], int | None] | None, values: pa.Array, kind: canonical.ValueType, column: Column, strangers: int
) -> str:
    """Return in words which row is the first with a value that is not of a type."""
    number = first_row(not_of_type(values, kind, column.missing)) if first_row is not None else None
    if number is None:
        return ""
    return f", the first in row {number}" if strangers > 1 else f", row {number}"


def _form(plan: Plan, name: str, kind: canonical.ValueType) -> str:
    """Return how values of a column are written: as the policy says of its source, else as everywhere."""
    given = plan.resolved.policy.formats.get(name)
    return f"{given.pattern} as formats.{name} says" if given is not None else canonical.FORMS.get(kind, "as text")


def _nearly_of_a_type(name: str, kind: canonical.ValueType, strangers: int, rows: int) -> DataError:
    return DataError(
        f"column {name} is text, because {strangers} of its {rows} values are not of type {kind} ({canonical.FORMS[kind]})",
        code="hierarchy-type",
        hint=f"list what stands for a missing value under columns.{name}.missing, or say type: {kind} and on_unknown: suppress",
    )


_LEAVES = {"date": "1970-01-01", "timestamp": "1970-01-01T00:00:00Z"}


def _nothing(name: str, column: Column, kind: canonical.ValueType) -> Hierarchy:
    if kind == "ip" and column.publish == "range":
        return replace(Hierarchy.of_paths(name, [["10.0.0.0"]]), kind=kind)
    if column.publish not in ALONG_A_LINE:
        return replace(Hierarchy.of_paths(name, [[""]]), kind=kind)
    kind = kind if canonical.is_ordered(kind) else "integer"
    leaf = canonical.parse(pa.array([_LEAVES.get(kind, "0")]), kind)
    return Hierarchy(name, True, kind, leaf, (Level(np.zeros(1, np.int32), (ROOT,)),))


def _refused(plan: Plan, hierarchies: Mapping[str, Hierarchy], outside: Mapping[str, int]) -> dict[str, int]:
    columns = plan.resolved.policy.columns
    return {name: h.outside for name, h in hierarchies.items() if outside[name] and columns[name].on_unknown == "suppress"}


def _refuse_too_many(plan: Plan, refused: int, rows: int) -> None:
    limit = plan.resolved.policy.suppression_limit
    if refused > most_suppressed(plan, rows):
        number = f"{refused} of {number_of(rows, 'row')} {'has' if refused == 1 else 'have'}"
        raise PromiseError(
            f"{number} a value outside a hierarchy and would be suppressed; the limit is {limit}",
            code="suppression-limit",
            hint=f"suppression_limit: {_at_least(refused / rows)}, or complete the hierarchies",
        )


def most_suppressed(plan: Plan, rows: int) -> int:
    """Return how many rows may be left out; a limit of 0.29 of 100 rows is 29, whatever binary fractions make of it."""
    return math.floor(plan.resolved.policy.suppression_limit * rows + 1e-6)


def _at_least(share: float) -> float:
    """Return a share rounded up to four digits."""
    return min(1.0, math.ceil(share * 10_000 - 1e-6) / 10_000)

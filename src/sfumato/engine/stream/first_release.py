"""What is looked at in the first release of a view: columns that single people out whatever the promises say, as in a table's release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.interfaces import Progress, Source
from sfumato.core.kernels.fingerprint import value_prints
from sfumato.core.kernels.grouping import group_keys
from sfumato.core.mask_effect import Effect
from sfumato.core.reading import CodedColumn, Reading
from sfumato.core.text_classes import TextClasses
from sfumato.engine.masked_values import check_masked, check_perturbed, measured_columns, perturbed_columns
from sfumato.engine.singling_out import singling_out
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.rows import Rows
from sfumato.errors import PromiseError
from sfumato.registry import find

_ANEW = (
    "nothing was released yet: change the policy and run it again, and where that is refused, because records of the old one wait, "
    "with another folder, stream: {state: ...}"
)


@dataclass(frozen=True, eq=False)
class Handed:
    """A release in memory that nobody has seen yet, as the checks of a table's release look at one."""

    public: pa.RecordBatch
    link: NDArray[np.int64]
    staging: Sequence[str] = ()
    effects: Mapping[str, Effect] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.public.num_rows)

    @property
    def written(self) -> Source:
        """The source that reads it."""
        source: Source = find("sources", "memory")(table=pa.Table.from_batches([self.public]))
        return source

    def reading(self, _: Progress) -> Reading:
        """Nobody asks for this: columns are looked at one by one."""
        raise AssertionError("a release in memory is not read back whole")

    def text_classes(self, _: Progress) -> TextClasses:
        """Nobody asks for this: whose a record is is known in a stream."""
        raise AssertionError("classes of a release in memory are formed by its verification")


def refuse_singling_out(plan: StreamPlan, public: pa.RecordBatch, rows: Rows, among: Rows | None = None) -> None:
    """Refuse columns that single people out and are not accepted; ``rows`` are those that are published, in the same order.

    How often values occur is looked at ``among`` more of them, where a few are published first and others wait: of few rows most values occur once.
    """
    if not plan.resolved.promises:
        return
    try:
        _refuse(plan, public, rows, rows if among is None else among)
    except PromiseError as error:
        raise PromiseError(error.message, code=error.code, hint=f"{error.hint}; {_ANEW}") from None


def _refuse(plan: StreamPlan, public: pa.RecordBatch, rows: Rows, among: Rows) -> None:
    singling_out(plan.plan, _Occurrences(plan, among))
    handed: Any = Handed(public, np.arange(len(rows), dtype=np.int64))
    originals = {name: value_prints(rows.came(name)) for name in measured_columns(plan.plan)}
    people = np.unique(rows.people, return_inverse=True)[1].astype(np.int64)
    check_masked(plan.plan, plan.mask_plan([]), handed, originals, people)
    check_perturbed(plan.plan, handed, {name: _coded(rows.came(name)) for name in perturbed_columns(plan.plan)})


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """How often values occur in the rows of a release."""

    plan: StreamPlan
    rows: Rows

    def occurrences(self, column: str) -> tuple[int, int]:
        values = self.rows.came(column)
        known = values.is_valid().to_numpy(zero_copy_only=False)
        groups, firsts = group_keys(value_prints(values)[known].view(np.int64))
        pairs = np.unique(np.stack([groups.astype(np.int64), self.rows.people[known]], axis=1), axis=0)
        return len(firsts), int((np.bincount(pairs[:, 0], minlength=len(firsts)) == 1).sum())


def _coded(values: pa.Array) -> CodedColumn:
    coded = values.dictionary_encode()
    return CodedColumn(coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))

"""The check of values that are not generalised: each is written as its record has it, or as its mask makes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sfumato.engine.stream.findings import Findings
from sfumato.engine.stream.plan import StreamPlan
from sfumato.engine.stream.read_again import Came
from sfumato.engine.stream.released_rows import Bare, Row

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Values:
    """Holds the values of rows that are not generalised against their records."""

    def __init__(self, plan: StreamPlan, findings: Findings, besides: Sequence[str] = ()) -> None:
        sink: Any = plan.resolved.sink
        self._findings, self._format = findings, "" if sink is None else sink.component_name()
        self._kinds: dict[str, pa.DataType] = {}
        quasi = {*plan.plan.quasi_identifiers, *plan.event_columns, *besides}
        self._kept = [name for name in plan.plan.kept if name not in quasi]
        self._masked = [name for name in plan.narrow if name in plan.plan.published and name not in quasi and plan.masks[name].repeatable]
        for name in plan.masks:
            if name in plan.plan.published and name not in quasi and name not in self._masked:
                words = "its mask takes a group of rows together" if name in plan.wide else "its mask hangs on chance"
                findings.cannot(f"column {name}: {words}")

    def learn(self, batch: Came) -> None:
        """Take note of the types that columns have."""
        self._kinds.update(batch.kinds)

    def check(self, row: Row, record: Mapping[str, str | None], place: int) -> None:
        """Compare one row."""
        for name in self._kept:
            if not self._is(row.get(name), record[name], name):
                self._findings.breaks("values", f"column {name}: a kept value differs from its original", f"row {place}")
        for name in self._masked:
            if not self._is(row.get(name), record[f"made {name}"], f"made {name}"):
                self._findings.breaks("values", f"column {name}: a value is not what its mask makes of its original", f"row {place}")

    def _is(self, shown: str | None, value: str | None, name: str) -> bool:
        kind = self._kinds.get(name)
        return is_written(shown, value, pa.string() if kind is None else kind, self._format)


def is_written(shown: str | None, value: str | None, kind: pa.DataType, sink: str) -> bool:
    """Return whether a text is how a file of a format has a value of a type.

    >>> [is_written(shown, "7", pa.string(), "delimited") for shown in ("7", "07", "7.0", None)]
    [True, False, False, False]
    >>> is_written("7.0", "7", pa.float64(), "delimited")
    True
    >>> [is_written(None, "", pa.string(), sink) for sink in ("delimited", "json_lines")]
    [True, False]
    >>> is_written("7", "7", pa.int64(), "json_lines"), is_written(Bare("7"), "7", pa.int64(), "json_lines")
    (False, True)
    """
    if sink == "delimited":
        # both look alike there
        shown, value = shown or None, value or None
    if shown is None or value is None:
        return shown is value
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_fraction = pa.types.is_floating(held) or pa.types.is_decimal(held)
    if sink == "json_lines" and isinstance(shown, Bare) != (is_fraction or pa.types.is_integer(held) or pa.types.is_boolean(held)):
        return False
    if shown == value:
        return True
    return bool(is_fraction and _NUMBER.fullmatch(shown) and _NUMBER.fullmatch(value) and Decimal(shown) == Decimal(value))

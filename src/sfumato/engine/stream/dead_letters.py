"""Dead letters: records that do not fit the policy, by number and reason; never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core import canonical


@dataclass(frozen=True, order=True)
class DeadLetter:
    """A record that was set aside: its number, why as the code of an error, and the column that is to blame where one is.

    That is a column of the policy: what another is called may be data itself. ``content`` is what is known of the record, for its
    keeper alone; it is never shown.
    """

    number: int
    code: str
    column: str | None = None
    content: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


class Unfit:
    """Gathers, for rows of a batch, which do not fit and why; the first reason of a row counts."""

    def __init__(self, rows: int) -> None:
        self._reason = np.full(rows, -1, np.int32)
        self._reasons: list[tuple[str, str | None]] = []

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Which rows fit so far."""
        return self._reason < 0

    def add(self, rows: NDArray[np.bool_], code: str, column: str | None = None) -> None:
        """Set rows aside."""
        if rows.any():
            self._reasons.append((code, column))
            self._reason[rows & self.fits] = len(self._reasons) - 1

    def letters(self, numbers: NDArray[np.int64], rows: pa.RecordBatch | None = None) -> list[DeadLetter]:
        """Return the rows that do not fit, whose numbers these are, and what is known of them."""
        places = np.flatnonzero(~self.fits).tolist()
        contents = [None] * len(places) if rows is None or not places else contents_of(rows.take(pa.array(places)))
        reasons = (self._reasons[self._reason[place]] for place in places)
        return [
            DeadLetter(int(numbers[place]), code, column, content) for place, (code, column), content in zip(places, reasons, contents, strict=True)
        ]


def contents_of(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows as they are written down; a value that Python has no form of, such as a day of the year -10,000, as Arrow writes it.

    >>> contents_of(pa.record_batch({"at": pa.array([-(2**62)], pa.int64()).cast(pa.timestamp("us"))}))
    [{'at': '<value out of range: -4611686018427387904>'}]
    """
    columns = [_values(column) for column in rows.columns]
    return [dict(zip(rows.schema.names, values, strict=True)) for values in zip(*columns, strict=True)] if columns else [{}] * rows.num_rows


def _values(column: pa.Array) -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError):
        # in UTC, for nobody may know the zone
        found = canonical.as_text(column).to_pylist()
    return found


def counted(letters: Sequence[DeadLetter]) -> dict[str, int]:
    """Return how many records were set aside for each reason.

    >>> counted([DeadLetter(3, "value-type", "age"), DeadLetter(5, "value-type", "age"), DeadLetter(6, "columns-differ")])
    {'value-type age': 2, 'columns-differ': 1}
    """
    return dict(Counter(f"{letter.code} {letter.column}" if letter.column else letter.code for letter in letters))

"""Rows that are on their way through a session: what came, what its masks made of it, and the number, time and person of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_CAME, _MADE = "came\0", "made\0"
_NUMBER, _TIME, _PERSON, _STARTS = "number", "time", "person", "starts"


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows as one Arrow batch, so that they can be cut, joined and written down together."""

    batch: pa.RecordBatch

    @classmethod
    def of(
        cls,
        numbers: NDArray[np.int64],
        times: NDArray[np.int64],
        people: NDArray[np.int64],
        starts: NDArray[np.bool_],
        came: Mapping[str, pa.Array],
        made: Mapping[str, pa.Array],
    ) -> Rows:
        """Return rows of columns: those that came, and those that masks have made."""
        columns = {_NUMBER: pa.array(numbers), _TIME: pa.array(times), _PERSON: pa.array(people), _STARTS: pa.array(starts)}
        columns |= {_CAME + name: column for name, column in came.items()} | {_MADE + name: column for name, column in made.items()}
        return cls(pa.RecordBatch.from_pydict(columns))

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each record."""
        return self._numpy(_NUMBER)

    @property
    def times(self) -> NDArray[np.int64]:
        """When each was, in microseconds since 1970; 0 where nobody asks."""
        return self._numpy(_TIME)

    @property
    def people(self) -> NDArray[np.int64]:
        """Whose each is."""
        return self._numpy(_PERSON)

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Which of them begin a session, whatever came before."""
        return self._numpy(_STARTS)

    def came(self, name: str) -> pa.Array:
        """Return a column as it came."""
        return self.batch.column(_CAME + name)

    def made(self, name: str) -> pa.Array:
        """Return what the mask of a column has made; the column as it came where it has none."""
        return self.batch.column(_MADE + name) if self.has_made(name) else self.came(name)

    def has_made(self, name: str) -> bool:
        """Return whether a mask has made a column."""
        return bool(self.batch.schema.get_field_index(_MADE + name) >= 0)

    def columns(self, names: Sequence[str]) -> pa.RecordBatch:
        """Return some columns as they came, under their own names."""
        return pa.RecordBatch.from_arrays([self.came(name) for name in names], names=list(names))

    def where(self, kept: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return self if kept.all() else Rows(self.batch.filter(pa.array(kept)))

    def taken(self, places: NDArray[Any]) -> Rows:
        """Return rows by their places, in that order."""
        return Rows(self.batch.take(pa.array(places)))

    def part(self, start: int, end: int) -> Rows:
        """Return the rows from one place up to, but without, another."""
        return Rows(self.batch.slice(start, end - start))

    def at(self, times: NDArray[np.int64]) -> Rows:
        """Return the rows as if they had been at other times."""
        return Rows(self.batch.set_column(self.batch.schema.get_field_index(_TIME), _TIME, pa.array(times)))

    def before(self, later: Rows) -> Rows:
        """Return these rows with later ones behind them."""
        if not len(self):
            return later
        return Rows(pa.concat_batches([self.batch, later.batch])) if len(later) else self

    def _numpy(self, name: str) -> NDArray[Any]:
        found: NDArray[Any] = self.batch.column(name).to_numpy(zero_copy_only=False)
        return found

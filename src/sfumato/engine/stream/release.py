"""What a session hands out: releases that anybody may see, each with what only its keeper may know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.stream import Accounts
from sfumato.engine.stream.dead_letters import DeadLetter


@dataclass(frozen=True, eq=False)
class StreamRelease:
    """Rows that may be seen, in an order that says nothing, and beside them what may not.

    ``batch`` is public. ``numbers`` are those of the records that its rows are made of, -1 where a row is made up; ``clusters`` the private number of
    the cluster of each row, of a search over events that of the record which a row left with, -1 where there are none; ``references`` what promises
    such as t-closeness were tested against, of a search over events how large z was and from which record on, and who was drawn for made-up rows;
    ``removed`` how many values masks have removed, by column.
    """

    batch: pa.RecordBatch
    numbers: NDArray[np.int64]
    clusters: NDArray[np.int64]
    references: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.batch.num_rows)


class Pushed(list[StreamRelease]):
    """The releases of one push, and what became of records that were not released.

    ``dead`` are records that do not fit, with the reason; ``late`` and ``suppressed`` are arrays of numbers of records; ``accounts`` is what this
    push adds to the session's.
    """

    def __init__(
        self,
        releases: Iterable[StreamRelease] = (),
        dead: Sequence[DeadLetter] = (),
        late: NDArray[np.int64] | None = None,
        suppressed: NDArray[np.int64] | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        super().__init__(releases)
        self.dead = list(dead)
        self.late = np.empty(0, np.int64) if late is None else late
        self.suppressed = np.empty(0, np.int64) if suppressed is None else suppressed
        self.accounts = accounts or Accounts()

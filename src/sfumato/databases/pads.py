"""The pads of keys on a server: one row of a temporary table, which its session alone sees and with which it goes.

A server has no HMAC, and needs none: two nested SHA-256 with the two pads of a key do. They are as secret as the key. So they come in bulk, by
``COPY`` or ``LOAD DATA``, whose data no log of statements and no list of parameters shows; no statement's text holds them; and the server is never
told to gather statistics of the table, where they would be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.core.pseudonym import pads as pads_of

ALIAS = "sfumato_pads"
"""What a query calls the table of pads that it joins."""


@runtime_checkable
class Padded(Protocol):
    """A mask that a server can do where it has the pads of a key."""

    def padded(self, context: MaskContext) -> tuple[str, str] | None:
        """Return the name of the key and what it is for; None where it needs none."""
        ...


class SecretHolder(Protocol):
    """A connection that can hold a row nobody else sees."""

    def hold_secret(self, row: pa.RecordBatch) -> str:
        """Make a temporary table of one row of bytes, and return its name as SQL writes it."""
        ...


@dataclass(frozen=True, repr=False)
class Pads:
    """The pads that the masks of a table need, each key and purpose with a number."""

    held: Mapping[tuple[str, str], tuple[bytes, bytes]]

    def __repr__(self) -> str:
        """Say how many they are, and show nothing of them."""
        return f"Pads({len(self.held)})"

    def __reduce__(self) -> tuple[type[Pads], tuple[dict[Any, Any]]]:
        """Let no pad into what is kept elsewhere."""
        return Pads, ({},)

    @classmethod
    def of(cls, masks: Iterable[tuple[MaskedColumn, MaskContext]], allowed: Iterable[str]) -> Pads:
        """Return the pads that some masks need, of keys that may be on the server; of others there are none, and their masks have no expression."""
        return cls({wanted: pads_of(context.keys.derived(*wanted)) for wanted, context in _wanted(masks, allowed)})

    @classmethod
    def planned(cls, masks: Iterable[tuple[MaskedColumn, MaskContext]], allowed: Iterable[str]) -> Pads:
        """Return the same without the pads themselves, by which expressions are written before any key is read."""
        return cls({wanted: (b"", b"") for wanted, _ in _wanted(masks, allowed)})

    @property
    def names(self) -> set[str]:
        """The names of the keys."""
        return {name for name, _ in self.held}

    @property
    def columns(self) -> dict[str, str]:
        """The columns of the table, and how a query that joins it calls each."""
        return {name: f"{ALIAS}.{name}" for place in range(len(self.held)) for name in (f"inner{place}", f"outer{place}")}

    def among(self, table: Any) -> Callable[[str, str], tuple[Any, Any] | None]:
        """Return what finds the columns of a key and a purpose in an unbound table."""
        places = {wanted: place for place, wanted in enumerate(self.held)}

        def found(name: str, purpose: str) -> tuple[Any, Any] | None:
            place = places.get((name, purpose))
            return None if place is None else (table[f"inner{place}"], table[f"outer{place}"])

        return found

    def brought_to(self, connection: SecretHolder) -> str:
        """Bring them to a server, and return what a query joins: the table under its alias."""
        row = [pa.array([pad], pa.binary()) for both in self.held.values() for pad in both]
        return f"{connection.hold_secret(pa.RecordBatch.from_arrays(row, names=list(self.columns)))} {ALIAS}"


def _wanted(masks: Iterable[tuple[MaskedColumn, MaskContext]], allowed: Iterable[str]) -> Iterator[tuple[tuple[str, str], MaskContext]]:
    """Yield the keys that masks need and may have, each with what it is for and with what holds it."""
    names = set(allowed)
    for masked, context in masks:
        for step in (*masked.steps, *masked.otherwise):
            wanted = step.padded(context) if isinstance(step, Padded) else None
            if wanted is not None and wanted[0] in names:
                yield wanted, context

"""The masks of a policy that a database does itself: each as an expression, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.databases.address import Kind
from sfumato.databases.dialects import Engine
from sfumato.databases.engines import engine_of
from sfumato.databases.expressions import expressed
from sfumato.databases.inside import Computed
from sfumato.databases.pads import ALIAS as PADS
from sfumato.databases.pads import Pads
from sfumato.databases.policy_texts import ALIAS as TEXTS
from sfumato.databases.policy_texts import PolicyTexts
from sfumato.databases.table import TableColumn


@dataclass(frozen=True, eq=False)
class MasksThere:
    """Masks by column, each with what it may need; ``keys`` are the names of the keys that the database may have for them."""

    masks: Mapping[str, tuple[MaskedColumn, MaskContext]] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    texts: PolicyTexts = field(default_factory=PolicyTexts)

    def computed(self, connection: Any, kind: Kind, columns: Mapping[str, TableColumn]) -> dict[str, Computed | None]:
        """Return the masked columns as the database computes them; None where it cannot do exactly what the mask does, or has not the key."""
        engine = engine_of(connection, kind) if self.masks else None
        return {name: None if engine is None else self._computed(name, columns, engine) for name in self.masks}

    def _computed(self, name: str, columns: Mapping[str, TableColumn], engine: Engine) -> Computed | None:
        masked, context = self.masks[name]
        if columns[name].kind is None:
            return None
        kind = masked.output_type(columns[name].kind)
        # MySQL shows a number with as many digits as its expression has, not its column
        if engine == "mysql" and not pa.types.is_string(kind):
            return None
        written = partial(_sql, masked, context, columns, engine, self.planned, self.texts)
        if written(str) is None:
            return None
        reads = tuple(dict.fromkeys([name, *masked.reads]))
        as_text = engine == "postgresql" and pa.types.is_decimal(kind)
        return Computed(TableColumn(name, "", kind, as_text), reads, lambda refer: str(written(refer)))

    @cached_property
    def planned(self) -> Pads:
        """What the database needs of keys, without them."""
        return Pads.planned(self.masks.values(), self.keys)

    def brought_to(self, connection: Any) -> str | None:
        """Bring to a server what it needs of keys and texts, after these were asked for; return what a query joins, None where it needs nothing."""
        tables = [Pads.of(self.masks.values(), self.keys).brought_to(connection)] if self.planned.held else []
        tables += [self.texts.brought_to(connection)] if self.texts else []
        return " CROSS JOIN ".join(tables) or None

    @property
    def shown(self) -> str | None:
        """What a query would join, by what it is for."""
        tables = ([f"sfumato_keys {PADS}"] if self.planned.held else []) + ([f"sfumato_texts_of_policy {TEXTS}"] if self.texts else [])
        return " CROSS JOIN ".join(tables) or None


def _sql(
    masked: MaskedColumn,
    context: MaskContext,
    columns: Mapping[str, TableColumn],
    engine: Engine,
    pads: Pads,
    texts: PolicyTexts,
    refer: Callable[[str], str],
) -> str | None:
    found = expressed(masked, context, columns, engine, refer, pads, texts)
    return None if found is None else found.value


def needed(computed: Sequence[Computed]) -> list[str]:
    """Return the columns that are read to compute others."""
    return list(dict.fromkeys(name for each in computed for name in each.reads))

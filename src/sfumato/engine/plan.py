"""Plan: a policy held against the real columns of its source, before anything is read or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.interfaces import Sink, Source, Store
from sfumato.engine.columns import compare_columns, remove_unnamed
from sfumato.errors import Mistake, PolicyError, UsageError
from sfumato.policy.load import Loaded, load
from sfumato.policy.model import Policy
from sfumato.policy.resolve import Resolved, resolve
from sfumato.registry import find

AnyPolicy = str | Path | Mapping[str, Any] | Policy | Loaded


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a run needs: the resolved policy, where rows come from and go to, and where the work is done."""

    resolved: Resolved
    source: Source
    sink: Sink
    store: Store
    schema: pa.Schema
    unnamed: Sequence[str] = ()

    @property
    def quasi_identifiers(self) -> list[str]:
        """The columns that are generalised, in the policy's order."""
        return self.resolved.columns("quasi_identifier")

    @property
    def watched(self) -> list[str]:
        """The sensitive columns that a promise looks at."""
        return list(dict.fromkeys(name for promise in self.resolved.promises for name in promise.reads))

    @property
    def masked(self) -> list[str]:
        """The columns that a mask changes."""
        return list(self.resolved.masks)

    @property
    def kept(self) -> list[str]:
        """The columns that leave as they came."""
        return [name for name in self.resolved.columns("sensitive", "other") if name not in self.resolved.masks]

    @property
    def published(self) -> list[str]:
        """The columns of the release, in the source's order."""
        gone = {name for name in self.resolved.columns("identifier") if name not in self.resolved.masks}
        return [name for name in self.schema.names if name not in gone]


def make_plan(policy: AnyPolicy, data: Any = None) -> Plan:
    """Check a policy, and its columns against those of its source."""
    resolved = resolve(load(policy))
    source = _source(resolved, data)
    sink: Sink = resolved.sink if resolved.sink is not None else find("sinks", "memory")()
    schema = source.describe()
    resolved, unnamed = remove_unnamed(resolved, schema)
    compare_columns(resolved, source, schema)
    return Plan(resolved, source, sink, find("stores", "duckdb")(), schema, unnamed)


def _source(resolved: Resolved, data: Any) -> Source:
    if data is not None:
        return as_source(data)
    if resolved.source is None:
        hint = "sfumato.run(policy, data=table), or source: data.csv in the policy"
        mistake = Mistake("source", "the policy names no source, and no data were given", "policy-no-source", hint)
        raise PolicyError([mistake], name=resolved.name)
    return resolved.source


def as_source(data: Any) -> Source:
    """Return the source that reads an Arrow table, or anything that gives one by Arrow's interface; a source is one already."""
    if isinstance(data, Source):
        return data
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise UsageError(f"data is of the type {type(data).__name__}, not an Arrow table", code="data-kind", hint="pyarrow.table(...)")
        data = pa.table(data)
    source: Source = find("sources", "memory")(table=data)
    return source

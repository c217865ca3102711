"""Plan: a policy held against the real columns of its source, before anything is read or written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.interfaces import Sink, Source, Store
from sfumato.core.record import record_path
from sfumato.core.staging import staging_name
from sfumato.errors import DataError, Mistake, PolicyError, UsageError, suggestion
from sfumato.policy.load import load
from sfumato.policy.model import Policy
from sfumato.policy.resolve import Resolved, resolve
from sfumato.registry import find

AnyPolicy = str | Path | Mapping[str, Any] | Policy


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a run needs: the resolved policy, where rows come from and go to, and where the work is done."""

    resolved: Resolved
    source: Source
    sink: Sink
    store: Store
    schema: pa.Schema

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


def make_plan(policy: AnyPolicy, data: pa.Table | None = None) -> Plan:
    """Check a policy, and its columns against those of its source."""
    resolved = resolve(load(policy))
    source = _source(resolved, data)
    sink: Sink = resolved.sink if resolved.sink is not None else find("sinks", "memory")()
    _refuse_own_files(policy, resolved, source, sink)
    schema = source.describe()
    _compare_columns(resolved, schema)
    return Plan(resolved, source, sink, find("stores", "duckdb")(), schema)


def _source(resolved: Resolved, data: pa.Table | None) -> Source:
    if data is not None:
        return as_source(data)
    if resolved.source is None:
        mistake = Mistake("source", "the policy names no source", "policy-no-source", "source: data.csv")
        raise PolicyError([mistake], name=resolved.name)
    return resolved.source


def as_source(data: Any) -> Source:
    """Return the source that reads an Arrow table, or anything that gives one by Arrow's interface; a source is one already."""
    if isinstance(data, Source):
        return data
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise UsageError(f"data is a {type(data).__name__}, not an Arrow table", code="data-kind", hint="pyarrow.table(...)")
        data = pa.table(data)
    source: Source = find("sources", "memory")(table=data)
    return source


def _refuse_own_files(policy: AnyPolicy, resolved: Resolved, source: Source, sink: Sink) -> None:
    """Refuse a sink that is one of the files the run reads."""
    scan = source.scan()
    read = list(scan.places) if scan else []
    read += [path for builder in resolved.hierarchies.values() if (path := getattr(builder, "path", None))]
    if isinstance(policy, str | Path):
        read.append(str(policy))
    targets = [place for target in sink.places() for place in (target, record_path(target))]
    targets += [str(staging_name(Path(target))) for target in targets]
    for target in targets:
        if any(_same_file(target, path) for path in read):
            mistake = Mistake("sink", "would write over a file that the run reads", "sink-is-source", "name another file")
            raise PolicyError([mistake], name=resolved.name)


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.realpath(one) == os.path.realpath(other) or Path(one).samefile(other)
    except (OSError, ValueError):
        return False


def _compare_columns(resolved: Resolved, schema: pa.Schema) -> None:
    """Every column of the source is named, and every named column is there."""
    named, present = set(resolved.policy.columns), set(schema.names)
    unnamed = [name for name in schema.names if name not in named]
    absent = [name for name in resolved.policy.columns if name not in present]
    if not unnamed and not absent:
        return
    if not named & present:
        # perhaps there is no header, and what looks like names are cells
        raise DataError(
            f"none of the {len(schema.names)} columns of the source is named in the policy, which names {len(named)}",
            code="columns-differ",
            hint="if its first line is no header, say source: {delimited: {path: ..., header: false}}",
        )
    parts, hints = [], []
    if unnamed:
        parts.append(f"the source has columns that the policy does not name: {', '.join(unnamed)}")
        hints.append("name each of them with a role; role identifier removes it")
    if absent:
        parts.append(f"the policy names columns that the source does not have: {', '.join(absent)}")
        hints.append("; ".join(f"{suggestion(name, unnamed or schema.names)} in place of {name}" for name in absent[:5]))
    raise DataError("; ".join(parts), code="columns-differ", hint="; ".join(hints))

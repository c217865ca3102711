"""Release: what a run has published, for programs and notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import pyarrow as pa

from sfumato.core.html import html_folded, html_list, html_sentence, html_table
from sfumato.core.interfaces import Source
from sfumato.core.nested_values import nested_again
from sfumato.core.record import RunRecord
from sfumato.engine.frames import as_frame
from sfumato.errors import SfumatoError, number_of

_FIRST = 5


@dataclass(frozen=True, eq=False)
class Release:
    """What a run has published: its record, and its rows."""

    record: RunRecord
    _source: Source
    _kind: str = "arrow"

    def __repr__(self) -> str:
        """Say in one line what was published."""
        promises = ", ".join(f"{p.promise} {p.measured:g}" for p in self.record.promises) or "no promises"
        return f"Release({number_of(self.record.rows.out, 'row')}, {promises})"

    @cached_property
    def table(self) -> pa.Table:
        """The published rows as an Arrow table; read from the file where the release is one."""
        schema = self._source.describe()
        return nested_again(pa.Table.from_batches(self._source.batches(schema.names), schema), schema)

    @property
    def data(self) -> Any:
        """The published rows as what the run was given: a pandas or polars data frame, else an Arrow table."""
        return as_frame(self.table, self._kind)

    def _repr_html_(self) -> str:
        """Return what was promised, measured and lost, and the first rows, for notebooks."""
        record, before, after = self.record, self.record.measures["before"], self.record.measures["after"]
        rows = record.rows
        kept = "every promise holds on what was written" if record.promises else "nothing was promised"
        told = html_sentence(f"{rows.out:,} rows published, {rows.suppressed} left out; {kept}")
        promises = [(p.promise, p.in_words(), f"{p.measured:.6g}", "holds" if p.holds else "broken") for p in record.promises]
        if promises:
            told += html_table(promises, ("promise", "asked", "measured", "verdict"))
        if any("type" in about for about in record.columns.values()):
            told += html_table(_compared(before, after), ("", "before", "after"))
        return told + html_list(record.notes) + self._first_rows()

    def _first_rows(self) -> str:
        """Return some rows as a table; nothing where the file has gone elsewhere since."""
        try:
            names = self._source.describe().names
            first = next((batch.slice(0, _FIRST) for batch in self._source.batches(names) if batch.num_rows), None)
        except SfumatoError:
            return ""
        if first is None:
            return ""
        rows = [["" if value is None else str(value) for value in row.values()] for row in first.to_pylist()]
        return html_folded(f"first {len(rows)} of {self.record.rows.out:,} rows", html_table(rows, names))


class Releases(Mapping[str, Release]):
    """What a run of a policy with views or tables has published: one release each, by its name."""

    def __init__(self, releases: Mapping[str, Release]) -> None:
        self._releases = dict(releases)

    def __getitem__(self, view: str) -> Release:
        """Return the release of a view or a table."""
        return self._releases[view]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._releases)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._releases)

    def __repr__(self) -> str:
        """Say in one line what was published."""
        return f"Releases({', '.join(f'{name}: {release!r}' for name, release in self.items())})"

    @property
    def record(self) -> dict[str, Any]:
        """The records of all views or tables, as they are printed."""
        return views_record({name: release.record for name, release in self.items()})

    def _repr_html_(self) -> str:
        """Return what was promised, measured and lost in each, for notebooks."""
        return "".join(f"<h4>{escape(name)}</h4>{release._repr_html_()}" for name, release in self.items())


def views_record(records: Mapping[str, RunRecord]) -> dict[str, Any]:
    """Return the records of several views or tables as one."""
    first = next(iter(records.values()))
    several = "views" if first.table is None else "tables"
    return {"version": first.version, "status": first.status, several: {name: record.as_mapping() for name, record in records.items()}}


def _compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what the record measures of the table as it was and as it is published."""
    told: list[tuple[str, ...]] = [
        (name, *(_number(measures[key]) for measures in (before, after)))
        for name, key in (("classes", "classes"), ("smallest class", "smallest_class"), ("largest class", "largest_class"))
    ]
    for name, key in (("average risk", "average_risk"), ("highest risk", "highest_risk"), ("unique", "unique")):
        told.append((name, *(_share(measures["risk"][key]) for measures in (before, after))))
    return [*told, ("detail lost", _share(before["loss"]), _share(after["loss"]))]


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _share(value: float | str) -> str:
    # a bound is written as text: "> 0.1"
    return f"{value[:2]}{float(value[2:]):.1%}" if isinstance(value, str) else f"{value:.1%}"

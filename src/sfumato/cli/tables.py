"""What ``sfumato run`` says of several tables: a line for each of them, and one for each foreign key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.core.record import RunRecord
    from sfumato.policy.model import Component


def told_of_tables(records: Mapping[str, RunRecord], sink: Component | None, folder: Path | None) -> Iterator[str]:
    """Yield what was published, in a line a table, how the tables are joined, and where the records are."""
    from sfumato.engine.ladder_tree import on_one_line
    from sfumato.policy.tables import records_of_dump

    width = max(map(len, map(on_one_line, records)), default=0)
    for name, record in records.items():
        rows = record.rows
        promised = "; ".join(f"{each.promise} {each.in_words()} measured {each.measured:.6g}" for each in record.promises) or "nothing was promised"
        counts = f"{_count(rows.in_)} in, {_count(rows.out)} out, {_count(rows.suppressed)} suppressed"
        yield f"{on_one_line(name):<{width}}  {counts}; {promised}; {on_one_line(', '.join(record.files))}"
    for name, record in records.items():
        for key in record.foreign_keys:
            refers = f"{name}.{', '.join(key.columns)} -> {key.table}.{', '.join(key.referred)}"
            left = f", {_count(key.orphans)} refer to rows that were left out" if key.orphans else ""
            yield f"joined    {on_one_line(refers)}: {_count(key.joined)} rows{left}"
    for name, record in records.items():
        yield from (f"note      {on_one_line(name)}: {on_one_line(note)}" for note in record.notes)
    kept = sink.settings.get("record") if sink is not None else None
    if kept is None and sink is not None and sink.name == "sql_dump":
        kept = records_of_dump(sink.settings["path"])
    yield f"records   {(folder or Path()) / kept if kept else 'kept in the private folder'}"


def _count(number: int | str) -> str:
    return number if isinstance(number, str) else f"{number:,}"

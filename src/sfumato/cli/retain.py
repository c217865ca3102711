"""``sfumato retain``: archive what is old enough, period by period, and delete it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.answers import answers
from sfumato.cli.compiling import compile_if_needed
from sfumato.cli.progress import Bars
from sfumato.errors import UsageError, number_of

if TYPE_CHECKING:
    from sfumato.databases.going_along import Gone

_SAID = {
    "archived": "archived",
    "finished": "archived by an earlier run that did not come to its end",
    "deleted": "too few to be archived",
    "waiting": "too few to be archived, and wait for the next period",
}


def retain(policy: Path, now: str | None, format: str) -> None:
    """Archive and delete, and print a line a batch, or all of it as JSON."""
    from sfumato.engine.retain import retain as retain_rows
    from sfumato.policy.load import load

    loaded = load(policy)
    compile_if_needed(loaded)
    with Bars() as progress:
        outcome = retain_rows(loaded, _instant(now), progress)
    if format == "json":
        told = [
            {"batch": batch.name, "outcome": batch.outcome, "rows": batch.rows_told, "deleted": batch.deleted_told}
            | ({"archived": batch.appended, "suppressed": batch.suppressed_told} if batch.suppressed else {})
            | ({"along": [_gone(gone) for gone in batch.along]} if batch.along else {})
            | ({"missing": batch.missing} if batch.missing else {})
            | ({"waits_for": batch.waits_for} if batch.waits_for else {})
            | ({"record": batch.record.as_mapping()} if batch.record is not None else {})
            for batch in outcome.batches
        ]
        answers().write(json.dumps({"batches": told, "without_time": outcome.without_time}, indent=1, ensure_ascii=False) + "\n")
        return
    for batch in outcome.batches:
        left_out = f", {batch.suppressed_told} suppressed" if batch.suppressed else ""
        gone = f"; {_rows(batch.deleted_told)} deleted from the source" if batch.outcome != "waiting" else ""
        answers().write(f"{batch.name}: {number_of(batch.appended, 'row')} {_SAID[batch.outcome]}{left_out}{gone}\n")
        for other in batch.along if batch.outcome != "waiting" else ():
            answers().write(f"  {other}, by foreign keys\n")
        for note in batch.notes:
            answers().write(f"  {note}\n")
    if not outcome.batches:
        answers().write("nothing is old enough\n")
    if outcome.without_time:
        answers().write(f"{number_of(outcome.without_time, 'row')} without a time, or with one beyond the calendar, which never grow old\n")


def _rows(number: int | str) -> str:
    """Return how many rows there are in words; of a bound it is a text already."""
    return f"{number} rows" if isinstance(number, str) else number_of(number, "row")


def _gone(gone: Gone) -> dict[str, object]:
    return {"table": str(gone.table), "rows": gone.rows, "outcome": gone.becomes} | ({"at_most": True} if gone.at_most else {})


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("--now is not an instant", code="retention-now", hint="--now 2026-01-31, or 2026-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)

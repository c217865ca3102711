"""The record of a run: what was promised, measured and lost. This part may travel with the release.

Counts of people from 1 to k - 1 are written ``< k``, and so is every number from which one could be worked out.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sfumato.core.yaml_text import yaml_text

Count = int | str


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, populate_by_name=True, serialize_by_alias=True)


class Rows(_Part):
    """How many rows came in, went out and were left out."""

    in_: Count = Field(alias="in")
    out: int
    suppressed: Count


class PromiseResult(_Part):
    """One promise: what was asked for, what was measured on the written release, and whether it holds."""

    promise: str
    settings: dict[str, Any]
    asked: float
    measured: float
    holds: bool

    def in_words(self) -> str:
        """Return its settings as a line.

        >>> PromiseResult(promise="k_anonymity", settings={"k": 5}, asked=5, measured=6, holds=True).in_words()
        'k 5'
        """
        return ", ".join(f"{key} {yaml_text(value)}" for key, value in self.settings.items() if value not in (None, []))


class Recoded(_Part):
    """The decision in short: its kind, the levels of a full-domain recoding, the number of boxes of another."""

    kind: str
    boxes: int | None = None
    levels: dict[str, int] | None = None


class Together(_Part):
    """Views that are read together: by whom, how many people the smallest class of all their values has, and whose promises it keeps."""

    views: list[str]
    readers: list[str]
    smallest_class: Count
    keeps: str | None = None
    promises: list[PromiseResult] = []


class Joined(_Part):
    """A foreign key by which the release was joined: how many of its rows find what they refer to, and how many do not because that was left out."""

    columns: list[str]
    table: str
    referred: list[str]
    joined: int
    orphans: Count


class RunRecord(_Part):
    """Everything about a run that its readers may know."""

    version: str
    status: str
    made: str
    policy: str
    rows: Rows
    promises: list[PromiseResult]
    measures: dict[str, dict[str, Any]]
    algorithm: str
    suppression_limit: float
    recoding: Recoded
    columns: dict[str, Any]
    timings: dict[str, float]
    files: list[str]
    release_columns: list[str] = []
    fingerprints: dict[str, str]
    notes: list[str] = []
    view: str | None = None
    derived_from: str | None = None
    together: list[Together] = []
    table: str | None = None
    foreign_keys: list[Joined] = []

    def as_mapping(self) -> dict[str, Any]:
        """Return the record as it is printed and stored; only a view's says something of views, only a table's of tables."""
        exclude = {"view", "derived_from", "together"} if self.view is None else set()
        exclude |= {"table", "foreign_keys"} if self.table is None else set()
        return self.model_dump(mode="json", by_alias=True, exclude=exclude)


def people(count: Any, k: int) -> Any:
    """Return a count of people as a reader may see it.

    >>> people(0, 5), people(3, 5), people(5, 5)
    (0, '< 5', 5)
    """
    return f"< {k}" if 0 < count < k else count


def record_of(sink: Any) -> str | None:
    """Return where the record of a sink's release goes: where the sink says so, or beside its first file; None where there is neither."""
    if hasattr(sink, "record") and not (sink.record is None and getattr(sink, "record_beside", False)):
        own: str | None = sink.record
        return own
    places = sink.places()
    return record_path(places[0]) if places else None


def record_path(sink: str) -> str:
    """Return where the record of a release stands: beside it."""
    return f"{sink}.record.json"

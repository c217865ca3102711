"""Windows: the stretches of a stream that are anonymised together, and how a stream is taken."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sfumato.core.condition import Condition
from sfumato.core.settings import Settings

Unit = Literal["s", "ms", "us"]

DURATION = r"^[0-9]+(ms|s|m|h|d)$"
_UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class PublishedTimes(Settings):
    """What the columns are called in which a window says when it began and ended."""

    start: Annotated[str | None, Field(min_length=1, description="the column of the time at which the window begins, which belongs to it")] = None
    end: Annotated[str | None, Field(min_length=1, description="the column of the time at which it ends, which belongs to the next one")] = None


class Window(Settings):
    """The stretch of a stream that is anonymised together."""

    count: Annotated[int | None, Field(ge=1, description="so many records")] = None
    time: Annotated[str | None, Field(pattern=DURATION, description="so long: a number and ms, s, m, h or d, such as 10m")] = None
    session: Annotated[
        str | None, Field(pattern=DURATION, description="sessions of people, each until nothing came of the person for so long, such as 30m")
    ] = None
    starts: Annotated[Condition | None, Field(description="the records with which a new session begins, whatever the gap before them")] = None
    column: Annotated[str | None, Field(description="the column that says when")] = None
    unit: Annotated[Unit, Field(description="what a number in that column counts: seconds, ms or us since 1970")] = "s"
    lateness: Annotated[
        str | None, Field(pattern=DURATION, description="how late a record may come, such as 1m; no later than all before it where it is not given")
    ] = None
    on_small: Annotated[
        Literal["carry", "suppress"],
        Field(description="what becomes of a window in which the promises cannot be kept: it waits for the next one, or is left out"),
    ] = "carry"
    most: Annotated[int, Field(ge=1, description="how many records are held at most: then the oldest window ends early")] = 100_000
    publish: Annotated[
        PublishedTimes | None, Field(description="further columns of the release that say when a window of time began and ended; none by default")
    ] = None

    @property
    def length(self) -> int:
        """How long a window or the gap between two sessions is, in microseconds; 0 where records are counted."""
        written = self.time or self.session
        return _microseconds(written)

    @property
    def allowed_lateness(self) -> int:
        """How late a record may come, in microseconds."""
        return _microseconds(self.lateness)


class StreamSettings(Settings):
    """How a stream is taken."""

    batch: Annotated[int, Field(ge=1, le=10_000_000, description="how many records are taken at once, where as many are there")] = 5_000
    on_late: Annotated[
        Literal["leave_out", "next", "set_aside"],
        Field(
            description="what becomes of a record whose window is over: it is left out, goes into the oldest window that is open, "
            "or is set aside, whole, as a dead letter"
        ),
    ] = "leave_out"
    jump: Annotated[
        str | None,
        Field(
            pattern=DURATION,
            description="how far ahead of the stream's own time a record is believed, such as 1h: one beyond that is a dead letter until another "
            "person's record says so too; any is where it is not given",
        ),
    ] = None
    on_unfit: Annotated[
        Literal["set_aside", "error"],
        Field(description="what becomes of a record that does not fit the policy: it is set aside as a dead letter, or the stream stops"),
    ] = "set_aside"
    learn: Annotated[
        int,
        Field(ge=1, le=1_000_000, description="from how many of the first records types and hierarchies are made, where there are no windows"),
    ] = 1_000
    commit: Annotated[
        str,
        Field(
            pattern=DURATION, description="how long rows may wait for being written down, such as 100ms, while more records are there than are taken"
        ),
    ] = "500ms"
    state: Annotated[
        str | None,
        Field(
            min_length=1, description="the private folder that says how far the stream has come; one of the installation's own where none is named"
        ),
    ] = None

    @property
    def longest_jump(self) -> int | None:
        """How far ahead of the stream's time a record is believed, in microseconds; None where any is."""
        return None if self.jump is None else _microseconds(self.jump)

    @property
    def longest_wait(self) -> float:
        """How many seconds rows may wait for their commit."""
        return _microseconds(self.commit) / 1_000_000


def _microseconds(text: str | None) -> int:
    """Return a length of time as a policy writes it; none is 0.

    >>> _microseconds("10m"), _microseconds("250ms"), _microseconds(None)
    (600000000, 250000, 0)
    """
    if text is None:
        return 0
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS[unit]

"""A server that ends its sessions in the middle of a run: one clear error, nothing half done, and the next run is as if nothing had been."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sfumato
from sfumato.databases.archive import Archive
from sfumato.databases.masked_table import Draft, MaskedTable
from sfumato.databases.retained import Retained
from sfumato.engine.retain import retain
from sfumato.errors import SfumatoError
from tests.databases.kills import NOW, Copy, InPlace, Retention, Trial, marked
from tests.servers import ask

Moment = tuple[type, str] | str


class Dropping:
    """A progress that lets the server end all sessions when a stage begins."""

    def __init__(self, url: str, stage: str) -> None:
        self._url, self._stage = url, stage
        self.dropped = False

    def stage(self, name: str, total: int | None = None) -> None:
        """End the sessions, once."""
        del total
        if name == self._stage and not self.dropped:
            self.dropped = True
            drop(self._url)

    def advance(self, rows: int) -> None:
        """Do nothing."""


def drop(url: str) -> None:
    """Let the server end all other sessions in the database of a test."""
    if url.startswith("postgresql"):
        ask(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        return
    for (number,) in ask(url, "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"):
        ask(url, f"KILL CONNECTION {number}")


def dropped_before(url: str, real: Any, which: int = 0) -> Callable[..., Any]:
    """Return a function that ends the sessions before it does what it did."""
    calls: list[int] = []

    def first(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == which + 1:
            drop(url)
        return real(*given, **named)

    return first


COPY: list[Moment] = ["counting", "writing", "verifying"]
IN_PLACE: list[Moment] = [
    "reading",
    "counting",
    "writing",
    "verifying",
    (Draft, "fill"),
    (Draft, "begin"),
    (MaskedTable, "_check_before"),
    (MaskedTable, "_copy"),
    (MaskedTable, "_check_after"),
    (MaskedTable, "_give_back"),
]
RETENTION: list[Moment] = [
    "reading",
    "verifying",
    (Retained, "read"),
    (Archive, "append"),
    (Retained, "delete"),
    (Retained, "delete_within"),
    (Archive, "mark_deleted"),
]
MOMENTS = [(kind, moment) for kind, moments in ((Copy, COPY), (InPlace, IN_PLACE), (Retention, RETENTION)) for moment in moments]


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.mark.parametrize(("kind", "moment"), MOMENTS, ids=lambda each: each if isinstance(each, str) else getattr(each, "name", None) or each[1])
def test_a_dropped_connection_is_one_error_and_the_next_run_is_fine(
    url: str, kind: type[Trial], moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = kind(url)
    try:
        policy = trial.prepare()
        if moment == (Retained, "delete_within"):
            # every second policy deletes in the transaction that appends
            policy = trial.prepare()
        progress = Dropping(url, moment if isinstance(moment, str) else "")
        with monkeypatch.context() as patch:
            if not isinstance(moment, str):
                # the third chunk, so that some are done
                patch.setattr(*moment, dropped_before(url, getattr(*moment), 2 if moment[1] == "_copy" else 0))
            try:
                run(trial, policy, progress)
            except SfumatoError as error:
                assert error.code == "database-unreachable"
                assert "Bremen" not in str(error)
            else:
                # no session was open that is still needed
                assert isinstance(moment, str)
                assert progress.dropped
        trial.look()
        run(trial, policy, None)
        trial.done()
        assert trial.left_over() == []
    finally:
        trial.close()


def run(trial: Trial, policy: dict[str, Any], progress: Any) -> None:
    """Do what a trial does."""
    with marked(trial.mark):
        if isinstance(trial, Retention):
            retain(policy, NOW, progress)
        else:
            sfumato.run(policy, progress=progress)

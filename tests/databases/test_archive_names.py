"""Archives whatever they are called: each has lines of its own in the ledger, those from before names were told apart too."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.databases.retained import Retained
from sfumato.engine.drift import drift
from sfumato.engine.retain import retain
from tests.databases.test_retention import NOW, counted, visits_of
from tests.servers import ask, component


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def quoted(url: str, name: str) -> str:
    return f"`{name}`" if url.startswith(("mariadb:", "mysql:")) else f'"{name}"'


def visits(url: str, archive: str, **changes: Any) -> dict[str, Any]:
    """Make a table of visits of one month, and return the policy that puts them into an archive that is not there yet."""
    ask(url, *(f"DROP TABLE IF EXISTS {quoted(url, name)}" for name in ("é", "c3a9", archive)))
    return {**visits_of(url)({1: 40}, **changes), "sink": {"sql": component(url, archive)}}


def add(url: str, first: int) -> None:
    rows = ", ".join(f"({first + n}, '2026-01-03 10:00:00', {20 + n}, 'Ulm', 'i1')" for n in range(6))
    ask(url, f"INSERT INTO visits VALUES {rows}")


def names(url: str, archive: str) -> list[str]:
    return sorted(str(name) for (name,) in ask(url, f"SELECT DISTINCT sfumato_batch FROM {quoted(url, archive)}"))


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("name", ["ä" * 64, "表" * 40, "a b" * 21, "100%(x)s"])
def test_an_archive_may_have_any_name_that_the_server_allows(url: str, name: str, chunk: int) -> None:
    if url.startswith("postgresql:"):
        name = name.encode()[:63].decode(errors="ignore")
    policy = visits(url, name, retention={"chunk": chunk})

    assert [(batch.name, batch.deleted) for batch in retain(policy, NOW).batches] == [("2026-01", 40)]
    add(url, 1000)
    assert [(batch.name, batch.deleted) for batch in retain(policy, NOW).batches] == [("2026-01/2", 6)]
    assert (counted(url, quoted(url, name)), counted(url, "visits"), drift(policy).found) == (46, 0, [])


@pytest.mark.parametrize("first", ["é", "c3a9"])
def test_two_archives_of_which_one_is_called_by_the_digits_of_the_other_share_no_line(url: str, first: str) -> None:
    second = "c3a9" if first == "é" else "é"
    policy = visits(url, first)
    other = {**policy, "sink": {"sql": component(url, second)}}
    retain(policy, NOW)
    add(url, 1000)

    assert [batch.name for batch in retain(other, NOW).batches] == ["2026-01"]
    add(url, 2000)
    assert [batch.name for batch in retain(policy, NOW).batches] == ["2026-01/2"]
    assert (names(url, first), names(url, second)) == (["2026-01", "2026-01/2"], ["2026-01"])
    assert drift(policy).found == drift(other).found == []


@pytest.mark.parametrize("beside", [False, True])
def test_lines_from_before_are_those_of_the_archive_that_holds_their_batches(url: str, beside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits(url, "é", retention={"chunk": 7})
    with monkeypatch.context() as patch:
        patch.setattr(Retained, "delete", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retain(policy, NOW)
    ask(url, "UPDATE sfumato_ledger SET archive = 'c3a9'")
    if beside:
        ask(url, "CREATE TABLE c3a9 (n INTEGER)")

    assert [(batch.outcome, batch.deleted) for batch in retain(policy, NOW).batches] == [("finished", 40)]
    add(url, 1000)
    assert [batch.name for batch in retain(policy, NOW).batches] == ["2026-01/2"]
    assert (counted(url, "sfumato_ledger WHERE state = 'deleted'"), counted(url, quoted(url, "é")), drift(policy).found) == (2, 46, [])

"""An archive, which may hold all that is left of rows, is never replaced by a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.retain import retain
from sfumato.errors import PolicyError, UsageError
from tests.databases.test_retention import NOW, counted, visits_of
from tests.servers import ask, component

pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "postgresql18", "mariadb", "mysql", "duckdb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def archived(url: str) -> dict[str, Any]:
    """Archive and delete some visits, and return the policy without its retention."""
    ask(url, "DROP TABLE IF EXISTS kept", "DROP TABLE IF EXISTS sfumato_ledger")
    policy = {**visits_of(url)({1: 40, 5: 30}), "sink": {"sql": component(url, "kept")}}
    retain(policy, NOW)
    assert counted(url, "kept") == 40
    return {key: value for key, value in policy.items() if key != "retention"}


def refused(url: str, doing: Callable[[], Any]) -> None:
    with pytest.raises(UsageError, match="may be all that is left of rows") as caught:
        doing()
    assert caught.value.code == "sink-is-archive"
    assert "another table; or, where nobody needs it, remove it and its lines in " in str(caught.value)
    assert counted(url, "kept") == 40


@pytest.mark.parametrize("doing", [sfumato.run, sfumato.plan])
def test_an_archive_is_not_replaced_by_a_release(url: str, doing: Any) -> None:
    policy = archived(url)
    rows = pa.table({"id": range(20), "seen": ["x"] * 20, "age": [30] * 20, "town": ["Ulm"] * 20, "illness": ["i1"] * 20})

    refused(url, lambda: doing(policy))
    refused(url, lambda: doing({key: value for key, value in policy.items() if key != "source"}, rows))
    refused(url, lambda: doing({**policy, "sink": {"sql": {**component(url, "rows_there"), "classes": "kept"}}}))


def test_a_table_of_which_no_line_tells_is_replaced(url: str) -> None:
    policy = archived(url)
    ask(url, "DELETE FROM sfumato_ledger")
    sfumato.run(policy)

    assert counted(url, "kept") == 30


def test_another_table_beside_the_archive_is_replaced(url: str) -> None:
    policy = {**archived(url), "sink": {"sql": component(url, "copied")}}
    ask(url, "DROP TABLE IF EXISTS copied", "CREATE TABLE copied (sfumato_batch INTEGER)")
    sfumato.run(policy)

    assert counted(url, "copied") == 30


def test_the_refused_run_of_a_policy_with_retention_leads_to_another_table(url: str) -> None:
    with pytest.raises(PolicyError, match="leave retention out to publish a copy of all rows to another table"):
        sfumato.run(visits_of(url)({1: 40}))

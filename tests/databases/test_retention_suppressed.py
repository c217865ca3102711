"""What is printed of suppressed rows of a batch: that they are not in the archive, and of few not how many they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.retain import retain as print_retained
from sfumato.databases.retained import Retained
from sfumato.engine.retain import retain
from tests.databases.test_in_place import DeadError
from tests.databases.test_retention import NOW, visits_of
from tests.servers import ask


@pytest.fixture(params=["postgresql", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def die(*_: Any, **__: Any) -> None:
    """Let a run die when its batch is archived."""
    raise DeadError


@pytest.mark.parametrize(("few", "told"), [(2, ("38 rows", "< 5", "< 43 rows")), (6, ("34 rows", "6", "40 rows"))])
@pytest.mark.parametrize("dies", [False, True])
def test_suppressed_rows_are_not_printed_as_archived_and_few_not_counted(
    url: str,
    few: int,
    told: tuple[str, str, str],
    dies: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = visits_of(url)({1: 40}, suppression_limit=0.5)
    ask(url, f"UPDATE visits SET town = 'Elsewhere' WHERE id <= {few}")
    policy["columns"]["town"] |= {"on_unknown": "suppress", "hierarchy": {"taxonomy": {"tree": {"all": ["Bremen", "Ulm", "Köln"]}}}}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))
    if dies:
        with monkeypatch.context() as patch:
            patch.setattr(Retained, "delete", die)
            with pytest.raises(DeadError):
                retain(policy, NOW)
    print_retained(tmp_path / "policy.yaml", NOW.isoformat(), "text")
    archived, suppressed, deleted = told
    outcome = "archived by an earlier run that did not come to its end" if dies else "archived"
    assert capsys.readouterr().out == f"2026-01: {archived} {outcome}, {suppressed} suppressed; {deleted} deleted from the source\n"

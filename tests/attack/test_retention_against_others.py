"""Retention where others have a say: what they have put into an archive, a ledger or a schema makes no row go that is not archived."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.databases.archive import Archive
from sfumato.engine.retain import retain
from sfumato.errors import UsageError
from tests.databases.test_retention import NOW, Made, counted, url, visits, visits_of
from tests.servers import ask

__all__ = ["url", "visits"]

_TRIGGER = "CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {deed} END'"
SWALLOWED = {
    "postgresql_rule": ["CREATE RULE swallow AS ON INSERT TO archive DO INSTEAD NOTHING"],
    "postgresql_some": ["CREATE RULE swallow AS ON INSERT TO archive WHERE NEW.town = 'Ulm' DO INSTEAD NOTHING"],
    "postgresql_trigger": [
        _TRIGGER.format(name="swallow", deed="RETURN NULL;"),
        "CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
    "postgresql_change": [
        _TRIGGER.format(name="empty", deed="NEW.illness := NULL; RETURN NEW;"),
        "CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW EXECUTE FUNCTION empty()",
    ],
    "postgresql_deferred": [
        _TRIGGER.format(name="late", deed="DELETE FROM public.archive WHERE sfumato_batch = NEW.sfumato_batch; RETURN NULL;"),
        "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON archive DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()",
    ],
    "mariadb_change": ["CREATE TRIGGER swallow BEFORE INSERT ON archive FOR EACH ROW SET NEW.illness = NULL"],
}


@pytest.mark.parametrize("chunk", [7, 1000])
@pytest.mark.parametrize("attack", SWALLOWED)
def test_rows_that_do_not_come_to_the_archive_as_they_are_stay_in_the_source(request: pytest.FixtureRequest, attack: str, chunk: int) -> None:
    server = str(request.getfixturevalue(f"{attack.partition('_')[0]}_url"))
    policy = visits_of(server)({1: 40}, retention={"chunk": chunk})
    retain(policy, NOW)
    ask(server, "INSERT INTO visits VALUES " + ", ".join(f"({1000 + n}, '2026-02-03 10:00:00', {20 + n % 3}, 'Ulm', 'i1')" for n in range(30)))
    ask(server, *SWALLOWED[attack])
    with pytest.raises(UsageError) as caught:
        retain(policy, NOW)

    assert caught.value.code == "archive-altered"
    assert (counted(server, "visits"), counted(server, "archive"), counted(server, "sfumato_ledger")) == (30, 40, 1)


@pytest.mark.parametrize("chunk", [7, 1000])
def test_a_batch_of_which_a_row_is_missing_is_undone(visits: Made, url: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = visits({1: 40}, retention={"chunk": chunk})
    append = Archive.append

    def append_less(self: Archive, *given: Any) -> None:
        append(self, *given)
        held = self._connection.quoted(self.table)
        self._connection.do(f"DELETE FROM {held} WHERE age = (SELECT MIN(age) FROM (SELECT age FROM {held}) a)")

    with monkeypatch.context() as patch:
        patch.setattr(Archive, "append", append_less)
        with pytest.raises(UsageError) as caught:
            retain(policy, NOW)

    assert caught.value.code == "archive-altered"
    assert counted(url, "visits") == 40
    assert [batch.outcome for batch in retain(policy, NOW).batches] == ["archived"]
    assert counted(url, "archive") == 40

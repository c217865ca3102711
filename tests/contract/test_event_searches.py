"""What every search that decides of records at once must do, whoever wrote it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.chance import derived_chance
from sfumato.core.events import LATE, SUPPRESSED, EventDecisions, Events, EventSearch
from sfumato.core.settings import Settings
from sfumato.errors import DataError
from sfumato.registry import find, names

EVENT_SEARCHES = [name for name in names("algorithms") if hasattr(find("algorithms", name), "attribute_columns")]
# what a search needs to be told; a further one adds a line
SETTINGS = {"z_anonymity": {"z": 3, "time": "at", "path": "shown", "window": "10m"}}
NUMBER = 2000


def events() -> Events:
    random = np.random.default_rng(7)
    texts = [f"a{place % 3}.b{place % 9}.c{place}" for place in random.zipf(1.5, NUMBER).clip(0, 300).tolist()]
    times = np.cumsum(random.integers(-1, 8, NUMBER)) * 1_000_000
    return Events(np.arange(NUMBER), times, random.integers(0, 150, NUMBER), pa.array(texts))


def made(name: str) -> Settings:
    search: Settings = find("algorithms", name)(**SETTINGS[name])
    return search


def decided(name: str, given: Events, size: int, purpose: str = "records") -> list[EventDecisions]:
    session = made(name).start()
    answers = []
    for first in range(0, len(given), size):
        with derived_chance(bytes(32), f"{purpose} from {first}"):
            answers.append(session.push(given.part(first, first + size)))
    return answers


@pytest.mark.parametrize("name", EVENT_SEARCHES)
def test_it_is_a_search_over_events(name: str) -> None:
    assert isinstance(made(name), EventSearch)
    assert made(name).attribute_columns


@pytest.mark.parametrize("name", EVENT_SEARCHES)
def test_every_record_is_decided_of_once_and_leaves_only_if_it_is_published(name: str) -> None:
    for first, piece in zip(range(0, NUMBER, 300), decided(name, events(), 300), strict=True):
        assert piece.numbers.tolist() == list(range(first, min(first + 300, NUMBER)))
        true = piece.places[~piece.is_fake]
        assert sorted(true.tolist()) == np.flatnonzero(piece.levels >= 0).tolist()
        assert set(piece.levels[piece.levels < 0].tolist()) <= {SUPPRESSED, LATE}
        for column in piece.published.values():
            assert column.is_valid().to_pylist() == (piece.levels >= 0).tolist()


@pytest.mark.parametrize("name", EVENT_SEARCHES)
def test_the_same_records_and_chance_give_the_same_and_nothing_given_is_changed(name: str) -> None:
    given = events()
    before = given.times.copy(), given.people.copy()
    one, other = (decided(name, given, 500) for _ in range(2))
    for these, those in zip(one, other, strict=True):
        assert np.array_equal(these.levels, those.levels)
        assert np.array_equal(these.shown, those.shown)
    assert np.array_equal(before[0], given.times)
    assert np.array_equal(before[1], given.people)


@pytest.mark.parametrize("name", EVENT_SEARCHES)
def test_nothing_waits_and_no_records_are_no_mistake(name: str) -> None:
    session = made(name).start()
    answer = session.push(events().part(0, 0))
    assert len(answer) == len(answer.places) == session.held == 0
    assert session.measured().records == 0


@pytest.mark.parametrize("name", EVENT_SEARCHES)
def test_a_state_is_taken_up_and_one_that_is_not_whole_is_refused(name: str) -> None:
    session, other = made(name).start(), made(name).start()
    session.push(events())
    other.restore(session.snapshot())
    assert other.measured() == session.measured()
    with pytest.raises(DataError) as raised:
        made(name).start().restore(session.snapshot()[:-1])
    assert raised.value.code == "stream-state"

"""A replay finds what should not have left, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.durations import SECOND
from sfumato.core.events import EventDecisions, Events
from sfumato.measures.event_labels import cell_labels, replay_of, seen

MINUTE = 60 * SECOND
CROWD = [(0, person, f"a.{person}") for person in range(5)]


def events(*records: tuple[float, int, str]) -> Events:
    minutes, people, texts = zip(*records, strict=True)
    return Events(np.arange(len(records)), (np.array(minutes) * MINUTE).astype(np.int64), np.array(people), pa.array(texts, pa.string()))


def search(z: int, **given: object) -> ZAnonymity:
    return ZAnonymity(**({"z": z, "time": "at", "path": "shown"} | given))


def breaches(chosen: ZAnonymity, given: Events, **changed: Any) -> list[str]:
    """Return what a replay says of the decisions of a session, some of them changed."""
    decided = chosen.start().push(given)
    found = replay_of(chosen).breaches(seen(given, chosen), replace(decided, **{name: change(decided) for name, change in changed.items()}))
    return [breach.what for breach in found]


def test_what_a_session_decides_is_in_order() -> None:
    given = events(*CROWD, (1, 0, "a.x"), (2, 1, "a.x"), (90, 2, "a.x"), (20, 3, "a.x"))
    for further in ({}, {"count": "all"}, {"noise": {"diffmax": 2}}, {"original": True, "noise": {"diffmax": 2}}):
        assert breaches(search(3, **further), given) == []


def test_a_record_that_too_few_share_is_found() -> None:
    given = events((0, 0, "a"), (0, 1, "a"))
    # decided for two people, and three were asked for
    assert breaches(search(2), given, thresholds=lambda decided: decided.thresholds + 1) == [
        "is shared by too few people",
        "seems to be shared by too few people",
    ]


def test_a_category_that_names_the_one_rare_thing_is_found() -> None:
    given = events(*[(0, person, "a.b") for person in range(5)], (1, 9, "a.c"))
    decided = search(3, count="all").start().push(given)
    found = list(replay_of(search(3)).breaches(seen(given, search(3)), decided))
    assert [(breach.number, breach.what, breach.found, breach.asked) for breach in found][:1] == [(5, "is shared by too few people", 1, 3)]


def test_another_text_than_the_records_own_is_found() -> None:
    given = events((0, 0, "a"), (0, 1, "a"))
    assert breaches(search(2), given, published=lambda _: {"shown": pa.array([None, "b"])}) == ["was published as something that it is not"]


def test_a_text_that_was_to_be_left_out_is_found() -> None:
    given = events((0, 0, "a"), (0, 1, "b"))
    assert breaches(search(2), given, published=lambda _: {"shown": pa.array([None, "b"])}) == ["was to be left out, and something of it left"]


def test_a_late_record_that_left_is_found() -> None:
    given = events((0, 0, "a"), (100, 1, "a"), (0, 2, "a"))
    assert breaches(search(2), given, levels=lambda _: np.array([-1, -1, -1], np.int8)) == ["is late, and was not treated so, or the other way round"]


def test_a_record_in_another_name_is_found() -> None:
    given = events((0, 0, "a"), (0, 1, "a"))
    assert breaches(search(2), given, shown=lambda decided: decided.shown - 1) == ["did not leave once, in the name of its own person"]


@pytest.mark.parametrize(
    ("person", "what"),
    [
        (0, "was made up twice for one person, or for its own"),
        (9, "was made up for somebody who has not shown its category"),
        (7, "was made up for somebody who has shown it, or seems to have"),
    ],
)
def test_somebody_made_up_who_must_not_be_is_found(person: int, what: str) -> None:
    chosen, given = search(3, noise={"diffmax": 2}), events(*CROWD, (0, 7, "a.x"), (1, 9, "b"), (1, 0, "a.x"))

    def other(decided: EventDecisions) -> np.ndarray:
        shown = decided.shown.copy()
        shown[np.flatnonzero(decided.is_fake & (decided.places == 7))[0]] = person
        return shown

    assert what in breaches(chosen, given, shown=other)


def test_somebody_made_up_who_has_opted_out_is_found() -> None:
    chosen, given = search(3, noise={"diffmax": 2}), events(*CROWD, (1, 0, "a.x"))
    decided = chosen.start().push(given)
    everybody_out = replace(given, opted_out=np.ones(len(given), np.bool_))
    found = [breach.what for breach in replay_of(chosen).breaches(seen(everybody_out, chosen), decided)]
    assert found == ["was made up for somebody who has opted out"]


def test_decisions_of_other_records_are_found() -> None:
    given = events((0, 0, "a"), (0, 1, "a"))
    assert breaches(search(2), given, numbers=lambda decided: decided.numbers + 1) == ["the decisions are not those of these records"]


def test_a_breach_says_numbers_and_no_values() -> None:
    given = events((0, 0, "secret"), (0, 1, "secret"))
    decided = search(2).start().push(given)
    found = list(replay_of(search(2)).breaches(seen(given, search(2)), replace(decided, thresholds=decided.thresholds + 1)))
    assert found
    assert "secret" not in str(found)


def test_what_is_no_place_has_no_cell() -> None:
    assert cell_labels((float("nan"), 0.0), [1.0]) == cell_labels((91.0, 0.0), [1.0]) == []


def test_entropy_after_may_be_above_the_one_before_where_an_attribute_leaves_on_two_levels() -> None:
    session = search(3, count="all").start()
    # six people show one of two things; of the one, which four show, the first two leave as its category and the others as itself
    session.push(events(*[(0, person, "a.y") for person in (5, 6)], *[(1, person, "a.x") for person in range(4)]))
    measured = session.measured()
    assert (measured.people, measured.silent) == (6, 2)
    assert measured.entropy_before == pytest.approx(0.918, abs=5e-4)
    assert measured.entropy_after == pytest.approx(1.0)
    assert measured.residual_information > 1


def test_made_up_records_are_in_no_entropy() -> None:
    given = events(*CROWD, (1, 0, "a.x"), (2, 1, "a.x"))
    chosen = search(3, noise={"diffmax": 2}).start()
    decided = chosen.push(given)
    assert decided.is_fake.any()
    assert chosen.measured().people == len({0, 1, 2, 3, 4})
    assert chosen.measured().entropy_after <= chosen.measured().entropy_before

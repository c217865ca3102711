"""Attacks on streams of events: what z-anonymity stops, and what it is said not to."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa

from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.chance import derived_chance
from sfumato.core.durations import SECOND
from sfumato.core.events import EventDecisions, Events, EventSession

MINUTE = 60 * SECOND


def events(*records: tuple[float, int, str]) -> Events:
    minutes, people, texts = zip(*records, strict=True)
    return Events(np.arange(len(records)), (np.array(minutes) * MINUTE).astype(np.int64), np.array(people), pa.array(texts, pa.string()))


def start(z: int, **given: object) -> EventSession:
    return ZAnonymity(**({"z": z, "time": "at", "path": "shown"} | given)).start()


def texts(decided: EventDecisions) -> list[str | None]:
    found: list[str | None] = decided.published["shown"].to_pylist()
    return found


def test_the_category_of_which_all_else_is_common_does_not_name_the_rare_attribute() -> None:
    # books are everybody's; whoever leaves as "shop" would be the one who bought the test
    crowd = [(place / 10, person, "shop.book") for place, person in enumerate(range(30))]
    alone = [(10, 99, "shop.pregnancy_test"), (11, 99, "shop.pregnancy_test")]
    assert texts(start(5).push(events(*crowd, *alone)))[-2:] == [None, None]
    assert texts(start(5, original=True).push(events(*crowd, *alone)))[-2:] == ["shop", "shop"]


def test_nor_does_it_while_the_common_attribute_is_becoming_common() -> None:
    # the first five who show books come before books are common, and do not leave; nor do they hide anybody later
    records = []
    for minute in range(60):
        records += [(minute, minute % 8, "shop.book")]
        if minute % 9 == 6:
            records += [(minute, 99, "shop.pregnancy_test")]
    decided = start(6, window="10m").push(events(*records))
    # one person's rare attribute never leaves under the name of a category that holds nothing else rare
    assert {text for (_, person, _), text in zip(records, texts(decided), strict=True) if person == 99} == {None}


def test_one_person_with_many_records_lets_nothing_out() -> None:
    assert set(texts(start(3).push(events(*[(0, 1, "a.b.c")] * 500)))) == {None}


def test_the_true_record_is_not_known_by_its_place_nor_by_coming_back() -> None:
    crowd = [(0, person, f"a.{person}") for person in range(12)]
    places, fakes = Counter(), Counter()
    for number in range(200):
        session = start(4, noise={"diffmax": 3})
        with derived_chance(bytes(32), f"try {number}"):
            decided = session.push(events(*crowd, (1, 0, "a.x")))
            again = session.push(events((2, 0, "a.x")))
        burst = decided.places == 12
        places[int(np.flatnonzero(~decided.is_fake[burst])[0])] += 1
        fakes.update(decided.shown[decided.is_fake].tolist())
        # others are not made up anew, which would leave the true one in both
        assert not again.is_fake.any()
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 25
    # everybody of the category stands in for somebody now and then
    assert set(fakes) == set(range(1, 12))


def test_the_true_record_is_hardly_known_by_who_was_published_when() -> None:
    chance = random.Random(1)
    number, people = 20_000, 200
    who = [chance.randrange(people) for _ in range(number)]
    what = [f"{chance.choice('abcd')}.{int(chance.paretovariate(0.5)) % 400}" for _ in range(number)]
    session = start(4, noise={"diffmax": 2})
    bursts: dict[int, list[tuple[int, bool, str]]] = {}
    with derived_chance(bytes(32), "who was published when"):
        for first in range(0, number, 500):
            decided = session.push(events(*[(place / 20, who[place], what[place]) for place in range(first, first + 500)]))
            shown = texts(decided)
            for place, person, is_fake in zip(decided.places.tolist(), decided.shown.tolist(), decided.is_fake.tolist(), strict=True):
                bursts.setdefault(first + place, []).append((person, is_fake, str(shown[place])))
    latest: dict[tuple[int, str], int] = {}
    blind, guessed = [], {"least recently": [], "most recently": []}  # type: ignore[var-annotated]
    for place, burst in enumerate(bursts.values()):
        category = burst[0][2].partition(".")[0]
        if len(burst) > 1:
            when = [latest.get((person, category), -1) for person, _, _ in burst]
            (true,) = [at for at, (_, is_fake, _) in enumerate(burst) if not is_fake]
            blind.append(1 / len(burst))
            guessed["least recently"].append((when[true] == min(when)) / when.count(min(when)))
            guessed["most recently"].append((when[true] == max(when)) / when.count(max(when)))
        latest |= {(person, category): place for person, _, _ in burst}
    assert len(blind) > 500
    # with people drawn from the latest alone the first guess was right in 96 of 100
    for hits in guessed.values():
        assert np.mean(hits) < np.mean(blind) + 0.12


def test_without_the_secret_a_replay_makes_up_others() -> None:
    crowd = events(*[(0, person, f"a.{person}") for person in range(40)], *[(1, person, "a.x") for person in range(3)])

    def made(secret: bytes) -> list[int]:
        session = start(9, noise={"diffmax": 8})
        with derived_chance(secret, "records from 0"):
            return session.push(crowd).shown.tolist()

    assert made(bytes(32)) == made(bytes(32))
    assert made(bytes(32)) != made(b"\1" * 32)


def test_a_state_holds_no_attribute_in_clear() -> None:
    session = start(2)
    session.push(events((0, 1, "clinic.oncology.doctor_who"), (0, 2, "clinic.oncology.doctor_who")))
    assert b"oncology" not in session.snapshot()


def test_accomplices_can_let_an_attribute_out_which_the_page_says() -> None:
    # z - 1 of them: said not to be stopped, and here so that nobody believes it is
    accomplices = [(0, 100 + number, "clinic.oncology") for number in range(4)]
    assert texts(start(5).push(events(*accomplices, (1, 1, "clinic.oncology"))))[-1] == "clinic.oncology"

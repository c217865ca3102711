"""z-anonymity by hand: who is counted, when, and what leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.algorithms._z_tuning import Trial, grid, tuned
from sfumato.algorithms.z_anonymity import ZAnonymity
from sfumato.core.chance import derived_chance
from sfumato.core.durations import SECOND
from sfumato.core.events import LATE, SUPPRESSED, Events, EventSession
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.kernels import z_anonymity as kernels
from sfumato.errors import DataError, PolicyError

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


def events(*records: tuple[float, int, str | None], opted_out: tuple[int, ...] = ()) -> Events:
    """Return records of minutes, people and paths."""
    minutes, people, texts = zip(*records, strict=True)
    out = np.isin(people, opted_out)
    return Events(np.arange(len(records)), (np.array(minutes) * MINUTE).astype(np.int64), np.array(people), pa.array(texts, pa.string()), out)


def search(z: int = 2, **given: object) -> ZAnonymity:
    return ZAnonymity(**({"z": z, "time": "at", "path": "shown"} | given))


def left(session: EventSession, given: Events) -> list[str | None]:
    texts: list[str | None] = session.push(given).published["shown"].to_pylist()
    return texts


# --- who counts ---------------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper() -> None:
    # z = 3: u0, u1, u0 again and u2 show a0; u1 and u0 are out of the window when u3 comes
    shown = events((0, 0, "a"), (10, 1, "a"), (20, 0, "a"), (30, 2, "a"), (85, 3, "a"))
    assert left(search(3).start(), shown) == [None, None, None, "a", None]


def test_records_that_cannot_be_written_to_need_no_kernel_of_their_own() -> None:
    given = events((0, 1, "a"), (1, 2, "a"))
    left(search(2).start(), given)
    known = set(kernels.decide.signatures)
    for column in (given.times, given.people):
        column.flags.writeable = False
    left(search(2).start(), given)

    assert set(kernels.decide.signatures) == known


def test_what_is_as_old_as_the_window_still_counts_and_what_is_older_does_not() -> None:
    assert left(search().start(), events((0, 0, "a"), (60, 1, "a"))) == [None, "a"]
    assert left(search().start(), events((0, 0, "a"), (60.001, 1, "a"))) == [None, None]


def test_one_person_who_floods_the_stream_is_one_person() -> None:
    session = search(3).start()
    for _ in range(60):
        assert set(left(session, events(*[(1, 7, "a.b.c")] * 1000))) == {None}
    assert left(session, events((1, 8, "a.b.c"), (1, 9, "a.b.c"))) == [None, "a.b.c"]
    # and repeats take no room
    assert session.window.entries["records"] < 20_000


def test_the_most_detailed_level_that_enough_people_share_leaves() -> None:
    shown = events((0, 0, "a.b.c"), (0, 1, "a.b.d"), (0, 2, "a.e"), (0, 3, "f"), (0, 4, "a.b.c"))
    assert left(search(count="all").start(), shown) == [None, "a.b", "a", None, "a.b.c"]


def test_a_category_is_not_another_name_for_the_one_rare_thing_in_it() -> None:
    # everybody shows a.b, which leaves as such; who shows a.c alone is not published as a
    common = [(0, person, "a.b") for person in range(8)]
    shown = events(*common, (1, 9, "a.c"))
    assert left(search(3).start(), shown)[-1] is None
    assert left(search(3, count="all").start(), shown)[-1] == "a"
    # not even together with those of a.b who came before there were enough; but with others whose finer values do not leave either
    assert left(search(3).start(), events(*common, (1, 9, "a.c"), (1, 10, "a.d"), (1, 11, "a.e")))[-3:] == [None, None, "a"]


def test_a_path_that_is_missing_or_empty_is_not_published_and_counts_for_nothing() -> None:
    session = search().start()
    assert left(session, events((0, 0, None), (0, 1, None), (0, 2, ""), (0, 3, ""))) == [None] * 4
    assert session.window.entries == {"records": 0, "pairs": 0, "paths": 0, "nodes": 0}


def test_nothing_is_kept_of_what_has_left_the_window() -> None:
    session = search().start()
    for hour in range(0, 40, 2):
        session.push(events(*[(hour * 60 + place / 100, place, f"{hour}.{place}.x") for place in range(500)]))
    session.push(events((100 * 60, 1, "last")))
    assert session.window.entries == {"records": 1, "pairs": 1, "paths": 1, "nodes": 1}
    assert session.people().tolist() == [1]


@pytest.mark.slow
def test_memory_and_state_shrink_when_a_burst_has_left_the_window() -> None:
    session = search().start()
    few = events(*[(place / 100, place, f"usual.{place % 9}") for place in range(300)])
    session.push(few)
    usual = session.window.size, len(session.snapshot())
    session.push(events(*[(10 + place / 4000, place, f"burst.{place}.x") for place in range(40_000)]))
    burst = session.window.size, len(session.snapshot())
    assert (burst[0] > 5 * usual[0], burst[1] > 50 * usual[1]) == (True, True)

    decided = session.push(events(*[(600 + place / 100, place, f"usual.{place % 9}") for place in range(300)]))

    assert session.window.size < 2 * usual[0]
    assert len(session.snapshot()) < usual[1] + 100
    assert decided.levels.tolist() == search().start().push(few).levels.tolist()


# --- time ---------------------------------------------------------------------------------------------------------------


def test_a_record_that_comes_after_its_window_is_late_and_counts_for_nobody() -> None:
    session = search().start()
    answer = session.push(events((120, 0, "a"), (59, 1, "a"), (60, 2, "a"), (121, 3, "b"), (121, 4, "a")))
    # that of minute 60 counts when it comes, and is gone a minute later
    assert answer.levels.tolist() == [SUPPRESSED, LATE, 0, SUPPRESSED, 0]
    assert session.measured().late == 1
    assert session.people().tolist() == [0, 3, 4]


def test_records_of_one_instant_count_for_those_after_them() -> None:
    assert left(search(3).start(), events(*[(5, person, "a.b") for person in (1, 2, 2, 3, 1)])) == [None, None, None, "a.b", "a.b"]


def test_times_that_jump_back_count_at_their_time() -> None:
    session = search().start()
    assert left(session, events((100, 0, "a"), (50, 1, "b"), (111, 2, "b"))) == [None, None, None]
    assert left(session, events((60, 3, "c"), (111, 4, "c"))) == [None, "c"]


# --- z ------------------------------------------------------------------------------------------------------------------


def test_floors_hold_at_their_hours_in_their_time_zone() -> None:
    night = {"floors": {"22-6": 3}, "time_zone": "Europe/Berlin"}
    # 20:30 in summer in UTC is 22:30 in Berlin; 12:30 is day in both
    summer = 1_750_000_000 // 86_400 * 86_400 / 60
    two = [(0, 0, "a"), (0, 1, "a")]
    for hour, expected in ((20.5, None), (12.5, "a"), (3.9, None), (4.1, "a")):
        assert left(search(**night).start(), events(*[(summer + hour * 60, who, what) for _, who, what in two]))[-1] == expected


def test_floors_hold_against_tuning() -> None:
    tuning = {"by": "steps", "every": "1m", "p": 0.01, "hysteresis": 0.0}
    session = search(20, tuning=tuning, floors={"0-24": 9}).start()
    records = [(minute, person, "a") for minute in range(40) for person in range(8)]
    answer = session.push(events(*records))
    assert session.z < 9
    assert set(answer.thresholds[answer.thresholds < 20].tolist()) >= {9, 15}
    assert answer.thresholds.min() == 9
    assert not (answer.levels >= 0).any()


def test_steps_go_towards_the_goal_and_stay_within_the_bounds() -> None:
    # all show the same, so that everybody shares their set with all others: z may fall
    same = [(minute, person, "a") for minute in range(30) for person in range(8)]
    session = search(6, tuning={"by": "steps", "every": "1m", "z_min": 4}).start()
    session.push(events(*same))
    assert session.z == 4
    # everybody shows another pair of what many show: nobody shares theirs
    pairs = [(minute, person, f"c{part}") for minute in range(30) for person in range(15) for part in (person % 5, 5 + person % 3)]
    session = search(2, tuning={"by": "steps", "every": "1m", "z_max": 3}).start()
    session.push(events(*pairs))
    assert session.z == 3


def test_a_search_finds_the_smallest_z_that_reaches_the_goal() -> None:
    # eight people in common attributes of four each, and each with one of two of their own: from z = 3 on all are alike
    records = [(0, person, "a") for person in range(8)] + [(0, person, f"b{person // 2}") for person in range(8)]
    session = search(2, generalise=False, tuning={"k": 8, "p": 1.0, "every": "1m"}).start()
    session.push(events(*records))
    session.push(events((1, 0, "a")))
    assert session.z == 3


def test_an_empty_window_leaves_z_as_it_is() -> None:
    session = search(5, tuning={"every": "1m", "p": 1.0}).start()
    session.push(events((0, 0, "a"), (600, 0, None)))
    assert session.z == 5


def test_p_kanon_may_fall_when_z_rises_and_the_search_is_not_misled() -> None:
    # two people alike by what both show; with a higher threshold only what tells them from a third is left
    person_of = np.array([0, 0, 1, 1, 2, 3, 4, 5], np.int32)
    path_of = np.array([0, 2, 0, 2, 2, 2, 1, 1], np.int32)
    trial = Trial(6, person_of, path_of, np.array([[0], [1], [2]], np.int32), np.ones(3, np.int32), 3, False, True)
    shares, some = trial.shares(np.array([2, 3, 4, 5]), 2)
    assert shares.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert some.tolist() == [6, 4, 4, 0]
    alone = Trial(4, np.array([0, 0, 1, 1, 2, 3], np.int32), np.array([0, 1, 0, 1, 1, 0], np.int32), trial.rows, trial.heights, 3, False, True)
    assert alone.shares(np.array([2, 3, 4]), 2)[0].tolist() == [0.5, 0.5, 1.0]
    assert tuned(alone, 2, True, 2, 0.9, 0.0, (2, 100), 1) == 4


def test_the_grid_ends_at_its_bounds() -> None:
    assert grid(5, 5).tolist() == [5]
    assert grid(2, 2000)[[0, -1]].tolist() == [2, 2000]
    assert len(grid(2, 2000)) < 70


# --- made-up records ----------------------------------------------------------------------------------------------------

NOISY = {"noise": {"diffmax": 2}}
# five people of one category, who show its attributes to each other's confusion
CROWD = [(0, person, f"a.{person}") for person in range(5)]


def test_who_is_made_up_has_shown_the_category_and_the_true_one_stands_anywhere() -> None:
    given = events(*CROWD, (1, 0, "a.x"))
    seats = set()
    for number in range(60):
        session = search(3, **NOISY).start()
        with derived_chance(bytes(32), f"try {number}"):
            answer = session.push(given)
        last = answer.places == 5
        assert answer.levels[5] == 0
        assert answer.published["shown"][5].as_py() == "a.x"
        assert last.sum() == 3
        assert set(answer.shown[last & answer.is_fake].tolist()) <= {1, 2, 3, 4}
        seats.add(int(np.flatnonzero(~answer.is_fake[last])[0]))
    assert seats == {0, 1, 2}


def test_in_the_original_the_latest_are_made_up_and_the_true_one_is_last() -> None:
    answer = search(3, original=True, **NOISY).start().push(events(*CROWD, (1, 0, "a.x")))
    assert answer.shown[answer.places == 5].tolist() == [4, 3, 0]


def test_made_up_records_are_remembered_and_not_made_again() -> None:
    session = search(3, **NOISY).start()
    session.push(events(*CROWD, (1, 0, "a.x")))
    again = session.push(events((2, 0, "a.x"), (59, 1, "a.y"), (62, 0, "a.x")))
    assert again.levels[0] == 0
    assert not again.is_fake[again.places == 0].any()
    # an hour later nobody seems to show it any more, and others must be made up anew
    assert session.measured().fakes >= 2


def test_nobody_is_made_up_who_has_opted_out() -> None:
    for number in range(20):
        session = search(3, **NOISY).start()
        with derived_chance(bytes(32), f"try {number}"):
            answer = session.push(events(*CROWD, (1, 0, "a.x"), opted_out=(1, 2)))
        assert set(answer.shown[answer.is_fake].tolist()) == {3, 4}
        with derived_chance(bytes(32), f"try {number}"):
            none = search(3, **NOISY).start().push(events(*CROWD, (1, 0, "a.x"), opted_out=(1, 2, 3)))
        assert none.levels[5] != 0
        assert not none.is_fake.any()


@pytest.mark.parametrize("finer", ["a.b.c", "a.b.c.d"])
def test_nobody_is_made_up_who_has_shown_something_finer(finer: str) -> None:
    # the finer one is published, so that those who show it count for it alone
    deep, others = [(0, person, finer) for person in range(6)], [(0, 7, "a.q"), (0, 8, "a.r"), (1, 7, "a.b"), (2, 8, "a.b")]
    for number in range(20):
        with derived_chance(bytes(32), f"try {number}"):
            answer = search(3, noise={"diffmax": 1}).start().push(events(*deep, *others))
        assert not set(answer.shown[answer.is_fake & (answer.places >= 8)].tolist()) & set(range(6))


def test_who_shows_a_category_for_the_first_time_is_not_hidden_among_those_who_have_before() -> None:
    given = events(*CROWD, (1, 9, "a.x"))
    assert not search(3, **NOISY).start().push(given).is_fake.any()
    assert search(3, original=True, **NOISY).start().push(given).is_fake.any()


def test_no_more_people_are_made_up_than_may_be() -> None:
    assert not search(4, **NOISY).start().push(events(*CROWD, (1, 0, "a.x"))).is_fake.any()
    assert search(4, noise={"diffmax": 0.75}).start().push(events(*CROWD, (1, 0, "a.x"))).is_fake.sum() == 3


def test_noise_comes_before_generalisation() -> None:
    given = events(*CROWD, *[(0, person, "a.z") for person in (7, 8)], (1, 0, "a.x"))
    plain, noisy = (search(3, **more).start().push(given).levels[-1] for more in ({}, NOISY))
    assert (plain, noisy) == (1, 0)


# --- attributes ---------------------------------------------------------------------------------------------------------


def test_names_of_domains_are_read_from_their_end() -> None:
    shown = events((0, 0, "mail.example.org"), (0, 1, "www.example.org"), (0, 2, "other.org"))
    assert left(search(coarsest="last", count="all").start(), shown) == [None, "example.org", "org"]


def test_a_separator_may_be_of_several_characters_and_stand_at_the_beginning() -> None:
    shown = events((0, 0, "::a::b"), (0, 1, "::a::c"), (0, 2, "::d"))
    assert left(search(separator="::").start(), shown) == [None, "::a", None]


def test_of_a_longer_path_the_widest_categories_are_looked_at() -> None:
    shown = events((0, 0, "a.b.c.d"), (0, 1, "a.b.c.e"), (0, 2, "a.b.c.d"))
    assert left(search(levels=3).start(), shown) == [None, "a.b", "a.b.c.d"]


def test_a_ladder_is_climbed_and_its_nameless_root_is_not_published() -> None:
    ladder = Hierarchy.of_paths("what", [["p", "A"], ["q", "A"], ["r", "B"], ["s"]])
    session = ZAnonymity(z=2, time="at", taxonomy="what", count="all").start(ladder)
    answer = session.push(Events(np.arange(5), np.zeros(5, np.int64), np.arange(5), np.array([0, 1, 2, 3, ladder.missing])))
    assert answer.published["what"].to_pylist() == [None, "A", None, None, None]
    named = Hierarchy.of_paths("what", [["p", "A"], ["q", "A"], ["r", "B"], ["s"]], "anything")
    answer = (
        ZAnonymity(z=2, time="at", taxonomy="what", count="all")
        .start(named)
        .push(Events(np.arange(5), np.zeros(5, np.int64), np.arange(5), np.array([0, 1, 2, 3, ladder.missing])))
    )
    assert answer.published["what"].to_pylist() == [None, "A", "anything", "anything", None]


def test_places_leave_as_the_smallest_cell_that_enough_people_are_in() -> None:
    places = np.array([[45.0700, 7.6900], [45.0701, 7.6901], [45.09, 7.72], [np.nan, 7.6], [91.0, 0.0]])
    session = ZAnonymity(z=2, time="at", latitude="y", longitude="x", cells=[1.0, 30.0], count="all").start()
    answer = session.push(Events(np.arange(5), np.zeros(5, np.int64), np.arange(5), places))
    assert answer.levels.tolist() == [SUPPRESSED, 0, 1, SUPPRESSED, SUPPRESSED]
    low, high = (float(edge) for edge in answer.published["y"][1].as_py().strip("[]").split(", "))
    assert low <= 45.0701 < high
    assert high - low == pytest.approx(1 / 111.195, abs=1e-5)


def test_the_date_line_is_one_line_and_the_poles_are_places() -> None:
    places = np.array([[10.0, -180.0], [10.0, 180.0], [90.0, 5.0], [90.0, 5.0], [-90.0, 0.0]])
    session = ZAnonymity(z=2, time="at", latitude="y", longitude="x", cells=[10.0]).start()
    assert session.push(Events(np.arange(5), np.zeros(5, np.int64), np.arange(5), places)).levels.tolist() == [
        SUPPRESSED,
        0,
        SUPPRESSED,
        0,
        SUPPRESSED,
    ]


# --- measures and states ------------------------------------------------------------------------------------------------


def test_people_with_nothing_published_are_counted_apart() -> None:
    session = search().start()
    session.push(events((0, 0, "a"), (0, 1, "a"), (0, 2, "a"), (0, 3, "b")))
    measures = session.measured()
    # the first was too early, the last is alone
    assert (measures.people, measures.silent, measures.p_kanon) == (4, 2, 1.0)
    assert measures.entropy_after == 0
    assert measures.shares() == {0: 0.5}


def test_a_state_of_other_settings_is_refused() -> None:
    state = search().start().snapshot()
    with pytest.raises(DataError) as raised:
        search(window="2h").start().restore(state)
    assert str(raised.value) == (
        "a state of z_anonymity is that of a stream with other settings [stream-state]\n"
        "  try: put window, attribute, count, generalise and original back, or begin the stream anew with an empty state folder"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": None}, "needs one attribute: path, taxonomy, or latitude and longitude"),
        ({"taxonomy": "b"}, "needs one attribute: path, taxonomy, or latitude and longitude"),
        ({"path": None, "latitude": "b"}, "needs both latitude and longitude"),
        ({"floors": {"25-3": 5}}, 'must be hours of the day and a number of people, 2 or more, such as {"22-6": 50}'),
        ({"window": "1 hour"}, "must be a number and s, m, h, d or w, such as 30m or 1h"),
        ({"time_zone": "Nowhere/City"}, "must be a time zone, such as Europe/Berlin"),
        ({"noise": {"diffmax": 1.5}}, "must be a whole number, or a share below 1"),
        ({"tuning": {"z_min": 9, "z_max": 8}}, "needs a z_min that is not above z_max"),
        ({"original": True, "count": "rest"}, "counts everybody where it decides as the original: leave count out"),
        ({"cells": [1.0, 1.0]}, "needs sizes that differ"),
    ],
)
def test_wrong_settings_say_what_is_right(given: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError) as raised:
        search(**given)
    assert message in str(raised.value)

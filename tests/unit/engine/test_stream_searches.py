"""Sessions whose searches keep records in clusters of their own, publish means, or decide of each record at once."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.stream import Clusters
from sfumato.engine.stream import scales
from sfumato.engine.stream.dead_letters import DeadLetter
from sfumato.engine.stream.running import Running, run_stream
from sfumato.errors import DataError, PromiseError

SECRET = bytes(range(32))
COLUMNS: dict[str, Any] = {
    "person": {"role": "identifier"},
    "age": {"role": "quasi_identifier"},
    "zone": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"all": ["1", "2"], "1": ["11", "12"], "2": ["21", "22"]}}}},
    "illness": {"role": "sensitive"},
}
PROMISES = [{"k_anonymity": {"k": 4}}, {"l_diversity": {"column": "illness", "l": 2}}]


def patients(number: int, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    zones, illnesses = ["11", "12", "21", "22"], ["flu", "cold", "gout"]
    return [
        {"person": f"p{chance.randrange(90)}", "age": chance.randrange(20, 80), "zone": chance.choice(zones), "illness": chance.choice(illnesses)}
        for _ in range(number)
    ]


def castle(**other: Any) -> dict[str, Any]:
    given = {
        "subject": "person",
        "columns": COLUMNS,
        "promises": PROMISES,
        "algorithm": {"castle": {"delta": 40, "beta": 8}},
        "stream": {"learn": 30},
    }
    return given | other


def pushed_in_parts(session: sfumato.Session, records: list[dict[str, Any]], size: int = 25) -> list[Any]:
    return [release for start in range(0, len(records), size) for release in session.push(records[start : start + size])]


def test_clusters_hold_enough_people_over_all_that_they_publish() -> None:
    records, session = patients(300), sfumato.stream(castle(), secret=SECRET)

    releases = [*pushed_in_parts(session, records), *session.flush()]

    clusters, texts = defaultdict(set), defaultdict(set)
    for release in releases:
        for row, number, cluster in zip(release.batch.to_pylist(), release.numbers.tolist(), release.clusters.tolist(), strict=True):
            clusters[cluster].add((records[number]["person"], records[number]["illness"]))
            texts[cluster].add((row["age"], row["zone"]))
    assert all(len({person for person, _ in members}) >= 4 for members in clusters.values())
    assert all(len({illness for _, illness in members}) >= 2 for members in clusters.values())
    assert all(len(shown) == 1 for shown in texts.values())
    accounts = session.accounts
    assert (accounts.released + accounts.suppressed, accounts.held) == (300, 0)


def test_records_wait_for_the_first_ones_to_be_enough_to_learn_from() -> None:
    session = sfumato.stream(castle())

    assert session.push(patients(29)) == []
    assert session.accounts.held == 29


def test_a_session_over_clusters_can_be_moved() -> None:
    records = patients(200)
    one, other = (sfumato.stream(castle(), secret=SECRET) for _ in range(2))
    pushed_in_parts(one, records[:100])
    other.restore(one.snapshot())

    assert other.snapshot() == one.snapshot()
    assert [release.batch for release in pushed_in_parts(one, records[100:])] == [release.batch for release in pushed_in_parts(other, records[100:])]
    assert [release.batch for release in one.flush()] == [release.batch for release in other.flush()]


def test_a_cluster_of_too_few_people_is_found_out_and_the_search_goes_on_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    records, session = patients(200), sfumato.stream(castle(), secret=SECRET)
    pushed_in_parts(session, records[:100])
    before = session.snapshot()
    search: Any = session._search
    push = type(search).push

    def alone(self: Any, points: Any) -> Clusters:
        found = push(self, points)
        # everybody in a cluster that was never seen before
        places = found.cluster_of
        new = 10**6 + found.numbers
        return Clusters(
            found.numbers, found.cluster_of.copy() * 0 + range(len(places)), found.lows[places], found.highs[places], new, found.references
        )

    monkeypatch.setattr(type(search), "push", alone)
    with pytest.raises(PromiseError) as caught:
        session.push(records[100:160])

    assert caught.value.code == "verify-promise"
    monkeypatch.undo()
    assert session.snapshot() == before


def test_the_means_of_groups_are_published() -> None:
    columns = {"person": {"role": "identifier"}, "age": {"role": "quasi_identifier", "type": "integer"}, "illness": {"role": "sensitive"}}
    given = {
        "subject": "person",
        "columns": columns,
        "promises": [{"k_anonymity": {"k": 3}}],
        "algorithm": {"microaggregation": {"publish": "mean"}},
        "window": {"count": 6},
    }

    pushed = sfumato.stream(given).push([{"person": f"p{age}", "age": age, "illness": "flu"} for age in (20, 21, 23, 70, 72, 74)])

    assert sorted(pushed[0].batch.column("age").to_pylist()) == ["21.333333"] * 3 + ["72"] * 3


EVENTS: dict[str, Any] = {
    "subject": "user",
    "columns": {
        "user": {"role": "identifier", "mask": {"regex_replace": {"pattern": "^", "replacement": "x"}}},
        "item": {"role": "sensitive"},
        "at": {"role": "other", "type": "integer"},
    },
    "algorithm": {"z_anonymity": {"z": 3, "time": "at", "path": "item", "window": "1h"}},
}


def event(user: str, item: str, at: int) -> dict[str, Any]:
    return {"user": user, "item": item, "at": at}


def test_an_event_leaves_at_once_when_enough_people_have_shown_it() -> None:
    session = sfumato.stream(EVENTS)

    pushed = session.push([event(user, "shoes.red", at) for at, user in enumerate(["a", "b", "b", "c", "d"])])

    assert pushed.suppressed.tolist() == [0, 1, 2]
    assert pushed[0].batch.to_pylist() == [{"user": "xc", "item": "shoes.red", "at": 3}, {"user": "xd", "item": "shoes.red", "at": 4}]
    assert session.measured()["search"]["z"] == 3


def test_a_rare_attribute_leaves_as_its_category() -> None:
    pushed = sfumato.stream(EVENTS).push([event(user, f"shoes.{user}", at) for at, user in enumerate("abcd")])

    assert set(pushed[0].batch.column("item").to_pylist()) == {"shoes"}


def test_made_up_rows_have_no_number_and_another_persons_name() -> None:
    given = EVENTS | {"algorithm": {"z_anonymity": EVENTS["algorithm"]["z_anonymity"] | {"noise": {"diffmax": 1}}}}
    session = sfumato.stream(given, secret=SECRET)
    events = [event(f"u{number % 7}", f"shoes.{number % 5}", number) for number in range(60)]

    releases = session.push(events)

    (release,) = releases
    fakes = release.numbers < 0
    assert fakes.any()
    assert session.accounts.records == 60
    for row, number in zip(release.batch.to_pylist(), release.numbers.tolist(), strict=True):
        assert row["user"].startswith("xu")
        assert number < 0 or row["user"] == f"x{events[number]['user']}"


def test_a_session_over_events_can_be_moved() -> None:
    events = [event(f"u{number % 7}", f"shoes.{number % 5}", number) for number in range(80)]
    one, other = (sfumato.stream(EVENTS, secret=SECRET) for _ in range(2))
    one.push(events[:40])
    other.restore(one.snapshot())

    assert [release.batch for release in one.push(events[40:])] == [release.batch for release in other.push(events[40:])]
    assert one.snapshot() == other.snapshot()


def with_search(columns: dict[str, Any] | None = None, **search: Any) -> dict[str, Any]:
    settings = {"z": 3, "time": "at", "window": "1h", **search}
    return EVENTS | {"columns": EVENTS["columns"] | (columns or {}), "algorithm": {"z_anonymity": settings}}


def test_categories_may_be_those_of_a_taxonomy_of_the_policy() -> None:
    tree = {"all": ["food", "tools"], "food": ["apple", "pear"], "tools": ["saw"]}
    given = with_search({"item": {"role": "sensitive", "type": "text", "hierarchy": {"taxonomy": {"tree": tree}}}}, taxonomy="item")

    pushed = sfumato.stream(given).push([event(user, item, 0) for user, item in zip("abcd", ["apple", "pear", "apple", "saw"], strict=True)])

    # who showed food, which is published, does not hide who showed a saw
    assert pushed[0].batch.column("item").to_pylist() == ["food"]
    assert pushed.suppressed.tolist() == [0, 1, 3]


def test_a_category_that_the_taxonomy_does_not_know_is_a_dead_letter() -> None:
    ladder = {"taxonomy": {"tree": {"all": ["food", "tools"]}}}
    given = with_search({"item": {"role": "sensitive", "type": "text", "hierarchy": ladder}}, taxonomy="item")

    pushed = sfumato.stream(given).push([event("ada", "foood", 0), event("ben", None, 0)])

    assert pushed.dead == [DeadLetter(0, "value-outside-hierarchy", "item")]
    assert pushed.suppressed.tolist() == [1]


def test_places_leave_as_cells_of_a_map() -> None:
    place = {"role": "sensitive", "type": "decimal"}
    given = with_search(latitude="north", longitude="east", cells=[1, 10])
    given["columns"] = {name: column for name, column in given["columns"].items() if name != "item"} | {"north": place, "east": place}

    pushed = sfumato.stream(given).push([{"user": user, "at": 0, "north": 45.07, "east": 7.68} for user in "abc"])

    ((row,),) = [release.batch.to_pylist() for release in pushed]
    low, high = (float(edge) for edge in row["north"].strip("[]").split(", "))
    assert low <= 45.07 <= high
    assert high - low < 0.01


@pytest.mark.parametrize(("north", "east", "column"), [(90.5, 7.68, "north"), (45.07, -180.1, "east"), (float("inf"), 7.68, "north")])
def test_a_place_that_is_nowhere_is_a_dead_letter_and_one_that_is_missing_shows_nothing(north: float, east: float, column: str) -> None:
    place = {"role": "sensitive", "type": "decimal", "missing": ["-999"]}
    given = with_search(latitude="north", longitude="east", cells=[1, 10])
    given["columns"] = {name: column for name, column in given["columns"].items() if name != "item"} | {"north": place, "east": place}
    # what is no number is a missing value in a list
    places = [(45.07, 7.68), (north, east), (None, 7.68), (-999.0, 7.68), (float("nan"), 7.68)]

    pushed = sfumato.stream(given).push([{"user": "ada", "at": 0, "north": one, "east": other} for one, other in places])

    assert pushed.dead == [DeadLetter(1, "place-impossible", column)]
    assert pushed.suppressed.tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("written", [b"u0\nu4\nu6\n", b"\xef\xbb\xbfu0\r\nu4\r\nu6"], ids=["plain", "with a mark of its encoding"])
def test_nothing_is_made_up_in_the_name_of_whom_the_policy_lists(tmp_path: Any, written: bytes) -> None:
    (tmp_path / "out.txt").write_bytes(written)
    events = [event(f"u{number % 7}", f"shoes.{number % 5}", number) for number in range(60)]

    def made_up(**noise: Any) -> set[str]:
        told = sfumato.stream(with_search(path="item", noise={"diffmax": 0.5} | noise), secret=SECRET).push(events)
        return {row["user"] for release in told for row, number in zip(release.batch.to_pylist(), release.numbers, strict=True) if number < 0}

    assert made_up() & {"xu0", "xu4", "xu6"}
    listed = made_up(opted_out_file=str(tmp_path / "out.txt"))
    assert listed
    assert not listed & {"xu0", "xu4", "xu6"}


@pytest.mark.parametrize(("line", "ann"), [("5.0", 5), ("05", 5), ("+5", 5), ("5.0", 5.0), ("5.50", 5.5), ("1e3", 1000.0), (" ann", " ann")])
def test_people_in_a_list_are_known_however_their_numbers_are_written(tmp_path: Path, line: str, ann: Any) -> None:
    (tmp_path / "out.txt").write_text(f"{line}\n")
    tom, ben = ("tom", "ben") if isinstance(ann, str) else (type(ann)(7), type(ann)(8))
    crowd = [event(tom, "a.x", 1), event(ann, "a.y", 2), event(ben, "a.z", 3)]
    columns = {"at": {"role": "identifier", "type": "integer"}, "out": {"role": "identifier"}}
    given = noisy({"opted_out_file": str(tmp_path / "out.txt")}, columns)

    assert ann in made_up_for(sfumato.stream(noisy({}, columns), secret=SECRET), crowd, [event(tom, "a.q", 5)])
    assert ann not in made_up_for(sfumato.stream(given, secret=SECRET), crowd, [event(tom, "a.q", 5)])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_list_of_people_in_another_encoding_is_refused(tmp_path: Any, encoding: str) -> None:
    (tmp_path / "out.txt").write_text("Müller\nAbel\n", encoding=encoding)
    given = with_search(path="item", noise={"diffmax": 0.5, "opted_out_file": str(tmp_path / "out.txt")})

    with pytest.raises(DataError) as refused:
        sfumato.stream(given, secret=SECRET).push([event("a", "shoes.1", 0)])

    assert str(refused.value) == (
        f"list of people who opted out {tmp_path}/out.txt is not UTF-8 text [file-encoding]\n  try: convert it to UTF-8 first"
    )


def test_a_push_over_events_that_raises_leaves_the_search_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event(f"u{number % 7}", f"shoes.{number % 5}", number) for number in range(90)]
    given = with_search(path="item", noise={"diffmax": 1})
    one, other = (sfumato.stream(given, secret=SECRET) for _ in range(2))
    for session in (one, other):
        session.push(events[:30])
        session.push(events[30:60])
    before = one.snapshot()

    def fails(*_: Any, **__: Any) -> None:
        raise PromiseError("found out", code="verify-rows")

    monkeypatch.setattr("sfumato.engine.stream.event_work.verify", fails)
    with pytest.raises(PromiseError):
        one.push(events[60:])
    monkeypatch.undo()

    assert one.snapshot() == before
    assert [release.batch for release in one.push(events[60:])] == [release.batch for release in other.push(events[60:])]


ZIPS = COLUMNS | {"zone": {"role": "quasi_identifier", "type": "text", "hierarchy": {"prefix": {}}}}


def with_new_zones(number: int) -> list[dict[str, Any]]:
    """Return records of which one in five has a zone that none had before, and one a category that is rare."""
    return [
        record | ({"zone": str(10000 + place)} if place % 5 == 0 else {}) | {"ward": "late" if place > 200 and place % 9 == 0 else "early"}
        for place, record in enumerate(patients(number))
    ]


@pytest.mark.parametrize("most", [10_000, 40])
@pytest.mark.parametrize("hierarchy", [{"prefix": {}}, {"prefix": {"lengths": [3, 1]}}, {"flat": {}}])
def test_values_that_come_later_join_a_ladder_that_needs_no_learning(monkeypatch: pytest.MonkeyPatch, hierarchy: dict[str, Any], most: int) -> None:
    monkeypatch.setattr(scales, "_MOST_LEAVES", most)
    columns = COLUMNS | {"zone": {"role": "quasi_identifier", "type": "text", "hierarchy": hierarchy}, "ward": {"role": "quasi_identifier"}}
    records, session = with_new_zones(400), sfumato.stream(castle(columns=columns), secret=SECRET)
    releases = pushed_in_parts(session, records[:250])
    moved = sfumato.stream(castle(columns=columns), secret=SECRET)
    moved.restore(session.snapshot())
    releases += [*pushed_in_parts(moved, records[250:]), *moved.flush()]

    assert moved.accounts.dead == 0
    assert moved.accounts.released + moved.accounts.suppressed == 400
    assert moved.accounts.suppressed < 40
    texts = defaultdict(set)
    for release in releases:
        for row, cluster in zip(release.batch.to_pylist(), release.clusters.tolist(), strict=True):
            texts[cluster].add((row["age"], row["zone"], row["ward"]))
    assert all(len(shown) == 1 for shown in texts.values())


def test_a_push_that_raises_leaves_ladders_as_they_were() -> None:
    one, other = (sfumato.stream(castle(columns=ZIPS, stream={"learn": 30, "on_unfit": "error"}), secret=SECRET) for _ in range(2))
    records = [{key: value for key, value in record.items() if key != "ward"} for record in with_new_zones(200)]
    for session in (one, other):
        pushed_in_parts(session, records[:100])
    with pytest.raises(DataError):
        one.push([*records[100:110], {"strange": 1}])

    assert [release.batch for release in pushed_in_parts(one, records[100:])] == [release.batch for release in pushed_in_parts(other, records[100:])]


@pytest.mark.parametrize("size", [7, 100, 400])
def test_no_record_waits_longer_than_delta_but_the_first_that_are_learnt_from(size: int) -> None:
    records = patients(400)
    session = sfumato.stream(castle(), secret=SECRET)
    pushed_in_parts(session, records, size)
    assert session.measured()["delay"]["longest"] == 40

    learning = sfumato.stream(castle(stream={"learn": 100}), secret=SECRET)
    pushed_in_parts(learning, records, size)
    assert learning.measured()["delay"]["longest"] == 99


def noisy(noise: dict[str, Any], columns: dict[str, Any] | None = None, **further: Any) -> dict[str, Any]:
    search = {"z": 3, "time": "at", "path": "item", "noise": {"diffmax": 2} | noise} | further
    named = EVENTS["columns"] | {"user": {"role": "other"}} | (columns or {})
    return EVENTS | {"columns": named, "algorithm": {"z_anonymity": search}}


OPTS_OUT = noisy({"opted_out": "out"}, {"out": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}})
CROWD = [event("tom", "a.x", 1), event("ann", "a.y", 2), event("ben", "a.z", 3)]


def made_up_for(session: sfumato.Session, *pushes: list[dict[str, Any]]) -> set[str]:
    """Return in whose names records were made up; whoever does not say it has not opted out."""
    found = set()
    for records in pushes:
        for release in session.push([{"out": "no"} | record for record in records]):
            rows = zip(release.batch.to_pylist(), release.numbers.tolist(), strict=True)
            found |= {row["user"] for row, number in rows if number < 0}
    return found


@pytest.mark.parametrize(
    "says_so",
    [
        event("ann", "a.y", 4),
        event("ann", None, 4),  # type: ignore[arg-type]
        event("ann", "a.y", -9_000),
        event("ann", "a.y", None),  # type: ignore[arg-type]
        event("ann", "a.y", 10**12),
        event("ann", "a.y", 4) | {"strange": 1},
    ],
    ids=[
        "as all others",
        "without an attribute",
        "late",
        "a dead letter without a time",
        "a dead letter of the year 33658",
        "a dead letter too many",
    ],
)
def test_who_opts_out_in_any_record_that_can_be_read_is_never_made_up_again(says_so: dict[str, Any]) -> None:
    tom = event("tom", "a.q", 5)
    assert made_up_for(sfumato.stream(OPTS_OUT, secret=SECRET), [*CROWD, tom]) == {"ann", "ben"}

    assert "ann" not in made_up_for(sfumato.stream(OPTS_OUT, secret=SECRET), [*CROWD, says_so | {"out": "yes"}, tom])
    # alone in its push, too
    assert "ann" not in made_up_for(sfumato.stream(OPTS_OUT, secret=SECRET), CROWD, [says_so | {"out": "yes"}], [tom])


def test_who_has_opted_out_stays_so_beyond_the_window_and_in_a_state() -> None:
    one, other = (sfumato.stream(OPTS_OUT, secret=SECRET) for _ in range(2))
    one.push([event("ann", "a.y", 4) | {"out": "yes"}])
    later = [event(record["user"], record["item"], 90_000 + record["at"]) for record in CROWD]
    other.restore(one.snapshot())

    assert made_up_for(one, later, [event("tom", "a.q", 90_005)]) == set()
    assert made_up_for(other, later, [event("tom", "a.q", 90_005)]) == set()
    assert one.snapshot() == other.snapshot()


def test_a_flag_that_cannot_be_read_and_one_that_is_not_there_is_a_yes_also_in_a_dead_letter() -> None:
    given = noisy({"opted_out": "out"}, {"out": {"role": "identifier", "type": "integer"}, "at": {"role": "identifier", "type": "integer"}})
    crowd, tom = [record | {"out": 0} for record in CROWD], event("tom", "a.q", 5) | {"out": 0}
    lost = event("ann", "a.y", None)  # type: ignore[arg-type]

    assert made_up_for(sfumato.stream(given, secret=SECRET), crowd, [lost | {"out": 0}, tom]) == {"ann", "ben"}
    assert made_up_for(sfumato.stream(given, secret=SECRET), crowd, [event("ann", "a.y", 4) | {"out": "never!"}, tom]) == set()
    assert made_up_for(sfumato.stream(given, secret=SECRET), crowd, [lost | {"out": None}, tom]) == set()


@pytest.mark.parametrize("nobody", ["", None])
def test_records_of_nobody_opt_nobody_out_in_a_dead_letter_too(nobody: Any) -> None:
    crowd = [event("tom", "a.x", 1), event(nobody, "a.y", 2), event("ben", "a.z", 3)]
    lost = event(nobody, "a.y", None) | {"out": "yes"}  # type: ignore[arg-type]

    assert nobody in made_up_for(sfumato.stream(OPTS_OUT, secret=SECRET), crowd, [event("tom", "a.q", 5)])
    assert made_up_for(sfumato.stream(OPTS_OUT, secret=SECRET), crowd, [lost, event("tom", "a.q", 5)]) == set()


@pytest.mark.parametrize("before", [0, 3], ids=["before all others", "after others"])
@pytest.mark.parametrize("lost", [{"at": "soon"}, {"strange": 1}, {"item": ["a.y"]}], ids=["another type", "a field unnamed", "a list"])
def test_an_opt_out_counts_also_where_the_record_could_not_be_read_whole(tmp_path: Path, lost: dict[str, Any], before: int) -> None:
    says_so = event("ann", "a.y", 4) | {"out": True} | lost
    events = [record | {"out": False} for record in [*CROWD, event("tom", "a.q", 5)]]
    events.insert(before, says_so)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in events))
    given = OPTS_OUT | {"source": str(tmp_path / "in.jsonl"), "sink": str(tmp_path / "out.jsonl"), "stream": {"state": str(tmp_path / "state")}}

    run_stream(given, Running(once=True))

    released = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert "ann" not in {row["user"] for row in released if row["item"] == "a.q"}
    assert len((tmp_path / "state" / "dead_letters.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("at", [10**12, -(10**12), 10**18, -(2**63), 253_402_300_799])
def test_a_time_beyond_the_calendar_is_a_dead_letter_also_where_hours_have_floors(at: int) -> None:
    floors = {"floors": {"22-6": 5}, "time_zone": "Pacific/Auckland"}
    session = sfumato.stream(noisy({}, **floors), secret=SECRET)

    pushed = session.push([event("a", "x", 1_700_000_000), event("b", "x", at), event("c", "x", 1_700_000_001)])

    assert [(letter.number, letter.code, letter.column) for letter in pushed.dead] == [(1, "time-outside", "at")]
    assert session.accounts.suppressed == 2


def test_a_record_that_comes_late_is_asked_for_as_many_people_as_its_own_hour_asks_for() -> None:
    given = EVENTS | {"algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "item", "floors": {"22-24": 50}}}}
    midnight = 86_400 * 19_000
    late = [event(f"u{number}", "a.x", midnight - 60) for number in range(3)]

    assert sfumato.stream(given).push([event("zed", "k.k", midnight + 1), *late]) == []
    assert len(sfumato.stream(given).push([event("zed", "k.k", midnight + 61), *[record | {"at": midnight + 1} for record in late]])[0].batch) == 2


@pytest.mark.parametrize(
    ("kind", "writings"),
    [
        ("decimal", ["5", "5.0", "+5.00", "5e0"]),
        ("timestamp", ["2020-01-01T00:00:00Z", "2020-01-01 00:00:00", "2020-01-01T01:00:00+01:00"]),
        ("ip", ["::1", "0:0:0:0:0:0:0:1", "::0001"]),
        (None, [float("nan"), None, float("nan")]),
    ],
)
def test_one_person_in_several_writings_is_one(kind: str | None, writings: list[Any]) -> None:
    columns = EVENTS["columns"] | {"user": {"role": "identifier"} | ({} if kind is None else {"type": kind})}
    given = EVENTS | {"columns": columns, "algorithm": {"z_anonymity": {"z": 2, "time": "at", "path": "item"}}}
    users = pa.array(writings, pa.float64() if kind is None else pa.string(), from_pandas=False)
    items, times = ["a.x"] * len(users), list(range(len(users)))

    assert sfumato.stream(given, secret=SECRET).push(pa.table({"user": users, "item": items, "at": times})) == []

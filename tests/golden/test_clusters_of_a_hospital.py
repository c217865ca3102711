"""Nine patients whose printed tables are 3-anonymous, 2-diverse and t-close: what the checker says of them, and what our searches make of them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.algorithms.castle import Castle
from sfumato.algorithms.microaggregation import Microaggregation
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.chance import derived_chance
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import Promise
from sfumato.core.kernels import castle
from sfumato.core.stream import Clusters, Points, StreamProblem
from sfumato.measures.cluster_check import Found, Original, Published, Release, check_clusters, covers_node, covers_number
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.promises.t_closeness import TCloseness

# number, name, residency, age, diagnosis
PATIENTS = """
1 Ahmed Berlin 27 Covid
2 John Glasgow 45 Asthma
3 Thomas Munich 32 Covid
4 Anna Madrid 59 Diabetes
5 Winston Manchester 20 Covid
6 Kim Stuttgart 54 Covid
7 Miguel Barcelona 34 Asthma
8 Farah London 41 Diabetes
9 Jane Bilbao 70 Diabetes
"""
TABLES = {
    "k-anonymous": {"Germany [25 - 55]": (1, 3, 6), "UK [20 - 45]": (2, 5, 8), "Spain [30 - 70]": (4, 7, 9)},
    "diverse": {"EU [25 - 55]": (1, 6, 7), "UK [20 - 45]": (2, 5, 8), "EU [30 - 70]": (3, 4, 9)},
    "close": {"EU [25 - 60]": (1, 4, 6), "UK [20 - 45]": (2, 5, 8), "EU [30 - 70]": (3, 7, 9)},
}
TOWNS = {"Germany": ["Berlin", "Munich", "Stuttgart"], "Spain": ["Madrid", "Barcelona", "Bilbao"], "UK": ["Glasgow", "Manchester", "London"]}
ABOVE = {town: [country, "EU"] if country != "UK" else [country] for country, towns in TOWNS.items() for town in towns}
ILLNESSES = {"Covid": ["respiratory"], "Asthma": ["respiratory"], "Diabetes": ["other"]}
RECORDS = [line.split() for line in PATIENTS.strip().splitlines()]
ORIGINALS = {int(n): Original(name, {"residency": town, "age": int(age)}, {"diagnosis": ill}) for n, name, town, age, ill in RECORDS}
REFERENCE = {"diagnosis": {"Covid": 4, "Asthma": 2, "Diabetes": 3}}
COVERS = {"residency": covers_node(ABOVE), "age": covers_number}


def printed(table: str) -> list[Found]:
    rows = [
        Published(number, identity, dict(zip(("residency", "age"), text.split(" ", 1), strict=True)))
        for identity, (text, numbers) in enumerate(TABLES[table].items())
        for number in numbers
    ]
    return check_clusters(ORIGINALS, [Release(rows, REFERENCE)], COVERS, {"diagnosis": ILLNESSES})


@pytest.mark.parametrize(
    ("table", "l", "equal", "hierarchical"), [("k-anonymous", 1, 0.556, 0.444), ("diverse", 2, 0.333, 0.333), ("close", 2, 0.222, 0.111)]
)
def test_the_checker_finds_in_the_printed_tables_what_they_promise(table: str, l: int, equal: float, hierarchical: float) -> None:
    found = printed(table)
    assert [each.people for each in found] == [3, 3, 3]
    assert min(each.values["diagnosis"] for each in found) == l
    assert max(each.distances["diagnosis"]["equal"] for each in found) == pytest.approx(equal, abs=5e-4)
    assert max(each.distances["diagnosis"]["hierarchical"] for each in found) == pytest.approx(hierarchical, abs=5e-4)
    assert not any(each.uncovered for each in found)
    assert {each.texts for each in found} == {1}


def test_the_checker_finds_a_value_that_covers_nothing_and_a_lone_person() -> None:
    rows = [Published(1, 0, {"residency": "Spain", "age": "[25, 26]"}), Published(2, 1, {"residency": "*", "age": "*"})]
    one, other = check_clusters(ORIGINALS, [Release(rows, REFERENCE)], COVERS)
    assert (one.uncovered, one.people, other.uncovered, other.people) == ({"residency": 1, "age": 1}, 1, {}, 1)


def test_the_checker_looks_at_all_that_a_cluster_has_held() -> None:
    def release(*numbers: int) -> Release:
        return Release([Published(number, 0, {"residency": "*", "age": "*"}) for number in numbers], REFERENCE)

    assert [each.people for each in check_clusters(ORIGINALS, [release(1, 2, 3), release(4)], COVERS)] == [3, 4]
    with pytest.raises(AssertionError, match="twice"):
        check_clusters(ORIGINALS, [release(1, 2), release(2)], COVERS)


RESIDENCY = Hierarchy.of_paths("residency", [[town, *above] for town, above in ABOVE.items()])
DIAGNOSIS = Hierarchy.of_paths("diagnosis", [[ill, *above] for ill, above in ILLNESSES.items()])
PROMISES: dict[str, list[Promise]] = {
    "k-anonymous": [KAnonymity(k=3)],
    "diverse": [KAnonymity(k=3), LDiversity(column="diagnosis", l=2)],
    "close": [KAnonymity(k=3), LDiversity(column="diagnosis", l=2), TCloseness(column="diagnosis", t=0.223)],
}


def patients() -> Points:
    towns, ills = list(ABOVE), list(ILLNESSES)
    coordinates = np.array([[towns.index(town), float(age)] for _, _, town, age, _ in RECORDS])
    sensitive = {"diagnosis": np.array([ills.index(ill) for *_, ill in RECORDS], np.int32)}
    return Points(np.arange(1, 10), coordinates, np.arange(9), sensitive)


def decided(search: str, problem: StreamProblem) -> list[Clusters]:
    if search != "castle":
        found = {"mondrian": Mondrian(), "microaggregation": Microaggregation()}[search].cluster(patients(), problem)
        assert found is not None
        return [found]
    session = Castle(delta=9, beta=3, mu=3).start(problem)
    with derived_chance(bytes(32), "nine patients"):
        return [session.push(patients()), session.flush()]


def as_text(clusters: Clusters) -> Release:
    rows = []
    for number, cluster in zip(clusters.numbers.tolist(), clusters.cluster_of.tolist(), strict=True):
        (town, age), (last_town, last_age) = clusters.lows[cluster], clusters.highs[cluster]
        values = {"residency": RESIDENCY.label(int(town), int(last_town)), "age": f"[{age:g}, {last_age:g}]"}
        rows.append(Published(number, int(clusters.identities[cluster]), values))
    return Release(rows, {"diagnosis": dict(zip(ILLNESSES, clusters.references["diagnosis"].tolist(), strict=False))} if clusters.references else {})


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("search", ["mondrian", "castle", "microaggregation"])
def test_our_searches_keep_what_the_printed_tables_promise(search: str, table: str) -> None:
    problem = StreamProblem(["residency", "age"], [RESIDENCY, None], PROMISES[table], [1.0, 1.0], np.full((2, 2), np.nan), {"diagnosis": DIAGNOSIS})
    told = decided(search, problem)
    found = check_clusters(ORIGINALS, [as_text(each) for each in told if len(each.numbers)], COVERS, {"diagnosis": ILLNESSES})
    assert sum(len(each.numbers) + len(each.suppressed) for each in told) == 9
    assert sum(len(each.numbers) for each in told) >= 6
    assert all(each.fewest >= 3 and not each.uncovered and each.texts == 1 for each in found)
    if table != "k-anonymous":
        assert min(each.values["diagnosis"] for each in found) >= 2
    if table == "close":
        assert max(each.distances["diagnosis"]["equal"] for each in found) <= 0.223 + 1e-9


def test_records_that_cannot_be_written_to_need_no_kernel_of_their_own() -> None:
    problem = StreamProblem(["residency", "age"], [RESIDENCY, None], PROMISES["close"], [1.0, 1.0], np.full((2, 2), np.nan), {"diagnosis": DIAGNOSIS})
    given = patients()
    Castle(delta=9, beta=3, mu=3).start(problem).push(given)
    known = set(castle.push.signatures)
    for column in (given.numbers, given.people, given.coordinates):
        column.flags.writeable = False
    Castle(delta=9, beta=3, mu=3).start(problem).push(given)

    assert set(castle.push.signatures) == known

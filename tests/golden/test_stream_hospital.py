"""The hospital as a stream: four views through sessions, whose rows are those of the printed tables."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from ruamel.yaml import YAML

import sfumato
from sfumato.core.stream import Accounts
from tests.golden.test_hospital import ADMINISTRATION, EXAMPLE, FIXED, NAMES, NURSE, PATIENTS, RESEARCH, patients, released, rows

PRINTED = {"doctor": PATIENTS, "nurse": NURSE, "administration": ADMINISTRATION, "research": RESEARCH}
WORKING = [
    ("Ahmed", "Berlin", 27, "Covid"),
    ("John", "Glasgow", 45, "Asthma"),
    ("Thomas", "Munich", 32, "Covid"),
    ("Anna", "Madrid", 59, "Diabetes"),
    ("Winston", "Manchester", 20, "Covid"),
    ("Kim", "Stuttgart", 54, "Covid"),
    ("Miguel", "Barcelona", 34, "Asthma"),
    ("Farah", "London", 41, "Diabetes"),
    ("Jane", "Bilbao", 70, "Diabetes"),
]
TREE = {
    "Europe": ["Germany", "UK", "Spain"],
    "Germany": ["Berlin", "Munich", "Stuttgart"],
    "UK": ["Glasgow", "Manchester", "London"],
    "Spain": ["Madrid", "Barcelona", "Bilbao"],
}


def policy() -> dict[str, Any]:
    """Return the example as a policy of a stream: whose a record is is said, and research waits for windows of six."""
    given: dict[str, Any] = YAML(typ="safe").load(EXAMPLE)
    del given["source"], given["readers"]
    for view in given["views"].values():
        del view["sink"]
    age = {key: value for key, value in FIXED["age"].items() if key != "level"} | {"level": {"minimum": 1}}
    given["views"]["research"] = {"columns": FIXED | {"age": age}, "window": {"count": 6}}
    return given | {"subject": "pid", "promises": [{"k_anonymity": {"k": 3}}], "stream": {"batch": 2}}


@pytest.mark.parametrize("view", PRINTED)
def test_each_view_is_the_printed_table(view: str) -> None:
    session = sfumato.stream(policy(), view=view)

    releases = [release for batch in patients().to_batches(max_chunksize=2) for release in session.push(batch)]

    assert len(releases) == (1 if view == "research" else 3)
    assert released(pa.Table.from_batches([release.batch for release in releases]).select(NAMES)) == rows(PRINTED[view])
    assert session.accounts == Accounts(released=6)


@pytest.mark.parametrize(
    ("promises", "algorithm"),
    list(
        itertools.product(
            [
                [{"k_anonymity": {"k": 3}}],
                [{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "diagnosis", "l": 2}}],
                [{"k_anonymity": {"k": 3}}, {"t_closeness": {"column": "diagnosis", "t": 0.34}}],
            ],
            ["mondrian", "datafly", {"castle": {"delta": 8, "beta": 3}}],
        )
    ),
)
def test_the_working_example_keeps_the_promises_of_the_document(promises: list[Any], algorithm: Any) -> None:
    columns = {
        "name": {"role": "identifier"},
        "residency": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}},
        "age": {"role": "quasi_identifier"},
        "diagnosis": {"role": "sensitive"},
    }
    given = {"subject": "name", "columns": columns, "promises": promises, "algorithm": algorithm}
    given |= {} if isinstance(algorithm, dict) else {"window": {"count": 9}}
    session = sfumato.stream(given, secret=bytes(32))
    table = [dict(zip(columns, row, strict=True)) for row in WORKING]

    releases = [*session.push(table), *session.flush()]

    classes: dict[tuple[str, str, int], list[int]] = {}
    for release in releases:
        for row, number, cluster in zip(release.batch.to_pylist(), release.numbers.tolist(), release.clusters.tolist(), strict=True):
            classes.setdefault((row["residency"], row["age"], cluster), []).append(number)
            assert row["diagnosis"] == WORKING[number][3]
    assert all(len(members) >= 3 for members in classes.values())
    assert session.accounts.released + session.accounts.suppressed == 9
    assert isinstance(algorithm, dict) or session.accounts.released == 9
    if len(promises) > 1 and "l_diversity" in promises[1]:
        assert all(len({WORKING[number][3] for number in members}) >= 2 for members in classes.values())


IN_EUROPE = {"Europe": ["EU", "UK"], "EU": ["Germany", "Spain"]} | {country: towns for country, towns in TREE.items() if country != "Europe"}
K, L, T = {"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "diagnosis", "l": 2}}, {"t_closeness": {"column": "diagnosis", "t": 0.223}}
# the printed tables lose 0.483, 0.594 and 0.611; docs/benchmarks.md shows all of it
LOSSES = {
    ("mondrian", "k"): 0.438,
    ("mondrian", "l"): 0.438,
    ("mondrian", "t"): 0.648,
    ("castle", "k"): 0.438,
    ("castle", "l"): 0.824,
    ("castle", "t"): 0.824,
    ("microaggregation", "k"): 0.438,
    ("microaggregation", "l"): 0.438,
    ("microaggregation", "t"): 1.0,
}


@pytest.mark.parametrize(("search", "promised"), LOSSES)
def test_the_loss_of_the_working_example_is_the_one_that_is_told(search: str, promised: str) -> None:
    columns = {
        "name": {"role": "identifier"},
        "residency": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": IN_EUROPE}}},
        "age": {"role": "quasi_identifier"},
        "diagnosis": {"role": "sensitive"},
    }
    promises = {"k": [K], "l": [K, L], "t": [K, L, T]}[promised]
    way: dict[str, Any] = {"algorithm": {"castle": {"delta": 8, "beta": 3}}} if search == "castle" else {"algorithm": search, "window": {"count": 9}}
    session = sfumato.stream({"subject": "name", "columns": columns, "promises": promises, **way}, secret=bytes(32))

    session.push([dict(zip(columns, row, strict=True)) for row in WORKING])
    session.flush()

    assert session.accounts == Accounts(released=9)
    assert session.measured()["loss"] == pytest.approx(LOSSES[search, promised], abs=5e-4)

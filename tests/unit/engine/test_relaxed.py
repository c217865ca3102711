"""Overlapping boxes on their way through the engine: what is told of them, what they are refused for, and where strict boxes cannot follow."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.explain import explain
from sfumato.engine.plan import make_plan
from sfumato.errors import PolicyError

RELAXED = {"mondrian": {"relaxed": True}}
# nine of ten are 40 years old and live in Bonn; the others are spread
TIED = pa.table({"age": [40] * 180 + list(range(20, 40)), "town": ["Bonn"] * 180 + ["Ulm", "Kiel"] * 10, "ill": ["flu", "cold"] * 100})
COLUMNS = {"age": {"role": "quasi_identifier"}, "town": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}}


def policy(k: int = 25, **others: Any) -> dict[str, Any]:
    return {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": k}}], **others}


def classes(table: pa.Table) -> Counter[tuple[str, str]]:
    return Counter(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))


def test_where_most_rows_are_alike_boxes_are_cut_that_strict_ones_cannot_be() -> None:
    strict, relaxed = sfumato.run(policy(), data=TIED), sfumato.run(policy(algorithm=RELAXED), data=TIED)

    assert classes(strict.table) == {("[20, 40]", "*"): 200}
    found = classes(relaxed.table)
    assert min(found.values()) >= 25
    # only as many of the many as the few need are published like them
    assert found["40", "Bonn"] >= 150
    assert relaxed.record.measures["after"]["loss"] < strict.record.measures["after"]["loss"] / 3


def test_the_record_says_what_strict_boxes_would_have_lost_as_it_tells_the_loss_itself() -> None:
    relaxed, strict = (sfumato.run(policy(algorithm=algorithm), data=TIED).record for algorithm in (RELAXED, "mondrian"))
    losses = [record.measures["after"]["loss"] for record in (strict, relaxed)]

    assert relaxed.notes[-1] == (
        f"strict Mondrian would have lost {losses[0]:.2%}, relaxed lost {losses[1]:.2%}: rows that are alike may be published differently"
    )
    assert not any("strict" in note for note in strict.notes)


def test_the_record_says_so_where_nothing_was_gained() -> None:
    # four values of three rows: strict boxes show each as it is, and halves part them
    table = pa.table({"age": [1] * 3 + [2] * 3 + [3] * 3})
    asked = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 3}}], "algorithm": RELAXED}

    note = sfumato.run(asked, data=table).record.notes[-1]

    assert note.startswith("strict Mondrian would have lost 0.00%, relaxed lost ")
    assert note.endswith("rows that are alike may be published differently; nothing was gained by it, leave relaxed out")


@pytest.mark.parametrize("limit", [0.1, 0.5])
def test_a_loss_beside_suppressed_rows_is_that_of_the_record(limit: float) -> None:
    rows = 60
    rng = np.random.default_rng(4)
    ages = np.where(rng.random(rows) < 0.6, 30, rng.integers(20, 60, rows))
    table = pa.table({"age": ages, "town": rng.choice(["Bonn", "Ulm", "Kiel"], rows, p=[0.8, 0.15, 0.05]), "ill": ["flu"] * rows})
    columns = COLUMNS | {"town": {"role": "quasi_identifier", "level": {"maximum": 0}}}
    record = sfumato.run(policy(4, columns=columns, algorithm=RELAXED, suppression_limit=limit), data=table).record

    assert record.rows.suppressed != 0
    assert f"relaxed lost {record.measures['after']['loss']:.2%}" in "\n".join(record.notes)


def test_the_plan_says_in_words_what_overlapping_boxes_are() -> None:
    told = explain(make_plan(policy(algorithm=RELAXED), TIED))

    (words,) = [step for step in told if step.startswith("Let boxes overlap")]
    assert "rows that are alike may be published differently" in words
    assert "Relaxed sometimes loses more than strict: where boxes overlap the run measures both" in words
    assert not any(step.startswith("Let boxes overlap") for step in explain(make_plan(policy(), TIED)))


def test_two_runs_deal_out_other_rows_to_the_same_classes() -> None:
    table = TIED.append_column("row", pa.array([f"row {number}" for number in range(200)]))
    columns = COLUMNS | {"row": {"role": "other", "accept": "singling_out"}}
    one, other = (sfumato.run(policy(columns=columns, algorithm=RELAXED), data=table).table for _ in range(2))

    assert classes(one) == classes(other)
    assert {row["row"] for row in one.to_pylist() if row["town"] == "Bonn"} != {row["row"] for row in other.to_pylist() if row["town"] == "Bonn"}


def test_rows_of_one_person_are_not_dealt_out() -> None:
    table = TIED.append_column("person", pa.array(range(200)))
    asked = policy(columns=COLUMNS | {"person": {"role": "identifier"}}, subject="person", algorithm=RELAXED)

    with pytest.raises(PolicyError) as raised:
        sfumato.run(asked, data=table)

    assert [(mistake.key, mistake.code) for mistake in raised.value.mistakes] == [("algorithm", "policy-relaxed")]


def test_levels_bound_overlapping_boxes_too() -> None:
    tree = {"taxonomy": {"tree": {"Root": ["South", "North"], "South": ["Bonn", "Ulm"], "North": ["Kiel", "Lübeck"]}}}
    towns = ["Bonn"] * 60 + ["Ulm"] * 4 + ["Kiel"] * 50 + ["Lübeck"] * 3 + ["Bonn"] * 3
    table = pa.table({"age": list(range(20, 30)) * 12, "town": towns, "ill": ["flu", "cold"] * 60})
    columns = COLUMNS | {"town": {"role": "quasi_identifier", "hierarchy": tree, "level": {"maximum": 1}}}

    found = classes(sfumato.run(policy(5, columns=columns, algorithm=RELAXED), data=table).table)

    assert {town for _, town in found} <= {"Bonn", "Kiel", "South", "North"}
    assert min(found.values()) >= 5
    # two classes may be enough for the few: Ulm borrows from Bonn
    assert sum(number for (_, town), number in found.items() if town == "South") < 15


def test_what_was_fitted_deals_the_same_table_out_in_the_same_numbers() -> None:
    anonymiser = sfumato.Anonymiser(policy(algorithm=RELAXED))
    fitted = anonymiser.fit_transform(TIED)

    assert classes(anonymiser.transform(TIED)) == classes(fitted)
    assert any("relaxed lost" in note for note in anonymiser.record_.notes)


@pytest.mark.parametrize(
    "promise",
    [{"t_closeness": {"column": "ill", "t": 0.3, "distance": "ordered"}}, {"l_diversity": {"column": "ill", "l": 2, "given": ["ward"]}}],
    ids=["t_closeness", "l_diversity"],
)
def test_promises_that_the_kernel_does_not_know_are_kept_too(promise: dict[str, Any]) -> None:
    table = TIED.append_column("ward", pa.array(["a", "a", "b", "b"] * 50))
    asked = policy(10, columns=COLUMNS | {"ward": {"role": "sensitive"}}, algorithm=RELAXED)

    release = sfumato.run(asked | {"promises": [*asked["promises"], promise]}, data=table)

    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in release.table.to_pylist():
        key = (row["age"], row["town"], *([row["ward"]] if "l_diversity" in promise else []))
        groups.setdefault(key, []).append(row["ill"])
    assert len(classes(release.table)) > 1
    assert min(classes(release.table).values()) >= 10
    if "l_diversity" in promise:
        assert min(len(set(values)) for values in groups.values()) == 2
    else:
        # two values: the distance is that of the share of one of them, which is a half of the table
        assert max(abs(values.count("flu") / len(values) - 0.5) for values in groups.values()) <= 0.3 + 1e-8

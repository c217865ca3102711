"""A seed is for tests, says so, and is refused where it cannot keep what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.plan import make_plans
from sfumato.errors import Mistake, PolicyError
from sfumato.policy.lint import lint
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve
from sfumato.policy.seed import FOR_TESTS
from sfumato.policy.views import resolve_views

PEOPLE = pa.table({"age": [str(20 + place % 7) for place in range(300)], "pay": [str(place) for place in range(300)]})


def relaxed(seed: int) -> dict[str, Any]:
    return {
        "seed": {"for_tests": seed},
        "columns": {"age": {"role": "quasi_identifier"}, "pay": {"role": "other", "mask": {"noise": {"amount": 3}}}},
        "promises": [{"k_anonymity": {"k": 3}}],
        "algorithm": {"mondrian": {"relaxed": True}},
    }


def mistakes(policy: Any) -> list[Mistake]:
    with pytest.raises(PolicyError) as error:
        resolve(load(policy))
    return list(error.value.mistakes)


def test_a_bare_number_is_refused_with_the_line_that_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("columns: {a: {role: other}}\nseed: 7\n")
    (found,) = mistakes(path)
    hint = "seed: {for_tests: 7}, where the release is for tests and may protect nobody"
    assert found == Mistake("seed", "must be a mapping of keys to values", "policy-value", hint, 2)


@pytest.mark.parametrize("number", [-1, 2**64, "seven", 1.5])
def test_what_is_no_number_is_no_seed(number: Any) -> None:
    (found,) = mistakes({"columns": {"a": {"role": "other"}}, "seed": {"for_tests": number}})
    assert found.key == "seed.for_tests"


def test_boxes_that_overlap_are_dealt_out_by_the_seed() -> None:
    one, again, other = (sfumato.run(relaxed(seed), data=PEOPLE).table for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_every_view_has_chance_of_its_own() -> None:
    policy = {"seed": {"for_tests": 1}, "columns": {"pay": {"role": "other", "mask": {"noise": {"amount": 3}}}, "age": {"role": "identifier"}}}
    policy["views"] = {"one": {}, "two": {}}
    found = sfumato.run(policy, data=PEOPLE)
    again = sfumato.run(policy, data=PEOPLE)
    assert found["one"].table.equals(again["one"].table)
    assert not found["one"].table.equals(found["two"].table)


def test_an_anonymiser_gives_the_same_again() -> None:
    pair = [sfumato.Anonymiser(policy=relaxed(1)).fit(PEOPLE).transform(PEOPLE) for _ in range(2)]
    assert pair[0].equals(pair[1])
    assert not pair[0].equals(sfumato.Anonymiser(policy=relaxed(2)).fit(PEOPLE).transform(PEOPLE))


def test_rows_are_in_another_order_under_another_seed() -> None:
    policy = {"columns": {"pay": {"role": "other"}, "age": {"role": "other", "mask": "constant"}}, "accept": "singling_out"}
    orders = [np.array(sfumato.run(policy | {"seed": {"for_tests": seed}}, data=PEOPLE).table.column("pay")) for seed in (1, 1, 2)]
    assert (orders[0] == orders[1]).all()
    assert (orders[0] != orders[2]).any()


def test_check_and_plan_say_what_it_means() -> None:
    assert lint(resolve_views(load(relaxed(1))).views, accepted=False)[0] == Mistake(
        "seed", FOR_TESTS, "lint-seed", "leave it out of what is published"
    )
    plan = sfumato.plan(relaxed(1), data=PEOPLE)
    assert plan.steps[0] == f"Mind that {FOR_TESTS}."
    assert plan.settings["seed"] == {"for_tests": 1}


def test_the_summary_begins_with_what_a_seed_means(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    (tmp_path / "people.csv").write_text("name\nann\nbob\n")
    (tmp_path / "policy.yaml").write_text("source: people.csv\nseed: {for_tests: 7}\ncolumns: {name: {role: other, mask: constant}}\nsink: out.csv\n")
    assert sfumato_command("run", tmp_path / "policy.yaml").stdout.startswith(f"mind that {FOR_TESTS}\npromised and measured")


def test_a_table_of_a_database_has_no_seed(tmp_path: Path) -> None:
    source = {"sql": {"url": f"duckdb:///{tmp_path}/people.duckdb", "table": "people"}}
    (found,) = mistakes(relaxed(1) | {"source": source})
    words = "a seed decides nothing inside a database or Spark, which hand out rows in an order of their own"
    assert found == Mistake("seed", words, "policy-seed", "a file as source, or no seed")
    given = resolve(load({"columns": {"age": {"role": "other"}}, "source": source})).source
    with pytest.raises(PolicyError) as error:
        make_plans(relaxed(1), given)
    assert list(error.value.mistakes) == [found]


def test_a_stream_has_no_seed() -> None:
    with pytest.raises(PolicyError) as error:
        sfumato.stream({"seed": {"for_tests": 1}, "columns": {"pay": {"role": "other"}}, "stream": {}})
    assert [mistake.message for mistake in error.value.mistakes] == ["a stream has no seed: its pieces are cut by the clock"]

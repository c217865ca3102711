"""How an earlier module for k-anonymity failed: each of its failures, tried here."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.errors import DataError

QUASI: dict[str, Any] = {"role": "quasi_identifier"}


def classes(table: pa.Table, names: list[str]) -> list[int]:
    counted = table.group_by(names).aggregate([([], "count_all")])
    return counted["count_all"].to_pylist()


def census(rows: int, seed: int) -> pa.Table:
    chance = np.random.default_rng(seed)

    def skewed(size: int) -> NDArray[np.int64]:
        return np.minimum(chance.geometric(0.2, rows) - 1, size - 1)

    return pa.table(
        {
            "age": chance.integers(17, 91, rows),
            "job": [f"job {number}" for number in skewed(12)],
            "country": [f"country {number}" for number in skewed(40)],
            "hours": skewed(99),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_datafly_publishes_no_small_class_where_it_stops(k: int, seed: int, limit: float) -> None:
    # it stopped when at most k rows were left in small classes, and wrote these too
    table = census(500, seed)
    policy = {
        "columns": dict.fromkeys(table.column_names, QUASI),
        "promises": [{"k_anonymity": {"k": k}}],
        "algorithm": "datafly",
        "suppression_limit": limit,
    }
    release = sfumato.run(policy, table)

    assert min(classes(release.table, table.column_names)) >= k
    assert release.table.num_rows >= 500 * (1 - limit)


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian"])
def test_ranges_are_put_in_order_as_numbers_and_no_row_is_in_two(algorithm: str) -> None:
    # "1736,2000" stood before "324,703": 1,200 rows came out of 1,000
    chance = np.random.default_rng(7)
    table = pa.table({"pay": chance.integers(1, 2001, 1000), "name": [f"P{number}" for number in range(1000)]})
    policy = {
        "columns": {"pay": QUASI, "name": {"role": "other"}},
        "promises": [{"k_anonymity": {"k": 10}}],
        "algorithm": algorithm,
        "accept": "singling_out",
    }
    release = sfumato.run(policy, table).table

    assert release.num_rows == 1000
    pay = dict(zip(table["name"].to_pylist(), table["pay"].to_pylist(), strict=True))
    ranges = set()
    for row in release.to_pylist():
        low, high = (int(end) for end in row["pay"].strip("[]").split(", ")) if "," in row["pay"] else (int(row["pay"]),) * 2
        assert low <= pay[row["name"]] <= high
        ranges.add((low, high))
    ordered = sorted(ranges)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ordered))


def test_instants_that_cannot_be_split_end_the_search() -> None:
    # fifteen of twenty are the same: it recursed without an end
    instants = [f"2020-01-01T00:00:{second:02d}" for second in [0] * 15 + [1, 2, 3, 4, 5]]
    release = sfumato.run({"columns": {"seen": QUASI}, "promises": [{"k_anonymity": {"k": 8}}]}, pa.table({"seen": instants}))

    assert release.table.num_rows == 20
    assert min(classes(release.table, ["seen"])) >= 8


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian"])
@pytest.mark.parametrize("value", [0, 7, None, "all the same"])
def test_a_column_that_is_the_same_everywhere_breaks_nothing(algorithm: str, value: Any) -> None:
    # it made a number of nothing, and divided by the width of the column
    table = pa.table({"same": [value] * 100, "age": list(range(100))})
    policy = {"columns": {"same": QUASI, "age": QUASI}, "promises": [{"k_anonymity": {"k": 5}}], "algorithm": algorithm}
    release = sfumato.run(policy, table)

    assert release.table.num_rows == 100
    assert min(classes(release.table, ["same", "age"])) >= 5
    assert 0 <= release.record.measures["after"]["gcp"] <= 1


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian"])
def test_fractions_and_missing_values_are_in_a_class_too(algorithm: str) -> None:
    # bounds were cut to whole numbers, and rows beyond them and without a value fell off
    chance = np.random.default_rng(3)
    table = pa.table({"dose": [None if number % 9 == 0 else round(float(chance.random()) * 3 - 1, 3) for number in range(300)]})
    release = sfumato.run({"columns": {"dose": QUASI}, "promises": [{"k_anonymity": {"k": 10}}], "algorithm": algorithm}, table)

    assert release.table.num_rows == 300
    assert min(classes(release.table, ["dose"])) >= 10


def test_a_value_that_no_tree_has_is_an_error_and_no_lost_row(tmp_path: Path) -> None:
    policy = {
        "columns": {"country": {**QUASI, "hierarchy": {"taxonomy": {"tree": {"*": ["France", "Spain"]}}}}},
        "promises": [{"k_anonymity": {"k": 2}}],
        "sink": str(tmp_path / "out.csv"),
    }
    with pytest.raises(DataError) as caught:
        sfumato.run(policy, pa.table({"country": ["France", "France", "Atlantis", "Spain"]}))

    assert "Atlantis" not in caught.value.sentence()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian"])
def test_quotes_in_values_and_names_are_only_characters(algorithm: str, tmp_path: Path) -> None:
    countries = ["Cote d'Ivoire", 'the "Republic"', "a;b", "'); drop table people; --"]
    name = "country'); --"
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[name], *([countries[number % 4]] for number in range(40))])
    policy = {
        "source": str(tmp_path / "in.csv"),
        "columns": {name: QUASI},
        "promises": [{"k_anonymity": {"k": 5}}],
        "algorithm": algorithm,
        "sink": str(tmp_path / "out.csv"),
    }
    sfumato.run(policy)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))

    assert rows[0] == [name]
    assert sorted(row[0] for row in rows[1:]) == sorted(countries * 10)


def test_addresses_are_as_wide_as_their_networks_and_may_be_of_either_kind() -> None:
    # all had the width 1, so that they were split first and lost everything
    table = pa.table({"client": [f"10.0.{number % 4}.{number}" for number in range(100)] + [f"2001:db8::{number:x}" for number in range(100)]})
    release = sfumato.run({"columns": {"client": {**QUASI, "type": "ip"}}, "promises": [{"k_anonymity": {"k": 5}}]}, table)

    assert min(classes(release.table, ["client"])) >= 5
    assert 0 < release.record.measures["after"]["ncp"]["client"] < 0.5
    assert all(":" in shown or "." in shown for shown in release.table["client"].to_pylist())


def test_two_runs_of_one_process_know_nothing_of_each_other() -> None:
    # the settings were those of the class: the second run had ranges of the first among its values
    first, second = census(300, 1), census(300, 2)
    policy = {"columns": dict.fromkeys(first.column_names, QUASI), "promises": [{"k_anonymity": {"k": 5}}], "algorithm": "datafly"}
    alone = sfumato.run(policy, second).table
    sfumato.run(policy, first)

    assert sfumato.run(policy, second).table.equals(alone)


def test_a_second_run_replaces_what_the_first_one_published(tmp_path: Path) -> None:
    policy = {"columns": {"age": QUASI}, "promises": [{"k_anonymity": {"k": 2}}], "sink": str(tmp_path / "out.csv")}
    for _ in range(2):
        sfumato.run(policy, pa.table({"age": [1, 1, 2, 2]}))

    assert (tmp_path / "out.csv").read_text(encoding="utf-8").count("\n") == 5

"""The Adult extract (30,162 rows): promises checked on the written text, Datafly against a second one, loss against known values.

Nothing of the package is used here but the run itself: files are read with the standard library.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.core.record import RunRecord

COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class"]
ROWS = 30_162

Row = dict[str, str]


def released(
    adult: Path,
    folder: Path,
    promises: Sequence[Mapping[str, Any]],
    sensitive: str | None = None,
    levels: Mapping[str, int] | None = None,
    **others: Any,
) -> tuple[list[Row], RunRecord]:
    """Run a policy from CSV to CSV; return the written rows, and the record."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        path = str(adult / f"adult_hierarchy_{name}.csv")
        column: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": {"table": {"path": path, "delimiter": ";"}}}
        if levels is not None and name in levels:
            column["level"] = {"minimum": levels[name], "maximum": levels[name]}
        columns[name] = {"role": "sensitive"} if name == sensitive else column
    policy = {
        "source": {"delimited": {"path": str(adult / "adult.csv"), "delimiter": ";"}},
        "columns": columns,
        "promises": list(promises),
        "sink": {"delimited": {"path": str(folder / "release.csv"), "delimiter": ";"}},
    }
    record = sfumato.run(policy | others).record
    return read(folder / "release.csv"), record


def read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def ladder(adult: Path, column: str) -> dict[str, list[str]]:
    """Return the path of each leaf, from itself to the root."""
    with (adult / f"adult_hierarchy_{column}.csv").open(encoding="utf-8", newline="") as file:
        return {path[0]: path for path in csv.reader(file, delimiter=";")}


def classes(rows: Sequence[Row], columns: Sequence[str]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in columns), []).append(row)
    return found


def quasi_identifiers(sensitive: str | None) -> list[str]:
    return [name for name in COLUMNS if name != sensitive]


# --- Mondrian -----------------------------------------------------------------------------------------------------------


def test_mondrian_suppresses_nobody_and_leaves_no_class_below_k(adult: Path, tmp_path: Path) -> None:
    rows, record = released(adult, tmp_path, [{"k_anonymity": {"k": 5}}])
    sizes = [len(members) for members in classes(rows, COLUMNS).values()]

    assert len(rows) == ROWS
    assert (record.rows.in_, record.rows.out, record.rows.suppressed) == (ROWS, ROWS, 0)
    assert min(sizes) >= 5
    assert record.measures["after"]["smallest_class"] == min(sizes)
    assert record.measures["after"]["classes"] == len(sizes) == record.recoding.boxes


def test_overlapping_boxes_lose_less_than_strict_ones(adult: Path, tmp_path: Path) -> None:
    rows, record = released(adult, tmp_path, [{"k_anonymity": {"k": 10}}], algorithm={"mondrian": {"relaxed": True}})
    sizes = [len(members) for members in classes(rows, COLUMNS).values()]
    _, strict = released(adult, tmp_path, [{"k_anonymity": {"k": 10}}])

    assert len(rows) == ROWS
    assert min(sizes) == 10
    # the search is no matter of chance, and so neither is what it loses
    assert (round(strict.measures["after"]["loss"], 4), strict.recoding.boxes) == (0.1174, 1887)
    assert (round(record.measures["after"]["loss"], 4), record.recoding.boxes) == (0.1005, 2382)
    assert record.notes == ["strict Mondrian would have lost 11.74%, relaxed lost 10.05%: rows that are alike may be published differently"]


def test_overlapping_boxes_keep_promises_about_occupations(adult: Path, tmp_path: Path) -> None:
    promises = [{"k_anonymity": {"k": 10}}, {"l_diversity": {"column": "occupation", "l": 3}}]
    rows, record = released(adult, tmp_path, promises, sensitive="occupation", algorithm={"mondrian": {"relaxed": True}})
    found = classes(rows, quasi_identifiers("occupation")).values()

    assert len(rows) == ROWS
    assert min(map(len, found)) >= 10
    assert record.promises[1].measured == min(len({row["occupation"] for row in members}) for members in found) >= 3
    assert Counter(row["occupation"] for row in rows) == Counter(row["occupation"] for row in read(adult / "adult.csv"))


def test_every_published_label_stands_for_enough_originals(adult: Path, tmp_path: Path) -> None:
    # the rows published at or below a label must be among the originals below it: without the link, their number can be compared
    rows, _ = released(adult, tmp_path, [{"k_anonymity": {"k": 5}}])
    originals = read(adult / "adult.csv")

    for name in COLUMNS:
        paths = ladder(adult, name)
        above = {label: path[place:] for path in paths.values() for place, label in enumerate(path)}
        below = Counter(label for row in originals for label in set(paths[row[name]]))
        published = Counter(label for row in rows for label in set(above[row[name]]))
        assert all(published[label] <= below[label] for label in published), name
        assert published["*"] == below["*"] == ROWS


def test_mondrian_leaves_three_occupations_in_every_class(adult: Path, tmp_path: Path) -> None:
    promises = [{"k_anonymity": {"k": 5}}, {"l_diversity": {"column": "occupation", "l": 3}}]
    rows, record = released(adult, tmp_path, promises, sensitive="occupation")
    found = classes(rows, quasi_identifiers("occupation")).values()
    fewest = min(len({row["occupation"] for row in members}) for members in found)

    assert min(map(len, found)) >= 5
    assert fewest >= 3
    assert record.promises[1].measured == fewest
    assert Counter(row["occupation"] for row in rows) == Counter(row["occupation"] for row in read(adult / "adult.csv"))


def test_mondrian_leaves_every_class_close_to_the_table(adult: Path, tmp_path: Path) -> None:
    promises = [{"k_anonymity": {"k": 5}}, {"t_closeness": {"column": "occupation", "t": 0.2}}]
    rows, record = released(adult, tmp_path, promises, sensitive="occupation")
    table = Counter(row["occupation"] for row in read(adult / "adult.csv"))
    found = list(classes(rows, quasi_identifiers("occupation")).values())
    farthest = max(distance(Counter(row["occupation"] for row in members), table) for members in found)

    assert min(map(len, found)) >= 5
    assert len(found) > 1
    assert farthest <= 0.2 + 1e-9
    assert record.promises[1].measured == pytest.approx(farthest, abs=1e-9)


def distance(one: Counter[str], other: Counter[str]) -> float:
    """Return half the sum of the differences of shares."""
    return sum(abs(one[value] / one.total() - other[value] / other.total()) for value in other) / 2


# --- Datafly ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("k", "limit"), [(5, 0.05), (5, 0.0), (50, 0.01)])
def test_datafly_chooses_the_levels_of_a_second_datafly(adult: Path, tmp_path: Path, k: int, limit: float) -> None:
    levels, kept = plain_datafly(adult, k, int(limit * ROWS))

    rows, record = released(adult, tmp_path, [{"k_anonymity": {"k": k}}], algorithm="datafly", suppression_limit=limit)

    assert record.recoding.levels == dict(zip(COLUMNS, levels, strict=True))
    assert Counter(tuple(row[name] for name in COLUMNS) for row in rows) == kept


def plain_datafly(adult: Path, k: int, suppressible: int) -> tuple[list[int], Counter[tuple[str, ...]]]:
    """Return the levels, and how many rows each published combination has: Sweeney's algorithm, row by row.

    The column with the most distinct values goes up one level, the first of several, until few enough rows are in classes below k.
    """
    paths = [ladder(adult, name) for name in COLUMNS]
    originals = Counter(tuple(row[name] for name in COLUMNS) for row in read(adult / "adult.csv"))
    heights = [len(next(iter(path.values()))) - 1 for path in paths]
    levels = [0] * len(COLUMNS)
    while True:
        sizes: Counter[tuple[str, ...]] = Counter()
        for combination, number in originals.items():
            sizes[tuple(path[value][level] for path, value, level in zip(paths, combination, levels, strict=True))] += number
        if sum(number for number in sizes.values() if number < k) <= suppressible:
            return levels, Counter({combination: number for combination, number in sizes.items() if number >= k})
        distinct = [len({combination[place] for combination in sizes}) for place in range(len(COLUMNS))]
        open_columns = [place for place, level in enumerate(levels) if level < heights[place]]
        levels[max(open_columns, key=lambda place: (distinct[place], -place))] += 1


# --- loss ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "limit"), [(2, 0.0), (50, 0.0), (10, 0.01), (3, 0.05), (100, 0.05), (25, 0.1), (5, 1.0)])
def test_the_loss_of_given_levels_is_the_known_one(adult: Path, tmp_path: Path, k: int, limit: float) -> None:
    case = known(adult, k=k, suppression_limit=limit, sensitive=None)

    _, record = released(
        adult,
        tmp_path,
        [{"k_anonymity": {"k": k}}],
        levels=dict(zip(COLUMNS, case["levels"], strict=True)),
        algorithm="datafly",
        suppression_limit=limit,
    )

    assert record.measures["after"]["loss"] == pytest.approx(case["loss"], abs=1e-9)
    assert record.rows.suppressed == case["suppressed_rows"]


@pytest.mark.parametrize(
    ("k", "limit", "model", "value", "promise"),
    [
        (5, 0.0, "distinct_l_diversity", 3.0, {"l_diversity": {"l": 3}}),
        (3, 0.05, "distinct_l_diversity", 3.0, {"l_diversity": {"l": 3}}),
        (5, 0.02, "entropy_l_diversity", 3.0, {"l_diversity": {"l": 3, "kind": "entropy"}}),
        (3, 0.05, "recursive_c_l_diversity", "4:3", {"l_diversity": {"l": 3, "kind": "recursive", "c": 4}}),
        (5, 0.02, "t_closeness_equal", 0.3, {"t_closeness": {"t": 0.3}}),
    ],
)
def test_a_sensitive_column_is_left_over_as_often_as_is_known(
    adult: Path, tmp_path: Path, k: int, limit: float, model: str, value: float | str, promise: dict[str, dict[str, Any]]
) -> None:
    case = known(adult, k=k, suppression_limit=limit, sensitive="occupation", model=model, value=value)
    ((name, settings),) = promise.items()

    _, record = released(
        adult,
        tmp_path,
        [{"k_anonymity": {"k": k}}, {name: {"column": "occupation", **settings}}],
        sensitive="occupation",
        levels=dict(zip(quasi_identifiers("occupation"), case["levels"], strict=True)),
        algorithm="datafly",
        suppression_limit=limit,
    )

    assert record.measures["after"]["loss"] == pytest.approx(case["loss"], abs=1e-9)
    assert record.rows.suppressed == case["suppressed_rows"]


def known(adult: Path, **wanted: Any) -> dict[str, Any]:
    """Return the case of the known optima that has these settings."""
    cases = json.loads((adult / "known_optima.json").read_text(encoding="utf-8"))["cases"]
    (case,) = [case for case in cases if all(case.get(key) == value for key, value in wanted.items())]
    found: dict[str, Any] = case
    return found

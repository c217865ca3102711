from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sfumato.core.hierarchy import Hierarchy
from sfumato.hierarchies.automatic import Automatic


def build(counts: Mapping[str, int]) -> Hierarchy:
    values = sorted(counts)
    return Automatic().build("column", pa.array(values, pa.string()), np.array([counts[value] for value in values], np.int64))


def labels(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    return [level.labels for level in hierarchy.levels]


def test_numbers_get_nested_intervals() -> None:
    ages = Automatic().build("age", pa.array([17, 21, 30, 38]), np.ones(4, np.int64))

    assert ages.ordered
    assert labels(ages) == [("[17, 21]", "[30, 38]"), ("*",)]


def test_numbers_are_divided_by_their_rows_not_by_their_range() -> None:
    incomes = Automatic().build("income", pa.array([1, 2, 3, 4, 5, 1000, 5000, 9000]), np.array([25, 25, 25, 25, 96, 2, 1, 1]))

    assert labels(incomes)[-2] == ("[1, 4]", "[5, 9000]")
    sizes = [len(level.starts) for level in incomes.levels]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[0] < 8


def test_dates_get_intervals_where_they_are_asked_for() -> None:
    days = pa.array(["1984-05-17", "1984-05-30", "1991-01-01", "1991-01-02"]).cast(pa.date32())

    assert not Automatic().build("born", days, np.ones(4, np.int64)).ordered
    assert labels(Automatic(intervals=True).build("born", days, np.ones(4, np.int64)))[0] == ("[1984-05-17, 1984-05-30]", "[1991-01-01, 1991-01-02]")


def test_a_few_postcodes_are_codes_and_a_few_short_names_are_not() -> None:
    assert labels(build({"10961": 5, "10969": 5, "12047": 5}))[0] == ("1096*", "1204*")
    assert labels(build({"T1": 5, "T2": 5, "N0": 5})) == [("*",)]


def test_numbers_that_are_declared_to_be_text_get_no_intervals() -> None:
    assert not build({"17": 1, "21": 1}).ordered


def test_few_categories_stand_directly_below_the_root() -> None:
    assert labels(build({"red": 90, "blue": 1, "green": 1})) == [("*",)]


def test_codes_get_prefixes() -> None:
    zips = build({f"{number:05d}": 1 for number in range(0, 40_000, 1_000)})

    assert labels(zips)[-2] == ("0****", "1****", "2****", "3****")


def test_codes_of_letters_and_digits_get_prefixes() -> None:
    assert labels(build({f"SW{number} {number % 9}AB": 1 for number in range(10, 60)}))[-2] == ("S*******",)


def test_words_are_no_codes() -> None:
    assert labels(build({f"{letter}word": 1 for letter in "abcdefghijklmnopqrstuvwxyz"}))[-2][0].endswith("values)")


def test_frequent_categories_stay_themselves_and_rare_ones_are_gathered() -> None:
    countries = {"United States": 900, "Mexico": 60} | {f"{letter}land": 2 for letter in "ABCDEFGHIJKLMNOPQRST"}

    built = build(countries)

    assert labels(built) == [("Mexico", "United States", "A to E (5 values)", "F to J (5 values)", "K to O (5 values)", "P to T (5 values)"), ("*",)]
    assert built.leaves.to_pylist()[:3] == ["Mexico", "United States", "Aland"]


def test_many_groups_are_gathered_to_larger_ones() -> None:
    built = build({f"{first}{second}-word": 1 for first in "abcdefghijklmnopqrst" for second in "abcdefghij"})

    assert [len(level.labels) for level in built.levels] == [100, 10, 1]
    assert built.levels[1].labels[0] == "a to b (20 values)"


def test_labels_of_groups_hold_no_value_and_differ_from_all_values() -> None:
    words = {f"s{number}-name": 1 for number in range(100, 400)} | {"s... (3 values)": 1}
    built = build(words)

    groups = [label for level in built.levels[:-1] for label in level.labels]
    assert len(set(groups)) == len(groups)
    assert not any(value in label for label in groups for value in words)


def test_a_group_of_one_is_called_like_its_value() -> None:
    built = build({f"{letter}word": 50 for letter in "abcdefghijklmnopqrstuvwxyz"} | {"lonely": 1})

    assert "lonely" not in [label for level in built.levels[:-1] for label in level.labels if label.endswith("values)")]
    assert built.node_label(1, int(built.groups(1)[-1])) == "lonely" or built.height == 1


def test_a_column_of_missing_values_has_the_root_alone() -> None:
    assert labels(build({})) == [("*",)]

"""The generated people are as different, and as alike, as people are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.generators._census_tables import COUNTRIES, EDUCATIONS, INCOMES, MARITAL_STATUSES, OCCUPATIONS
from sfumato.generators.census import Census
from sfumato.hierarchies.taxonomy import Taxonomy


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return Census().table(60_000, seed=3)


def share(people: pa.Table, wanted: pc.Expression, among: pc.Expression) -> float:
    """Return how many of some have a property."""
    some = people.filter(among)
    return len(some.filter(wanted)) / len(some)


def distinct(people: pa.Table, column: str) -> int:
    return int(pc.count_distinct(people[column]).as_py())


def test_there_are_many_categories_and_nothing_is_missing(people: pa.Table) -> None:
    assert distinct(people, "occupation") == 14
    assert distinct(people, "education") == 16
    assert distinct(people, "native_country") > 30
    assert distinct(people, "zip") > 1000
    assert sum(column.null_count for column in people.columns) == 0


def test_a_few_towns_hold_many_people(people: pa.Table) -> None:
    counts = np.sort(pc.value_counts(people["zip"]).field("counts").to_numpy())
    assert counts[-100:].sum() > 0.4 * len(people)


def test_nobody_has_a_degree_before_there_was_time_for_it(people: pa.Table) -> None:
    degree = pc.field("education").isin(["Bachelor", "Master", "Professional degree", "Doctorate"])
    assert share(people, degree, pc.field("age") < 19) == 0
    assert share(people, degree, (pc.field("age") >= 30) & (pc.field("age") < 60)) > 0.2


def test_marital_status_depends_on_age(people: pa.Table) -> None:
    single = pc.field("marital_status") == "Never married"
    widowed = pc.field("marital_status") == "Widowed"
    assert share(people, single, pc.field("age") < 25) > 0.7
    assert share(people, single, pc.field("age") >= 50) < 0.15
    assert share(people, widowed, pc.field("age") >= 65) > 10 * share(people, widowed, pc.field("age") < 50)


def test_occupation_depends_on_education_and_sex(people: pa.Table) -> None:
    profession = pc.field("occupation") == "Profession"
    craft = pc.field("occupation") == "Craft and repair"
    assert share(people, profession, pc.field("education") == "Master") > 10 * share(
        people, profession, pc.field("education") == "School certificate"
    )
    assert share(people, craft, pc.field("sex") == "Male") > 4 * share(people, craft, pc.field("sex") == "Female")


def test_income_depends_on_education_occupation_hours_and_age(people: pa.Table) -> None:
    good = pc.field("income").isin(INCOMES[3:])
    assert share(people, good, pc.field("education") == "Doctorate") > 3 * share(people, good, pc.field("education") == "School certificate")
    assert share(people, good, pc.field("occupation") == "Management") > 3 * share(people, good, pc.field("occupation") == "Labouring")
    assert share(people, good, pc.field("hours_per_week") > 45) > 2 * share(people, good, pc.field("hours_per_week") < 30)
    assert share(people, good, pc.field("age") > 40) > 2 * share(people, good, pc.field("age") < 25)


def test_race_depends_on_where_somebody_was_born(people: pa.Table) -> None:
    assert share(people, pc.field("race") == "Asian", pc.field("native_country") == "Vietnam") > 0.7
    assert share(people, pc.field("race") == "Asian", pc.field("native_country") == "Germany") < 0.1


@pytest.mark.parametrize(
    ("taxonomy", "categories"),
    [("education", EDUCATIONS), ("occupation", OCCUPATIONS), ("marital_status", MARITAL_STATUSES), ("country", COUNTRIES)],
)
def test_the_taxonomies_of_the_example_know_every_category_and_no_other(taxonomy: str, categories: tuple[str, ...]) -> None:
    path = Path(__file__).parents[3] / "examples" / "census" / f"{taxonomy}.txt"
    built = Taxonomy(path=str(path)).build(taxonomy, pa.array([], pa.string()), np.empty(0, np.int64))
    assert sorted(built.values.to_pylist()) == sorted(categories)

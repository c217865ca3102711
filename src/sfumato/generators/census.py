"""Working people, in the manner of a census extract.

Nobody in it exists. Education and marital status depend on age, occupation on education and sex, the class of work on occupation, hours on
sex, age and class of work, income on all of them, race on where somebody was born, and a few towns hold most people.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.generators._census_tables import (
    AGES,
    COUNTRIES,
    COUNTRY_WEIGHTS,
    EDUCATION_BY_AGE,
    EDUCATION_GROUP,
    EDUCATION_WORTH,
    EDUCATIONS,
    INCOME_BORDERS,
    INCOMES,
    MARITAL_BY_AGE,
    MARITAL_STATUSES,
    OCCUPATION_BY_EDUCATION,
    OCCUPATION_TILT,
    OCCUPATION_WORTH,
    OCCUPATIONS,
    RACE_BY_REGION,
    RACES,
    REGION_OF,
    SEXES,
    WIDOWED,
    WORKCLASS_BY_OCCUPATION,
    WORKCLASSES,
    ZIPS,
)
from sfumato.generators._rows import Codes, Rows, choose, choose_freely, long_tail, texts

YOUNGEST = 17
# the first age of each band but the first
_EDUCATION_BANDS = np.array([19, 22, 25, 45, 65])
_MARITAL_BANDS = np.array([25, 35, 50, 65])


class Census(Rows):
    """Working people: age, sex, race, marital status, education, occupation, class of work, country, zip, hours and income.

    Cost: about a second for a million rows.

    >>> Census().table(2, seed=1).column_names[:4]
    ['person_id', 'age', 'sex', 'race']
    """

    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk."""
        rows = len(numbers)
        age = YOUNGEST + choose_freely(random, AGES, rows)
        sex = choose_freely(random, np.array([47.0, 53.0]), rows)
        country = choose_freely(random, COUNTRY_WEIGHTS, rows)
        education = choose(random, EDUCATION_BY_AGE, np.searchsorted(_EDUCATION_BANDS, age, side="right"))
        occupation = choose(random, _occupation_weights(), EDUCATION_GROUP[education] * len(SEXES) + sex)
        workclass = choose(random, WORKCLASS_BY_OCCUPATION, occupation)
        hours = _hours(random, age, sex, workclass)
        return {
            "person_id": pa.array(numbers + 1),
            "age": pa.array(age),
            "sex": texts(SEXES, sex),
            "race": texts(RACES, choose(random, RACE_BY_REGION, REGION_OF[country])),
            "marital_status": texts(MARITAL_STATUSES, _marital(random, age, sex)),
            "education": texts(EDUCATIONS, education),
            "occupation": texts(OCCUPATIONS, occupation),
            "workclass": texts(WORKCLASSES, workclass),
            "native_country": texts(COUNTRIES, country),
            "zip": texts(ZIPS, choose_freely(random, long_tail(len(ZIPS)), rows)),
            "hours_per_week": pa.array(hours),
            "income": texts(INCOMES, _income(random, age, education, occupation, hours)),
        }


def _occupation_weights() -> NDArray[np.float64]:
    """Return a line for each group of educations and each sex."""
    tilt = np.stack([OCCUPATION_TILT, 1.0 / OCCUPATION_TILT])
    lines: NDArray[np.float64] = OCCUPATION_BY_EDUCATION[:, None, :] * tilt[None, :, :]
    return lines.reshape(-1, len(OCCUPATIONS))


def _marital(random: np.random.Generator, age: Codes, sex: Codes) -> Codes:
    """Women live longer: more of them are widowed."""
    men = MARITAL_BY_AGE.copy()
    men[:, WIDOWED] *= 0.3
    lines = np.stack([MARITAL_BY_AGE, men], axis=1).reshape(-1, len(MARITAL_STATUSES))
    return choose(random, lines, np.searchsorted(_MARITAL_BANDS, age, side="right") * len(SEXES) + sex)


def _hours(random: np.random.Generator, age: Codes, sex: Codes, workclass: Codes) -> Codes:
    """Half of all people work 40 hours; the young, the old and women fewer, the self-employed more."""
    usual = 38.0 + 2.5 * sex + 5.0 * np.char.startswith(np.array(WORKCLASSES), "Self")[workclass]
    usual -= 12.0 * (age < 20) + 6.0 * (age >= 62) + 8.0 * (age >= 70)
    hours: Codes = np.clip(np.round(random.normal(usual, 10.0)), 4, 99).astype(np.int64)
    hours[(random.random(len(age)) < 0.5) & (age >= 20) & (age < 66)] = 40
    return hours


def _income(random: np.random.Generator, age: Codes, education: Codes, occupation: Codes, hours: Codes) -> Codes:
    """Return the band of a yearly income that is a product of all that it depends on, with chance as one more factor."""
    experience = 1.0 - ((np.minimum(age, 70) - 50) / 62.0) ** 2
    yearly = 21_000 * EDUCATION_WORTH[education] * OCCUPATION_WORTH[occupation] * experience * (hours / 40.0)
    band: Codes = np.searchsorted(INCOME_BORDERS, yearly * random.lognormal(0.0, 0.3, len(age)), side="right")
    return band

"""What the people of the census can be, and how likely each is given what. All of it is invented, none of it estimated from data."""

from __future__ import annotations

import numpy as np

# from 17 to 90: rising to the late thirties, few after the pension age
AGES = np.interp(np.arange(17, 91), [17, 22, 30, 42, 55, 65, 70, 90], [2.0, 7.5, 9.0, 9.5, 7.0, 3.0, 1.2, 0.1])

SEXES = ("Female", "Male")

RACES = ("White", "Black", "Asian", "Indigenous", "Mixed", "Other")
# a line a region of birth: home, Europe, Asia, Americas, Africa
RACE_BY_REGION = np.array(
    [
        [78.0, 12.0, 3.0, 1.2, 4.0, 1.8],
        [93.0, 2.0, 2.0, 0.0, 2.0, 1.0],
        [5.0, 0.5, 88.0, 0.0, 3.0, 3.5],
        [48.0, 14.0, 1.0, 9.0, 18.0, 10.0],
        [9.0, 84.0, 3.0, 0.0, 3.0, 1.0],
    ]
)

_COUNTRIES = {
    "home": {"United States": 870.0},
    "Europe": {
        "Germany": 7.0, "England": 6.0, "Poland": 4.0, "Italy": 4.0, "France": 3.0, "Portugal": 2.5, "Ireland": 2.0, "Greece": 1.8,
        "Ukraine": 2.2, "Romania": 1.6, "Hungary": 1.0, "Scotland": 1.0, "Netherlands": 0.8, "Sweden": 0.7,
    },
    "Asia": {
        "Philippines": 12.0, "India": 10.0, "China": 9.0, "Vietnam": 6.0, "South Korea": 5.0, "Japan": 3.0, "Taiwan": 2.5, "Iran": 2.2,
        "Thailand": 1.2, "Cambodia": 1.0, "Laos": 0.8,
    },
    "Americas": {
        "Mexico": 34.0, "Puerto Rico": 8.0, "El Salvador": 7.0, "Cuba": 6.0, "Canada": 6.0, "Jamaica": 5.0, "Dominican Republic": 5.0,
        "Guatemala": 4.0, "Colombia": 4.0, "Haiti": 3.0, "Peru": 2.4, "Ecuador": 2.2, "Nicaragua": 2.0, "Honduras": 1.6,
    },
    "Africa": {"Nigeria": 3.0, "Ethiopia": 2.2, "Ghana": 1.6, "Kenya": 1.2, "Egypt": 1.2, "South Africa": 0.8},
}  # fmt: skip
COUNTRIES = tuple(name for region in _COUNTRIES.values() for name in region)
COUNTRY_WEIGHTS = np.array([weight for region in _COUNTRIES.values() for weight in region.values()])
REGION_OF = np.repeat(np.arange(len(_COUNTRIES)), [len(region) for region in _COUNTRIES.values()])

MARITAL_STATUSES = ("Never married", "Married", "Registered partners", "Married living apart", "Separated", "Divorced", "Widowed")
WIDOWED = MARITAL_STATUSES.index("Widowed")
# a line a band of ages: below 25, 35, 50, 65, and above
MARITAL_BY_AGE = np.array(
    [
        [84.0, 11.0, 2.0, 0.6, 1.2, 1.0, 0.2],
        [42.0, 43.0, 4.0, 1.2, 3.0, 6.4, 0.4],
        [17.0, 58.0, 3.0, 1.6, 4.0, 15.0, 1.4],
        [8.0, 61.0, 2.0, 1.6, 3.0, 18.0, 6.4],
        [5.0, 52.0, 1.0, 1.5, 1.5, 11.0, 28.0],
    ]
)

EDUCATIONS = (
    "No schooling",
    "Primary to year 4",
    "Primary to year 6",
    "Secondary to year 8",
    "Secondary year 9",
    "Secondary year 10",
    "Secondary year 11",
    "Secondary year 12",
    "School certificate",
    "Vocational certificate",
    "Technical diploma",
    "College without degree",
    "Bachelor",
    "Master",
    "Professional degree",
    "Doctorate",
)
# a line a band of ages: below 19, 22, 25, 45, 65, and above; nobody has a degree before there was time for it
EDUCATION_BY_AGE = np.array(
    [
        [0.2, 0.3, 1.0, 5.0, 12.0, 26.0, 30.0, 15.0, 9.0, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0],
        [0.2, 0.3, 0.8, 1.6, 2.0, 3.0, 4.0, 4.0, 38.0, 5.0, 3.0, 38.0, 0.2, 0.0, 0.0, 0.0],
        [0.2, 0.3, 0.8, 1.4, 1.8, 2.2, 3.0, 1.6, 32.0, 6.0, 5.0, 28.0, 17.0, 0.7, 0.0, 0.0],
        [0.2, 0.5, 1.0, 1.4, 1.6, 2.0, 2.8, 1.0, 31.0, 5.0, 4.5, 20.0, 20.0, 6.5, 1.5, 1.0],
        [0.3, 0.9, 1.6, 2.6, 1.8, 2.6, 2.8, 0.9, 31.0, 5.0, 3.6, 18.0, 16.5, 8.5, 2.3, 1.6],
        [1.2, 2.6, 4.5, 11.0, 3.6, 5.0, 3.0, 0.8, 33.0, 3.4, 2.2, 13.0, 9.5, 4.6, 1.7, 0.9],
    ]
)
# less than a certificate, certificate, further training, degree
EDUCATION_GROUP = np.array([0] * 8 + [1] * 1 + [2] * 3 + [3] * 4)
EDUCATION_WORTH = np.array([0.75, 0.78, 0.8, 0.85, 0.88, 0.9, 0.92, 0.95, 1.1, 1.2, 1.3, 1.25, 1.75, 2.1, 2.7, 2.6])

OCCUPATIONS = (
    "Management",
    "Profession",
    "Technical support",
    "Clerical work",
    "Sales",
    "Craft and repair",
    "Machine operation",
    "Transport",
    "Farming and fishing",
    "Labouring",
    "Care and household",
    "Catering and cleaning",
    "Protective service",
    "Armed forces",
)
# a line a group of educations
OCCUPATION_BY_EDUCATION = np.array(
    [
        [3.0, 0.7, 0.7, 6.0, 10.0, 18.0, 14.0, 9.0, 6.0, 13.0, 1.6, 17.0, 1.0, 0.1],
        [9.0, 2.0, 2.0, 15.0, 12.0, 18.0, 10.0, 8.0, 4.0, 7.0, 0.8, 11.0, 2.0, 0.2],
        [14.0, 7.0, 7.0, 17.0, 13.0, 13.0, 4.5, 4.0, 2.2, 3.4, 0.5, 9.0, 3.6, 0.3],
        [27.0, 37.0, 5.0, 9.0, 12.0, 3.0, 1.0, 0.9, 1.4, 0.6, 0.2, 2.4, 1.6, 0.2],
    ]
)
# how much more a woman's than a man's: the square root of the ratio
OCCUPATION_TILT = np.array([0.85, 1.05, 1.05, 1.75, 1.1, 0.3, 0.75, 0.35, 0.35, 0.45, 3.0, 1.35, 0.5, 0.4])
OCCUPATION_WORTH = np.array([1.6, 1.4, 1.2, 0.95, 1.15, 1.1, 0.9, 1.0, 0.75, 0.8, 0.55, 0.65, 1.15, 1.0])

WORKCLASSES = ("Private company", "Self-employed", "Self-employed with staff", "Federal government", "State government", "Local government", "Unpaid")
# a line an occupation
WORKCLASS_BY_OCCUPATION = np.array(
    [
        [64.0, 10.0, 14.0, 4.0, 3.0, 5.0, 0.0],
        [56.0, 9.0, 5.0, 4.0, 10.0, 16.0, 0.0],
        [75.0, 4.0, 1.0, 7.0, 6.0, 7.0, 0.0],
        [74.0, 2.0, 1.0, 8.0, 7.0, 8.0, 0.2],
        [80.0, 11.0, 8.0, 0.4, 0.4, 0.4, 0.3],
        [77.0, 14.0, 3.0, 2.0, 1.4, 3.0, 0.1],
        [94.0, 2.0, 0.5, 1.0, 0.8, 1.0, 0.1],
        [81.0, 8.0, 1.5, 1.5, 2.0, 6.0, 0.1],
        [48.0, 40.0, 8.0, 0.6, 1.0, 1.2, 2.0],
        [90.0, 3.0, 0.3, 1.5, 1.2, 3.5, 0.2],
        [88.0, 9.0, 0.5, 0.3, 0.6, 1.0, 0.8],
        [82.0, 5.0, 1.0, 1.0, 4.0, 7.0, 0.2],
        [29.0, 1.0, 0.5, 5.0, 19.0, 46.0, 0.0],
        [0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 0.0],
    ]
)

# ten regions of twelve districts of ten post offices
ZIPS = tuple(f"{region}{district:02}{office:02}" for region in range(10) for district in range(4, 100, 8) for office in range(1, 100, 10))

INCOMES = ("under 15000", "15000 to 24999", "25000 to 39999", "40000 to 59999", "60000 to 99999", "100000 or more")
INCOME_BORDERS = np.array([15_000, 25_000, 40_000, 60_000, 100_000])

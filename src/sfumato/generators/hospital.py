"""Diabetes patients of an invented hospital.

Nobody in it exists. Type 1 (E10) comes young and is treated with insulin, type 2 (E11) comes later and mostly with metformin; some patients
have no long-term blood sugar (HbA1c) on file.
"""

from __future__ import annotations

import string

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.generators._rows import Codes, Rows, choose, choose_freely, long_tail, texts

SURNAMES = (
    "Ahrens", "Albers", "Arndt", "Bach", "Baum", "Becker", "Berger", "Bernhard", "Blum", "Bock", "Brandt", "Braun", "Busch", "Conrad",
    "Dietz", "Dorn", "Ebert", "Eder", "Engel", "Ernst", "Falk", "Feld", "Fink", "Fischer", "Forst", "Frank", "Fuchs", "Gerber", "Graf",
    "Gross", "Haas", "Hahn", "Hartmann", "Heinz", "Herzog", "Hoffmann", "Horn", "Huber", "Jahn", "Jung", "Kaiser", "Kern", "Kirsch",
    "Klein", "Koch", "Kraft", "Kraus", "Kurz", "Lang", "Lehmann", "Lenz", "Lieb", "Lindner", "Lorenz", "Ludwig", "Maier", "Martin", "May",
    "Meyer", "Moser", "Neumann", "Nowak", "Ott", "Otto", "Paul", "Peters", "Pohl", "Putz", "Raab", "Reich", "Richter", "Roth", "Rupp",
    "Sander", "Sauer", "Schmidt", "Schreiber", "Schulz", "Seidel", "Simon", "Sommer", "Spies", "Stark", "Stein", "Sturm", "Thiel", "Thomas",
    "Ulrich", "Vogel", "Vogt", "Wagner", "Walter", "Weber", "Weiss", "Wendt", "Werner", "Winter", "Wolf", "Zeit", "Ziegler", "Zimmer",
)  # fmt: skip
SEXES = ("M", "F", "D")
COMPANIES = ("TK", "Barmer", "DAK", "AOK", "IKK", "KKH", "HEK", "BKK", "private")
DIAGNOSES = ("E10", "E11")
MEDICATIONS = ("Insulin", "Metformin", "Metformin and insulin", "Diet")
TYPE_1_SHARE = 0.4
WITHOUT_HBA1C = 0.06
INITIALS = "ABCDEFGHIJKLMNOPRSTUVW"
# the stride shares no factor with how many insurance numbers there are: no two rows get the same
_STRIDE, _START, _NUMBERS = 7_654_321_069, 3_141_592_653, 26 * 10**9

_COMPANY_WEIGHTS = np.array([14.0, 11.0, 7.0, 30.0, 8.0, 4.0, 2.0, 14.0, 10.0])
# a line a diagnosis, a column a medication
_MEDICATION_WEIGHTS = np.array([[97.0, 0.0, 3.0, 0.0], [8.0, 72.0, 14.0, 6.0]])
_TOWNS = 400


class Hospital(Rows):
    """Diabetes patients: identifiers, zip, sex, age and insurance, diagnosis, blood sugar and medication.

    Cost: about a second for a million rows.

    >>> Hospital().table(2, seed=1).column_names[:5]
    ['pid', 'name', 'zip', 'sex', 'age']
    """

    def chunk(self, random: np.random.Generator, numbers: Codes) -> dict[str, pa.Array]:
        """Return the columns of one chunk."""
        rows = len(numbers)
        diagnosis = (random.random(rows) >= TYPE_1_SHARE).astype(np.int64)
        glucose = np.clip(random.normal(np.array([20.0, 16.5])[diagnosis], 3.2), 4.0, 38.0)
        # in balance with the blood sugar of the day, but not made by it
        hba1c = np.clip(2.9 + 0.26 * glucose + random.normal(0.0, 0.8, rows), 4.5, 15.0)
        return {
            "pid": pa.array(numbers + 1),
            "name": _names(random, rows),
            "zip": _zips(random, rows),
            "sex": texts(SEXES, choose_freely(random, np.array([51.0, 48.0, 1.0]), rows)),
            "age": pa.array(_ages(random, diagnosis)),
            "insurance_company": texts(COMPANIES, choose_freely(random, _COMPANY_WEIGHTS, rows)),
            "insurance_number": _insurance_numbers(numbers),
            "diagnosis": texts(DIAGNOSES, diagnosis),
            "glucose": pa.array(np.round(glucose, 1)),
            "hba1c": pa.array(np.round(hba1c, 2), mask=random.random(rows) < WITHOUT_HBA1C),
            "medication": texts(MEDICATIONS, choose(random, _MEDICATION_WEIGHTS, diagnosis)),
        }

    def again(self, random: np.random.Generator, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Measure blood sugar anew: it goes up and down, the long-term one little."""
        glucose, hba1c = (columns[name].to_numpy(zero_copy_only=False) for name in ("glucose", "hba1c"))
        missing = columns["hba1c"].is_null().to_numpy(zero_copy_only=False)
        found = np.round(np.clip(glucose + random.normal(0.0, 2.5, len(glucose)), 4.0, 38.0), 1)
        lasting = np.round(np.clip(np.where(missing, 0.0, hba1c) + random.normal(0.0, 0.15, len(glucose)), 4.5, 15.0), 2)
        return columns | {"glucose": pa.array(found), "hba1c": pa.array(lasting, mask=missing)}


def _ages(random: np.random.Generator, diagnosis: Codes) -> Codes:
    """Type 1 from childhood on, most of all among the young; type 2 around sixty."""
    young = 3 + random.gamma(3.2, 9.5, len(diagnosis))
    old = random.normal(61.0, 13.0, len(diagnosis))
    return np.clip(np.where(diagnosis == 0, young, old), 3, 99).astype(np.int64)


def _names(random: np.random.Generator, rows: int) -> pa.Array:
    initials = texts(INITIALS, random.integers(0, len(INITIALS), rows))
    return pc.binary_join_element_wise(initials, texts(SURNAMES, random.integers(0, len(SURNAMES), rows)), ". ")


def _zips(random: np.random.Generator, rows: int) -> pa.Array:
    codes = 1067 + np.arange(_TOWNS) * 241
    return texts([f"{code:05}" for code in codes], choose_freely(random, long_tail(_TOWNS), rows))


def _insurance_numbers(numbers: Codes) -> pa.Array:
    """Return a letter and nine digits, different for every row."""
    letter, digits = np.divmod((numbers * _STRIDE + _START) % _NUMBERS, 10**9)
    return pc.binary_join_element_wise(texts(string.ascii_uppercase, letter), pc.utf8_lpad(pc.cast(pa.array(digits), pa.string()), 9, "0"), "")

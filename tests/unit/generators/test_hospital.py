"""The generated patients look like diabetes patients."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.generators.hospital import Hospital


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return Hospital().table(20_000, seed=3)


def of_diagnosis(patients: pa.Table, diagnosis: str) -> pa.Table:
    return patients.filter(pc.equal(patients["diagnosis"], diagnosis))


def share(column: pa.ChunkedArray, value: str) -> float:
    return float(pc.mean(pc.equal(column, value).cast(pa.int8())).as_py())


def test_the_columns_are_those_of_a_ward(patients: pa.Table) -> None:
    assert patients.column_names == [
        "pid", "name", "zip", "sex", "age", "insurance_company", "insurance_number", "diagnosis", "glucose", "hba1c", "medication",
    ]  # fmt: skip


def test_type_1_comes_younger_than_type_2(patients: pa.Table) -> None:
    ages = [pc.mean(of_diagnosis(patients, diagnosis)["age"]).as_py() for diagnosis in ("E10", "E11")]
    assert ages[0] < 40 < 55 < ages[1]
    assert 0.3 < share(patients["diagnosis"], "E10") < 0.5


def test_medication_follows_diagnosis_with_a_few_exceptions(patients: pa.Table) -> None:
    assert 0.9 < share(of_diagnosis(patients, "E10")["medication"], "Insulin") < 1
    assert 0.6 < share(of_diagnosis(patients, "E11")["medication"], "Metformin") < 0.9
    assert share(of_diagnosis(patients, "E10")["medication"], "Metformin") == 0


def test_some_patients_have_no_hba1c_and_nothing_else_is_missing(patients: pa.Table) -> None:
    assert 0.03 < patients["hba1c"].null_count / len(patients) < 0.1
    assert sum(column.null_count for column in patients.columns) == patients["hba1c"].null_count


def test_hba1c_goes_with_glucose(patients: pa.Table) -> None:
    known = patients.filter(pc.is_valid(patients["hba1c"]))
    assert np.corrcoef(known["glucose"], known["hba1c"])[0, 1] > 0.5


def test_identifiers_name_one_patient_each(patients: pa.Table) -> None:
    assert patients["pid"].to_pylist() == list(range(1, 20_001))
    assert pc.count_distinct(patients["insurance_number"]).as_py() == 20_000
    assert pc.all(pc.match_substring_regex(patients["insurance_number"], "^[A-Z][0-9]{9}$")).as_py()


def test_zips_are_five_digits_and_some_towns_are_large(patients: pa.Table) -> None:
    assert pc.all(pc.match_substring_regex(patients["zip"], "^[0-9]{5}$")).as_py()
    counts = sorted(pc.value_counts(patients["zip"]).field("counts").to_pylist())
    assert counts[-1] > 10 * counts[len(counts) // 2]

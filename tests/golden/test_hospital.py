"""The hospital whose doctor, nurses, administration and researchers each see their own view of one table; the rows of the releases by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ruamel.yaml import YAML

import sfumato
from sfumato.errors import PromiseError

EXAMPLE = Path(__file__).parents[2] / "examples" / "hospital.yaml"
NAMES = ["pid", "name", "zip", "sex", "age", "insurance_company", "insurance_number", "diagnosis", "glucose", "hba1c", "medication"]
PATIENTS = """
1 F._Ott   10969 M 28 TK  K15489 E10 22.1 8.74 Insulin
2 L._Lieb  34127 F 59 AOK Y41271 E11 16.3 7.61 Metformin
3 T._Zeit  70192 M 15 TK  Z17291 E10 23.8 8.13 Insulin
4 H._Lang  80923 F 21 TK  I79435 E10 18.9 7.99 Insulin
5 J._Putz  91757 D 24 IKK Q29751 E10 21.2 6.04 Insulin
6 I._Spies 60819 M 68 TK  J33921 E11 19.1 5.07 Metformin
"""
NURSE = """
* F._Ott   * M 28 TK  * E10 22.1 * Insulin
* L._Lieb  * F 59 AOK * E11 16.3 * Metformin
* T._Zeit  * M 15 TK  * E10 23.8 * Insulin
* H._Lang  * F 21 TK  * E10 18.9 * Insulin
* J._Putz  * D 24 IKK * E10 21.2 * Insulin
* I._Spies * M 68 TK  * E11 19.1 * Metformin
"""
ADMINISTRATION = """
* * * * * TK  K15489 E10 * * Insulin
* * * * * AOK Y41271 E11 * * Metformin
* * * * * TK  Z17291 E10 * * Insulin
* * * * * TK  I79435 E10 * * Insulin
* * * * * IKK Q29751 E10 * * Insulin
* * * * * TK  J33921 E11 * * Metformin
"""
RESEARCH = """
* * XXXXX M         [10,_70] TK      * E10 22.1 8.74 Insulin
* * XXXXX M         [10,_70] TK      * E10 23.8 8.13 Insulin
* * XXXXX M         [10,_70] TK      * E11 19.1 5.07 Metformin
* * XXXXX {M,_F,_D} [10,_70] ins._co * E11 16.3 7.61 Metformin
* * XXXXX {M,_F,_D} [10,_70] ins._co * E10 18.9 7.99 Insulin
* * XXXXX {M,_F,_D} [10,_70] ins._co * E10 21.2 6.04 Insulin
"""
# zip and age at a fixed level, as the printed table has them
FIXED: dict[str, Any] = {
    "pid": {"role": "identifier", "mask": "constant"},
    "name": {"role": "identifier", "mask": "constant"},
    "insurance_number": {"role": "identifier", "mask": "constant"},
    "zip": {"role": "quasi_identifier", "mask": {"constant": {"value": "XXXXX"}}},
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"interval": {"bins": 1, "minimum": 10, "maximum": 70}},
        "level": {"minimum": 1, "maximum": 1},
    },
    "sex": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"*": ["M", "F", "D"]}}}, "publish": "set"},
    "insurance_company": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"ins. co": ["TK", "AOK", "IKK"]}}}},
}


def rows(text: str) -> list[tuple[str, ...]]:
    return sorted(tuple(word.replace("_", " ") for word in line.split()) for line in text.strip().splitlines())


def patients() -> pa.Table:
    columns = zip(*(tuple(word.replace("_", " ") for word in line.split()) for line in PATIENTS.strip().splitlines()), strict=True)
    return pa.table(dict(zip(NAMES, columns, strict=True)))


def policy(readers: dict[str, Any] | None = None, research: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the example, its views without files and its promises as small as the printed table is."""
    given = YAML(typ="safe").load(EXAMPLE)
    del given["source"]
    for view in given["views"].values():
        del view["sink"]
    given["promises"] = [{"k_anonymity": {"k": 3}}]
    given["readers"] = readers or {}
    if research is not None:
        given["views"]["research"] = {"columns": research}
    return dict(given)


def released(table: pa.Table) -> list[tuple[str, ...]]:
    return sorted(tuple(str(row[name]) for name in NAMES) for row in table.to_pylist())


def test_the_views_are_the_printed_tables() -> None:
    releases = sfumato.run(policy(research=FIXED), data=patients())

    assert released(releases["doctor"].table) == rows(PATIENTS)
    assert released(releases["nurse"].table) == rows(NURSE)
    assert released(releases["administration"].table) == rows(ADMINISTRATION)
    assert released(releases["research"].table) == rows(RESEARCH)
    assert releases["research"].record.promises[0].measured == 3


def test_who_reads_what_nurses_and_researchers_see_would_find_everybody() -> None:
    with pytest.raises(PromiseError) as raised:
        sfumato.run(policy(readers={"head": ["nurse", "research"]}, research=FIXED), data=patients())
    assert raised.value.code == "verify-together"
    assert "k_anonymity (asked 3, measured 1)" in raised.value.message


def test_where_nobody_reads_both_it_is_told() -> None:
    releases = sfumato.run(policy(research=FIXED), data=patients())

    (pair,) = [each for each in releases["research"].record.together if set(each.views) == {"nurse", "research"}]
    assert (pair.smallest_class, pair.readers) == ("< 3", [])


def test_a_name_beside_a_value_that_joins_two_views_is_enough() -> None:
    # no quasi-identifier in the nurse's view: by the glucose value its rows are those of the other, and they have names
    hidden = {name: {"role": "other", "mask": "constant"} for name in ("sex", "age", "insurance_company")}
    given = policy(readers={"head": ["nurse", "research"]}, research=FIXED)
    given["views"]["nurse"]["columns"] |= hidden

    with pytest.raises(PromiseError) as raised:
        sfumato.run(given, data=patients())
    assert raised.value.code == "verify-together"


def test_administration_and_nurses_share_no_column_by_which_people_are_known() -> None:
    releases = sfumato.run(policy(research=FIXED), data=patients())

    pairs = {tuple(sorted(each.views)): each.smallest_class for each in releases["nurse"].record.together}
    assert set(pairs) == {("administration", "nurse"), ("doctor", "nurse"), ("nurse", "research")}

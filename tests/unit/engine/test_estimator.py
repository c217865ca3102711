"""The anonymiser of pipelines: rows in their order, generalised by a recoding that was fitted, and measured every time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

import sfumato
from sfumato.errors import DataError, PolicyError, PromiseError, UsageError

JOBS = {"*": ["craft", "trade"], "craft": ["smith", "welder"], "trade": ["grocer", "draper"]}
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi_identifier"},
    "job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": JOBS}}},
    "ill": {"role": "sensitive"},
}
POLICY: dict[str, Any] = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 3}}]}
ROWS = {
    "name": list("abcdef"),
    "age": [70, 20, 75, 24, 72, 22],
    "job": ["smith", "draper", "smith", "draper", "welder", "draper"],
    "ill": ["flu", "cold", None, "flu", "flu", "cold"],
}
TABLE = pa.table(ROWS)


def policy(**changes: Any) -> dict[str, Any]:
    return {**POLICY, **changes}


def column(**changes: Any) -> dict[str, Any]:
    return {**COLUMNS, **changes}


def rows_of(**columns: list[Any]) -> pa.Table:
    number = len(next(iter(columns.values())))
    return pa.table({"name": ["x"] * number, "ill": ["flu"] * number, **columns})


# --- what is fitted -----------------------------------------------------------------------------------------------------


def test_rows_come_back_in_their_order() -> None:
    found = sfumato.Anonymiser(POLICY).fit_transform(TABLE)

    assert found.column_names == ["age", "job", "ill"]
    assert found.column("ill").to_pylist() == ROWS["ill"]
    for age, text in zip(ROWS["age"], found.column("age").to_pylist(), strict=True):
        low, high = (int(end) for end in text.strip("[]").split(", "))
        assert low <= age <= high


def test_they_are_the_rows_of_a_release() -> None:
    found = sfumato.Anonymiser(POLICY).fit_transform(TABLE).to_pylist()
    released = sfumato.run(POLICY, data=TABLE).table.to_pylist()

    assert Counter(map(str, found)) == Counter(map(str, released))


CASES = {
    "boxes": POLICY,
    "full domain": policy(algorithm="datafly"),
    "bounds and a mask": policy(
        columns=column(age={"role": "quasi_identifier", "publish": "bounds"}, name={"role": "identifier", "mask": {"constant": {"value": "x"}}})
    ),
    "missing values": policy(columns=column(age={"role": "quasi_identifier", "missing": ["70", "72"]})),
    "suppression": policy(algorithm="datafly", suppression_limit=0.3),
    "people": policy(subject="name", promises=[{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "ill", "l": 2}}]),
    "a sensitive order": policy(promises=[{"k_anonymity": {"k": 2}}, {"t_closeness": {"column": "ill", "t": 0.5, "distance": "ordered"}}]),
    "no quasi-identifier": {"columns": {name: {"role": "other", "accept": "singling_out"} for name in COLUMNS}},
    "a least level": policy(columns=column(age={"role": "quasi_identifier", "hierarchy": {"interval": {"width": 10}}, "level": {"minimum": 1}})),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rows_that_were_fitted_become_the_same_again(case: str) -> None:
    anonymiser = sfumato.Anonymiser(CASES[case])

    assert anonymiser.fit_transform(TABLE).to_pylist() == anonymiser.transform(TABLE).to_pylist()


def test_a_row_that_is_left_out_stays_in_its_place_and_says_nothing() -> None:
    ages = [20, 20, 99, 20]
    given = policy(columns=column(age={"role": "quasi_identifier", "level": {"maximum": 0}}), suppression_limit=0.25)
    anonymiser = sfumato.Anonymiser(given)

    found = anonymiser.fit_transform(rows_of(age=ages, job=["smith"] * 4))

    assert found.to_pylist()[2] == {"ill": None, "age": "*", "job": "*"}
    assert found.column("age").to_pylist() == ["20", "20", "*", "20"]
    assert anonymiser.record_.rows.suppressed == "< 3"


def test_a_promise_that_cannot_be_kept_is_said_when_it_is_fitted() -> None:
    with pytest.raises(PromiseError) as raised:
        sfumato.Anonymiser(policy(promises=[{"k_anonymity": {"k": 20}}])).fit(TABLE)
    assert raised.value.code == "promise-impossible"


def test_source_and_sink_of_the_policy_are_not_touched(tmp_path: Path) -> None:
    given = policy(source=str(tmp_path / "absent.csv"), sink=str(tmp_path / "release.csv"))

    sfumato.Anonymiser(given).fit(TABLE).transform(TABLE)

    assert list(tmp_path.iterdir()) == []


# --- other rows ---------------------------------------------------------------------------------------------------------


def test_a_value_between_those_that_were_fitted_goes_where_the_text_covers_it() -> None:
    anonymiser = sfumato.Anonymiser(POLICY).fit(TABLE)

    found = anonymiser.transform(rows_of(age=[21, 73, 23, 71, 23, 74], job=["draper", "smith", "draper", "welder", "draper", "smith"]))

    assert found.column("age").to_pylist() == ["[20, 24]", "[70, 75]"] * 3
    assert found.column("job").to_pylist() == ["draper", "craft"] * 3


TREES = {
    "calendar": (
        {"calendar": {}},
        ["1984-05-17", "1986-06-30", "1991-01-01", "1992-02-02"],
        ["1985-12-31", "1996-07-01"],
        ["1980s", "1990s"],
        "1700-01-01",
    ),
    "network": (
        {"network": {}},
        ["10.1.2.3", "10.1.9.9", "2001:db8::1", "2001:db8::2"],
        ["10.1.77.1", "2001:db8::3"],
        ["10.1.0.0/16", "2001:db8::/64"],
        "8.8.8.8",
    ),
    "grid": (
        {"grid": {"sizes": [0.1, 1]}},
        ["52.51,13.37", "52.49,13.41", "48.11,11.51", "48.15,11.55"],
        ["52.99,13.99", "48.19,11.59"],
        ["52 to 53, 13 to 14", "48.1 to 48.2, 11.5 to 11.6"],
        "-30,-60",
    ),
    "prefix": ({"prefix": {}}, ["10961", "10969", "20099", "20144"], ["10965", "20777"], ["1096*", "20***"], "99999"),
}


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
@pytest.mark.parametrize("name", TREES)
def test_a_value_that_nobody_had_goes_below_a_node_that_names_its_kin(name: str, algorithm: str) -> None:
    ladder, fitted, further, names, stranger = TREES[name]
    given = {
        "columns": {"where": {"role": "quasi_identifier", "hierarchy": ladder}},
        "promises": [{"k_anonymity": {"k": 2}}],
        "algorithm": algorithm,
    }
    anonymiser = sfumato.Anonymiser(given).fit(pa.table({"where": fitted}))

    found = anonymiser.transform(pa.table({"where": further * 2}))

    if algorithm == "mondrian":
        assert found.column("where").to_pylist() == names * 2
        with pytest.raises(DataError) as raised:
            anonymiser.transform(pa.table({"where": [stranger] * 2}))
        assert raised.value.code == "transform-outside"
    else:
        assert found.column("where").to_pylist()[:2] == found.column("where").to_pylist()[2:]


def test_sensitive_values_that_nobody_had_are_told_apart() -> None:
    columns = {"age": {"role": "quasi_identifier"}, "ill": {"role": "sensitive", "hierarchy": "flat"}}
    promises = [{"k_anonymity": {"k": 2}}, {"t_closeness": {"column": "ill", "t": 0.3, "distance": "hierarchical"}}]
    anonymiser = sfumato.Anonymiser({"columns": columns, "promises": promises}).fit(pa.table({"age": [1, 1, 2, 2], "ill": list("abab")}))

    with pytest.raises(PromiseError, match=r"measured 0\.5"):
        anonymiser.transform(pa.table({"age": [1, 1, 2, 2] * 2, "ill": list("xxzzxxzz")}))
    assert anonymiser.transform(pa.table({"age": [1, 1, 2, 2] * 2, "ill": list("xzxzxzxz")})).num_rows == 8


LARGE = 10**17


@pytest.mark.parametrize("shift", [0, 1])
def test_numbers_that_a_float_cannot_tell_apart_are_compared_exactly(shift: int) -> None:
    policy = {"columns": {"n": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    anonymiser = sfumato.Anonymiser(policy).fit(pa.table({"n": [LARGE, LARGE + 10, LARGE + 100, LARGE + 101]}))

    found = pa.table({"n": [LARGE + 10 + shift, LARGE + 9 + shift]})
    if shift:
        with pytest.raises(DataError, match="transform-outside"):
            anonymiser.transform(found)
    else:
        assert anonymiser.transform(found).column("n").to_pylist() == [f"[{LARGE}, {LARGE + 10}]"] * 2


def test_a_code_is_put_below_its_prefix_whatever_codes_stand_beside_it() -> None:
    policy = {"columns": {"zip": {"role": "quasi_identifier", "hierarchy": "prefix"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    anonymiser = sfumato.Anonymiser(policy, on_broken="suppress").fit(pa.table({"zip": ["10961", "10969", "12047", "12049"]}))

    assert anonymiser.transform(pa.table({"zip": ["10962", "10963", "1096123"]})).column("zip").to_pylist() == ["1096*", "1096*", "*"]


@pytest.mark.parametrize("hierarchy", ["flat", "prefix"])
def test_a_decimal_number_is_the_same_with_fewer_digits(hierarchy: str) -> None:
    policy = {"columns": {"n": {"role": "quasi_identifier", "hierarchy": hierarchy}}, "promises": [{"k_anonymity": {"k": 2}}]}
    anonymiser = sfumato.Anonymiser(policy).fit(pa.table({"n": ["1.50", "1.50", "2.25", "2.25"]}))

    assert anonymiser.transform(pa.table({"n": ["1.5", "1.5"]})).column("n").to_pylist() == ["1.50"] * 2


def test_a_missing_value_is_no_kin_of_anybody() -> None:
    given = {"columns": {"born": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    anonymiser = sfumato.Anonymiser(given).fit(pa.table({"born": ["1984-05-17", "1984-05-18", None, None]}))

    with pytest.raises(DataError) as raised:
        anonymiser.transform(pa.table({"born": ["2001-01-01", "2001-01-01"]}))
    assert raised.value.code == "transform-outside"
    assert (
        anonymiser.transform(pa.table({"born": ["1984-05-01", "1984-05-01", None, None]})).column("born").to_pylist() == ["1984-05"] * 2 + [None] * 2
    )


def test_new_rows_have_the_promises_only_if_they_keep_them_by_themselves() -> None:
    anonymiser = sfumato.Anonymiser(POLICY).fit(TABLE)

    with pytest.raises(PromiseError) as raised:
        anonymiser.transform(TABLE.slice(0, 2))
    assert str(raised.value) == (
        "these rows, put into the classes that were fitted, do not keep k_anonymity (asked 3, measured 1); nothing is returned [transform-promise]\n"
        "  try: give more rows at once, fit on them, or say on_broken='suppress'"
    )


def test_sensitive_values_of_new_rows_are_measured_too() -> None:
    given = policy(promises=[{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "ill", "l": 2}}])
    anonymiser = sfumato.Anonymiser(given).fit(TABLE)

    with pytest.raises(PromiseError) as raised:
        anonymiser.transform(rows_of(age=[20, 20, 22], job=["draper"] * 3))
    assert "l_diversity (asked 2, measured 1)" in raised.value.message


def test_rows_of_broken_classes_can_be_left_out() -> None:
    anonymiser = sfumato.Anonymiser(POLICY, on_broken="suppress").fit(TABLE)

    found = anonymiser.transform(rows_of(age=[20, 70, 21, 23], job=["draper", "smith", "draper", "draper"]))

    assert found.column("age").to_pylist() == ["[20, 24]", "*", "[20, 24]", "[20, 24]"]
    assert found.column("ill").to_pylist() == ["flu", None, "flu", "flu"]


def test_it_is_said_when_nothing_would_be_left() -> None:
    anonymiser = sfumato.Anonymiser(POLICY, on_broken="suppress").fit(TABLE)

    with pytest.raises(PromiseError) as raised:
        anonymiser.transform(TABLE.slice(0, 1))
    assert str(raised.value) == "every row would be left out: none would be left [nothing-left]\n  try: give more rows at once, or fit on them"


def test_a_row_that_fits_into_no_class_is_refused_without_its_values() -> None:
    anonymiser = sfumato.Anonymiser(POLICY).fit(TABLE)
    strange = rows_of(age=[55, 55, 20, 20, 21], job=["smith", "smith", "draper", "draper", "draper"])

    with pytest.raises(DataError) as raised:
        anonymiser.transform(strange)
    assert str(raised.value) == (
        "2 rows fit into no class that was fitted [transform-outside]\n  try: fit on a table that has rows like them, or say on_broken='suppress'"
    )

    left = anonymiser.set_params(on_broken="suppress").transform(strange)
    assert left.column("age").to_pylist() == ["*", "*", "[20, 24]", "[20, 24]", "[20, 24]"]


@pytest.mark.parametrize(("name", "values"), [("age", [99, 99]), ("job", ["pirate", "pirate"])])
def test_a_value_outside_is_refused_without_saying_it(name: str, values: list[Any]) -> None:
    anonymiser = sfumato.Anonymiser(POLICY).fit(TABLE)
    strange = rows_of(**{"age": [20, 20], "job": ["draper", "draper"], name: values})

    with pytest.raises(DataError) as raised:
        anonymiser.transform(strange)
    assert str(raised.value) == (
        f"column {name}: 2 rows have a value that its hierarchy, as it was fitted, does not know [value-outside-hierarchy]\n"
        f"  try: fit on a table that has them, or say on_unknown: suppress in columns.{name}, or on_broken='suppress'"
    )


def test_a_column_of_new_rows_that_singles_people_out_is_refused() -> None:
    given = policy(columns=column(ill={"role": "other"}))
    anonymiser = sfumato.Anonymiser(given).fit(TABLE.set_column(3, "ill", pa.array(["flu"] * 3 + ["cold"] * 3)))

    with pytest.raises(PromiseError) as raised:
        anonymiser.transform(TABLE.set_column(3, "ill", pa.array(list("abcdef"))))
    assert raised.value.code == "singling-out"


def test_other_columns_are_refused() -> None:
    with pytest.raises(DataError) as raised:
        sfumato.Anonymiser(POLICY).fit(TABLE).transform(TABLE.drop_columns(["job"]))
    assert raised.value.code == "columns-differ"


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError) as raised:
        sfumato.Anonymiser(POLICY).fit(TABLE).transform(TABLE.slice(0, 0))
    assert raised.value.code == "source-empty"


# --- frames and parameters ----------------------------------------------------------------------------------------------


def test_frames_come_back_as_what_they_were_with_their_index() -> None:
    frame = pandas.DataFrame(ROWS, index=range(100, 106))
    anonymiser = sfumato.Anonymiser(POLICY).fit(frame)

    found = anonymiser.transform(frame.iloc[::-1])

    assert isinstance(found, pandas.DataFrame)
    assert list(found.index) == list(range(105, 99, -1))
    assert isinstance(anonymiser.transform(polars.DataFrame(ROWS)), polars.DataFrame)
    assert isinstance(anonymiser.set_output(transform="pandas").transform(TABLE), pandas.DataFrame)


def test_an_array_without_names_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(POLICY).fit(TABLE.to_pandas().to_numpy())
    assert raised.value.code == "data-kind"


def test_names_are_told() -> None:
    anonymiser = sfumato.Anonymiser(policy(columns=column(age={"role": "quasi_identifier", "publish": "bounds"}))).fit(TABLE)

    assert anonymiser.get_feature_names_out().tolist() == ["age_from", "age_to", "job", "ill"]
    assert anonymiser.feature_names_in_.tolist() == ["name", "age", "job", "ill"]
    assert anonymiser.n_features_in_ == 4


def test_nothing_can_be_transformed_before_something_is_fitted() -> None:
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(POLICY).transform(TABLE)
    assert str(raised.value) == "nothing has been fitted yet [not-fitted]\n  try: anonymiser.fit(table)"


def test_parameters_are_looked_at_when_something_is_fitted() -> None:
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(POLICY, on_broken="supress").fit(TABLE)
    assert str(raised.value) == "on_broken is none of raise, suppress [parameter-value]\n  try: suppress"
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(POLICY).set_params(on_brocken="raise")
    assert str(raised.value) == "an anonymiser has no parameter on_brocken [parameter-unknown]\n  try: on_broken"
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(POLICY).set_output(transform="numpy")
    assert raised.value.code == "parameter-value"
    with pytest.raises(PolicyError):
        sfumato.Anonymiser({"columns": {}}).fit(TABLE)


def test_a_policy_with_views_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(policy(views={"ward": {}})).fit(TABLE)
    assert raised.value.message == "an anonymiser has one output, and the policy has views"


def test_a_mask_on_a_column_that_promises_speak_of_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        sfumato.Anonymiser(policy(columns=column(age={"role": "quasi_identifier", "mask": "constant"}))).fit(TABLE)
    assert raised.value.message == "an anonymiser masks no column that promises speak of: age"


def test_what_is_fitted_can_be_kept() -> None:
    anonymiser = sfumato.Anonymiser(POLICY).fit(TABLE)

    assert pickle.loads(pickle.dumps(anonymiser)).transform(TABLE).equals(anonymiser.transform(TABLE))


# --- scikit-learn -------------------------------------------------------------------------------------------------------


def test_a_clone_has_the_parameters_and_nothing_that_was_fitted() -> None:
    anonymiser = sfumato.Anonymiser(POLICY, on_broken="suppress").fit(TABLE)
    check_is_fitted(anonymiser)

    copy = clone(anonymiser)

    assert repr(anonymiser) == "Anonymiser(on_broken='suppress', fitted)"
    assert repr(copy) == "Anonymiser(on_broken='suppress')"
    assert copy.get_params() == anonymiser.get_params()


def test_a_model_learns_from_generalised_rows() -> None:
    frame = pandas.DataFrame(ROWS)
    pipeline = Pipeline([("anonymise", sfumato.Anonymiser(POLICY)), ("encode", OneHotEncoder()), ("learn", LogisticRegression())])
    old = frame["age"] > 60

    pipeline.fit(frame, old)

    assert pipeline.score(frame, old) == 1.0
    assert pipeline[:2].get_feature_names_out().tolist()[:2] == ["age_[20, 24]", "age_[70, 75]"]


def test_a_pipeline_chooses_the_kind_of_frame() -> None:
    pipeline = Pipeline([("anonymise", sfumato.Anonymiser(POLICY))]).set_output(transform="polars")

    assert isinstance(pipeline.fit_transform(pandas.DataFrame(ROWS)), polars.DataFrame)


@pytest.mark.slow
def test_scikit_learn_is_not_imported_by_itself() -> None:
    program = f"import sys, pyarrow as pa, sfumato; sfumato.Anonymiser({POLICY}).fit_transform(pa.table({ROWS})); print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120).stdout.split()

    assert not {"sklearn", "polars"} & set(loaded)

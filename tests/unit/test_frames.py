"""Data frames in and out, and what notebooks show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.ladder_view import view_ladder
from sfumato.errors import DataError, UsageError

COLUMNS = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
POLICY = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}]}
DATA = {"age": [20, 21, 30, 31, None, None], "sex": ["f", "f", "m", "m", "f", "f"], "illness": ["a", "b", "<b>", None, "b", "a"]}


def test_a_data_frame_comes_back_as_what_it_was() -> None:
    table = sfumato.run(POLICY, data=pa.table(DATA)).data
    in_pandas = sfumato.run(POLICY, data=pandas.DataFrame(DATA).astype({"age": "Int64"})).data
    in_polars = sfumato.run(POLICY, data=polars.DataFrame(DATA)).data

    assert isinstance(table, pa.Table)
    assert isinstance(in_pandas, pandas.DataFrame)
    assert isinstance(in_polars, polars.DataFrame)
    assert in_polars.to_dicts() == table.to_pylist()
    assert pa.Table.from_pandas(in_pandas, preserve_index=False).to_pylist() == table.to_pylist()


def test_assess_takes_data_frames_too() -> None:
    found = {sfumato.assess(frame, ["age", "sex"]).prosecutor["unique"] for frame in (pa.table(DATA), polars.DataFrame(DATA))}

    assert len(found) == 1


def test_notebooks_see_tables_in_which_nothing_is_markup() -> None:
    release = sfumato.run(POLICY, data=pa.table(DATA))
    shown = unstyled(release._repr_html_() + sfumato.assess(pa.table({"<i>": ["1"]}), ["<i>"])._repr_html_())

    assert "<p>6 rows published, 0 left out; every promise holds on what was written</p>" in shown
    assert "<td>k_anonymity</td><td>k 2</td><td>2</td><td>holds</td>" in shown
    assert "<td>smallest class</td><td>&lt; 2</td><td>2</td>" in shown
    assert "<summary>first 5 of 6 rows</summary>" in shown
    assert "<i>" not in shown
    assert "&lt;i&gt;" in shown


def test_a_ladder_is_shown_as_lists(write_policy: Callable[..., Path]) -> None:
    policy = {**POLICY, "columns": {"sex": {"role": "quasi_identifier"}}, "source": "data.csv", "sink": "out.csv"}

    assert unstyled(view_ladder(write_policy(policy, "sex\n<f>\n<f>\nm\n"), "sex")._repr_html_()) == (
        "<p>sex: 3 rows, 2 leaf values, 1 level above them</p>"
        "<ul><li>*: 3<span></span><ul><li>&lt;f&gt;: 2<span></span></li><li>m: 1 <strong>fewer than 2</strong><span></span></li></ul></li></ul>"
    )


def unstyled(markup: str) -> str:
    return re.sub(r" style='[^']*'", "", markup)


def test_a_release_whose_file_has_gone_is_still_shown(write_policy: Callable[..., Path]) -> None:
    policy = write_policy({**POLICY, "source": "data.csv", "sink": "out.csv"}, "age,sex,illness\n1,f,a\n1,f,b\n")
    release = sfumato.run(policy)
    (policy.parent / "out.csv").unlink()

    assert "every promise holds" in release._repr_html_()
    assert "<summary" not in release._repr_html_()


@pytest.mark.slow
def test_no_library_of_data_frames_is_imported_by_itself() -> None:
    program = "import sys, pyarrow as pa, sfumato; sfumato.run({policy}, data=pa.table({{'age': [1, 1]}})).data; print(*sys.modules)"
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}

    ended = subprocess.run([sys.executable, "-c", program.format(policy=policy)], check=True, capture_output=True, text=True)

    assert "polars" not in ended.stdout.split()


def test_the_index_of_a_pandas_frame_is_no_column() -> None:
    frame = pandas.DataFrame({"age": [30, 31, 40, 41], "sex": list("ffmm")}, index=pandas.Index([7, 3, 9, 1], name="number"))
    policy = {"columns": {"age": {"role": "quasi_identifier"}, "sex": {"role": "other"}}, "promises": [{"k_anonymity": {"k": 2}}]}

    released = sfumato.run(policy, data=frame[frame.age > 0]).data

    assert sorted(released.columns) == ["age", "sex"]
    assert list(released.index) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [polars.Categorical, polars.Enum(["f", "m"])])
def test_categories_of_polars_are_text(kind: Any) -> None:
    frame = polars.DataFrame({"age": [30, 31, 40, 41], "sex": ["f", "f", "m", "m"]}).with_columns(polars.col("sex").cast(kind))
    policy = {"columns": {"age": {"role": "identifier"}, "sex": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}

    assert sfumato.run(policy, data=frame).data["sex"].to_list() == ["f", "f", "m", "m"]
    assert sfumato.assess(frame, ["sex"]).people == 4


@pytest.mark.parametrize("frame", [pandas.DataFrame([[1, 2]], columns=["a", "a"]), pandas.DataFrame({"a": [1, "secret"]})])
def test_a_frame_that_is_no_table_is_one_clear_error(frame: Any) -> None:
    with pytest.raises(DataError) as raised:
        sfumato.run({"columns": {"a": {"role": "other"}}}, data=frame)

    assert raised.value.code == "frame-columns"
    assert "secret" not in str(raised.value)


def test_one_quasi_identifier_may_be_named_alone() -> None:
    assert sfumato.assess(pandas.DataFrame({"sex": list("fm")}), "sex").quasi_identifiers == ("sex",)


def test_categories_of_pandas_are_kept_in_any_role() -> None:
    frame = pandas.DataFrame(
        {"p": pandas.Categorical(list("xyz") * 8), "q": [str(row % 2) for row in range(24)], "s": pandas.Categorical(list("xy") * 12)}
    )
    columns = {"p": {"role": "other"}, "q": {"role": "quasi_identifier"}, "s": {"role": "sensitive"}}

    released = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, data=frame).data

    assert sorted(released["p"]) == sorted(frame["p"])
    assert sorted(released["s"]) == sorted(frame["s"])


def test_a_ladder_and_an_assessment_can_be_printed_and_shown() -> None:
    table = pa.table(DATA)

    assert "<li>" in sfumato.hierarchy(POLICY, "sex", table)._repr_html_()
    assert str(sfumato.assess(table, ["sex", "age"])).startswith("table          6 rows\nby             sex, age\n")


def test_a_series_is_no_table() -> None:
    with pytest.raises(UsageError) as caught:
        sfumato.run(POLICY, data=pandas.Series([1], name="age"))
    assert caught.value.code == "data-kind"


@pytest.mark.parametrize("values", [[10**30, 1], [1, "x"]], ids=["large", "mixed"])
def test_a_column_of_no_one_type_is_named(values: list[Any]) -> None:
    with pytest.raises(DataError) as caught:
        sfumato.run(POLICY, data=pandas.DataFrame({"age": pandas.Series(values, dtype=object), "sex": ["f", "m"], "illness": ["a", "b"]}))
    assert caught.value.message == "the data frame cannot be read as an Arrow table: values of several types are in one column: age"

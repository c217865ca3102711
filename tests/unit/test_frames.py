"""Data frames in and out, and what notebooks show."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas
import polars
import pyarrow as pa

import sfumato
from sfumato.engine.ladder_view import view_ladder

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
    shown = release._repr_html_() + sfumato.assess(pa.table({"<i>": ["1"]}), ["<i>"])._repr_html_()

    assert "<td>k_anonymity</td><td>2</td><td>2</td><td>holds</td>" in shown
    assert "<i>" not in shown
    assert "&lt;i&gt;" in shown


def test_a_ladder_is_shown_as_lists(write_policy: Callable[..., Path]) -> None:
    policy = {**POLICY, "columns": {"sex": {"role": "quasi_identifier"}}, "source": "data.csv", "sink": "out.csv"}

    assert view_ladder(write_policy(policy, "sex\n<f>\n<f>\nm\n"), "sex")._repr_html_() == (
        "<ul><li>*: 3<ul><li>&lt;f&gt;: 2</li><li>m: 1 (fewer than 2)</li></ul></li></ul>"
    )


def test_no_library_of_data_frames_is_imported_by_itself() -> None:
    program = "import sys, pyarrow as pa, sfumato; sfumato.run({policy}, data=pa.table({{'age': [1, 1]}})).data; print(*sys.modules)"
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}

    ended = subprocess.run([sys.executable, "-c", program.format(policy=policy)], check=True, capture_output=True, text=True)

    assert "polars" not in ended.stdout.split()

"""A plan from Python: the steps as the command prints them, and a page for notebooks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError

POLICY = {
    "columns": {
        "<b>age": {"role": "quasi_identifier"},
        "job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"<i>": ["smith", "<u>"]}}}},
        "name": {"role": "identifier"},
        "ill": {"role": "sensitive"},
    },
    "promises": [{"k_anonymity": {"k": 2}}],
}
TABLE = pa.table({"<b>age": [1], "job": ["smith"], "name": ["a"], "ill": ["x"]})


def test_a_plan_is_told_step_by_step() -> None:
    lines = str(sfumato.plan(POLICY, TABLE)).splitlines()

    assert lines[:2] == ["1. Read 4 columns from memory.", "2. Remove name."]
    assert lines[-1] == "9. Return it as a table, sorted by what is published."


def test_notebooks_see_steps_and_settings_in_which_nothing_is_markup() -> None:
    shown = re.sub(r" style='[^']*'", "", sfumato.plan(POLICY, TABLE)._repr_html_())

    assert shown.startswith("<ol><li>Read 4 columns from memory.</li><li>Remove name.</li>")
    assert "<tr><td>name</td><td>identifier</td><td>removed</td><td></td></tr>" in shown
    assert "<tr><td>promises</td><td>[{k_anonymity: {k: 2}}]</td></tr>" in shown
    assert "&lt;b&gt;age" in shown
    assert "&lt;i&gt;" in shown
    assert not any(mark in shown for mark in ("<b>", "<i>", "<u>"))


def test_a_long_tree_is_shown_in_its_beginning() -> None:
    tree = {"taxonomy": {"tree": {"*": [f"job {number}" for number in range(500)]}}}
    policy = {**POLICY, "columns": {**POLICY["columns"], "job": {"role": "quasi_identifier", "hierarchy": tree}}}

    shown = sfumato.plan(policy, TABLE)._repr_html_()

    assert "job 9" in shown
    assert "job 499" not in shown


def test_columns_are_held_against_the_data() -> None:
    with pytest.raises(DataError) as raised:
        sfumato.plan(POLICY, TABLE.drop_columns(["job"]))
    assert raised.value.code == "columns-differ"


def test_it_is_what_the_command_prints(write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    path = write_policy({**POLICY, "source": "data.csv", "sink": "out.csv"}, "<b>age,job,name,ill\n1,smith,a,x\n")

    assert json.loads(sfumato_command("plan", path, "--format", "json").stdout) == sfumato.plan(path).as_mapping()

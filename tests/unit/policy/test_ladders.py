"""Hierarchies that are written down are read before any data: what is wrong with them is said with all other mistakes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import PolicyError
from sfumato.policy.ladders import misfits
from sfumato.policy.lines import Lines
from sfumato.policy.load import load
from sfumato.policy.model import Column
from sfumato.policy.resolve import resolve

Command = Callable[..., subprocess.CompletedProcess[str]]

POLICY = """\
source: data.csv
columns:
  town: {role: quasi_identifier, hierarchy: {taxonomy: {path: nowhere.txt}}}
  job:
    role: quasi_identifier
    hierarchy:
      taxonomy: {path: jobs.txt}
  age: {role: quasi_identifier, hierarchy: {table: {path: ages.csv}}}
  sex: {role: quasi_identifier, hierarchy: {taxonomy: {tree: {Root: [f, m]}}}, level: {maximum: 2}, publish: interval}
  ill: {role: sensitive, hierarchy: {table: {path: ills.csv}}}
promises:
  - k_anonymity: {k: 1}
sink: release.csv
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "jobs.txt").write_text("Root: craft\ncraft: smith\nfood: drink\ndrink: food\n", encoding="utf-8")
    (tmp_path / "ages.csv").write_text("17;young;*\n17;old;*\n", encoding="utf-8")
    (tmp_path / "ills.csv").write_text("flu,cold,*\ncough,cold,*\n", encoding="utf-8")
    return tmp_path / "policy.yaml"


EXPECTED = """\
policy.yaml:3 columns.town.hierarchy.taxonomy: {folder}/nowhere.txt is not there [file-missing]
  try: look at the path; it is relative to the policy file
policy.yaml:7 columns.job.hierarchy.taxonomy: taxonomy {folder}/jobs.txt: lines 3 and 4: the way up goes round in a circle [taxonomy-broken]
  try: put no category above itself
policy.yaml:8 columns.age.hierarchy.table: hierarchy table {folder}/ages.csv: lines 1 and 2 put one leaf below two parents; \
1 lines contradict an earlier one [hierarchy-table]
  try: let every label have one parent only
policy.yaml:9 columns.sex.level: level 2 asked for, but this hierarchy has levels 0 to 1 [policy-level-range]
  try: level: {{maximum: 1}}, or leave the key out and let the algorithm choose
policy.yaml:9 columns.sex.publish: interval asked for, but the column has no order [policy-publish]
  try: label or set
policy.yaml:10 columns.ill.hierarchy.table: hierarchy table {folder}/ills.csv has one field a line with the delimiter ";", \
but "," stands in every line [hierarchy-table]
  try: delimiter: ","
policy.yaml:12 promises[0].k_anonymity.k: must be at least 2 [policy-value]
"""


@pytest.mark.parametrize("command", ["check", "plan", "run"])
def test_all_mistakes_come_at_once_with_line_and_key(command: str, path: Path, sfumato_command: Command) -> None:
    ended = sfumato_command(command, path)

    assert ended.returncode == 3
    compiling = "compiling for this machine; this happens once for each kind of work and takes from some seconds to two minutes\n"
    assert ended.stderr.replace(compiling, "") == EXPECTED.format(folder=path.parent)


def test_a_ladder_that_was_read_once_is_the_one_that_is_used(
    tmp_path: Path, write_policy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.hierarchies.taxonomy import Taxonomy

    (tmp_path / "jobs.txt").write_text("Root: smith, cook\n", encoding="utf-8")
    columns = {"job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"path": "jobs.txt"}}}}
    path = write_policy({"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, "job\nsmith\ncook\n")
    reads = []
    original = Taxonomy.read
    monkeypatch.setattr(Taxonomy, "read", lambda self, column: reads.append(column) or original(self, column))

    assert sfumato.run(path).table["job"].to_pylist() == ["*", "*"]
    assert reads == ["job"]


@pytest.mark.parametrize("ladder", ["taxonomy", "table"])
def test_a_pipe_is_refused_and_not_waited_for(ladder: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    os.mkfifo(tmp_path / "pipe")
    columns = {"job": {"role": "quasi_identifier", "hierarchy": {ladder: {"path": "pipe"}}}}
    with pytest.raises(PolicyError) as raised:
        resolve(load(write_policy({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]})))

    assert raised.value.code == "file-not-regular"


@pytest.mark.parametrize(
    ("ladder", "publish", "hint"),
    [
        *((ladder, "set", "interval or bounds") for ladder in ("interval", "quantile")),
        *((ladder, style, "label or set") for ladder in ("prefix", "calendar", "network", "grid") for style in ("interval", "bounds")),
    ],
)
def test_a_style_that_no_values_would_allow_is_found_without_data(ladder: str, publish: str, hint: str, write_policy: Callable[..., Path]) -> None:
    columns = {"a": {"role": "quasi_identifier", "hierarchy": ladder, "publish": publish}}
    with pytest.raises(PolicyError) as raised:
        resolve(load(write_policy({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]})))

    assert [(mistake.key, mistake.code, mistake.hint) for mistake in raised.value.mistakes] == [("columns.a.publish", "policy-publish", hint)]


@pytest.mark.parametrize(("ladder", "publish"), [("automatic", "set"), ("automatic", "bounds"), ("interval", "bounds"), ("prefix", "set")])
def test_a_style_that_some_values_allow_is_left_to_the_run(ladder: str, publish: str, write_policy: Callable[..., Path]) -> None:
    columns = {"a": {"role": "quasi_identifier", "hierarchy": ladder, "publish": publish}}

    assert list(resolve(load(write_policy({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}))).hierarchies) == ["a"]


def test_levels_of_a_ladder_made_from_the_data_are_left_to_the_run(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    columns = {"age": {"role": "quasi_identifier", "hierarchy": "interval", "level": {"maximum": 99}}}
    path = write_policy({"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, "age\n30\n31\n")

    assert resolve(load(path)).ladders == {}
    with pytest.raises(PolicyError, match="policy-level-range"):
        sfumato.run(path)


def test_ranges_of_addresses_need_a_ladder_of_networks() -> None:
    home = replace(Hierarchy.of_paths("client", [["10.0.0.1", "home"]]), kind="ip")
    (mistake,) = misfits("client", Column(role="quasi_identifier", publish="range"), home, Lines({}))

    assert mistake.message == "range asked for, but nodes of the hierarchy are no networks"

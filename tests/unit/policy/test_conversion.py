"""``sfumato convert``: a configuration as a policy that gives the same release."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.cli.convert import convert
from sfumato.errors import PolicyError, UsageError

CONFIGURATION: dict[str, Any] = {
    "k": 2,
    "sensitive_attributes": ["ill"],
    "qids": {
        "age": {"type": "numerical", "datafly_num_of_buckets": 2},
        "sex": {"type": "categorical"},
        "job": {
            "type": "hierarchical",
            "datafly_init_level": 2,
            "tree": {"value": "*", "children": [{"value": "craft", "children": [{"value": "smith"}, {"value": "cook"}]}, {"value": "none"}]},
        },
    },
}
POLICY = """\
# From config.json, the configuration of a k-anonymisation module.
source: data.csv
columns:
  age: {role: quasi_identifier, hierarchy: {interval: {quantiles: 2}}, level: {minimum: 1}}   # starts in 2 buckets of about as many rows
  sex: {role: quasi_identifier, hierarchy: flat, level: {minimum: 1}}   # no datafly_init_level: suppressed entirely
  job:   # starts at 2 below the root, level 0 from the leaves; rows with a value outside the tree are left out, within suppression_limit
    role: quasi_identifier
    hierarchy: {taxonomy: {tree: {"*": [craft, none], craft: [smith, cook]}}}
    on_unknown: suppress
  ill: {role: sensitive}
unnamed: remove   # what the configuration does not name does not reach the release
promises:
  - k_anonymity: {k: 2}
# the configuration names no algorithm, but has keys of Datafly
# no row may be left over: the module left out up to k - 1, which suppression_limit can allow
algorithm: datafly
sink: release.csv
"""
DATA = "name,age,sex,job,ill\na,1,f,smith,x\nb,2,m,cook,y\nc,3,f,none,x\nd,4,m,none,y\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    (tmp_path / "data.csv").write_text(DATA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_configuration_is_written_as_people_write_policies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(Path("config.json"), None, Path("data.csv"), Path("release.csv"), False, "text")

    assert capsys.readouterr().out == POLICY


def test_the_policy_gives_the_same_release_as_the_configuration(folder: Path) -> None:
    convert(Path("config.json"), Path("policy.yaml"), Path("data.csv"), Path("release.csv"), False, "text")
    sfumato.run("policy.yaml")
    (folder / "config.json").write_text(json.dumps({**CONFIGURATION, "source": "data.csv", "sink": "other.csv"}), encoding="utf-8")
    sfumato.run("config.json")

    assert (folder / "release.csv").read_text(encoding="utf-8") == (folder / "other.csv").read_text(encoding="utf-8")


def test_paths_are_relative_to_the_policy_that_is_written(folder: Path) -> None:
    (folder / "inner").mkdir()
    configuration = {**CONFIGURATION, "source": {"delimited": {"path": "data.csv"}}, "sink": "release.csv"}
    (folder / "config.json").write_text(json.dumps(configuration), encoding="utf-8")

    convert(Path("config.json"), Path("inner/policy.yaml"), None, None, False, "text")
    sfumato.run("inner/policy.yaml")

    assert (folder / "release.csv").exists()


def test_an_absolute_path_stays_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(Path("config.json"), None, folder / "data.csv", None, False, "text")

    assert f'source: "{folder / "data.csv"}"\n' in capsys.readouterr().out


def test_what_is_lacking_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(Path("config.json"), None, None, None, False, "text")

    assert capsys.readouterr().out.splitlines()[1] == "# It names no source and sink."


def test_a_file_that_is_there_is_replaced_only_with_force(folder: Path) -> None:
    (folder / "policy.yaml").write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError) as raised:
        convert(Path("config.json"), Path("policy.yaml"), None, None, False, "text")
    assert str(raised.value) == "policy.yaml is there already [output-exists]\n  try: --force, to replace it, or name another file"
    assert (folder / "policy.yaml").read_text(encoding="utf-8") == "mine"

    convert(Path("config.json"), Path("policy.yaml"), None, None, True, "text")
    assert (folder / "policy.yaml").read_text(encoding="utf-8") != "mine"


def test_a_policy_is_not_converted(folder: Path) -> None:
    (folder / "policy.json").write_text('{"columns": {"age": {"role": "other"}}}', encoding="utf-8")

    with pytest.raises(UsageError) as raised:
        convert(Path("policy.json"), None, None, None, False, "text")
    assert str(raised.value) == (
        "policy.json is no configuration that can be converted [convert-kind]\n  try: sfumato check policy.json, if it is a policy already"
    )


def test_nothing_is_written_of_a_configuration_with_mistakes(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({**CONFIGURATION, "k": 1, "elasticsearch": {}}), encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        convert(Path("config.json"), Path("policy.yaml"), None, None, False, "text")

    assert {mistake.key for mistake in raised.value.mistakes} == {"k", "elasticsearch"}
    assert not (folder / "policy.yaml").exists()


def test_the_command_says_what_it_wrote(folder: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = sfumato_command("convert", "config.json", "-o", "policy.yaml", "--source", "data.csv", "--format", "json", cwd=folder)
    checked = sfumato_command("check", "policy.yaml", cwd=folder)

    assert (done.returncode, done.stderr, json.loads(done.stdout)) == (0, "", {"file": "policy.yaml"})
    assert checked.stdout == "policy.yaml: no mistakes\n"

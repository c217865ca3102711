"""The settings of a plan: everything that somebody who approves it must see."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

POLICY = {
    "source": {"delimited": {"path": "data.csv", "delimiter": ";"}},
    "columns": {
        "person": {"role": "identifier"},
        "staff": {"role": "identifier", "mask": {"constant": {"value": "x"}}},
        "age": {
            "role": "quasi_identifier",
            "type": "integer",
            "hierarchy": {"interval": {"width": 5}},
            "level": {"minimum": 1, "maximum": 3},
            "publish": "bounds",
            "missing": ["?", "n/a"],
            "weight": 2,
        },
        "zip": {"role": "quasi_identifier", "hierarchy": "prefix", "level": {"maximum": 2}, "on_unknown": "suppress"},
        "sex": {"role": "quasi_identifier"},
        "ill": {"role": "sensitive", "missing": "?"},
        "ward": {"role": "other", "accept": "singling_out"},
    },
    "promises": [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "ill", "l": 2}}],
    "algorithm": "datafly",
    "suppression_limit": 0.05,
    "sink": {"parquet": {"path": "release.parquet"}},
}

EXPECTED = """\
With these settings:
source: {{delimited: {{path: "{folder}/data.csv", delimiter: ";", quote: "\\"", escape: null, header: true, columns: null, {others}}}}}
person, identifier: removed
staff, identifier: masked with {{constant: {{value: x}}}}
  on_null generate; on_invalid error
age, quasi_identifier: published as bounds, in two columns: age_from and age_to
  hierarchy {{interval: {{width: 5.0}}}}; level from 1 to 3; type integer; missing ["?", "n/a"]; on_unknown error; weight 2.0
zip, quasi_identifier: published as a label
  hierarchy {{prefix: {{mask: "*"}}}}; level from 0, the value itself, to 2; on_unknown suppress; weight 1.0
sex, quasi_identifier: published as an interval where its values are numbers, a stretch of the calendar where they are dates, else a label
  hierarchy made from its values; level from 0, the value itself, to the root; on_unknown error; weight 1.0
ill, sensitive: published as it is
  missing ["?"]
ward, other: published as it is
  accept [singling_out]
promise: {{k_anonymity: {{k: 2}}}}
promise: {{l_diversity: {{column: ill, l: 2, kind: distinct, c: null, given: []}}}}
subject: null
unnamed: refuse
formats: {{}}
algorithm: {{datafly: {{}}}}
suppression_limit: 0.05
accept: []
sink: {{parquet: {{path: "{folder}/release.parquet", compression: zstd, partition_by: []}}}}

Nothing has been written.
"""


@pytest.fixture
def path(write_policy: Callable[..., Path]) -> Path:
    return write_policy(POLICY, "person;staff;age;zip;sex;ill;ward\n")


def test_a_plan_ends_with_every_setting(path: Path, sfumato_command: Command) -> None:
    printed = sfumato_command("plan", path).stdout

    assert printed.partition("\n\n")[2] == EXPECTED.format(folder=path.parent, others="encoding: utf-8, compression: infer")


def test_the_settings_are_the_same_as_json(path: Path, sfumato_command: Command) -> None:
    told = json.loads(sfumato_command("plan", path, "--format", "json").stdout)

    assert told["source"]["delimited"]["delimiter"] == ";"
    assert told["columns"]["age"] == {
        "role": "quasi_identifier",
        "published": ["age_from", "age_to"],
        "hierarchy": {"interval": {"width": 5.0}},
        "missing": ["?", "n/a"],
        "type": "integer",
        "level": {"minimum": 1, "maximum": 3},
        "publish": "bounds",
        "on_unknown": "error",
        "weight": 2.0,
    }
    assert told["columns"]["person"] == {"role": "identifier", "published": []}
    assert told["columns"]["zip"]["publish"] == "label"
    assert told["columns"]["sex"]["hierarchy"] is None
    assert told["sink"] == {"parquet": {"path": str(path.parent / "release.parquet"), "compression": "zstd", "partition_by": []}}


def test_a_long_tree_is_cut_in_words_and_whole_as_json(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    tree = {"Root": [f"job {number}" for number in range(100)]}
    columns = {"job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": tree}}}}
    path = write_policy({"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, "job\n")

    assert " ... (whole with --format json); level from 0" in sfumato_command("plan", path).stdout
    assert json.loads(sfumato_command("plan", path, "--format", "json").stdout)["columns"]["job"]["hierarchy"]["taxonomy"]["tree"] == tree

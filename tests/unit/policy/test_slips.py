"""Slips that many make get the line that was meant, and it can be pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import Mistake, PolicyError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve

POLICY = """\
source: data.csv
columns:
  age: {role: quasi_identifier}
  ill: {role: sensitive}
promises:
  - k_anonymity: {k: 3}
suppression_limit: 0
sink: release.csv
"""

SLIPS = [
    ("age: {role: quasi_identifier}", "age: quasi_identifier", "age: {role: quasi_identifier}"),
    ("age: {role: quasi_identifier}", "age: quasi-identifier", "age: {role: quasi_identifier}"),
    ("k_anonymity: {k: 3}", "k_anonymity: 3", "k_anonymity: {k: 3}"),
    ("k_anonymity: {k: 3}", "k_anonymity:\n    k: 3", "k_anonymity: {k: 3}"),
    ("promises:\n  - k_anonymity: {k: 3}", "promises: {k_anonymity: {k: 3}}", "promises: [{k_anonymity: {k: 3}}]"),
    ("source: data.csv", 'source: {path: data.csv, delimiter: ";"}', 'source: {delimited: {path: data.csv, delimiter: ";"}}'),
    ("source: data.csv", "source: data.csv.bak", "source: {delimited: {path: data.csv.bak}}"),
    ("source: data.csv", "source: data.tsv.1", 'source: {delimited: {path: data.tsv.1, delimiter: "\\t"}}'),
    ("sink: release.csv", "sink: release.arrows", "sink: release.arrow"),
    ("source: data.csv", "source: {path: data.parquet}", "source: {parquet: {path: data.parquet}}"),
    ("sink: release.csv", "sink: release.ods", "sink: release.csv"),
    ("sink: release.csv", "sink: out/micro/", 'sink: "out/micro/release.csv"'),
    ("role: quasi_identifier}", "role: quasi_identifier, level: 1}", "level: {minimum: 1}"),
    ("suppression_limit: 0", "suppression_limit: 5", "suppression_limit: 0.05"),
    ("suppression_limit: 0", "suppression_limit: 2.5%", "suppression_limit: 0.025"),
    (
        "k_anonymity: {k: 3}",
        "l_diversity: {column: ill, l: 2, kind: recursive}",
        "l_diversity: {column: ill, l: 2, kind: recursive, c: 3}",
    ),
]


def the_mistake(text: str, tmp_path: Path) -> Mistake:
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as raised:
        resolve(load(tmp_path / "policy.yaml"))
    (mistake,) = raised.value.mistakes
    return mistake


@pytest.mark.parametrize(("right", "slip", "hint"), SLIPS)
def test_a_slip_is_told_with_the_line_that_was_meant(right: str, slip: str, hint: str, tmp_path: Path) -> None:
    assert the_mistake(POLICY.replace(right, slip), tmp_path).hint == hint


@pytest.mark.parametrize(("right", "slip", "hint"), SLIPS)
def test_the_line_that_was_meant_is_right(right: str, slip: str, hint: str, tmp_path: Path) -> None:
    pasted = right.replace("role: quasi_identifier}", f"role: quasi_identifier, {hint}}}") if hint.startswith("level") else hint
    (tmp_path / "policy.yaml").write_text(POLICY.replace(right, pasted), encoding="utf-8")

    assert resolve(load(tmp_path / "policy.yaml")).promises


@pytest.mark.parametrize(
    ("right", "slip", "hint"),
    [
        ("age: {role: quasi_identifier}", "age: 5", "age: {role: ...}, with one of identifier, quasi_identifier, sensitive, other"),
        ("k_anonymity: {k: 3}", "l_diversity: 2", "l_diversity: {column: ..., l: ...}"),
        ("k_anonymity: {k: 3}", "{k_anonymity: {k: 3}, t_closeness: {}}", "give each an entry of its own, with a dash before it"),
        ("k_anonymity: {k: 3}", "l_diversity: {column: ill, l: 2, c: 3}", "leave c out, or say kind: recursive"),
        ("sink: release.csv", "sink: release.csv.zip", "sink: release.csv, or release.csv.gz to compress it"),
        ("source: data.csv", "source: data.zip", "unpack it first, then source: data.csv"),
        (
            "source: data.csv",
            "source: data.log*",
            'source: {json_lines: {path: "data.log*"}} or source: {delimited: {path: "data.log*"}}; what is neither is written as CSV in UTF-8 first',
        ),
        (
            "sink: release.csv",
            "sink: release.csv\nkeys: {main: canary}",
            "keys: {main: {file: main.key}}, or {environment: SFUMATO_KEY}: a policy says where a key is read from, and never holds it",
        ),
        ("  age: {role", "\tage: {role", "spaces in place of the tab with which a line begins: YAML takes none"),
        ("source: data.csv", "source: data.ods", "write it as CSV in UTF-8 first, then source: data.csv"),
        (
            "age: {role: quasi_identifier}",
            "age: {role: quasi_identifier, hierarchy: {table: {path: data.csv, encoding: cp1252}}}",
            "utf-8, which alone is read; convert the file first: iconv -f cp1252 -t utf-8 data.csv > data.utf-8.csv",
        ),
    ],
)
def test_where_something_must_be_chosen_the_hint_says_what(right: str, slip: str, hint: str, tmp_path: Path) -> None:
    assert the_mistake(POLICY.replace(right, slip), tmp_path).hint == hint


def test_what_means_nothing_gets_no_guess(tmp_path: Path) -> None:
    assert the_mistake(POLICY.replace("suppression_limit: 0", "suppression_limit: 500"), tmp_path).hint is None

"""What ``sfumato check`` says: all mistakes at once, with line and key."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.lines import parse
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views

Command = Callable[..., subprocess.CompletedProcess[str]]

MANY_MISTAKES = """\
source: data.csv
columns:
  age: {role: quasi_identifer}
  job: {role: quasi_identifier, hierachy: {interval: {}}}
  sex: {role: quasi_identifier, weight: -1}
  illness: {role: sensitive}
promises:
  - k_anonymity: {k: 1}
  - l_diversity: {column: ilness, l: 2}
  - k_anonimity: {k: 3}
algorithm: mondrain
suppression_limit: 5
sink: release.xyz
subjekt: person
"""


def mistakes(text: str, tmp_path: Path) -> list:
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as raised:
        resolve_views(load(path))
    assert raised.value.status == 3
    return raised.value.mistakes


def test_all_mistakes_are_shown_together_with_line_key_and_nearest_name(tmp_path: Path) -> None:
    found = {(m.line, m.key, m.code): m.hint for m in mistakes(MANY_MISTAKES, tmp_path)}
    assert set(found) == {
        (3, "columns.age.role", "policy-value"),
        (4, "columns.job.hierachy", "policy-unknown-key"),
        (5, "columns.sex.weight", "policy-value"),
        (8, "promises[0].k_anonymity.k", "policy-value"),
        (9, "promises[1]", "policy-unknown-column"),
        (10, "promises[2]", "component-unknown"),
        (11, "algorithm", "component-unknown"),
        (12, "suppression_limit", "policy-value"),
        (13, "sink", "policy-value"),
        (14, "subjekt", "policy-unknown-key"),
    }
    assert found[4, "columns.job.hierachy", "policy-unknown-key"] == "hierarchy"
    assert found[10, "promises[2]", "component-unknown"] == "k_anonymity"
    assert found[11, "algorithm", "component-unknown"] == "mondrian"
    assert found[14, "subjekt", "policy-unknown-key"] == "subject"


GOOD = "columns:\n  age: {role: quasi_identifier}\n  illness: {role: sensitive}\npromises: [{k_anonymity: {k: 3}}]\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("columns: {age: {role: quasi_identifier}}\n", "policy-no-promise"),
        ("columns: {age: {role: other}}\npromises: [{k_anonymity: {k: 2}}]\n", "policy-no-quasi-identifier"),
        ("columns: {}\n", "policy-no-columns"),
        ("{}\n", "policy-missing-key"),
        ("", "policy-missing-key"),
        ("just text\n", "policy-value"),
        (GOOD + "order: source\n", "policy-order"),
        (GOOD + "subject: person\n", "policy-unknown-column"),
        (GOOD + "subject: illness\n", "policy-subject-published"),
        (GOOD + "sink: all.csv\nviews: {ward: {sink: ward.csv}}\n", "policy-views-sink"),
        (GOOD + "readers: {nurse: [ward]}\n", "policy-unknown-view"),
        (GOOD + "window: {count: 100, time: 10m}\n", "policy-window"),
        (GOOD.replace("sensitive", "sensitive, mask: null"), "policy-value"),
        (GOOD.replace("sensitive", "sensitive, when: {column: age, equals: 3}"), "policy-role-key"),
        (GOOD.replace("sensitive", "sensitive, mask: empty, otherwise: drop"), "policy-role-key"),
        (GOOD.replace("sensitive", "sensitive, mask: empty, unique: true"), "policy-mask-unique"),
        (GOOD.replace("columns:\n", "subject: who\ncolumns:\n  who: {role: identifier, mask: {shorten: {length: 9}}}\n"), "policy-subject-published"),
        (GOOD.replace("sensitive", "sensitive, mask: empty, when: {column: age, above: 90}"), "policy-mask-promise"),
        (GOOD.replace("sensitive", "sensitive, mask: {aggregate: {function: mode, by: [age]}}"), "policy-mask-promise"),
        (GOOD.replace("sensitive", "sensitive, mask: empty, on_null: generate"), "policy-mask-null"),
        (GOOD.replace("sensitive", "sensitive, mask: empty, when: {column: nobody, equals: 3}"), "policy-unknown-column"),
        (GOOD + "algorithm: {mondrian: {bounds: cut}}\n", "policy-not-built"),
        (GOOD + "algorithm: castel\n", "component-unknown"),
        (GOOD.replace("sensitive", "sensitive, mask: {blur: {}}"), "component-unknown"),
        (GOOD.replace("[{k", "[{l_diversity: {column: illness, l: 2, given: [age]}}, {k"), "policy-role"),
        (GOOD.replace("[{k", "[{t_closeness: {column: illness, t: 0.1, distance: hierarchical}}, {k"), "policy-hierarchy-missing"),
        (GOOD.replace("[{k", "[{l_diversity: {column: age, l: 2}}, {k"), "policy-role"),
        (GOOD.replace("sensitive", "sensitive, weight: 2"), "policy-role-key"),
        (GOOD.replace("quasi_identifier}", "quasi_identifier, level: {minimum: 3, maximum: 1}}"), "policy-level-range"),
        (GOOD + "accept: everything\n", "policy-value"),
        ("a: [1, 2\n", "policy-yaml"),
        ("a: b: c\n", "policy-yaml"),
        ("\t- x\n", "policy-yaml"),
        ("columns: &c {age: {role: other}}\nviews: *c\n", "policy-alias"),
        ("x: " + "[" * 60 + "]" * 60 + "\n", "policy-too-deep"),
        ("# " + "x" * (1 << 20) + "\n", "policy-too-large"),
        ("columns: {}\ncolumns: {}\n", "policy-key-twice"),
        ("columns: !!python/object:os.system {}\n", "policy-tag"),
    ],
)
def test_a_mistake_has_its_code(text: str, code: str, tmp_path: Path) -> None:
    assert code in {mistake.code for mistake in mistakes(text, tmp_path)}


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(PolicyError, match="policy-alias"):
        parse(bomb, "bomb.yaml")


def test_scalars_are_what_they_look_like() -> None:
    value, lines = parse("a: 5\nb: 0.5\nc: '5'\nd: null\ne: true\nf: 007\ng: 2020-01-01\nh: no\n", "x")
    assert value == {"a": 5, "b": 0.5, "c": "5", "d": None, "e": True, "f": "007", "g": "2020-01-01", "h": value["h"]}
    assert lines.at(("c",)) == 3


def test_the_command_says_it_word_for_word(tmp_path: Path, sfumato_command: Command) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD + "algoritm: datafly\nsuppression_limit: 2\n")
    ended = sfumato_command("check", path)
    assert ended.returncode == 3
    assert ended.stderr == (
        "policy.yaml:5 algoritm: unknown key [policy-unknown-key]\n  try: algorithm\n"
        "policy.yaml:6 suppression_limit: must be at most 1.0 [policy-value]\n  try: suppression_limit: 0.02\n"
    )
    told = json.loads(sfumato_command("check", path, "--format", "json").stdout)["error"]
    assert [(m["line"], m["key"]) for m in told["mistakes"]] == [(5, "algoritm"), (6, "suppression_limit")]
    path.write_text(GOOD)
    assert sfumato_command("check", path).stdout == "policy.yaml: no mistakes\n"
    assert sfumato_command("check", tmp_path / "none.yaml").returncode == 5


def test_a_policy_built_in_python_means_the_same_as_the_written_one(tmp_path: Path) -> None:
    import sfumato
    from sfumato.promises.k_anonymity import KAnonymity

    (tmp_path / "policy.yaml").write_text(GOOD)
    built = sfumato.Policy(columns={"age": sfumato.Column(role="quasi_identifier"), "illness": {"role": "sensitive"}}, promises=[KAnonymity(k=3)])
    written, by_hand = (resolve_views(load(policy)).views[""] for policy in (tmp_path / "policy.yaml", built))
    assert written.promises == by_hand.promises
    assert written.policy.columns == by_hand.policy.columns


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (GOOD + "subject: illness\n", {"columns": {"illness": {"role": "identifier"}}}),
        (
            GOOD.replace("sensitive", "other").replace("[{k", "[{l_diversity: {column: illness, l: 2}}, {k"),
            {"columns": {"illness": {"role": "sensitive"}}},
        ),
        (
            GOOD.replace("illness: {role: sensitive", '"a: b": {role: identifier').replace("[{k", '[{l_diversity: {column: "a: b", l: 2}}, {k'),
            {"columns": {"a: b": {"role": "sensitive"}}},
        ),
    ],
)
def test_a_hint_for_a_role_can_be_pasted(text: str, hint: dict, tmp_path: Path) -> None:
    (found,) = [mistake for mistake in mistakes(text, tmp_path) if mistake.code in ("policy-role", "policy-subject-published")]

    assert parse(found.hint, "hint")[0] == hint


def test_a_key_that_is_a_list_is_one_clear_mistake(tmp_path: Path) -> None:
    (found,) = mistakes(GOOD + "? [a, b]\n: {role: other}\n", tmp_path)

    assert str(found) == "line 5 has a key that is a list or a mapping [policy-yaml]\n  try: write the key as text, in quotes"


def test_a_mistake_without_a_key_is_told_by_its_line(tmp_path: Path, sfumato_command: Command) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("columns: {}\na: b: c\n")

    assert sfumato_command("check", path).stderr.startswith("policy.yaml:2 cannot be read as YAML or JSON here [policy-yaml]\n")


PROTECTS_AGE = GOOD.replace("[{k", "[{l_diversity: {column: age, l: 2}}, {k")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (PROTECTS_AGE, "illness in place of age"),
        (PROTECTS_AGE.replace("sensitive", "other"), "name a column of role sensitive; age is generalised, and k_anonymity protects it"),
    ],
)
def test_a_quasi_identifier_in_a_promise_is_not_to_lose_its_role(text: str, hint: str, tmp_path: Path) -> None:
    (found,) = mistakes(text, tmp_path)

    assert (found.code, found.hint) == ("policy-role", hint)


@pytest.mark.parametrize("sink", ["data.csv", "./data.csv", "{parquet: {path: data.csv}}", "policy.yaml.csv"])
def test_a_sink_that_is_read_is_found_without_data(sink: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml.csv").symlink_to("policy.yaml")
    (found,) = mistakes(f"source: data.csv\n{GOOD}sink: {sink}\n", tmp_path)

    assert (found.line, found.key, found.code) == (6, "sink", "sink-is-source")


def test_a_character_that_json_writes_as_two_halves_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"columns": {"😀": {"role": "other"}}}, ensure_ascii=True), encoding="utf-8")

    assert list(load(path).policy.columns) == ["😀"]


@pytest.mark.parametrize(
    ("role", "hint"),
    [
        ("quasi_identifier", "leave ward out of given: it is a quasi_identifier, and the promise is made for each of their classes"),
        ("other", "columns: {ward: {role: sensitive}}"),
    ],
)
def test_a_given_column_must_be_a_sensitive_one(role: str, hint: str) -> None:
    columns = {"age": {"role": "quasi_identifier"}, "ill": {"role": "sensitive"}, "ward": {"role": role}}
    with pytest.raises(PolicyError) as caught:
        resolve_views(load({"columns": columns, "promises": [{"l_diversity": {"column": "ill", "l": 2, "given": ["ward"]}}]}))
    (mistake,) = caught.value.mistakes
    assert mistake.message == f"is given ward, whose role is {role}, and a given column must be a sensitive one"
    assert mistake.hint == hint

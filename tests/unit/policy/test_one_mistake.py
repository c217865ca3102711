"""One mistake is told once: what would only follow from it is not told as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve

POLICY = """\
subject: person
columns:
  person: {role: identifier}
  age: {role: quasi_identifier, hierarchy: interval, weight: 2}
  ill: {role: sensitive, hierarchy: {taxonomy: {tree: {Root: [flu, cold]}}}}
promises:
  - k_anonymity: {k: 3}
  - t_closeness: {column: ill, t: 0.2, distance: hierarchical}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ("role: quasi_identifier", "role: quasi_identifer", "columns.age.role"),
        ("role: quasi_identifier", "rol: quasi_identifier", "columns.age.rol"),
        ("role: sensitive", "rolle: sensitive", "columns.ill.rolle"),
        ("role: identifier", "role: identity", "columns.person.role"),
        ("{role: identifier}", "identifier", "columns.person"),
        ("hierarchy: {tax", "hierachy: {tax", "columns.ill.hierachy"),
        ("columns:", "colums:", "colums"),
        ("promises:", "promisses:", "promisses"),
        ("promises:\n  - k_anonymity: {k: 3}\n  - t", "promises:\n  k_anonymity: {k: 3}\n  t", "promises"),
        ("k_anonymity: {k: 3}\n  - ", "k_anonymity: 3\n  - ", "promises[0]"),
        (POLICY, "just text", ""),
    ],
)
def test_a_slip_is_the_only_mistake(right: str, wrong: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.replace(right, wrong), encoding="utf-8")
    with pytest.raises(PolicyError) as raised:
        resolve(load(tmp_path / "policy.yaml"))

    assert [mistake.key for mistake in raised.value.mistakes] == [key]


def test_the_policy_is_right_without_the_slip(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")

    assert len(resolve(load(tmp_path / "policy.yaml")).promises) == 2


def test_promises_keep_their_places_behind_one_that_cannot_be_read(tmp_path: Path) -> None:
    wrong = POLICY.replace("k_anonymity: {k: 3}", "k_anonymity: 3").replace("column: ill", "column: il")
    (tmp_path / "policy.yaml").write_text(wrong, encoding="utf-8")
    with pytest.raises(PolicyError) as raised:
        resolve(load(tmp_path / "policy.yaml"))

    assert [(mistake.line, mistake.key) for mistake in raised.value.mistakes] == [(7, "promises[0]"), (8, "promises[1]")]

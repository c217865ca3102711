"""What is built wrongly in Python is refused in the words of a policy file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.errors import PolicyError
from sfumato.hierarchies.taxonomy import Taxonomy
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve
from sfumato.promises.k_anonymity import KAnonymity


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: KAnonymity(k=1), "k_anonymity: k: must be at least 2 [policy-value]"),
        (lambda: KAnonymity(k="5"), "k_anonymity: k: must be a whole number [policy-value]"),  # type: ignore[arg-type]
        (lambda: KAnonymity(k=5, l=2), "k_anonymity: l: unknown key [policy-unknown-key]\n  try: only k is known"),  # type: ignore[call-arg]
        (lambda: KAnonymity(), "k_anonymity: needs the key k [policy-missing-key]\n  try: write k: ..."),  # type: ignore[call-arg]
        (lambda: KAnonymity(3), "k_anonymity: settings are given by name [policy-value]\n  try: KAnonymity(k=...)"),  # type: ignore[call-arg]
        (lambda: Taxonomy(), "taxonomy: needs either path or tree [policy-value]"),
        (
            lambda: sfumato.Column(role="sensitiv"),  # type: ignore[arg-type]
            "column: role: must be one of identifier, quasi_identifier, sensitive, other [policy-value]\n  try: sensitive",
        ),
    ],
)
def test_a_part_built_wrongly_says_what_a_policy_would(build: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(PolicyError) as raised:
        build()

    assert str(raised.value) == sentence


def test_all_mistakes_of_a_policy_built_in_python_come_together_with_their_keys() -> None:
    columns: Any = {"age": {"role": "quasi_identifier", "level": {"minimun": 1}}, "sex": {"role": "x"}}
    with pytest.raises(PolicyError) as raised:
        sfumato.Policy(columns=columns, promises=[{"k_anonymity": {5: 3}}], suppression_limit=7)  # type: ignore[list-item]

    assert [(mistake.key, mistake.code, mistake.line) for mistake in raised.value.mistakes] == [
        ("columns.age.level.minimun", "policy-unknown-key", None),
        ("columns.sex.role", "policy-value", None),
        ("promises[0]", "policy-value", None),
        ("suppression_limit", "policy-value", None),
    ]


def test_the_words_are_those_of_the_policy_file(write_policy: Callable[..., Path]) -> None:
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 1}}]}
    with pytest.raises(PolicyError) as written:
        resolve(load(write_policy(policy)))
    with pytest.raises(PolicyError) as built:
        KAnonymity(k=1)

    assert [mistake.message for mistake in written.value.mistakes] == [mistake.message for mistake in built.value.mistakes]


def test_one_mistake_hands_its_hint_on_and_many_name_their_keys() -> None:
    with pytest.raises(PolicyError) as one:
        sfumato.Column(role="othr")  # type: ignore[arg-type]
    with pytest.raises(PolicyError) as many:
        sfumato.Column(role="othr", weigth=2, weight=-1)  # type: ignore[arg-type, call-arg]

    assert (one.value.message, one.value.hint) == ("1 mistake in column", "other")
    assert many.value.message == "3 mistakes in column"
    assert many.value.hint == "role: other; weight: must be more than 0.0; weigth: weight"
    assert many.value.as_mapping()["hint"] == many.value.hint


def test_a_form_that_is_not_kept_is_explained_in_words_not_by_a_pattern() -> None:
    with pytest.raises(PolicyError) as raised:
        sfumato.Policy(columns={}, window={"time": "soon"})  # type: ignore[arg-type]

    assert str(raised.value) == (
        "policy: window.time: is not in the form that this key asks for [policy-value]\n  try: so long: a number and ms, s, m, h or d, such as 10m"
    )

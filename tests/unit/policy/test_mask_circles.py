"""Masks that decide each other in a circle are refused, those of columns that are masked together are not."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.errors import Mistake, PolicyError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve
from sfumato.policy.views import resolve_views

HINT = "by a column outside the circle, or by the same columns in the same order under one key and domain at all of them"


def fake(*by: str, **further: Any) -> dict[str, Any]:
    return {"role": "other", "mask": {"fake": {"kind": "city", "by": list(by), "key": "visits"} | further}}


def shift(by: str, **further: Any) -> dict[str, Any]:
    return {"role": "other", "mask": {"date_shift": {"by": by, "days": 9, "key": "visits"} | further}}


def policy(**columns: dict[str, Any]) -> dict[str, Any]:
    return {"keys": {"visits": {"environment": "V"}, "others": {"environment": "O"}}, "columns": columns}


def mistakes(**columns: dict[str, Any]) -> list[Mistake]:
    try:
        resolve(load(policy(**columns)))
    except PolicyError as error:
        return list(error.mistakes)
    return []


def test_two_masks_that_decide_each_other_are_refused() -> None:
    assert mistakes(name=fake("born"), born=shift("name")) == [
        Mistake("columns.name.mask", "masks decide each other in a circle: name by born, born by name", "policy-mask-cycle", HINT)
    ]


def test_the_line_of_the_first_is_told(tmp_path: Any) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "keys: {k: {environment: K}}\n"
        "columns:\n"
        "  id: {role: identifier}\n"
        "  name: {role: identifier, mask: {fake: {kind: name, by: [born], key: k}}}\n"
        "  born: {role: other, mask: {date_shift: {by: name, days: 9, key: k}}}\n"
    )
    with pytest.raises(PolicyError) as error:
        resolve(load(path))
    assert [(mistake.key, mistake.line) for mistake in error.value.mistakes] == [("columns.name.mask", 4)]


def test_a_longer_circle_is_refused_once() -> None:
    (found,) = mistakes(a=fake("b"), b=fake("c"), c=fake("d"), d=fake("a"), e=fake("a"))
    assert found.message == "masks decide each other in a circle: a by b, b by c, c by d, d by a"


def test_two_circles_are_two_mistakes() -> None:
    found = mistakes(a=fake("b"), b=fake("a"), c=fake("d"), d=fake("c"))
    assert [mistake.key for mistake in found] == ["columns.a.mask", "columns.c.mask"]


@pytest.mark.parametrize("by", [("town", "postcode", "country"), ("town", "postcode", "country", "person")])
def test_columns_that_are_masked_together_are_not_refused(by: tuple[str, ...]) -> None:
    assert mistakes(town=fake(*by), postcode=fake(*by), country=fake(*by), person={"role": "identifier"}) == []


@pytest.mark.parametrize("other", [{"domain": "another"}, {"key": "others"}])
def test_under_another_key_or_domain_they_are_not_masked_together(other: dict[str, str]) -> None:
    (found,) = mistakes(town=fake("town", "postcode"), postcode=fake("town", "postcode", **other))
    assert found.code == "policy-mask-cycle"


def test_some_of_the_columns_are_not_all_of_them() -> None:
    (found,) = mistakes(town=fake("town", "postcode"), postcode=fake("town"))
    assert found.code == "policy-mask-cycle"


def test_a_column_that_is_decided_by_itself_is_no_circle() -> None:
    assert mistakes(town=fake("town"), born=shift("born")) == []


def test_a_chain_is_no_circle() -> None:
    assert mistakes(a=fake("b"), b=fake("c"), c={"role": "identifier"}) == []


def test_conditions_and_groups_are_no_domain() -> None:
    shuffled = {"role": "other", "mask": {"shuffle": {"within": ["town"]}}, "when": {"column": "town", "missing": False}, "accept": "inference"}
    assert mistakes(town=fake("ward") | {"when": {"column": "ward", "missing": False}}, ward=shuffled) == []


def test_what_otherwise_says_counts_too() -> None:
    when = {"when": {"column": "consent", "equals": "no"}}
    born = {"role": "other", "mask": "constant", "otherwise": shift("name")["mask"]} | when
    (found,) = mistakes(name=fake("born"), born=born, consent={"role": "other"})
    assert found.code == "policy-mask-cycle"


def test_a_circle_in_one_view_alone_is_that_views() -> None:
    whole = policy(name={"role": "identifier"}, born=shift("name"))
    whole["views"] = {"ward": {}, "research": {"columns": {"name": fake("born")}}}
    with pytest.raises(PolicyError) as error:
        resolve_views(load(whole))
    assert [mistake.key for mistake in error.value.mistakes] == ["views.research.columns.name.mask"]


def test_the_same_columns_in_another_order_are_not_masked_together() -> None:
    assert mistakes(town=fake("town", "postcode"), postcode=fake("town", "postcode")) == []
    assert [mistake.code for mistake in mistakes(town=fake("town", "postcode"), postcode=fake("postcode", "town"))] == ["policy-mask-cycle"]

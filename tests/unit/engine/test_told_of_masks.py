"""What record, card and plan say of masks is what they do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import sfumato


def run(columns: dict[str, Any], data: dict[str, Any], **more: Any) -> Any:
    return sfumato.run({"columns": columns, **more}, pa.table(data))


def test_the_record_tells_of_a_condition_and_of_what_it_leaves_but_not_its_values() -> None:
    phone = {"role": "other", "mask": {"constant": {"value": "hidden"}}, "when": {"column": "consent", "equals": "Zweifel"}}
    entry = run({"phone": phone, "consent": {"role": "other"}}, {"phone": ["1", "2"], "consent": ["Zweifel", "yes"]}).record.columns["phone"]

    assert entry["mask"] == "constant where a condition on consent holds, others as they are"
    assert entry["reveals"] == "The values of the rows that the condition leaves as they are. Nothing of the value."


def test_what_no_path_names_is_told_of() -> None:
    mask = {"nested": {"paths": {"$.phone": "constant"}, "others": "keep"}}
    release = run({"doc": {"role": "other", "mask": mask}}, {"doc": ['{"name": "Ada", "phone": "0421"}']})

    assert release.record.columns["doc"]["reveals"].startswith("All values that no path names.")
    assert "column doc: values that no path names are published as they are" in release.record.notes


def test_a_constant_hides_missing_values_wherever_it_stands() -> None:
    name = {"role": "other", "mask": [{"shorten": {"length": 1}}, {"constant": {"value": "x"}}]}

    assert run({"name": name}, {"name": ["Ada", None]}).table["name"].to_pylist() == ["x", "x"]
    assert sorted(run({"name": {**name, "on_null": "keep"}}, {"name": ["Ada", None]}).table["name"].to_pylist(), key=str) == [None, "x"]


def test_the_record_says_from_where_loss_is_measured() -> None:
    columns = {"zip": {"role": "quasi_identifier", "mask": {"postcode_mask": {"keep_first": 3}}}}
    release = run(columns, {"zip": ["28195", "28199"]}, promises=[{"k_anonymity": {"k": 2}}])

    assert "what is lost is measured from what the masks made of zip: what these took away is not in it" in release.record.notes


def test_a_plan_says_what_cannot_be_undone_and_in_which_order_rows_come() -> None:
    masks = {"name": {"encrypt": {"key": "main"}}, "card": {"format_preserving_encrypt": {"key": "main"}}}
    columns = {name: {"role": "other", "mask": mask, "when": {"column": "consent", "equals": "no"}} for name, mask in masks.items()}
    policy = {"columns": {**columns, "consent": {"role": "other"}}, "keys": {"main": {"environment": "SOME_KEY"}}}
    told = str(sfumato.plan(policy, pa.table({"name": ["a"], "card": ["1"], "consent": ["no"]})))

    assert "Mask name with encrypt where consent is no, others as they are; sfumato reveal undoes it in part." in told
    assert "Mask card with format_preserving_encrypt where consent is no, others as they are; sfumato reveal cannot undo it." in told
    assert "Return it as a table, in random order." in told

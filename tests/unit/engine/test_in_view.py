"""Errors of a view say where in the policy the view says what is wrong."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SfumatoError

WHOLE = {"a": {"role": "other"}, "b": {"role": "other"}}


def told(entry: dict[str, Any], values: list[Any], column: str = "a") -> str:
    """Return what is said against a policy one of whose two views has its own entry for a column."""
    data = pa.table({"a": ["x"] * len(values), "b": ["y"] * len(values), column: values})
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({"columns": WHOLE, "views": {"v": {"columns": {column: entry}}, "w": {}}}, data=data.select(["a", "b"]))
    return str(caught.value)


def test_a_mask_that_does_not_fit_is_told_where_the_view_says_it() -> None:
    assert told({"role": "other", "mask": {"noise": {"amount": 1}}}, [True]).splitlines()[0] == (
        "policy: views.v.columns.a.mask: noise takes integer or decimal, and the column holds truth values [policy-mask-type]"
    )


def test_a_hint_says_where_the_view_says_it() -> None:
    assert told({"role": "other", "mask": "phone_mask"}, ["n/a", "n/a"]) == (
        "view v: column a: 2 rows with a value that phone_mask cannot take, the first in row 1 [mask-invalid]\n"
        "  try: mask the others with `when`, or say on_invalid: remove in views.v.columns.a"
    )


def test_what_the_whole_policy_says_is_told_where_it_stands() -> None:
    policy = {"columns": {"a": {"role": "other", "mask": "phone_mask"}}, "views": {"v": {}}}
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy, data=pa.table({"a": ["n/a"]}))
    assert caught.value.hint == "mask the others with `when`, or say on_invalid: remove in columns.a"

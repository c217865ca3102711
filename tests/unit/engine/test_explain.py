"""A plan in words: types where they are known before the rows are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.engine.explain import explain
from sfumato.engine.plan import make_plan

TREE = {"taxonomy": {"tree": {"Root": ["f", "m"]}}}


def steps(data: dict[str, Any], **columns: Any) -> list[str]:
    asked = {name: {"role": "quasi_identifier", **about} for name, about in columns.items()}
    return explain(make_plan({"columns": asked, "promises": [{"k_anonymity": {"k": 2}}]}, pa.table(data)))


def test_a_type_is_told_where_source_policy_or_hierarchy_give_it() -> None:
    told = steps({"age": [30], "born": ["1990-01-01"], "sex": ["f"]}, age={}, born={"type": "date"}, sex={"hierarchy": TREE})

    assert told[1:4] == [
        "Generalise age, read as integer, by a ladder made from its values; a value outside it stops the run.",
        "Generalise born, read as date, by a ladder made from its values; a value outside it stops the run.",
        "Generalise sex, read as text, by taxonomy; a value outside it stops the run.",
    ]


def test_a_type_that_only_the_values_tell_is_said_to_be_inferred() -> None:
    told = steps({"age": ["30"], "zip": ["10969"]}, age={}, zip={"hierarchy": "prefix"})

    assert told[1] == (
        "Take age and zip for whole numbers, decimals, dates, timestamps or IP addresses where all values of the column are such, else for text; "
        "the record says which."
    )
    assert told[2] == "Generalise age by a ladder made from its values; a value outside it stops the run."


def test_a_column_that_its_mask_drops_is_said_to_be_removed() -> None:
    columns = {"pid": {"role": "identifier"}, "phone": {"role": "other", "mask": "drop"}, "ward": {"role": "other"}}
    told = explain(make_plan({"columns": columns}, pa.table({"pid": ["1"], "phone": ["1"], "ward": ["A"]})))

    assert told[1:3] == ["Remove pid and phone.", "Keep ward as it is."]


def masked(entry: dict[str, Any]) -> str:
    """Return the sentence on a masked column."""
    columns = {"phone": {"role": "other", **entry}, "ward": {"role": "other"}, "age": {"role": "other"}}
    told = explain(make_plan({"columns": columns}, pa.table({"phone": ["1"], "ward": ["A"], "age": [7]})))
    return told[1]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"mask": "phone_mask"}, "Mask phone with phone_mask."),
        (
            {"mask": "empty", "when": {"column": "ward", "equals": "A"}},
            "Mask phone with empty where ward is A, others as they are.",
        ),
        (
            {"mask": "empty", "when": {"column": "ward", "one_of": ["A", True, ""]}, "otherwise": ["phone_mask", "constant"]},
            "Mask phone with empty where ward is one of A, true, '', others with phone_mask, then constant.",
        ),
        (
            {"mask": "empty", "when": {"and": [{"column": "age", "above": 7, "at_most": 9}, {"not": {"column": "ward", "matches": "^A"}}]}},
            "Mask phone with empty where (age is at most 9 and above 7) and not (ward matches ^A), others as they are.",
        ),
        (
            {"mask": "phone_mask", "on_null": "error", "on_invalid": "remove"},
            "Mask phone with phone_mask; a missing value stops the run; a value that cannot be masked is removed.",
        ),
        ({"mask": "constant", "on_null": "generate"}, "Mask phone with constant; a missing value gets one too."),
        (
            {"mask": "keep", "on_null": "keep", "unique": True},
            "Mask phone with keep; a missing value stays missing; two values that become one stop the run.",
        ),
    ],
)
def test_a_mask_is_told_with_its_condition_and_what_becomes_of_other_values(entry: dict[str, Any], sentence: str) -> None:
    assert masked(entry) == sentence

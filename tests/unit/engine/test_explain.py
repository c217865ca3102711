"""A plan in words: types where they are known before the rows are read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

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

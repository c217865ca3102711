from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import PolicyError
from sfumato.masking.entity_tag import EntityTag

BATCH = pa.RecordBatch.from_pydict({"value": ["Ada", "", None, "日本語"]})


def masked(on_null: Any = None, **settings: Any) -> list[str | None]:
    found: list[str | None] = MaskedColumn("value", [EntityTag(**settings)], on_null=on_null).apply(BATCH, MaskContext("value")).to_pylist()
    return found


def test_every_value_becomes_the_tag_and_missing_ones_stay_missing() -> None:
    assert masked(kind="PERSON") == ["<PERSON>", "<PERSON>", None, "<PERSON>"]


def test_missing_values_get_the_tag_where_the_policy_says_so() -> None:
    assert masked(on_null="generate", kind="PERSON") == ["<PERSON>"] * 4


def test_what_stands_around_the_kind_can_be_chosen() -> None:
    assert masked(kind="名", prefix="[", suffix="")[0] == "[名"


def test_a_tag_needs_a_kind() -> None:
    with pytest.raises(PolicyError) as raised:
        EntityTag(kind="")
    assert str(raised.value) == "entity_tag: kind: must have at least 1 character [policy-value]"

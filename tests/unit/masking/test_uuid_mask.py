from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.uuid_mask import UuidMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = UuidMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


ONE = "123e4567-e89b-12d3-a456-426614174000"


def test_all_digits_are_masked_and_hyphens_stay() -> None:
    assert masked([ONE, "0" * 32]) == ["********-****-****-****-************", "*" * 32]


def test_some_digits_can_be_kept() -> None:
    assert masked([ONE.upper()], keep_first=2, keep_last=3, character="x") == ["12xxxxxx-xxxx-xxxx-xxxx-xxxxxxxxx000"]


@pytest.mark.parametrize("value", ["", "123e4567", ONE[:-1], f"{{{ONE}}}", ONE.replace("-", " "), ONE.replace("1", "g"), ONE + "0", "１" * 32])
def test_what_is_no_uuid_cannot_be_taken(value: str) -> None:
    assert masked(["f" * 32, value, "f" * 32]) == ["*" * 32, None, "*" * 32]


def test_enough_to_find_one_again_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        UuidMask(keep_last=9)
    assert str(raised.value) == "uuid_mask: keep_last: must be at most 8 [policy-value]"

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.email_mask import EmailMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = EmailMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


def test_what_stands_before_the_at_is_masked() -> None:
    assert masked(["ada@example.org", "ada.lovelace+x@mail.example.co.uk"]) == ["***@example.org", "**************@mail.example.co.uk"]
    assert masked(["ada@example.org"], character="#", keep_first=1) == ["a##@example.org"]


def test_a_short_name_is_not_shown_whole() -> None:
    assert masked(["ad@example.org", "a@example.org"], keep_first=2) == ["**@example.org", "*@example.org"]


def test_without_the_domain_only_its_dots_stay() -> None:
    assert masked(["ada@mail.example.org"], keep_domain=False) == ["***@****.*******.***"]
    assert masked(["a.b.c@d.e"], keep_domain=False, keep_first=1) == ["a****@*.*"]


def test_addresses_of_all_scripts_are_taken() -> None:
    assert masked(["日本@例え.jp", "🙂🙂@x.de"], keep_first=1) == ["日*@例え.jp", "🙂*@x.de"]


@pytest.mark.parametrize(
    "value", ["", "ada", "ada@", "@example.org", "a@b", "a@b@c.de", "a b@c.de", "ada@example..org", "ada@example.org.", '"a@b"@c.de', "@@"]
)
def test_what_is_no_address_cannot_be_taken(value: str) -> None:
    # the others of the column stay right
    assert masked(["x@y.de", value, "x@y.de"]) == ["*@y.de", None, "*@y.de"]


def test_a_very_long_address_is_masked() -> None:
    assert masked(["x" * 100_000 + "@y.de"]) == ["*" * 100_000 + "@y.de"]


def test_a_number_of_characters_below_nothing_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        EmailMask(keep_first=-1)
    assert str(raised.value) == "email_mask: keep_first: must be at least 0 [policy-value]"

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking.national_id_mask import NationalIdMask


def masked(values: list[Any], **settings: Any) -> list[str | None]:
    batch = pa.RecordBatch.from_pydict({"value": values})
    found: list[str | None] = NationalIdMask(**settings).apply(batch, MaskContext("value")).to_pylist()
    return found


@pytest.mark.parametrize(
    ("kind", "number", "wanted"),
    [
        ("us_ssn", "219-09-9999", "***-**-**99"),
        ("de_steuer_id", "36 574 261 809", "** *** *** *09"),
        ("fr_nir", "2 53 07 2A 073 004 43", "* ** ** ** *** *** 43"),
        ("uk_nino", "AB 12 34 56 C", "** ** ** *6 C"),
        ("es_dni", "12.345.678-Z", "**.***.**8-Z"),
        ("it_codice_fiscale", "RSSMRA85T10A562S", "**************2S"),
        ("nl_bsn", "1112.22.333", "****.**.*33"),
        ("pl_pesel", "44051401359", "*********59"),
    ],
)
def test_a_number_is_masked_and_its_separators_stay(kind: str, number: str, wanted: str) -> None:
    assert masked([number], kind=kind, keep_last=2) == [wanted]
    assert masked([number.lower()], kind=kind, keep_last=2) == [wanted.lower()]


def test_nothing_stays_unless_it_is_asked_for() -> None:
    assert masked(["219-09-9999"], kind="us_ssn", character="#") == ["###-##-####"]


def test_a_number_that_would_be_shown_whole_is_masked_whole() -> None:
    assert masked(["219-09-9999"], kind="us_ssn", keep_last=9) == ["***-**-****"]


@pytest.mark.parametrize("value", ["", "44051401358", "4405140135", "44051401359 ", "4405--1401359", "x", "日本語", "４４０５１４０１３５９"])
def test_what_is_no_such_number_cannot_be_taken(value: str) -> None:
    assert masked(["44051401359", value], kind="pl_pesel") == ["***********", None]


def test_numbers_that_were_read_as_numbers_are_taken() -> None:
    assert masked([44051401359], kind="pl_pesel", keep_last=1) == ["**********9"]


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(PolicyError) as raised:
        NationalIdMask(kind="us_snn")
    assert str(raised.value) == (
        "national_id_mask: kind: must be one of us_ssn, de_steuer_id, fr_nir, uk_nino, es_dni, it_codice_fiscale, nl_bsn, pl_pesel [policy-value]\n"
        "  try: us_ssn"
    )

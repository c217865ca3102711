"""Columns under a key do not single people out; those that anybody can work out from a value do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.keys import Key, Keys, new_key
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import PromiseError
from sfumato.masking.deterministic_encrypt import DeterministicEncrypt
from sfumato.masking.hash import Hash

PEOPLE = pa.table({"number": [f"{place:08d}" for place in range(8)], "age": [30] * 4 + [40] * 4, "ward": ["A", "B"] * 4})
UNDER_A_KEY: list[dict[str, Any]] = [
    {"hash": {"key": "main"}},
    {"encrypt": {"key": "main"}},
    {"deterministic_encrypt": {"key": "main"}},
    {"format_preserving_encrypt": {"key": "main"}},
    {"tokenise": {"namespace": "singling out"}},
]


def released(mask: Any, **column: Any) -> pa.Table:
    policy = {
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
        "columns": {"number": {"role": "identifier", "mask": mask, **column}, "age": {"role": "quasi_identifier"}, "ward": {"role": "other"}},
        "promises": [{"k_anonymity": {"k": 4}}],
    }
    return sfumato.run(policy, data=PEOPLE).table


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_TEST_KEY", new_key())


@pytest.mark.parametrize("mask", UNDER_A_KEY, ids=lambda mask: next(iter(mask)))
def test_pseudonyms_of_numbers_that_occur_once_are_published(mask: Any) -> None:
    found = released(mask)["number"].to_pylist()
    assert len(set(found)) == 8
    assert not set(found) & set(PEOPLE["number"].to_pylist())


@pytest.mark.parametrize("mask", ["keep", {"hash": {"unkeyed": "sha256"}}, {"hash": {"unkeyed": "sha256", "length": 16}}], ids=str)
def test_what_anybody_can_work_out_is_refused_unless_it_is_accepted(mask: Any) -> None:
    with pytest.raises(PromiseError) as caught:
        released(mask)
    assert caught.value.code == "singling-out"
    assert len(released(mask, accept="singling_out")) == 8


def test_rows_that_a_condition_leaves_as_they_are_are_not_under_a_key() -> None:
    with pytest.raises(PromiseError) as caught:
        released({"encrypt": {"key": "main"}}, when={"column": "ward", "equals": "A"}, otherwise="keep")
    assert caught.value.code == "singling-out"


def test_an_operation_after_another_reads_what_that_has_made_and_not_the_type_of_the_source() -> None:
    context = MaskContext("v", keys=Keys({"main": (Key("k1", bytes(32)),)}), kind="date")
    sealing, hashing = DeterministicEncrypt(key="main"), Hash(unkeyed="sha256")
    batch = pa.RecordBatch.from_pydict({"v": ["2020-01-31", None]})
    sealed = sealing.apply(batch, context)
    found = MaskedColumn("v", [sealing, hashing]).apply(batch, context)
    assert found.to_pylist() == hashing.apply(pa.RecordBatch.from_arrays([sealed], names=["v"]), MaskContext("v")).to_pylist()


def test_an_anonymiser_has_the_keys_of_its_policy() -> None:
    policy = {
        "keys": {"main": {"environment": "SFUMATO_TEST_KEY"}},
        "columns": {
            "number": {"role": "identifier", "mask": {"hash": {"key": "main"}}},
            "age": {"role": "quasi_identifier"},
            "ward": {"role": "other"},
        },
        "promises": [{"k_anonymity": {"k": 4}}],
    }
    anonymiser = sfumato.Anonymiser(policy)
    fitted = anonymiser.fit_transform(PEOPLE)["number"].to_pylist()

    assert len(set(fitted)) == 8
    assert anonymiser.transform(PEOPLE)["number"].to_pylist() == fitted

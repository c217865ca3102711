"""Pseudonyms by keyed digests, and plain ones that must be asked for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import sfumato
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import PolicyError
from sfumato.masking import _polars_hash
from sfumato.masking.hash import Hash

KEYS = Keys({"main": (Key("k1", bytes(range(32))), Key("k0", bytes(32)))})
VECTORS: list[dict[str, str]] = json.loads((Path(__file__).parents[2] / "vectors" / "pseudonyms.json").read_text(encoding="utf-8"))
MANY = 5000


def hashed(values: Any, context: MaskContext | None = None, **settings: Any) -> list[Any]:
    batch = pa.RecordBatch.from_arrays([values if isinstance(values, pa.Array) else pa.array(values)], names=["v"])
    found: list[Any] = Hash(**settings).apply(batch, context or MaskContext("v", keys=KEYS)).to_pylist()
    return found


def known(text: str, purpose: str = "domain:patients") -> bytes:
    return hmac.digest(KEYS.derived("main", purpose).hex().encode(), text.encode(), "sha256")


def test_it_makes_the_pseudonyms_of_the_vectors() -> None:
    for vector in VECTORS:
        if vector["type"] == "text":
            keys = Keys({"main": (Key("k", bytes.fromhex(vector["key"])),)})
            assert hashed([vector["value"]], MaskContext("v", keys=keys), key="main", domain=vector["domain"]) == [vector["hmac"]]


def test_missing_stays_missing_and_the_empty_text_has_a_pseudonym() -> None:
    assert hashed(["", None], key="main", domain="patients") == [known("").hex(), None]


@pytest.mark.parametrize("text", ["🙂🙂", "e\u0301", "é", "مرحبا", "x" * 100_000, " ", "0", "\u200b"], ids=ascii)
def test_every_text_is_hashed_byte_for_byte(text: str) -> None:
    assert hashed([text], key="main", domain="patients") == [known(text).hex()]


def test_one_value_of_several_types_has_one_pseudonym() -> None:
    settings = {"key": "main", "domain": "patients"}
    five = hashed(["5"], **settings)
    assert hashed([5], **settings) == five
    assert hashed([5.0], **settings) == five
    assert hashed(pa.array([Decimal("5.00")]), **settings) == five
    assert hashed(["5.00"], MaskContext("v", keys=KEYS, kind="decimal"), **settings) == five
    assert hashed(["5.00"], **settings) != five


def test_a_view_has_pseudonyms_of_its_own_unless_a_domain_is_shared() -> None:
    doctor, nurse = (MaskContext("v", view=view, keys=KEYS) for view in ("doctor", "nurse"))
    assert hashed(["Ann"], doctor, key="main") != hashed(["Ann"], nurse, key="main")
    assert hashed(["Ann"], doctor, key="main") == [known("Ann", "view:doctor").hex()]
    assert hashed(["Ann"], doctor, key="main", domain="d") == hashed(["Ann"], nurse, key="main", domain="d")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"length": 16}, known("Ann").hex()[:16]),
        ({"output": "base64"}, base64.urlsafe_b64encode(known("Ann")).decode().rstrip("=")),
        ({"output": "base64", "length": 20}, base64.urlsafe_b64encode(known("Ann")).decode()[:20]),
        ({"output": "integer"}, int.from_bytes(known("Ann")[:8], "big") >> 1),
    ],
    ids=str,
)
def test_a_pseudonym_is_shown_as_it_is_asked_for(settings: dict[str, Any], expected: object) -> None:
    assert hashed(["Ann"], key="main", domain="patients", **settings) == [expected]


def test_pseudonyms_as_numbers_are_a_column_of_numbers() -> None:
    mask = Hash(key="main", output="integer")
    assert mask.output_type(pa.string()) == pa.int64()
    assert mask.apply(pa.RecordBatch.from_pydict({"v": ["a"]}), MaskContext("v", keys=KEYS)).type == pa.int64()


@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha3_256", "sha3_512"])
def test_a_plain_digest_is_the_standards(algorithm: str) -> None:
    assert hashed(["Ann", ""], unkeyed=algorithm) == [hashlib.new(algorithm, text).hexdigest() for text in (b"Ann", b"")]


@pytest.mark.parametrize(
    "settings", [{"key": "main"}, {"unkeyed": "sha256"}, {"unkeyed": "sha512"}, {"unkeyed": "sha3_256"}, {"unkeyed": "sha3_512"}], ids=str
)
def test_the_fast_library_makes_the_same(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    values = [None if number % 7 == 0 else f"Änn 🙂 {number}" * (number % 5) for number in range(MANY)]
    assert _polars_hash.is_there()
    fast = hashed(values, **settings)
    monkeypatch.setattr(_polars_hash, "is_there", lambda: False)
    assert hashed(values, **settings) == fast


def test_without_the_fast_library_many_values_are_hashed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars_hash", None)
    monkeypatch.setattr(_polars_hash, "find_spec", lambda name: None)
    assert hashed(["Ann"] * MANY, key="main", domain="patients") == [known("Ann").hex()] * MANY


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs a key; or unkeyed: sha256, which anybody who can guess a value can undo"),
        ({"key": "main", "unkeyed": "sha256"}, "takes key or unkeyed, not both: a digest is made under a key or without one"),
        ({"unkeyed": "sha256", "domain": "d"}, "takes a domain only with a key: plain digests are the same everywhere"),
        ({"key": "main", "output": "integer", "length": 16}, "takes no length with output: integer"),
        ({"key": "main", "length": 65}, "has 64 characters at most"),
        ({"key": "main", "output": "base64", "length": 44}, "has 43 characters at most"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Hash(**settings)
    assert words in str(caught.value)


def test_fewer_than_16_characters_are_refused() -> None:
    with pytest.raises(PolicyError) as caught:
        Hash(key="main", length=15)
    assert "length" in str(caught.value)


def test_a_digest_without_a_key_is_warned_of_in_plan_and_record() -> None:
    table = pa.table({"age": [30, 30, 31, 31], "town": ["Rome", "Rome", "Pisa", "Pisa"]})
    policy = {
        "columns": {"age": {"role": "quasi_identifier"}, "town": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}}},
        "promises": [{"k_anonymity": {"k": 2}}],
    }
    words = "sha256 without a key can be undone by trying values, by anybody"
    assert f"Mask town with hash; mind that {words}." in sfumato.plan(policy, table).steps
    assert f"column town: {words}" in sfumato.run(policy, data=table).record.notes


def test_the_card_says_what_hangs_on_the_key() -> None:
    keyed, plain = Hash(key="main").card, Hash(unkeyed="sha256").card
    assert keyed.reveals == "Which rows have the same value, and how often each occurs."
    assert plain.reveals == "Which rows have the same value, and how often each occurs; and every value that somebody thinks of trying."
    assert (keyed.keyed, plain.keyed) == (True, False)
    assert (keyed.uniqueness, Hash(key="main", length=20).card.uniqueness, Hash(unkeyed="sha256", length=20).card.uniqueness) == (
        "preserved",
        "not guaranteed",
        "preserved",
    )


def test_the_shortest_digest_is_told_where_its_settings_are() -> None:
    with pytest.raises(PolicyError):
        Hash(key="main", length=15)
    assert "16 or more" in (Hash.model_fields["length"].description or "")


@pytest.mark.parametrize(
    ("kind", "declared", "there"),
    [
        ("string", None, True),
        ("string", "decimal", False),
        ("timestamp", None, True),
        ("timestamp", "timestamp", True),
        ("timestamp", "date", False),
        ("decimal(10, 2)", "integer", False),
        ("decimal(10, 2)", "decimal", True),
        ("int64", "integer", True),
    ],
)
def test_a_database_hashes_only_what_is_of_the_type_that_the_policy_says(kind: str, declared: Any, there: bool) -> None:
    table = ibis.table({"x": kind}, name="t")

    found = Hash(unkeyed="sha256").express({"x": table["x"]}, MaskContext("x", kind=declared))

    assert (found is not None) == there

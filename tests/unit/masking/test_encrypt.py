"""Encryption that differs every time, and that which does not: both undone under the right key alone."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core import envelope
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.core.masked_column import MaskedColumn
from sfumato.errors import DataError, UnreachableError
from sfumato.masking.deterministic_encrypt import DeterministicEncrypt
from sfumato.masking.encrypt import Encrypt

OLD, NEW = Key("k1", bytes(range(32))), Key("2026.01-b_c", bytes(32))
BOTH = pytest.mark.parametrize("kind", [Encrypt, DeterministicEncrypt])
TEXTS = ["Ann", None, "", "日本語 🙂", "e\u0301", "مرحبا", 'O\'Neil "Bo"', "x" * 100_000, "s1.k1.AAAA"]


def context(*keys: Key, view: str = "default", **others: Any) -> MaskContext:
    return MaskContext("v", view=view, keys=Keys({"main": keys or (OLD,)}), **others)


def batch(*values: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(list(values))], names=["v"])


@BOTH
def test_what_was_encrypted_is_revealed(kind: Any) -> None:
    mask = kind(key="main", domain="patients")
    assert mask.reveal(mask.apply(batch(*TEXTS), context()), context()).to_pylist() == TEXTS


@BOTH
def test_an_envelope_says_its_version_and_key_and_fits_into_an_address(kind: Any) -> None:
    (found,) = kind(key="main").apply(batch("Ann"), context(NEW)).to_pylist()
    head, _, body = found.rpartition(".")
    assert head == "s1.2026.01-b_c"
    assert body.replace("-", "").replace("_", "").isalnum()
    assert envelope.key_ids(pa.array([found, "Ann", None])) == ["2026.01-b_c"]


def test_deterministic_encryption_gives_the_known_ciphertext() -> None:
    found = DeterministicEncrypt(key="main", domain="patients").apply(batch("Ann", ""), context()).to_pylist()
    assert found == ["s1.k1.1yfYphSD6tZvh2nogBkktQU1xQ", "s1.k1.YkGmk1SBgisdGah4uSASig"]


def test_one_value_has_one_deterministic_ciphertext_and_many_random_ones() -> None:
    same = DeterministicEncrypt(key="main").apply(batch(*["Ann"] * 50), context()).to_pylist()
    other = Encrypt(key="main").apply(batch(*["Ann"] * 50), context()).to_pylist()
    assert len(set(same)) == 1
    assert len(set(other)) == 50


@BOTH
def test_another_domain_or_view_is_another_world(kind: Any) -> None:
    made = kind(key="main", domain="patients").apply(batch("Ann"), context())
    assert kind(key="main", domain="staff").reveal(made, context()).to_pylist() == [None]
    assert kind(key="main").reveal(made, context()).to_pylist() == [None]
    made = kind(key="main").apply(batch("Ann"), context(view="doctor"))
    assert kind(key="main").reveal(made, context(view="nurse")).to_pylist() == [None]


@BOTH
def test_after_a_new_key_both_old_and_new_values_are_revealed(kind: Any) -> None:
    mask = kind(key="main")
    old, new = mask.apply(batch("Ann"), context(OLD)), mask.apply(batch("Ann"), context(NEW, OLD))
    assert [made[0].as_py().startswith(f"s1.{key.id}.") for made, key in ((old, OLD), (new, NEW))] == [True, True]
    assert mask.reveal(pa.concat_arrays([old, new]), context(NEW, OLD)).to_pylist() == ["Ann", "Ann"]


@BOTH
def test_a_key_that_is_no_longer_given_is_named(kind: Any) -> None:
    made = kind(key="main").apply(batch("Ann"), context(OLD))
    with pytest.raises(UnreachableError) as caught:
        kind(key="main").reveal(made, context(NEW))
    assert str(caught.value) == "key main: there is none with the id k1, only 2026.01-b_c [key-id]\n  try: add the older key below the current one"


@BOTH
def test_a_wrong_key_of_the_right_id_reveals_nothing(kind: Any) -> None:
    made = kind(key="main").apply(batch("Ann"), context(OLD))
    assert kind(key="main").reveal(made, context(Key("k1", bytes(32)))).to_pylist() == [None]


@BOTH
def test_every_changed_character_is_noticed(kind: Any) -> None:
    mask = kind(key="main")
    text = mask.apply(batch("Ann"), context())[0].as_py()
    start = text.rindex(".") + 1
    changed = [text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :] for place in range(start, len(text) - 1)]
    assert mask.reveal(pa.array(changed), context()).to_pylist() == [None] * len(changed)


@BOTH
@pytest.mark.parametrize(
    "text", ["", "Ann", "s1.k1.", "s1.k1.A", "s1.k1.AAAA", "s1..AAAA", "s2.k1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "s1.k1.+/+/", "s1.k1.🙂"]
)
def test_what_is_no_ciphertext_is_nothing(kind: Any, text: str) -> None:
    assert kind(key="main").reveal(pa.array([text]), context()).to_pylist() == [None]


@BOTH
def test_a_value_that_is_not_of_the_declared_type_is_refused_without_being_told(kind: Any) -> None:
    column = MaskedColumn("v", [kind(key="main")])
    with pytest.raises(DataError) as caught:
        column.apply(batch("2020-01-01", "canary"), context(kind="date"))
    assert caught.value.message == f"column v: 1 row with a value that {column.component_name()} cannot take"


@BOTH
def test_numbers_and_days_are_revealed_as_text(kind: Any) -> None:
    mask = kind(key="main")
    assert mask.reveal(mask.apply(batch(1, -5), context()), context()).to_pylist() == ["1", "-5"]


@BOTH
def test_without_the_library_the_install_line_is_told(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(UnreachableError) as caught:
        kind(key="main").apply(batch("Ann"), context())
    assert str(caught.value) == "encryption and tokens need the library cryptography [masking-missing]\n  try: pip install 'sfumato[masking]'"


@pytest.mark.parametrize("name", ["encrypt", "deterministic_encrypt", "format_preserving_encrypt", "tokenise"])
def test_the_missing_library_is_told_before_anything_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    policy = {
        "columns": {"v": {"role": "identifier", "mask": {name: {} if name == "tokenise" else {"key": "main"}}}},
        "keys": {"main": {"file": "none"}},
    }
    with pytest.raises(UnreachableError) as caught:
        sfumato.plan(policy, pa.table({"v": ["Ann"]}))
    assert caught.value.code == "masking-missing"


def test_the_three_ciphers_and_the_pseudonyms_of_a_domain_use_keys_of_their_own() -> None:
    domain = OLD.derived("domain:d")
    assert len({domain, Encrypt(key="main").secret(domain), DeterministicEncrypt(key="main").secret(domain)[:32]}) == 3

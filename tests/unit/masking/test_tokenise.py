"""Tokens: one a value, for ever, from a vault that only its owner may read."""

from __future__ import annotations

import itertools
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core import vault
from sfumato.core.keys import Key, Keys
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from sfumato.masking.tokenise import Tokenise

OLD, NEW = Key("k1", bytes(range(32))), Key("k2", bytes(32))
TEXTS = ["Ann", None, "", "日本語 🙂", "Ann", "e\u0301", "مرحبا", "x" * 10_000, "canary"]


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., MaskContext]:
    def make(*keys: Key, **others: Any) -> MaskContext:
        return MaskContext("v", keys=Keys({"main": keys or (OLD,)}), private=tmp_path, **others)

    return make


def tokens(values: Any, context: MaskContext, **settings: Any) -> list[Any]:
    batch = pa.RecordBatch.from_arrays([pa.array(values)], names=["v"])
    found: list[Any] = Tokenise(**settings).apply(batch, context).to_pylist()
    return found


def refused(values: Any, context: MaskContext, **settings: Any) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        tokens(values, context, **settings)
    assert "canary" not in str(caught.value)
    return caught.value


def test_one_value_has_one_token_in_this_run_and_the_next(context: Any) -> None:
    found = tokens(TEXTS, context())
    assert found[0] == found[4]
    assert found[1] is None
    assert len(set(found)) == len(set(TEXTS))
    assert all(1_000_000_000 <= int(token) <= 9_999_999_999 for token in found if token is not None)
    assert tokens(list(reversed(TEXTS)), context()) == list(reversed(found))


@pytest.mark.parametrize(
    "settings",
    [{}, {"key": "main"}, {"order": "sequence", "start": 0, "step": 7}, {"start": 5, "end": 14}, {"start": (1 << 63) - 8, "size": 8}],
    ids=str,
)
def test_tokens_lead_back(context: Any, settings: dict[str, Any]) -> None:
    mask, found = Tokenise(**settings), tokens(TEXTS, context(), **settings)
    assert mask.reveal(pa.array(found), context()).to_pylist() == TEXTS
    strangers = ["", "x", "-1", "01", "1.0", "٣", "1" * 30, str(1 << 63), "1234567890123", "²"]
    assert mask.reveal(pa.array(strangers), context()).to_pylist() == [None] * len(strangers)


def test_a_sequence_is_counted_up_as_values_come(context: Any) -> None:
    settings = {"order": "sequence", "start": 100, "step": 10, "output": "integer"}
    assert tokens(["b", "a", "b", None, "c"], context(), **settings) == [100, 110, 100, None, 120]
    assert tokens(["d", "c", "a"], context(), **settings) == [130, 120, 110]
    assert Tokenise(**settings).output_type(pa.string()) == pa.int64()
    assert Tokenise(**settings).warnings == ("tokens in sequence show which values came first",)
    assert Tokenise(**settings).card.reveals.endswith("and which values came first.")


def test_every_token_of_a_small_range_is_given_out_once_and_then_it_is_full(context: Any) -> None:
    values = [f"value {number}" for number in range(300)]
    settings = {"namespace": "small", "start": 1, "size": 300, "output": "integer"}
    assert sorted(tokens(values, context(), **settings)) == list(range(1, 301))
    error = refused(["canary"], context(), **settings)
    assert isinstance(error, DataError)
    assert str(error) == ("the 300 tokens of namespace:small are used up [vault-full]\n  try: another namespace with a larger size or end")
    # known values still have theirs
    assert len(tokens(values, context(), **settings)) == 300


def test_tokens_say_nothing_of_the_order_of_values(context: Any) -> None:
    found = tokens([f"{number:05d}" for number in range(2000)], context(), output="integer")
    pairs = sum(one < other for one, other in itertools.pairwise(found))
    assert 850 < pairs < 1150
    assert min(found) < 1_200_000_000
    assert max(found) > 9_700_000_000


def test_namespaces_and_views_are_apart_and_can_be_shared(context: Any) -> None:
    doctor, nurse = context(view="doctor"), context(view="nurse")
    assert tokens(["Ann"], doctor) != tokens(["Ann"], nurse)
    assert tokens(["Ann"], doctor, namespace="n") == tokens(["Ann"], nurse, namespace="n")
    assert tokens(["Ann"], context(view="n")) != tokens(["Ann"], nurse, namespace="n")


def test_the_vault_is_private_and_lies_where_it_is_told_to(context: Any, tmp_path: Path, installation: Path) -> None:
    path = tmp_path / "deep" / "my.vault"
    tokens(["Ann"], context(), vault=str(path))
    tokens(["Ann"], MaskContext("v"))
    for file in (path, installation / "vaults" / "tokens.vault"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["my.vault"]


def test_a_vault_with_a_key_holds_no_value_that_can_be_read(context: Any, tmp_path: Path) -> None:
    tokens(["canary of the coalmine"], context(), key="main")
    assert b"canary" not in (tmp_path / "tokens.vault").read_bytes()
    tokens(["sparrow"], context(), namespace="open")
    assert b"sparrow" in (tmp_path / "tokens.vault").read_bytes()


def test_after_a_new_key_values_keep_their_tokens_as_long_as_the_old_one_is_given(context: Any) -> None:
    found = tokens(["Ann"], context(OLD), key="main")
    assert tokens(["Ann"], context(NEW, OLD), key="main") == found
    error = refused(["Ann"], context(NEW), key="main")
    assert str(error) == "key main: there is none with the id k1, only k2 [key-id]\n  try: add the older key below the current one"


def test_another_key_of_the_right_id_is_refused(context: Any, tmp_path: Path) -> None:
    found = tokens(["Ann"], context(), key="main", namespace="n")
    another = context(Key("k1", bytes(range(1, 33))))
    words = (
        f"the vault {tmp_path / 'tokens.vault'} was begun for namespace:n under another key of the id k1 [vault-key]\n"
        "  try: the very key as before; keys of one id must be one key"
    )
    assert str(refused(["canary"], another, key="main", namespace="n")) == words
    with pytest.raises(UnreachableError) as caught:
        Tokenise(key="main", namespace="n").reveal(pa.array(found), another)
    assert str(caught.value) == words
    assert tokens(["Ann"], context(), key="main", namespace="n") == found


def test_a_vault_keeps_nothing_of_its_key(context: Any, tmp_path: Path) -> None:
    tokens(["Ann"], context(), key="main")
    kept = (tmp_path / "tokens.vault").read_bytes()
    assert OLD.secret not in kept
    assert not any(OLD.secret[start : start + 6] in kept for start in range(26))


def test_other_settings_than_those_a_namespace_was_begun_with_are_refused(context: Any, tmp_path: Path) -> None:
    tokens(["Ann"], context(), namespace="n")
    path = tmp_path / "tokens.vault"
    error = refused(["Ann"], context(), namespace="n", size=100)
    assert isinstance(error, UnreachableError)
    assert str(error) == (
        f"the vault {path} has other tokens for namespace:n: 9000000000 from 1000000000 on, at random [vault-range]\n"
        "  try: the same start, size, step and order as before, or another namespace"
    )
    error = refused(["Ann"], context(), namespace="n", key="main")
    assert str(error) == f"the vault {path} was begun for namespace:n without a key [vault-key]\n  try: the same key as before, or another namespace"


def test_a_locked_vault_is_told(context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens(["Ann"], context())
    monkeypatch.setattr(vault, "_SECONDS", 0.1)
    other = sqlite3.connect(tmp_path / "tokens.vault", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        error = refused(["canary"], context())
    finally:
        other.close()
    assert isinstance(error, UnreachableError)
    assert str(error) == (
        f"another process has held the vault {tmp_path / 'tokens.vault'} for more than 0 seconds [vault-busy]\n"
        "  try: wait until it has ended, then run again"
    )


@pytest.mark.parametrize("size", [0, 50, 5000, -5000, -1])
def test_a_truncated_vault_is_told_and_never_begun_anew(context: Any, tmp_path: Path, size: int) -> None:
    path = tmp_path / "tokens.vault"
    tokens([f"value {number}" for number in range(3000)], context())
    os.truncate(path, size if size >= 0 else path.stat().st_size + size)
    error = refused(["canary"], context())
    assert str(error) == f"{path} is damaged or no vault [vault-damaged]\n  try: put the last good copy in its place"


def test_a_bit_that_turned_over_in_the_vault_reveals_no_other_value(context: Any, tmp_path: Path) -> None:
    path, mask = tmp_path / "tokens.vault", Tokenise()
    found = tokens(["alpha", "beta"], context())
    path.write_bytes(path.read_bytes().replace(b"alpha", b"alphb"))
    with pytest.raises(UnreachableError) as caught:
        mask.reveal(pa.array(found), context())
    assert str(caught.value) == f"{path} is damaged or no vault [vault-damaged]\n  try: put the last good copy in its place"


@pytest.mark.parametrize("key", [None, "main"])
def test_numbers_that_have_changed_places_lead_to_nobody_else(context: Any, tmp_path: Path, key: str | None) -> None:
    mask = Tokenise(key=key)
    found = tokens(["alpha", "beta"], context(), key=key)
    with sqlite3.connect(tmp_path / "tokens.vault") as connection:
        for old, new in ((1, 99), (2, 1), (99, 2)):
            connection.execute("UPDATE tokens_1 SET number = ? WHERE number = ?", (new, old))
    connection.close()
    with pytest.raises(UnreachableError, match="vault-damaged"):
        mask.reveal(pa.array(found), context())
    assert refused(["alpha"], context(), key=key).code == "vault-damaged"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE namespaces SET secret = randomblob(32)",
        "UPDATE namespaces SET taken = 1",
        "DELETE FROM tokens_1 WHERE number = 3",
    ],
)
def test_no_token_is_given_out_twice_by_a_damaged_vault(context: Any, tmp_path: Path, damage: str) -> None:
    tokens(["alpha", "beta", "gamma"], context())
    with sqlite3.connect(tmp_path / "tokens.vault") as connection:
        connection.execute(damage)
    connection.close()
    assert refused(["canary", "alpha"], context()).code == "vault-damaged"


@pytest.mark.parametrize("secret", ["x'00'", "x''", "x'0102030405'", "'text'", "zeroblob(33)", "7"])
def test_a_secret_that_is_no_longer_one_is_damage(context: Any, tmp_path: Path, secret: str) -> None:
    path = tmp_path / "tokens.vault"
    found = tokens(["alpha", "beta"], context())
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE namespaces SET secret = {secret}")
    connection.close()
    told = f"{path} is damaged or no vault [vault-damaged]\n  try: put the last good copy in its place"
    assert str(refused(["alpha"], context())) == told
    with pytest.raises(UnreachableError) as caught:
        Tokenise().reveal(pa.array(found), context())
    assert str(caught.value) == told


def test_a_vault_of_another_format_is_told(context: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokens.vault"
    tokens(["alpha"], context())
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    assert str(refused(["canary"], context())) == (
        f"the vault {path} is of format 2, and this version of sfumato keeps format 4 [vault-version]\n"
        "  try: reveal its tokens with the version that wrote it, or name another vault"
    )


def test_what_is_no_vault_is_told(context: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokens.vault"
    for content in (b"canary,canary\n" * 1000, b"SQLite format 3\0" + bytes(5000)):
        path.write_bytes(content)
        path.chmod(0o600)
        assert refused(["canary"], context()).code == "vault-damaged"
        assert path.read_bytes() == content
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE namespaces (x)").connection.close()
    path.chmod(0o600)
    assert refused(["canary"], context()).code == "vault-damaged"


def test_a_vault_that_others_may_read_is_refused(context: Any, tmp_path: Path) -> None:
    path = tmp_path / "tokens.vault"
    tokens(["Ann"], context())
    path.chmod(0o640)
    assert str(refused(["canary"], context())) == f"others may read the vault {path} [vault-permission]\n  try: chmod 600 {path}"


def test_a_vault_that_others_may_write_is_refused(context: Any, tmp_path: Path) -> None:
    tokens(["Ann"], context())
    (tmp_path / "tokens.vault").chmod(0o622)
    assert refused(["canary"], context()).message == f"others may write the vault {tmp_path / 'tokens.vault'}"


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path, 0o600)])
def test_a_vault_that_is_a_folder_or_a_pipe_is_no_file(context: Any, tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "tokens.vault"
    make(path)
    told = f"the vault {path} is no regular file [vault-file]\n  try: name a file: a new one is made where there is none"
    assert str(refused(["canary"], context())) == told


def test_a_vault_that_is_not_there_reveals_nothing(context: Any, tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as caught:
        Tokenise().reveal(pa.array(["1"]), context())
    assert str(caught.value) == f"the vault {tmp_path / 'tokens.vault'} is not there [vault-missing]\n  try: look at the path: tokens live only there"
    tokens(["Ann"], context(), namespace="n")
    assert Tokenise(namespace="other").reveal(pa.array(["1234567890"]), context()).to_pylist() == [None]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"end": 5, "size": 5}, "takes end or size, not both"),
        ({"step": 2}, "takes a step only with order: sequence"),
        ({"start": 5, "end": 4}, "ends before it starts"),
        ({"start": (1 << 63) - 5, "size": 6}, "goes beyond 9223372036854775807, the largest whole number of 64 bits"),
    ],
    ids=str,
)
def test_a_range_that_is_none_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Tokenise(**settings)
    assert words in str(caught.value)


def test_without_the_library_the_install_line_is_told(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert refused(["canary"], context()).hint == "pip install 'sfumato[masking]'"


@pytest.mark.slow
def test_half_a_million_values_have_half_a_million_tokens(context: Any) -> None:
    number = 500_000
    values = pa.array([f"patient {(place * 7919) % 1_000_003}" for place in range(number)])
    mask = Tokenise(output="integer")
    found = pa.chunked_array(
        [mask.apply(pa.RecordBatch.from_arrays([values.slice(start, 100_000)], names=["v"]), context()) for start in range(0, number, 100_000)]
    )
    assert len(found.unique()) == number
    assert mask.reveal(found.slice(0, 1000).combine_chunks().cast(pa.string()), context()).to_pylist() == values.slice(0, 1000).to_pylist()

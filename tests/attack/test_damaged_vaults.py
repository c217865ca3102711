"""Vaults in which bits have turned over or sectors are lost: they are refused, or nobody can tell the difference."""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.vault import Vault
from sfumato.core.vault_namespace import TokenRange
from sfumato.errors import UnreachableError, UsageError

OLD = pa.array([f"person {number} of {'long' * (number % 40)} name".encode() for number in range(220)])
NEW = pa.array([f"newcomer {number}".encode() for number in range(30)])
RANGES = {"names": TokenRange(1, 1, 100_000, ordered=True), "staff": TokenRange(1000, 3, 5000, ordered=False)}
SECTOR = 512
Filled = tuple[bytes, dict[str, list[int]]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """Return a vault of two namespaces, as bytes, and the tokens of the old values."""
    path = tmp_path_factory.mktemp("vault") / "whole.vault"
    tokens = {name: Vault(path).tokens(name, wanted, None, OLD).tolist() for name, wanted in RANGES.items()}
    return path.read_bytes(), tokens


def is_told_or_harmless(path: Path, content: bytes, before: dict[str, list[int]]) -> bool:
    """Return whether damage is an error, or all values keep their tokens, all tokens their values, and no token is given out twice."""
    for name, wanted in RANGES.items():
        path = path.with_name(f"{secrets.token_hex(8)}.vault")
        path.write_bytes(content)
        path.chmod(0o600)
        try:
            given = Vault(path).tokens(name, wanted, None, pa.concat_arrays([NEW, OLD])).tolist()
            values = Vault(path).values(name, wanted, None, np.array(before[name]))
        except (UnreachableError, UsageError):
            continue
        new, old = given[: len(NEW)], given[len(NEW) :]
        if old != before[name] or set(new) & set(old) or len(set(new)) < len(NEW) or values != OLD.to_pylist():
            return False
    return True


@pytest.mark.slow
def test_a_bit_that_turns_over_changes_no_token_silently(tmp_path: Path, filled: Filled) -> None:
    content, tokens = filled
    chance = np.random.default_rng(5)
    for place in chance.integers(0, len(content), 400).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(chance.integers(8))
        assert is_told_or_harmless(tmp_path / "v.vault", bytes(damaged), tokens), place


@pytest.mark.slow
def test_a_lost_sector_changes_no_token_silently(tmp_path: Path, filled: Filled) -> None:
    content, tokens = filled
    for place in range(0, len(content), SECTOR):
        damaged = content[:place] + bytes(SECTOR) + content[place + SECTOR :]
        assert is_told_or_harmless(tmp_path / "v.vault", damaged, tokens), place


@pytest.mark.parametrize("name", RANGES)
def test_a_namespace_whose_name_is_damaged_is_not_begun_anew(tmp_path: Path, filled: Filled, name: str) -> None:
    content, _ = filled
    places = [place for place in range(len(content)) if content.startswith(name.encode(), place)]
    # the row, and the copy of the name in the index
    assert len(places) >= 2
    for place in places:
        damaged = bytearray(content)
        damaged[place + 2] ^= 1
        assert is_told_or_harmless(tmp_path / "v.vault", bytes(damaged), filled[1])


def test_a_value_that_an_index_has_lost_gets_no_second_token(tmp_path: Path, filled: Filled) -> None:
    content, value = filled[0], OLD[7].as_py()
    for place in [place for place in range(len(content)) if content.startswith(value, place)]:
        damaged = bytearray(content)
        damaged[place] ^= 2
        assert is_told_or_harmless(tmp_path / "v.vault", bytes(damaged), filled[1])


def test_a_vault_that_is_whole_is_looked_through_once(tmp_path: Path, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.vault"
    path.write_bytes(filled[0])
    path.chmod(0o600)
    asked: list[str] = []
    connect = sqlite3.connect

    def traced(*given: object, **settings: object) -> sqlite3.Connection:
        connection = connect(*given, **settings)  # type: ignore[call-overload]
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    for start in range(0, 30, 10):
        Vault(path).tokens("names", RANGES["names"], None, NEW.slice(start, 10))
    assert sum("integrity_check" in statement for statement in asked) == 1

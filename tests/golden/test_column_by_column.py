"""The eleven operations of a platform that anonymises any database column by column, and the encryption that it promised, with its parameters.

Where it lost values, passed them on or hashed them without a key, what is right stands here instead.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PolicyError, SfumatoError

NAMES = ["Anna", "ben", "Anna", None, "Çelik", ""]
AGES = [0, 7, 33, 34, 66, 67, 99, 100, None]


def masked(values: list[Any], mask: dict[str, Any], **column: Any) -> list[Any]:
    table = pa.table({"place": list(range(len(values))), "value": values})
    policy = {
        "columns": {"place": {"role": "other"}, "value": {"role": "other", "mask": mask, **column}},
        "keys": {"main": {"environment": "COLUMN_KEY"}},
    }
    release: Any = sfumato.run(policy, table)
    rows = sorted(release.table.to_pylist(), key=lambda row: row["place"])
    return [row["value"] for row in rows]


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMN_KEY", "one:" + "k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")


def test_suppression_by_a_token() -> None:
    assert masked(NAMES, {"constant": {"value": "XXX"}}, on_null="generate") == ["XXX"] * 6


def test_generalisation_by_the_size_of_an_interval() -> None:
    assert masked(AGES, {"generalise": {"size": 10, "minimum": 0, "maximum": 109}}) == [
        *("[0, 9]", "[0, 9]", "[30, 39]", "[30, 39]", "[60, 69]", "[60, 69]", "[90, 99]", "[100, 109]"),
        None,
    ]


def test_generalisation_by_a_number_of_intervals_loses_no_value_at_the_end() -> None:
    found = masked(AGES, {"generalise": {"intervals": 3, "minimum": 0, "maximum": 100}})

    assert found[:-1] == ["[0, 33]"] * 3 + ["[34, 67]"] * 3 + ["[68, 100]"] * 2
    assert found[-1] is None


@pytest.mark.parametrize(
    ("mask", "low", "high"), [({"amount": 5}, -5, 5), ({"relative": 0.1}, -10, 10), ({"amount": 50, "minimum": 90, "maximum": 110}, -10, 10)]
)
def test_perturbation_stays_within_its_value_and_bounds(mask: dict[str, Any], low: int, high: int) -> None:
    found = masked([100] * 500, {"noise": mask})

    assert {100 + low, 100 + high} & set(found) or len(set(found)) > 5
    assert 100 + low <= min(found) < 100 < max(found) <= 100 + high


def test_pattern_masking_knows_all_seven_letters_and_the_character_that_was_asked_for() -> None:
    (found,) = masked(["abcdefgh"], {"pattern_mask": {"pattern": "OXNLUAC", "character": "#", "excess": "discard"}})

    assert re.fullmatch(r"a#[0-9][a-z][A-Z][A-Za-z][A-Za-z0-9]", found)


def test_a_column_is_shuffled_with_and_without_repetition() -> None:
    values = list(range(200))
    once, again = (masked(values, {"shuffle": {"repetition": repetition}}) for repetition in (False, True))

    assert sorted(once) == values
    assert once != values
    assert set(again) < set(values)


@pytest.mark.parametrize(("letters", "made"), [("keep_case_pattern", "Xxxx"), ("lower", "xxxx"), ("upper", "XXXX")])
def test_characters_are_shuffled_within_their_value(letters: str, made: str) -> None:
    (found,) = masked(["Anna"], {"shuffle_characters": {"letters": letters}})

    assert sorted(found.lower()) == sorted("anna")
    assert re.sub("[A-Z]", "X", re.sub("[a-z]", "x", found)) == made


def test_random_numbers_are_whole_and_within_their_bounds() -> None:
    found = masked(["7"] * 300, {"random_number": {"minimum": 3, "maximum": 5}})

    assert {int(number) for number in found} == {3, 4, 5}
    assert set(masked(["seven"] * 300, {"random_number": {"minimum": 3, "maximum": 5, "output": "integer"}})) == {3, 4, 5}


def test_shortening_with_and_without_a_full_stop() -> None:
    assert masked(["Anna", "Al"], {"shorten": {"length": 2, "ellipsis": "."}}) == ["An.", "Al"]
    assert masked(["Anna", "Al"], {"shorten": {"length": 2}}) == ["An", "Al"]


@pytest.mark.parametrize(("algorithm", "function"), [("sha256", hashlib.sha256), ("sha3_256", hashlib.sha3_256)])
def test_hashing_without_a_key_is_that_of_the_standard_and_has_to_be_said(algorithm: str, function: Any) -> None:
    assert masked(["Anna", None], {"hash": {"unkeyed": algorithm}}) == [function(b"Anna").hexdigest(), None]
    with pytest.raises(PolicyError, match="key"):
        masked(["Anna"], {"hash": {}})


def test_hashing_with_a_key_gives_the_same_value_the_same() -> None:
    found = masked(NAMES, {"hash": {"key": "main"}})

    assert found[0] == found[2] != found[1]
    assert found[3] is None
    assert found[5] is not None


def test_tokens_count_from_a_value_in_steps_and_no_missing_value_gets_one() -> None:
    mask = {"tokenise": {"namespace": "column by column", "order": "sequence", "start": 100, "step": 5, "output": "integer"}}

    found = masked(["a", "b", "a", None, "c"], mask)

    assert found[0] == found[2]
    assert sorted({found[0], found[1], found[4]}) == [100, 105, 110]
    assert found[3] is None


def test_tokens_in_sequence_follow_the_order_of_the_source() -> None:
    mask = {"tokenise": {"namespace": "as they come", "order": "sequence", "start": 100, "step": 5, "output": "integer"}}
    values = [f"value {number * 7919 % 1000}" for number in range(1000)]

    assert masked(["zoe", "ann", "max", "ann", None, "bob"], mask) == [100, 105, 110, 105, None, 115]
    assert masked(values, mask) == list(range(120, 5120, 5))


@pytest.mark.parametrize("mask", [[], [{"shorten": {"length": 3}}], [{"shuffle": {}}]])
def test_tokens_in_sequence_are_refused_beside_a_promise(mask: list[Any]) -> None:
    token = [*mask, {"tokenise": {"order": "sequence", "output": "integer"}}]
    columns = {"name": {"role": "identifier", "mask": token}, "town": {"role": "quasi_identifier"}}
    table = pa.table({"name": [f"{number:04d}" for number in range(50)], "town": ["Bonn"] * 50})

    with pytest.raises(PolicyError) as refused:
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 5}}]}, table)
    assert [mistake.code for mistake in refused.value.mistakes] == ["policy-token-order"]


def test_a_view_with_a_promise_does_not_share_tokens_that_another_view_has_counted_up() -> None:
    def token(order: str) -> dict[str, Any]:
        return {"tokenise": {"namespace": "of two views", "order": order}}

    def policy(of_promised: str) -> dict[str, Any]:
        columns = {"name": {"role": "identifier"}, "town": {"role": "other"}}
        views = {
            "first": {"columns": {"name": {"role": "identifier", "mask": token("sequence")}}},
            "second": {
                "columns": {"name": {"role": "identifier", "mask": token(of_promised)}, "town": {"role": "quasi_identifier"}},
                "promises": [{"k_anonymity": {"k": 5}}],
            },
        }
        return {"columns": columns, "views": views}

    table = pa.table({"name": [f"{number:04d}" for number in range(50)], "town": ["Bonn"] * 50})

    with pytest.raises(PolicyError) as refused:
        sfumato.run(policy("sequence"), table)
    assert {mistake.code for mistake in refused.value.mistakes} == {"policy-token-order"}
    # a namespace has one order for ever
    with pytest.raises(SfumatoError) as refused_there:
        sfumato.run(policy("random"), table)
    assert refused_there.value.code == "vault-range"


def test_substitution_from_a_list_with_and_without_memory() -> None:
    values = [f"person {number % 40}" for number in range(400)]
    forgetful, faithful = (masked(values, {"choice": {"values": ["x", "y", "z"], **more}}) for more in ({}, {"key": "main"}))

    assert set(forgetful) == set(faithful) == {"x", "y", "z"}
    assert len(set(zip(values, faithful, strict=True))) == 40
    assert len(set(zip(values, forgetful, strict=True))) > 40


def test_substitution_in_turn_takes_every_value_as_often() -> None:
    values = [None, *(f"person {number % 5}" for number in range(30))]

    found = masked(values, {"choice": {"values": ["x", "y", "z"], "turn": "row"}})
    assert found[0] is None
    assert Counter(found[1:]) == {"x": 10, "y": 10, "z": 10}

    faithful = dict(zip(values[1:], masked(values, {"choice": {"values": ["x", "y", "z"], "turn": "value"}})[1:], strict=True))
    assert sorted(Counter(faithful.values()).values()) == [1, 2, 2]
    again = masked(values, {"choice": {"values": ["x", "y", "z"], "turn": "value"}})
    assert all(len({new for old, new in zip(values, again, strict=True) if old == one}) == 1 for one in faithful)


def test_encryption_that_was_promised() -> None:
    once, again = (masked(["Anna", "Anna"], {mask: {"key": "main"}}) for mask in ("encrypt", "deterministic_encrypt"))

    assert once[0] != once[1]
    assert again[0] == again[1]
    assert "Anna" not in f"{once}{again}"

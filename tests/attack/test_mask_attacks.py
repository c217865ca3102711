"""What was tried against masks, and must not work again."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError, PolicyError, PromiseError, UnreachableError, UsageError

SECRET = bytes(range(32))
Q = {"role": "quasi_identifier"}
K = [{"k_anonymity": {"k": 3}}]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_ATTACK_KEY", "k1:" + base64.b64encode(SECRET).decode())


def masked(values: Any, mask: Any, **more: Any) -> list[Any]:
    return list(sfumato.run({"columns": {"s": {"role": "other", "mask": mask, **more}}}, data=pa.table({"s": values})).table["s"].to_pylist())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2**64 - 1, 5], pa.uint64()),
        ["12345678901234567890", "5"],
        ["00120000", "5"],
        [" 120000", "5"],
        ["120,000", "5"],
        pa.array([float("inf"), 5.0]),
    ],
    ids=str,
)
def test_a_value_that_a_condition_cannot_compare_does_not_pass(values: Any) -> None:
    with pytest.raises(DataError) as raised:
        masked(values, "constant", when={"column": "s", "above": 1000})
    assert raised.value.code == "mask-condition"
    assert "120000" not in raised.value.sentence()


def test_large_whole_numbers_are_told_apart_by_a_condition() -> None:
    found = masked(["12345678901234567", "12345678901234568"], "constant", when={"column": "s", "equals": 12345678901234568})
    assert sorted(found) == ["*", "12345678901234567"]


@pytest.mark.parametrize("mask", ["shuffle", "swap", {"aggregate": {"function": "sum"}}], ids=str)
def test_an_anonymiser_mixes_no_rows(mask: Any) -> None:
    policy = {"columns": {"age": Q, "pay": {"role": "other", "mask": mask}}, "promises": K}
    with pytest.raises(UsageError, match="mixes no rows"):
        sfumato.Anonymiser(policy).fit(pa.table({"age": ["20"] * 6, "pay": ["1"] * 6}))


def test_what_is_fitted_holds_no_key_and_still_masks() -> None:
    table = pa.table({"n": [f"P{place}" for place in range(6)], "age": ["20"] * 6})
    keys = {"p": {"environment": "SFUMATO_ATTACK_KEY"}}
    columns = {"n": {"role": "identifier", "mask": {"hash": {"key": "p"}}}, "age": Q}
    anonymiser = sfumato.Anonymiser({"keys": keys, "columns": columns, "promises": K}).fit(table)

    kept = pickle.dumps(anonymiser)
    assert SECRET not in kept
    assert pickle.loads(kept).transform(table).equals(anonymiser.transform(table))


VIEWED = pa.table(
    {"age": [str(20 + place // 2) for place in range(24)], "sex": ["m", "f"] * 12, "note": ["x"] * 24, "ill": ["flu", "cold", "gout"] * 8}
)


@pytest.mark.parametrize(
    "note",
    [{"mask": {"expression": {"sql": "age", "columns": ["age"]}}}, {"mask": "constant", "when": {"column": "age", "above": 30}}],
    ids=["copied", "by condition"],
)
def test_a_mask_that_tells_what_another_view_generalises_counts_where_both_are_read(note: dict[str, Any]) -> None:
    columns = {"age": Q, "sex": Q, "note": {"role": "other"}, "ill": {"role": "sensitive"}}
    gone = {"role": "identifier"}
    second = {"promises": [], "columns": {"age": gone, "sex": gone, "note": {"role": "other", "accept": "inference", **note}}}
    policy = {"columns": columns, "promises": K, "views": {"a": {}, "b": second}, "readers": {"r": ["a", "b"]}}

    with pytest.raises(PromiseError) as raised:
        sfumato.run(policy, data=VIEWED)
    assert raised.value.code == "verify-together"


def test_a_view_that_only_leaves_a_column_out_may_be_read_with_the_other() -> None:
    columns = {"age": Q, "sex": Q, "note": {"role": "identifier"}, "ill": {"role": "sensitive"}}
    first = {"columns": {"note": {"role": "other"}}}
    policy = {"columns": columns, "promises": K, "views": {"a": first, "b": {"derived_from": "a"}}, "readers": {"r": ["a", "b"]}}
    several = VIEWED.set_column(2, "note", [[str(place % 2) for place in range(24)]])

    releases = sfumato.run(policy, data=several)
    assert {name: release.record.together[0].keeps for name, release in releases.items()} == {"a": "a", "b": "a"}


@pytest.mark.parametrize(
    ("mask", "column"),
    [
        ({"expression": {"sql": "name"}}, "name"),
        ({"pattern_mask": {"pattern": "N", "excess": "keep"}}, "name"),
        ({"noise": {"amount": 0.01}}, "number"),
    ],
    ids=str,
)
def test_a_mask_that_leaves_values_as_they_are_is_none(mask: Any, column: str) -> None:
    table = pa.table({"name": [f"Person{place:02d}" for place in range(12)], "number": list(range(100, 112)), "age": ["20"] * 6 + ["21"] * 6})
    columns = {"age": Q, "name": {"role": "identifier"}, "number": {"role": "identifier"}, column: {"role": "identifier", "mask": mask}}

    with pytest.raises(PromiseError) as raised:
        sfumato.run({"columns": columns, "promises": K}, data=table)
    assert raised.value.code == "singling-out"


def test_a_median_that_one_person_makes_is_not_told() -> None:
    with pytest.raises(DataError, match="aggregate tells nothing"):
        masked(["0", "0", "900000"], {"aggregate": {"function": "median", "k": 3}})


@pytest.mark.parametrize("way", ["environment", "file", "command"])
@pytest.mark.parametrize(
    "secret", [SECRET, b"/" * 3 + bytes(range(29)), bytes([255] * 9) + bytes(range(200, 223))], ids=["plain", "stroke", "strokes"]
)
@pytest.mark.parametrize("identity", ["k1:", ""])
def test_a_key_in_the_wrong_place_is_not_shown(way: str, secret: bytes, identity: str) -> None:
    written = identity + base64.b64encode(secret).decode()
    keys = {"p": {way: [written] if way == "command" else written}}
    policy = {"keys": keys, "columns": {"s": {"role": "other", "mask": {"hash": {"key": "p"}}}}}

    with pytest.raises(UnreachableError) as raised:
        sfumato.run(policy, data=pa.table({"s": ["x"]}))
    assert written[5:] not in raised.value.sentence()
    assert written[-20:] not in raised.value.sentence()


def test_half_a_character_in_a_document_is_no_text() -> None:
    nested = {"nested": {"paths": {"$.a": "keep"}}}
    assert masked(['{"a":"\\ud800"}', '{"a":"b"}'], nested, on_invalid="remove").count(None) == 1


def test_an_identifier_under_a_condition_says_what_becomes_of_the_rest() -> None:
    column = {"role": "identifier", "mask": "email_mask", "when": {"column": "consent", "equals": "No"}}
    with pytest.raises(PolicyError) as raised:
        sfumato.plan({"columns": {"mail": column, "consent": {"role": "other"}}}, data=pa.table({"mail": ["a@b.de"], "consent": ["no"]}))
    assert [mistake.code for mistake in raised.value.mistakes] == ["policy-mask-identifier"]


def test_swapped_values_move_no_further_than_their_rank_allows() -> None:
    for share in (0.05, 0.2, 0.5, 1.0):
        table = pa.table({"place": list(range(5000)), "s": [str(number) for number in range(5000)]})
        columns = {"place": {"role": "other"}, "s": {"role": "other", "mask": {"swap": {"share": share, "rank": 0.002}}}}
        found = sfumato.run({"columns": columns}, data=table).table.to_pylist()
        assert max(abs(int(row["s"]) - row["place"]) for row in found) <= 10


def test_a_sum_that_its_type_does_not_hold_is_not_told() -> None:
    with pytest.raises(DataError, match="aggregate tells nothing"):
        masked(pa.array([100] * 12, pa.int8()), {"aggregate": {"function": "sum"}})


def test_a_value_of_nothing_but_skipped_characters_is_masked_whole() -> None:
    assert masked(["12-34-56", "1a"], {"character_mask": {"skip": "0123456789- "}}) in (["********", "1*"], ["1*", "********"])

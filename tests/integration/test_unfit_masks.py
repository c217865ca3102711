"""Operations that cannot fit their columns, or each other: each is refused before the first row, and the table of cards says so too."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.cli.cards import card_of, fits, fits_in_part
from sfumato.errors import PolicyError

COLUMNS = pa.table({"text": ["a"], "number": [1200], "day": [date(2020, 1, 31)]})
KEY = {"main": {"environment": "UNFIT_KEY"}}


def refused(column: str, mask: Any) -> PolicyError:
    columns: dict[str, Any] = {name: {"role": "identifier"} for name in COLUMNS.column_names} | {column: {"role": "other", "mask": mask}}
    with pytest.raises(PolicyError) as raised:
        sfumato.plan({"columns": columns, "keys": KEY}, COLUMNS)
    return raised.value


@pytest.mark.parametrize(
    ("column", "mask", "words"),
    [
        (
            "number",
            [{"generalise": {"size": 100}}, {"round_number": {"base": 10}}],
            "round_number takes integer or decimal, and the column is of type text once generalise has made it",
        ),
        (
            "day",
            [{"generalise": {"keep": "year"}}, {"date_jitter": {"days": 3}}],
            "date_jitter takes date or timestamp, and the column is of type integer once generalise has made it",
        ),
        (
            "text",
            [{"hash": {"key": "main"}}, {"format_preserving_encrypt": {"key": "main"}}],
            "format_preserving_encrypt takes texts of the alphabet digits, and the column has other characters once hash has made it",
        ),
        (
            "text",
            ["card_mask", {"noise": {"amount": 1}}],
            "noise takes integer or decimal, and the column is of type text once card_mask has made it",
        ),
    ],
)
def test_a_chain_whose_operations_do_not_fit_is_refused(column: str, mask: Any, words: str) -> None:
    (mistake,) = refused(column, mask).mistakes
    assert (mistake.message, mistake.code) == (words, "policy-mask-type")


KINDS_OF_TEXT: dict[str, dict[str, Any]] = {
    "email_mask": {},
    "iban_mask": {},
    "url_mask": {},
    "uuid_mask": {},
    "phone_mask": {},
    "card_mask": {},
    "postcode_mask": {},
    "national_id_mask": {"kind": "us_ssn"},
    "format_preserving_encrypt": {"key": "main"},
}


@pytest.mark.parametrize("maker", [{"constant": {"value": "x"}}, {"entity_tag": {"kind": "PERSON"}}, {"choice": {"values": ["x", "y"]}}])
@pytest.mark.parametrize("name", KINDS_OF_TEXT)
def test_a_mask_of_one_kind_of_text_does_not_take_what_is_known_to_be_none(name: str, maker: dict[str, Any]) -> None:
    (mistake,) = refused("number", [maker, {name: KINDS_OF_TEXT[name]}]).mistakes
    assert mistake.message == f"{name} takes no value that the column has once {next(iter(maker))} has made it"
    assert mistake.code == "policy-mask-type"


@pytest.mark.parametrize(
    "maker",
    [
        {"choice": {"values": ["a", "b"]}},
        {"fake": {"kind": "name"}},
        {"fake": {"kind": "ipv4"}},
        "character_mask",
        {"character_mask": {"keep_last": 2, "character": "X"}},
    ],
)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("aggregate", {"function": "sum", "k": 2}),
        ("aggregate", {"function": "median", "k": 2}),
        ("noise", {"amount": 1}),
        ("round_number", {"base": 10}),
        ("top_bottom_code", {"top": 9}),
        ("generalise", {"size": 10}),
        ("generalise", {"keep": "year"}),
        ("microaggregate", {"k": 2}),
        ("date_jitter", {"days": 3}),
    ],
)
def test_what_is_known_to_be_text_is_neither_counted_nor_moved(maker: Any, name: str, settings: dict[str, Any]) -> None:
    (mistake,) = (each for each in refused("number", [maker, {name: settings}]).mistakes if each.code != "policy-told-twice")
    made_by = maker if isinstance(maker, str) else next(iter(maker))
    assert mistake.message.startswith(f"{name} takes ")
    assert mistake.message.endswith(f", and the column is of type text once {made_by} has made it")


@pytest.mark.parametrize(
    "mask",
    [
        [{"constant": {"value": "ann@example.org"}}, "email_mask"],
        [{"constant": {"value": "4111 1111 1111 1111"}}, "card_mask"],
        [{"constant": {"value": "12"}}, {"round_number": {"base": 10}}],
        [{"constant": {"value": "123456"}}, {"format_preserving_encrypt": {"key": "main"}}],
        # which of them it is only chance can tell
        [{"choice": {"values": ["none", "ann@example.org"]}}, "email_mask"],
        [{"choice": {"values": ["none", "1"]}}, {"noise": {"amount": 1}}],
        [{"choice": {"values": ["none", "123456"]}}, {"format_preserving_encrypt": {"key": "main"}}],
        [{"fake": {"kind": "postcode"}}, {"round_number": {"base": 10}}],
        [{"character_mask": {"character": "0", "keep_first": 1}}, {"round_number": {"base": 10}}],
        [{"character_mask": {"character": "-", "keep_last": 1}}, {"round_number": {"base": 10}}],
    ],
)
def test_what_could_fit_is_not_refused_with_the_policy(mask: Any) -> None:
    columns: dict[str, Any] = {name: {"role": "identifier"} for name in ("text", "day")} | {"number": {"role": "other", "mask": mask}}
    assert sfumato.plan({"columns": columns, "keys": KEY}, COLUMNS)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("email_mask", {}),
        ("card_mask", {}),
        ("iban_mask", {}),
        ("url_mask", {}),
        ("uuid_mask", {}),
        ("phone_mask", {}),
        ("postcode_mask", {}),
        ("national_id_mask", {"kind": "us_ssn"}),
    ],
)
def test_a_mask_of_one_kind_of_text_does_not_take_days(name: str, settings: dict[str, Any]) -> None:
    (mistake,) = refused("day", {name: settings}).mistakes
    assert mistake.message.startswith(f"{name} takes text")
    assert mistake.message.endswith("and the column is of type date")
    assert not fits(card_of(name))["date"]


def test_the_table_says_that_some_settings_only_take_a_type() -> None:
    (mistake,) = refused("day", {"aggregate": {"function": "min", "k": 2}}).mistakes
    assert mistake.message == "aggregate takes integer or decimal, and the column is of type date"
    assert str(mistake.hint).endswith("which operations fit which types, some of them with some settings only")
    assert fits_in_part("aggregate") == {"text", "date", "timestamp", "ip"}


def test_what_an_operation_makes_for_the_next_is_taken() -> None:
    mask = [{"generalise": {"keep": "year"}}, {"round_number": {"base": 10}}]
    columns: dict[str, Any] = {name: {"role": "identifier"} for name in ("text", "number")} | {"day": {"role": "other", "mask": mask}}
    release: Any = sfumato.run({"columns": columns}, COLUMNS)
    assert release.table.to_pylist() == [{"day": "2020"}]

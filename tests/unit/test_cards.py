"""The table of cards: every operation has a line, and says there what its card says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pyarrow as pa
import pytest
from reference_pages.components import card_table

from sfumato.cli.cards import card_of, fits, revealed, said
from sfumato.core.mask import MaskContext, Operation
from sfumato.core.masked_column import MaskedColumn
from sfumato.masking.aggregate import Aggregate
from sfumato.masking.choice import Choice
from sfumato.masking.constant import Constant
from sfumato.masking.entity_tag import EntityTag
from sfumato.masking.generalise import Generalise
from sfumato.masking.random_text import RandomText
from sfumato.masking.random_uuid import RandomUuid
from sfumato.masking.shorten import Shorten
from sfumato.masking.top_bottom_code import TopBottomCode
from sfumato.registry import names


def test_every_operation_has_a_card_with_its_plainest_settings() -> None:
    assert {name: bool(card_of(name).reveals) for name in names("masking")} == dict.fromkeys(names("masking"), True)


def test_what_chance_or_other_rows_decide_is_not_for_quasi_identifiers() -> None:
    assert fits(card_of("shorten"))["quasi_identifier"]
    assert not any(fits(card_of(name))["quasi_identifier"] for name in ("noise", "shuffle", "encrypt", "aggregate", "microaggregate"))
    assert not fits(card_of("microaggregate"))["date"]


@pytest.mark.parametrize(
    ("operation", "others"),
    [
        (Generalise(size=10), [Generalise(keep="year"), Generalise(prefix=2), Generalise(level=1)]),
        (TopBottomCode(top=90), [TopBottomCode(top="2020-01-01")]),
        (Aggregate(function="sum"), [Aggregate(function="count"), Aggregate(function="mode")]),
    ],
    ids=lambda value: value.component_name() if isinstance(value, Operation) else "",
)
def test_the_table_shows_types_that_are_taken_with_any_settings(operation: Operation, others: list[Operation]) -> None:
    taken = [{kind for kind, right in fits(each.card).items() if right} for each in (operation, *others)]
    shown = {kind for kind, right in fits(card_of(operation.component_name())).items() if right}

    assert shown == set().union(*taken)
    assert shown > taken[0]


def test_what_settings_still_reveal_is_told_with_them() -> None:
    same = "Which rows have the same value, and how often each occurs"
    assert revealed("tokenise") == {"": f"{same}.", "`order: sequence`": f"{same}; and which values came first."}
    assert revealed("random_text") == {"": "Nothing of the value.", "`key`": f"{same}."}
    assert "`function: median`, `plain: true`" in revealed("aggregate")
    assert revealed("keep") == {"": "Everything."}


@pytest.mark.parametrize(
    "operation",
    [Constant(value="x"), Choice(values=["x"]), EntityTag(kind="PERSON"), RandomText(length=3), RandomUuid(), Shorten(length=1)],
    ids=lambda operation: operation.component_name(),
)
def test_the_table_tells_what_becomes_of_missing_values_by_default(operation: Operation) -> None:
    nothing = pa.RecordBatch.from_arrays([pa.array([None], pa.string())], ["a"])
    made = MaskedColumn("a", [operation]).apply(nothing, MaskContext("a"))

    assert [said(operation.component_name())["missing"][""].split(",")[0]] == ["kept" if made.null_count else "made"]


def test_only_what_generates_can_be_asked_to_make_missing_values() -> None:
    can = {name for name in names("masking") if "made" in said(name)["missing"][""]}
    assert can == {name for name in names("masking") if card_of(name).generates}


def test_what_a_card_says_with_other_settings_is_told_with_them() -> None:
    assert said("hash")["uniqueness"] == {"": "preserved", "`output: integer`": "not guaranteed"}
    assert said("top_bottom_code")["type change"] == {"": "-", "`beyond: label`": "yes"}
    assert said("shorten")["runs on"] == {"": "arrow, sql"}


def test_the_page_of_an_operation_has_its_card() -> None:
    assert "| deterministic: the same value, under the same key, always becomes the same | no; yes with `key` |" in card_table("fake")
    assert "| a missing value, where the policy has no `on_null` | made |" in card_table("constant")
    assert len(card_table("fake").splitlines()) == 2 + len(said("fake")) - 1


def test_the_command_prints_one_line_an_operation(sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    printed = sfumato_command("components", "--kind", "masking", "--table")
    as_json = sfumato_command("components", "masking", "--table", "--format", "json")
    other = sfumato_command("components", "sources", "--table")

    assert [line.split()[0] for line in printed.stdout.splitlines()[1:]] == names("masking")
    assert printed.stdout.splitlines()[0].endswith("  still reveals")
    assert "  uniqueness      type change  missing  " in printed.stdout.splitlines()[0]
    assert all(line.endswith(f"  {card_of(line.split()[0]).reveals}") for line in printed.stdout.splitlines()[1:])
    assert list(json.loads(as_json.stdout)) == names("masking")
    assert (other.returncode, "[kind-unknown]" in other.stderr) == (2, True)

"""The table of cards: every operation has a line, and says there what its card says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from sfumato.cli.cards import card_of, fits
from sfumato.registry import names


def test_every_operation_has_a_card_with_its_plainest_settings() -> None:
    assert {name: bool(card_of(name).reveals) for name in names("masking")} == dict.fromkeys(names("masking"), True)


def test_what_chance_or_other_rows_decide_is_not_for_quasi_identifiers() -> None:
    assert fits(card_of("shorten"))["quasi_identifier"]
    assert not any(fits(card_of(name))["quasi_identifier"] for name in ("noise", "shuffle", "encrypt", "aggregate", "microaggregate"))
    assert not fits(card_of("microaggregate"))["date"]


def test_the_command_prints_one_line_an_operation(sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    printed = sfumato_command("components", "--kind", "masking", "--table")
    as_json = sfumato_command("components", "masking", "--table", "--format", "json")
    other = sfumato_command("components", "sources", "--table")

    assert [line.split()[0] for line in printed.stdout.splitlines()[1:]] == names("masking")
    assert list(json.loads(as_json.stdout)) == names("masking")
    assert (other.returncode, "[kind-unknown]" in other.stderr) == (2, True)

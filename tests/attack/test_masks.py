"""What somebody might try against masked columns, on releases as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato.errors import DataError

POLICY = """
source: people.csv
columns:
  contact: {{role: identifier, mask: {mask}, accept: singling_out}}
  age: {{role: quasi_identifier}}
promises:
  - k_anonymity: {{k: 2}}
sink: release.csv
"""


def released(folder: Path, contacts: list[str], mask: str) -> list[str]:
    """Run the policy over people of two ages and return what became of their contacts, in alphabetical order."""
    lines = [f'"{contact}",{30 + place % 2}\n' for place, contact in enumerate(contacts)]
    (folder / "people.csv").write_text("contact,age\n" + "".join(lines), encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY.format(mask=mask), encoding="utf-8")
    return sorted(row["contact"] for row in sfumato.run(folder / "policy.yaml").table.to_pylist())


def test_a_value_that_cannot_be_masked_is_not_published_and_not_told(tmp_path: Path) -> None:
    contacts = ["ada@example.org", "canary 7f3a", "ben@example.org", "eve@example.org"]

    with pytest.raises(DataError) as raised:
        released(tmp_path, contacts, "email_mask")
    assert str(raised.value) == (
        "column contact: 1 row with a value that email_mask cannot take, row 2 [mask-invalid]\n"
        "  try: mask the others with `when`, or say on_invalid: remove in columns.contact"
    )
    assert not list(tmp_path.glob("release.csv*"))


def test_a_short_value_is_not_shown_by_a_mask_that_keeps_its_ends(tmp_path: Path) -> None:
    assert released(tmp_path, ["1234", "12", "567890", "1"], "{character_mask: {keep_last: 4}}") == ["*", "**", "****", "**7890"]


def test_an_expression_that_misses_a_value_does_not_let_it_pass(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        released(tmp_path, ["0421 1234", "0421-1234", "0421 1234", "0421 1234"], '{regex_replace: {pattern: " [0-9]+$", replacement: ""}}')
    assert raised.value.code == "mask-invalid"


def test_a_second_run_deals_other_random_characters(tmp_path: Path) -> None:
    # who could foretell chance could undo it: nothing may be drawn from a fixed seed
    contacts, mask = ["abcdefghijklmnop"] * 4, "{shuffle_characters: {}}"

    assert released(tmp_path, contacts, mask) != released(tmp_path, contacts, mask)


def test_the_check_digits_of_an_account_do_not_stay(tmp_path: Path) -> None:
    # with country, check digits and the last four kept, 97 times fewer numbers would fit
    assert released(tmp_path, ["DE89370400440532013000"] * 2, "iban_mask") == ["DE****************3000"] * 2

"""The reference pages are what the code says, and their examples are what a run gives."""

from __future__ import annotations

from pathlib import Path

import make_reference
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_page_of_the_reference_is_what_the_code_and_its_examples_say() -> None:
    made = make_reference.pages()
    folder = ROOT / "docs" / "reference"
    kept = {str(page.relative_to(folder)): page.read_text(encoding="utf-8") for page in folder.rglob("*.md")}

    # after a change, `make docs` writes them anew
    assert sorted(kept) == sorted(made)
    assert [page for page in made if made[page] != kept[page]] == []

"""The pages of the keys of a policy say what the model says, and every link of the reference leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from reference_pages.settings import Setting, setting_page, settings

from sfumato.policy.model import Column, Policy, View

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def setting(name: str) -> Setting:
    (found,) = [one for one in settings() if one.page == f"{name}.md"]
    return found


def test_every_key_of_policies_columns_and_views_has_a_page() -> None:
    names = {one.page.removesuffix(".md") for one in settings()}

    assert names >= set(Policy.model_fields)
    assert names >= {f"columns.{key}" for key in Column.model_fields}
    assert names >= {f"views.{key}" for key in View.model_fields}
    assert names >= {"columns.level.minimum", "columns.when.and", "formats.time_zone", "keys.command", "window.lateness"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("columns.on_unknown", "- Allowed: `error`, `suppress` or `generalise`."),
        ("columns.unique", "- Allowed: `true` or `false`."),
        ("columns.weight", "- Allowed: a number, more than 0 and at most 1,000,000,000."),
        ("columns.level.maximum", "- Allowed: a whole number, at least 0."),
        ("columns.missing", "- Allowed: a text, or a list of them."),
        ("columns.when.one_of", "- Allowed: a list of at least one, each a text, or `true` or `false`, or a number."),
        ("columns.when.not", "- Allowed: a [condition](columns.when.md)."),
        ("columns.mask", "- Allowed: a [mask](../README.md#masking): its name, or `{name: {settings}}`; or a list of them."),
        ("promises", "- Allowed: a list, each a [promise](../README.md#promises): its name, or `{name: {settings}}`."),
        ("keys.file", "- Allowed: a text, not empty."),
        ("readers", "- Allowed: a mapping: under each name a text, or a list of them."),
        ("columns.level", "- Allowed: a mapping with the keys [minimum](columns.level.minimum.md) and [maximum](columns.level.maximum.md)."),
        ("window.time", "- Allowed: a length of time, such as `10m`: a number and `ms`, `s`, `m`, `h` or `d`."),
        ("columns.role", "- Default: none, the key is needed."),
        ("columns.level", "- Default: `{minimum: 0}`."),
        ("algorithm", "- Default: `mondrian`."),
        ("subject", "- Default: none."),
        ("views.promises", "- Default: as in the policy."),
        ("views.sink", "- Default: none."),
    ],
)
def test_a_page_says_in_words_what_is_allowed_and_what_is_taken_otherwise(name: str, line: str) -> None:
    assert line in (REFERENCE / "settings" / f"{name}.md").read_text(encoding="utf-8").splitlines()


def test_keys_of_streams_lead_to_the_page_of_streams() -> None:
    assert "[docs/streams.md](../../streams.md)" in setting_page(setting("window.count"))


def test_every_link_of_the_reference_leads_to_a_file_and_a_heading() -> None:
    lost = []
    for page in REFERENCE.rglob("*.md"):
        # what stands in a fence is no link
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, heading = link.partition("#")
            target = page.parent / path
            if not target.exists() or (heading and heading not in headings(target)):
                lost.append(f"{page.name}: {link}")
    assert lost == []


def headings(page: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}

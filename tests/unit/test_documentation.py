"""The documentation is run: its policies are checked, and the example of the README does what it says."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

import sfumato
from sfumato.core.keys import new_key
from sfumato.core.record import RunRecord
from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.model import Column, Policy, Role
from sfumato.policy.views import resolve_views
from sfumato.registry import names

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: what the comment above it says, its language and its text."""

    page: str
    mark: str
    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    found = BLOCK.finditer(path.read_text(encoding="utf-8"))
    return [Block(path.name, match["mark"] or "", match["language"], match["text"]) for match in found]


ALL = [block for page in PAGES for block in blocks(page)]
POLICIES = [block for block in ALL if block.language == "yaml" and re.search("^columns:", block.text, re.MULTILINE)]
WHOLE = [block for block in POLICIES if not block.mark.startswith("refused: ")]
REFUSED = [block for block in POLICIES if block.mark.startswith("refused: ")]
PAGE_OF_POLICIES = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
PAGE_OF_RECORDS = (ROOT / "docs" / "record.md").read_text(encoding="utf-8")


def marked(mark: str, page: str = "README.md") -> str:
    """Return the text of the one block of the README, or of another page, that has this comment above it."""
    (block,) = [block for block in blocks(ROOT / page) if block.mark == mark]
    return block.text


# what the policies of the documentation name beside their data
FILES = {"adult_hierarchy_age.csv": "17;young;*\n71;old;*\n", "towns.txt": "Root: Rome, Pisa\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


# --- policies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", WHOLE, ids=lambda block: block.page)
def test_a_policy_of_the_documentation_has_no_mistakes(block: Block, folder: Path) -> None:
    (folder / "policy.yaml").write_text(block.text, encoding="utf-8")

    resolved = resolve_views(load(folder / "policy.yaml"))

    assert all(list(view.policy.columns) for view in resolved.views.values())


EVENTS = [block for block in WHOLE if "z_anonymity:" in block.text]


@pytest.mark.parametrize("block", EVENTS, ids=lambda block: block.page)
def test_a_policy_of_events_lets_out_what_enough_people_show(block: Block, folder: Path) -> None:
    (folder / "policy.yaml").write_text(block.text, encoding="utf-8")
    (folder / "pseudonyms.key").write_text(new_key() + "\n", encoding="utf-8")
    (folder / "pseudonyms.key").chmod(0o600)
    path = "electronics.audio.headphone"
    shown = {"item": path, "product": path, "town": "Rome", "lat": 41.9, "lon": 12.5, "refuses": "no"}
    known = load(folder / "policy.yaml").policy.columns
    records = [{"user": f"u{number}", "at": f"2026-03-01T12:00:{number:02d}Z"} | shown for number in range(50)]

    session = sfumato.stream(folder / "policy.yaml", secret=bytes(32))
    released = session.push([{name: record[name] for name in known} for record in records])

    assert 0 < session.accounts.released <= 50
    assert not session.accounts.dead
    assert all(set(release.batch.schema.names) <= {*known} for release in released)


def test_there_are_policies_of_events() -> None:
    assert len(EVENTS) >= 3


@pytest.mark.parametrize("block", REFUSED, ids=lambda block: block.page)
def test_a_policy_that_is_wrong_on_purpose_is_refused_as_it_says(block: Block, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(block.text, encoding="utf-8")

    with pytest.raises(PolicyError) as raised:
        resolve_views(load(tmp_path / "policy.yaml"))

    assert sorted(mistake.code for mistake in raised.value.mistakes) == sorted(block.mark.removeprefix("refused: ").split(", "))


def test_there_are_policies_of_both_kinds() -> None:
    # if the fences changed, the tests above would look at nothing
    assert len(WHOLE) >= 4
    assert REFUSED


@pytest.mark.parametrize("key", [*Policy.model_fields, *Column.model_fields])
def test_every_key_has_a_line_in_a_table(key: str) -> None:
    assert re.search(rf"^\| `{key}` \|", PAGE_OF_POLICIES, re.MULTILINE)


@pytest.mark.parametrize("role", get_args(Role))
def test_every_role_is_explained(role: str) -> None:
    assert f"- `{role}`: " in PAGE_OF_POLICIES


@pytest.mark.parametrize("name", [name for kind in ("hierarchies", "promises", "algorithms", "masking") for name in names(kind)])
def test_every_component_is_named(name: str) -> None:
    assert f"`{name}" in PAGE_OF_POLICIES


# --- the record ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", RunRecord.model_fields)
def test_every_field_of_the_record_is_explained(field: str) -> None:
    assert re.search(rf"^\|.*`{field}[`.\[]", PAGE_OF_RECORDS, re.MULTILINE)


# --- the example of the README ------------------------------------------------------------------------------------------


@pytest.fixture
def example(tmp_path: Path) -> Path:
    for name in ("patients.csv", "policy.yaml"):
        (tmp_path / name).write_text(marked(f"file: {name}"), encoding="utf-8")
    return tmp_path


def test_the_example_of_the_readme_prints_and_releases_what_it_shows(
    example: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = sfumato_command("run", "policy.yaml", cwd=example)

    assert done.returncode == 0
    assert done.stdout.replace(str(example.resolve()), "/home/ada") == marked("printed")
    assert (example / "release.csv").read_text(encoding="utf-8") == marked("release")


def test_the_python_of_the_readme_prints_what_it_shows(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(marked("python"), "README.md", "exec"), {})

    assert printed.getvalue() == marked("python prints")


def test_the_python_of_the_page_of_streams_prints_what_it_shows() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(marked("python", "docs/streams.md"), "streams.md", "exec"), {})

    assert printed.getvalue() == marked("python prints", "docs/streams.md")


def test_every_measure_of_the_example_is_explained(example: Path) -> None:

    measures = sfumato.run(example / "policy.yaml").record.measures
    unexplained = {name for side in measures.values() for name in side if f"`{name}`" not in PAGE_OF_RECORDS}

    assert unexplained == set()


def test_the_readme_names_every_command() -> None:
    from sfumato.cli.app import app

    commands = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]
    assert [name for name in commands if f"`sfumato {name}" not in (ROOT / "README.md").read_text(encoding="utf-8")] == []


# --- other pages --------------------------------------------------------------------------------------------------------


def test_the_python_of_the_documentation_compiles() -> None:
    texts = [block for block in ALL if block.language == "python"]
    assert texts
    for block in texts:
        compile(block.text, block.page, "exec")


def test_links_within_the_documentation_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))]
    assert links
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_the_changelog_speaks_of_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

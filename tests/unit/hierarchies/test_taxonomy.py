from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.taxonomy import Taxonomy

JOBS = "# who does what\nRoot: craft, food\ncraft: smith, welder\n\nfood: cook\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.txt"


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        Taxonomy(path=str(path)).read("job")
    assert caught.value.code == "taxonomy-broken"
    return caught.value.message.removeprefix(f"taxonomy {path}")


def test_a_file_and_a_tree_of_the_same_lines_are_one_hierarchy(path: Path) -> None:
    path.write_text(JOBS, encoding="utf-8")
    tree = {"Root": ["craft", "food"], "craft": ["smith", "welder"], "food": ["cook"]}
    read, written = Taxonomy(path=str(path)).read("job"), Taxonomy(tree=tree).read("job")

    assert read.leaves.to_pylist() == written.leaves.to_pylist() == ["smith", "welder", "cook"]
    assert [level.labels for level in read.levels] == [level.labels for level in written.levels] == [("craft", "food"), ("*",)]


def test_a_root_of_another_name_keeps_it() -> None:
    assert Taxonomy(tree={"anything": ["a", "b"]}).read("job").root == "anything"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\nb: c\nc: a\n", ": lines 1, 2 and 3: the way up goes round in a circle"),
        ("Root: x\na: a\n", ": line 2: the way up goes round in a circle"),
        ("Root: x\n\n# apart\nb: c, d\nd: b\n", ": lines 4 and 5: the way up goes round in a circle"),
        ("Root: a\nother: b\nthird: c\n", ": lines 1, 2 and 3: 3 categories have no parent; only the root has none"),
        ("Root: a, b\na: c\nb: c\n", ": lines 2 and 3: one category stands below two parents or twice below one"),
        ("Root: a, a\n", ": line 1: one category stands below two parents or twice below one"),
        ("Root: a\nb\n", ": line 2 is not `parent: child1, child2`"),
        ("# nothing\n", " is empty"),
        ("".join(f"a{i}: a{(i + 1) % 12}\n" for i in range(12)), ": lines 1, 2, 3, 4, 5, 6, 7, 8 and 4 more: the way up goes round in a circle"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_lines(text: str, message: str, path: Path) -> None:
    assert refused(path, text) == message


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": ["b"], "b": ["a"]}, "taxonomy in the policy: entries 1 and 2: the way up goes round in a circle"),
        ({}, "taxonomy in the policy is empty"),
    ],
)
def test_a_tree_in_the_policy_names_its_entries(tree: dict[str, list[str]], message: str) -> None:
    with pytest.raises(DataError) as caught:
        Taxonomy(tree=tree).read("job")

    assert caught.value.message == message


def test_numbers_in_the_policy_are_told_once_and_how_to_write_them() -> None:
    with pytest.raises(PolicyError) as caught:
        Taxonomy(tree={"Root": [4711, "a", True]})  # type: ignore[list-item]  # as YAML reads them
    (mistake,) = caught.value.mistakes
    assert (mistake.key, mistake.message) == (
        "tree",
        'has categories that are numbers or truth values, and all must be text: write them in quotes, as in ["18", "no"]',
    )

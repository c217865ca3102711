"""Who reads the releases of two policies must not link their pseudonyms, unless the policies say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.keys import new_key
from sfumato.core.yaml_text import yaml_text

PEOPLE = pa.table({"name": ["Ada", "Ben", "Cem"]})
MASKS = [{"hash": {"key": "main"}}, {"deterministic_encrypt": {"key": "main"}}, "tokenise", {"random_text": {"length": 20, "key": "main"}}]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_MAIN", new_key("k1"))


def policy(mask: Any, **keys: Any) -> dict[str, Any]:
    columns = {"name": {"role": "identifier", "mask": mask}}
    return {"columns": columns, "keys": {"main": {"environment": "SFUMATO_MAIN"}}, **keys}


def written(path: Path, mask: Any, **keys: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml_text(policy(mask, **keys)) + "\n", encoding="utf-8")
    return path


def pseudonyms(given: Any) -> set[str]:
    release = sfumato.run(given, data=PEOPLE)
    found = release.values() if isinstance(release, sfumato.Releases) else [release]
    return {value for each in found for value in each.table.column("name").to_pylist()}


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_two_policies_share_no_pseudonym(mask: Any, tmp_path: Path) -> None:
    one, other = written(tmp_path / "one" / "policy.yaml", mask), written(tmp_path / "other" / "policy.yaml", mask)
    assert not pseudonyms(one) & pseudonyms(other)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_views_of_one_name_in_two_policies_share_no_pseudonym(mask: Any, tmp_path: Path) -> None:
    views: dict[str, Any] = {"research": {}}
    one, other = written(tmp_path / "one.yaml", mask, views=views), written(tmp_path / "other.yaml", mask, views=views)
    assert not pseudonyms(one) & pseudonyms(other)


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_one_policy_gives_the_same_pseudonyms_when_it_runs_again_though_it_has_changed(mask: Any, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    first = pseudonyms(written(path, mask))
    assert pseudonyms(written(path, mask, suppression_limit=0.1)) == first


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_policies_of_one_name_share_pseudonyms(mask: Any, tmp_path: Path) -> None:
    one, other = written(tmp_path / "one.yaml", mask, name="ward 3"), written(tmp_path / "other.yaml", mask, name="ward 3")
    assert pseudonyms(one) == pseudonyms(other)
    assert pseudonyms(one) != pseudonyms(policy(mask, name="ward 4"))


def test_policies_that_name_one_domain_share_pseudonyms(tmp_path: Path) -> None:
    mask = {"hash": {"key": "main", "domain": "people"}}
    assert pseudonyms(written(tmp_path / "one.yaml", mask)) == pseudonyms(written(tmp_path / "other.yaml", mask))


def test_a_policy_built_in_python_is_known_by_what_it_says() -> None:
    mask = {"hash": {"key": "main"}}
    assert pseudonyms(policy(mask)) == pseudonyms(policy(mask))
    assert not pseudonyms(policy(mask)) & pseudonyms(policy(mask, suppression_limit=0.1))

"""``make demo`` run twice: what its user has changed in between stays."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.syspath_prepend(EXAMPLES)
    specification.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "TABLES", {"hospital": 300})
    return module


def test_a_policy_that_was_changed_is_kept_and_run(demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    policy, tree = tmp_path / "demo" / "hospital.yaml", tmp_path / "demo" / "census" / "country.txt"
    changed = policy.read_text(encoding="utf-8").replace("k: 5", "k: 7")
    policy.write_text(changed, encoding="utf-8")
    tree.unlink()
    capsys.readouterr()

    demo.main()

    printed = capsys.readouterr().out
    assert policy.read_text(encoding="utf-8") == changed
    assert tree.read_bytes() == (EXAMPLES / "census" / "country.txt").read_bytes()
    assert printed.startswith("demo/hospital.yaml was changed and is kept; remove it to get the first one back\nhospital: 300 rows in ")
    assert "  k_anonymity  k 7 " in printed


def test_what_was_not_changed_is_not_spoken_of(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    demo.lay_out()
    demo.lay_out()

    assert capsys.readouterr().out == ""

"""Whoever may make a name in a folder that is followed does not stop the stream by it, nor have a record counted twice."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.engine.stream.check import check_stream
from sfumato.engine.stream.progress import StreamProgress
from sfumato.engine.stream.running import Running, run_stream


def lines(*numbers: int) -> str:
    return "".join(json.dumps({"number": number}) + "\n" for number in numbers)


@pytest.fixture(params=["in/", "in/*.jsonl"], ids=["folder", "pattern"])
def policy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    columns = {"number": {"role": "other", "type": "integer"}}
    told = {"source": request.param, "columns": columns, "stream": {"state": "state"}, "sink": "release.jsonl"}
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "m.jsonl").write_text(lines(1, 2))
    return tmp_path / "policy.yaml"


def released(policy: Path) -> list[int]:
    run_stream(policy, Running(once=True))
    assert check_stream(policy).holds
    return sorted(json.loads(line)["number"] for line in policy.with_name("release.jsonl").read_text().splitlines())


@pytest.mark.parametrize("nowhere", ["missing.jsonl", "m.jsonl/below", "link.jsonl"], ids=["missing", "below a file", "itself"])
def test_a_link_that_leads_nowhere_is_a_file_that_is_not_there_yet(policy: Path, nowhere: str) -> None:
    assert released(policy) == [1, 2]
    (policy.parent / "in" / "link.jsonl").symlink_to(nowhere)
    with (policy.parent / "in" / "m.jsonl").open("a") as file:
        file.write(lines(3))
    assert released(policy) == [1, 2, 3]


def test_a_link_is_read_once_there_is_something_behind_it(policy: Path) -> None:
    (policy.parent / "in" / "link.jsonl").symlink_to(policy.parent / "later")
    assert released(policy) == [1, 2]
    (policy.parent / "later").write_text(lines(3))
    assert released(policy) == [1, 2, 3]


@pytest.mark.parametrize("name", ["a.jsonl", "z.jsonl"])
@pytest.mark.parametrize("linked", [Path.hardlink_to, Path.symlink_to])
def test_another_name_of_a_file_that_was_read_adds_no_records(policy: Path, name: str, linked: Callable[[Path, Path], None]) -> None:
    one, other = policy.parent / "in" / "m.jsonl", policy.parent / "in" / name
    assert released(policy) == [1, 2]
    linked(other, one)
    assert released(policy) == [1, 2]
    with other.open("a") as file:
        file.write(lines(3))
    assert released(policy) == [1, 2, 3]
    if not other.is_symlink():
        one.unlink()
        with other.open("a") as file:
            file.write(lines(4))
        assert released(policy) == [1, 2, 3, 4]


@pytest.mark.parametrize("linked", [Path.hardlink_to, Path.symlink_to])
def test_a_link_to_the_release_that_appears_later_is_no_source(policy: Path, linked: Callable[[Path, Path], None]) -> None:
    link, stop, seen = policy.parent / "in" / "link.jsonl", threading.Event(), []

    def watch(progress: StreamProgress) -> None:
        if progress.records and not link.is_symlink() and not link.exists():
            linked(link, policy.with_name("release.jsonl"))
        elif progress.records:
            seen.append(progress.records)
        if len(seen) == 3:
            stop.set()

    run_stream(policy, Running(), stop, watch)

    assert set(seen) == {2}

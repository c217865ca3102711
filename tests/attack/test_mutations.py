"""Proof by mutation: whatever goes wrong between the search and the written file, verification stops the run and nothing is published."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.core.dealing import Dealing
from sfumato.errors import PromiseError
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.promises.t_closeness import TCloseness
from sfumato.sinks.delimited import DelimitedWriter

JOBS = ["smith", "welder", "cook", "baker", "tailor"]
TREE = {"Root": ["craft", "food"], "craft": ["smith", "welder", "tailor"], "food": ["cook", "baker"]}
Table = list[list[str]]


def policy(*promises: dict, algorithm: str | dict = "mondrian") -> dict:
    return {
        "source": "data.csv",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 10}}},
            "job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}},
            "illness": {"role": "sensitive"},
            "ward": {"role": "other"},
        },
        "promises": [{"k_anonymity": {"k": 3}}, *promises],
        "algorithm": algorithm,
        "sink": "release.csv",
    }


ROWS = [["age", "job", "illness", "ward"]] + [[20 + i * 7 % 41, JOBS[i * i % 5], f"ill{i % 4}", f"w{i % 3}"] for i in range(80)]


def stopped(path: Path, folder: Path) -> PromiseError:
    with pytest.raises(PromiseError) as raised:
        sfumato.run(path)
    assert raised.value.status == 4
    assert not (folder / "release.csv").exists()
    assert not (folder / "release.csv.record.json").exists()
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
    return raised.value


def mutate(monkeypatch: pytest.MonkeyPatch, change: Callable[[Table], Table]) -> None:
    """Change the staged file behind the back of the run."""
    original = DelimitedWriter.finish

    def finish(self: DelimitedWriter) -> object:
        source = original(self)
        path = Path(self.staging[0])
        with path.open(newline="") as file:
            header, *body = csv.reader(file)
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *change(body)])
        return source

    monkeypatch.setattr(DelimitedWriter, "finish", finish)


RELAXED = {"mondrian": {"relaxed": True}}


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", RELAXED], ids=str)
def test_the_unchanged_run_is_published(algorithm: str | dict, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    assert sfumato.run(write_policy(policy(algorithm=algorithm), ROWS)).record.promises[0].measured >= 3


@pytest.mark.parametrize(
    ("promise", "further"),
    [
        (KAnonymity, []),
        (LDiversity, [{"l_diversity": {"column": "illness", "l": 3}}]),
        (LDiversity, [{"l_diversity": {"column": "illness", "l": 2.5, "kind": "entropy"}}]),
        (LDiversity, [{"l_diversity": {"column": "illness", "l": 2, "kind": "recursive", "c": 1.5}}]),
        (TCloseness, [{"t_closeness": {"column": "illness", "t": 0.3}}]),
    ],
)
@pytest.mark.parametrize("algorithm", ["mondrian", RELAXED], ids=str)
def test_a_search_whose_check_says_holds_is_caught(
    promise: type, further: list[dict], algorithm: str | dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    path = write_policy(policy(*further, algorithm=algorithm), ROWS)
    # the kernel believes in a size of one person instead of the promise
    monkeypatch.setattr(promise, "compiled", lambda self: ("size", (1.0,)))
    assert stopped(path, tmp_path).code == "verify-promise"


def all_to_the_first(dealing: Dealing, classes: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    first = np.searchsorted(dealing.entry, rows)
    return np.where(classes >= 0, dealing.class_of[np.minimum(first, len(dealing.entry) - 1)], classes)


def one_left_out(dealing: Dealing, classes: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.where(np.arange(len(classes)) == 5, np.int32(-1), classes)


def turned(dealing: Dealing, classes: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.roll(classes, 1)


@pytest.mark.parametrize("wrong", [all_to_the_first, one_left_out, turned])
def test_rows_that_are_dealt_otherwise_than_decided_are_caught(
    wrong: Callable[..., NDArray[np.int32]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    alike = [["age", "job", "illness", "ward"]] + [[[20, 20, 20, 33, 51][i % 5], JOBS[i // 70], f"ill{i % 4}", "w"] for i in range(90)]
    path = write_policy(policy(algorithm=RELAXED), alike)
    right = Dealing.class_of_rows
    monkeypatch.setattr(Dealing, "class_of_rows", lambda self, rows, *chance: wrong(self, right(self, rows, *chance), rows))
    assert stopped(path, tmp_path).code.startswith("verify-")


def one_row_moved(body: Table) -> Table:
    other = next(row for row in body if row[:2] != body[0][:2])
    return [[*other[:2], *body[0][2:]], *body[1:]]


def one_label_widened(body: Table) -> Table:
    return [["[20, 60]", *body[0][1:]], *body[1:]]


def a_class_widened(body: Table) -> Table:
    first = body[0][:2]
    return [["[20, 60]", "*", *row[2:]] if row[:2] == first else row for row in body]


def a_class_narrowed(body: Table) -> Table:
    first = body[0][:2]
    return [["20", *row[1:]] if row[:2] == first else row for row in body]


def one_row_dropped(body: Table) -> Table:
    return body[1:]


def one_row_doubled(body: Table) -> Table:
    return [body[0], *body]


def one_row_in_place_of_another(body: Table) -> Table:
    return [next(row for row in body if row != body[0]), *body[1:]]


def two_sensitive_values_exchanged(body: Table) -> Table:
    other = next(place for place, row in enumerate(body) if row[2] != body[0][2])
    changed = [list(row) for row in body]
    changed[0][2], changed[other][2] = body[other][2], body[0][2]
    return changed


def one_kept_value_changed(body: Table) -> Table:
    return [[*body[0][:3], "w9"], *body[1:]]


def one_label_without_meaning(body: Table) -> Table:
    first = body[0][:2]
    return [["between", *row[1:]] if row[:2] == first else row for row in body]


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
@pytest.mark.parametrize(
    "change",
    [
        one_row_moved,
        one_label_widened,
        a_class_narrowed,
        one_row_dropped,
        one_row_doubled,
        one_row_in_place_of_another,
        two_sensitive_values_exchanged,
        one_kept_value_changed,
        one_label_without_meaning,
    ],
    ids=lambda change: change.__name__,
)
def test_a_changed_file_is_never_published(
    change: Callable[[Table], Table], algorithm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    path = write_policy(policy(algorithm=algorithm), ROWS)
    mutate(monkeypatch, change)
    assert stopped(path, tmp_path).code.startswith("verify-")


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_a_class_widened_as_a_whole_is_never_published(
    algorithm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    path = write_policy(policy(algorithm=algorithm), ROWS)
    mutate(monkeypatch, a_class_widened)
    assert stopped(path, tmp_path).code == "verify-width"


def test_an_older_release_survives_a_run_that_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    path = write_policy(policy(), ROWS)
    sfumato.run(path)
    before = (tmp_path / "release.csv").read_bytes(), (tmp_path / "release.csv.record.json").read_bytes()
    mutate(monkeypatch, one_row_dropped)
    with pytest.raises(PromiseError):
        sfumato.run(path)
    assert ((tmp_path / "release.csv").read_bytes(), (tmp_path / "release.csv.record.json").read_bytes()) == before

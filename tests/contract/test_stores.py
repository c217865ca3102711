"""What every store must do, whoever wrote it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.dealing import Dealing
from sfumato.core.encoding import encode, sensitive_codes
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import AttachPlan, ClassPlan, CountPlan, MaskPlan, Store
from sfumato.core.publication import Publication
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding
from sfumato.core.whose import Subject
from sfumato.core.workplace import Workplace
from sfumato.registry import find, names
from sfumato.sinks.delimited import Delimited
from sfumato.sources.memory import Memory

STORES = names("stores")
TREE = Hierarchy.of_paths("job", [["smith", "craft"], ["welder", "craft"], ["cook", "food"]])
JOBS = ["smith", "welder", None, "cook", "smith", "strange", "cook", "cook", "welder", None]
DATA = pa.table(
    {
        "person": ["a", "a", "b", "c", "d", "e", None, None, "f", "b"],
        "job": JOBS,
        "illness": ["x", "y", "x", None, "x", "x", "z", "z", "x", "x"],
        "note": [f'note {i}, "{i}"' for i in range(10)],
    }
)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = find("stores", request.param)()
    assert isinstance(found, Store)
    return found


@pytest.fixture
def workplace() -> object:
    with Workplace() as place:
        yield place


def attach(store: Store, workplace: Workplace) -> object:
    return store.attach(Memory(table=DATA), AttachPlan(["job", "illness"], ["illness", "note"], Subject("person")), workplace, Quiet())


def count(store: Store, attached: object, refused: dict[str, int] | None = None) -> object:
    jobs = encode(TREE, attached.dictionary("job").values)
    illness = sensitive_codes("illness", attached.dictionary("illness").values)
    return store.frequencies(attached, CountPlan([jobs], [illness], "person", refused or {}))


def test_dictionaries_hold_every_value_and_its_rows(store: Store, workplace: Workplace) -> None:
    attached = attach(store, workplace)
    dictionary = attached.dictionary("job")
    found = dict(zip(dictionary.values.to_pylist(), dictionary.counts.tolist(), strict=True))
    assert found == {value: number for value, number in Counter(JOBS).items() if value is not None}
    assert dictionary.nulls == 2
    assert attached.rows == 10
    assert attached.occurrences("note") == (10, 10)
    # people are counted, not rows: those without a name are one
    people = {illness: {row["person"] for row in DATA.to_pylist() if row["illness"] == illness} for illness in "xyz"}
    assert attached.occurrences("illness") == (3, sum(len(names) == 1 for names in people.values()))


@pytest.mark.parametrize("refused", [{}, {"job": TREE.outside}])
def test_frequencies_count_every_combination_value_and_person(store: Store, workplace: Workplace, refused: dict[str, int]) -> None:
    attached = attach(store, workplace)
    frequencies = count(store, attached, refused)
    codes = {"smith": 0, "welder": 1, "cook": 2, None: TREE.missing, "strange": TREE.outside}
    kept = [row for row in DATA.to_pylist() if not (refused and row["job"] == "strange")]
    expected = Counter((codes[row["job"]], row["illness"], row["person"]) for row in kept)
    assert frequencies.rows == len(kept)
    assert sorted(frequencies.counts.tolist()) == sorted(expected.values())
    by_job = Counter(codes[row["job"]] for row in kept)
    assert dict(zip(frequencies.combinations[:, 0].tolist(), frequencies.combination_rows.tolist(), strict=True)) == by_job
    # people of all classes together: six named ones, and those without a name as one
    everybody = frequencies.classes(np.zeros(len(frequencies.combinations), np.int32))
    assert everybody.sizes.tolist() == [len({row["person"] for row in kept})]
    # the reference is that of the table as read
    people = {(row["person"], row["illness"]) for row in DATA.to_pylist()}
    assert sorted(frequencies.references["illness"].tolist()) == sorted(Counter(illness for _, illness in people).values())


def test_what_is_staged_is_published_whole_or_discarded_whole(store: Store, workplace: Workplace, tmp_path: Path) -> None:
    attached = attach(store, workplace)
    frequencies = count(store, attached, {"job": TREE.outside})
    craft = np.isin(frequencies.combinations[:, 0], [0, 1])
    class_of = np.where(craft, 0, np.where(frequencies.combinations[:, 0] == 2, 1, -1)).astype(np.int32)
    recoding = Recoding("boxes", class_of, np.array([[0], [2]], np.int32), np.array([[1], [2]], np.int32))
    masks = MaskPlan([Publication("job", TREE)], {}, ["illness", "note"], ["job", "illness", "note"])
    sink = Delimited(path=str(tmp_path / "release.csv"))

    staged = store.stage(attached, recoding, masks, sink, workplace, Quiet())
    assert not (tmp_path / "release.csv").exists()
    assert staged.rows == 7
    links = staged.link.tolist()
    written = [row for batch in staged.written.batches(["job", "illness", "note"]) for row in batch.to_pylist()]
    for row, link in zip(written, links, strict=True):
        assert row["note"] == DATA["note"][link].as_py()
        assert row["illness"] == DATA["illness"][link].as_py()
        assert row["job"] == ("cook" if JOBS[link] == "cook" else "craft")
    classes = store.classes(staged, ClassPlan(), Quiet())
    assert sorted(classes.rows.tolist()) == [3, 4]
    store.discard(staged)
    assert list(tmp_path.iterdir()) == []

    again = store.stage(attached, recoding, masks, sink, workplace, Quiet())
    published = store.publish(again, sink)
    assert published.rows == 7
    assert [path.name for path in tmp_path.iterdir()] == ["release.csv"]


def test_rows_that_are_alike_are_dealt_out_as_the_recoding_says(store: Store, workplace: Workplace, tmp_path: Path) -> None:
    attached = attach(store, workplace)
    frequencies = count(store, attached, {"job": TREE.outside})
    # every entry of more than one row goes in two, one row of it to the class of everything; all others go there
    split = frequencies.counts > 1
    assert split.any()
    entries = np.append(np.arange(len(frequencies.counts)), np.flatnonzero(split))
    classes = np.append(np.zeros(len(frequencies.counts), int), np.ones(split.sum(), int))
    rows = np.append(np.where(split, 1, frequencies.counts), frequencies.counts[split] - 1)
    dealing = Dealing.of(entries, classes, rows)
    boxes = np.array([[0], [2]], np.int32), np.array([[TREE.missing], [2]], np.int32)
    recoding = Recoding("boxes", np.zeros(len(frequencies.combinations), np.int32), *boxes, dealing=dealing)
    masks = MaskPlan([Publication("job", TREE)], {}, ["illness", "note"], ["job", "illness", "note"])

    staged = store.stage(attached, recoding, masks, Delimited(path=str(tmp_path / "release.csv")), workplace, Quiet())

    written = [row for batch in staged.written.batches(["job", "note"]) for row in batch.to_pylist()]
    assert sorted(staged.link.tolist()) == [row for row, job in enumerate(JOBS) if job != "strange"]
    people = Counter((DATA["person"][link].as_py(), JOBS[link], row["job"]) for row, link in zip(written, staged.link.tolist(), strict=True))
    # two pairs of rows are alike in everything that was counted: one of each pair goes to each class
    assert {key: number for key, number in people.items() if key[2] != "*"} == {(None, "cook", "cook"): 1, ("b", None, "cook"): 1}
    assert (people[None, "cook", "*"], people["b", None, "*"]) == (1, 1)
    store.discard(staged)

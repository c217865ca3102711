"""Small sketches of what is to come, to show that the interfaces carry it without being changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.classes import Classes
from sfumato.core.encoding import encode, sensitive_codes
from sfumato.core.frequencies import Frequencies
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.interfaces import (
    AttachPlan,
    ClassPlan,
    CountPlan,
    Dictionary,
    MaskPlan,
    Progress,
    Promise,
    Published,
    Sink,
    Source,
    Store,
    StreamSearch,
    StreamSession,
)
from sfumato.core.mask import Card, MaskContext, Operation
from sfumato.core.problem import Problem
from sfumato.core.publication import Publication
from sfumato.core.quiet import Quiet
from sfumato.core.recoding import Recoding
from sfumato.core.settings import Settings
from sfumato.core.workplace import Workplace
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.l_diversity import LDiversity
from sfumato.sources.memory import Memory

TREE = Hierarchy.of_paths("job", [["smith", "craft"], ["welder", "craft"], ["cook", "food"], ["baker", "food"]])


# --- several rows a person ----------------------------------------------------------------------------------------------


def test_a_person_in_many_combinations_is_counted_once_in_their_union() -> None:
    # person 0 is in both combinations, person 1 in one: the union has two people, not three
    frequencies = Frequencies(
        combinations=np.array([[0], [1]]),
        combination=np.array([0, 1, 1], np.int32),
        counts=np.array([5, 1, 1]),
        subject=np.array([0, 0, 1]),
    )
    together = frequencies.classes(np.array([0, 0], np.int32))
    assert together.sizes.tolist() == [2]
    assert together.rows.tolist() == [7]
    assert frequencies.classes(np.array([0, 1], np.int32)).sizes.tolist() == [1, 2]


# --- two sensitive columns checked jointly ------------------------------------------------------------------------------


class JointDiversity(Promise):
    """Different values of one sensitive column for whoever knows another: a promise that joins columns to the quasi-identifiers."""

    monotone_when_merged: ClassVar[bool] = True
    monotone_when_grown: ClassVar[bool] = False

    column: str
    given: list[str]
    l: int

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column, *self.given)

    @property
    def asked(self) -> float:
        return float(self.l)

    def holds(self, classes: Classes) -> NDArray[np.bool_]:
        finer, belongs = classes.joined(self.given)
        different = np.diff(finer.histogram(self.column).offsets)
        worst = np.full(classes.number, np.iinfo(np.int64).max)
        np.minimum.at(worst, belongs, different)
        return worst >= self.l

    def measure(self, classes: Classes) -> float:
        finer, _ = classes.joined(self.given)
        return float(np.diff(finer.histogram(self.column).offsets).min())


def test_two_sensitive_columns_are_checked_jointly_by_a_promise_from_elsewhere() -> None:
    chance = np.random.default_rng(4)
    rows = 400
    data = pa.table(
        {
            "age": chance.integers(20, 60, rows),
            "illness": [f"ill{i}" for i in chance.integers(0, 4, rows)],
            "drug": [f"drug{i}" for i in chance.integers(0, 3, rows)],
        }
    )
    promise = JointDiversity(column="illness", given=["drug"], l=2)
    policy = sfumato.Policy(
        columns={
            "age": sfumato.Column(role="quasi_identifier"),
            "illness": sfumato.Column(role="sensitive"),
            "drug": sfumato.Column(role="sensitive"),
        },
        promises=[KAnonymity(k=5), promise],
    )
    release = sfumato.run(policy, data=data)
    seen: dict[tuple[str, str], set[str]] = {}
    for age, illness, drug in zip(*(release.table[name].to_pylist() for name in ("age", "illness", "drug")), strict=True):
        seen.setdefault((age, drug), set()).add(illness)
    assert min(len(values) for values in seen.values()) >= 2
    assert release.record.measures["after"]["classes"] > 1
    assert release.record.promises[1].measured >= 2


# --- a mask that reads a second column ----------------------------------------------------------------------------------


class Greeting(Operation):
    """Masks a name by the sex in another column."""

    card: ClassVar[Card] = Card(deterministic=True, uniqueness="lossy", changes_type=False, nulls="masked", scope="row", engines=("arrow",))

    @property
    def reads(self) -> Sequence[str]:
        return ("sex",)

    def output_type(self, original: pa.DataType) -> pa.DataType:
        return pa.string()

    def apply(self, columns: pa.RecordBatch, context: MaskContext) -> pa.Array:
        return pa.array([{"f": "Ms", "m": "Mr"}.get(sex, "Mx") for sex in columns.column("sex").to_pylist()])

    def express(self, columns: Mapping[str, Any], context: MaskContext) -> None:
        return None


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_a_mask_reads_a_second_column_that_is_itself_removed_or_kept(role: str) -> None:
    data = pa.table({"name": ["Ann", "Bo", "Cy"] * 4, "sex": ["f", "m", None] * 4})
    policy = sfumato.Policy(
        columns={"name": sfumato.Column(role="identifier", mask=Greeting()), "sex": sfumato.Column(role=role)},
    )
    release = sfumato.run(policy, data=data)
    assert sorted(release.table["name"].to_pylist()) == ["Mr"] * 4 + ["Ms"] * 4 + ["Mx"] * 4
    assert ("sex" in release.table.column_names) == (role == "other")


# --- a store that is a server --------------------------------------------------------------------------------------------


@dataclass
class ServerTable:
    """A table within the server, its columns replaced by codes there."""

    connection: sqlite3.Connection
    rows: int
    dictionaries: dict[str, pa.Array] = field(default_factory=dict)
    strangers: int = 0

    def dictionary(self, column: str) -> Dictionary:
        found = self.connection.execute(f'SELECT "{column}", count(*) FROM work GROUP BY 1 ORDER BY 1').fetchall()
        self.dictionaries[column] = pa.array([value for value, _ in found])
        return Dictionary(self.dictionaries[column], np.array([number for _, number in found]), 0)

    def occurrences(self, column: str) -> tuple[int, int]:
        found = self.connection.execute(f'SELECT count(*), sum(n = 1) FROM (SELECT count(*) n FROM work GROUP BY "{column}")').fetchone()
        return found[0], found[1]

    def release(self) -> None:
        self.connection.execute("DROP TABLE work")


@dataclass
class ServerRelease:
    """A staged table within the server."""

    connection: sqlite3.Connection
    rows: int


class Server(Settings):
    """A database server in small: the rows stay in it, only counts and decisions travel."""

    def attach(self, source: Source, plan: AttachPlan, workplace: Workplace, progress: Progress) -> ServerTable:
        connection = sqlite3.connect(":memory:")
        names = [*plan.coded, *plan.kept]
        connection.execute(f"CREATE TABLE work (row INTEGER PRIMARY KEY, {', '.join(names)})")
        rows = 0
        for batch in source.batches(names):
            values = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
            connection.executemany(f"INSERT INTO work ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", values)
            rows += batch.num_rows
        return ServerTable(connection, rows)

    def frequencies(self, attached: ServerTable, plan: CountPlan) -> Frequencies:
        columns = [*plan.quasi_identifiers, *plan.sensitive]
        for encoding in columns:
            attached.connection.execute(f"CREATE TABLE {encoding.column}_codes (value, code)")
            pairs = zip(attached.dictionaries[encoding.column].to_pylist(), encoding.codes.tolist(), strict=True)
            attached.connection.executemany(f"INSERT INTO {encoding.column}_codes VALUES (?, ?)", pairs)
        joins = " ".join(f"JOIN {e.column}_codes ON work.{e.column} = {e.column}_codes.value" for e in columns)
        codes = ", ".join(f"{e.column}_codes.code" for e in columns)
        found = np.array(attached.connection.execute(f"SELECT {codes}, count(*) FROM work {joins} GROUP BY {codes}").fetchall())
        number = len(plan.quasi_identifiers)
        combinations, combination = np.unique(found[:, :number], axis=0, return_inverse=True)
        sensitive = {e.column: found[:, number + place].astype(np.int32) for place, e in enumerate(plan.sensitive)}
        references = {name: np.bincount(codes, found[:, -1]).astype(np.int64) for name, codes in sensitive.items()}
        return Frequencies(combinations, combination.ravel().astype(np.int32), found[:, -1], sensitive, None, references)

    def stage(
        self, attached: ServerTable, recoding: Recoding, masks: MaskPlan, sink: Sink, workplace: Workplace, progress: Progress
    ) -> ServerRelease:
        (publication,) = masks.publications
        (labels,) = publication.render(recoding, 0)
        attached.connection.execute("CREATE TABLE labels (value, label)")
        shown = [(publication.hierarchy.leaves[code].as_py(), labels[recoding.class_of[code]].as_py()) for code in range(len(recoding.class_of))]
        attached.connection.executemany("INSERT INTO labels VALUES (?, ?)", shown)
        kept = ", ".join(masks.kept)
        attached.connection.execute(
            f"CREATE TABLE staged AS SELECT label AS {publication.column}, {kept} FROM work JOIN labels ON work.{publication.column} = labels.value "
            "ORDER BY 1, 2"
        )
        return ServerRelease(attached.connection, attached.connection.execute("SELECT count(*) FROM staged").fetchone()[0])

    def classes(self, staged: ServerRelease, plan: ClassPlan, progress: Progress) -> Classes:
        found = staged.connection.execute("SELECT job, illness, count(*) FROM staged GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
        texts, class_of = np.unique([row[0] for row in found], return_inverse=True)
        values, codes = np.unique([row[1] for row in found], return_inverse=True)
        counts = np.array([row[2] for row in found])
        references = {"illness": np.bincount(codes, counts, minlength=len(values)).astype(np.int64)}
        return Classes(len(texts), class_of.astype(np.int32), counts, {"illness": codes.astype(np.int32)}, None, references)

    def publish(self, staged: ServerRelease, sink: Sink) -> Published:
        staged.connection.execute("ALTER TABLE staged RENAME TO published")
        return Published(("published",), staged.rows)

    def discard(self, staged: ServerRelease) -> None:
        staged.connection.execute("DROP TABLE staged")


def test_a_store_that_is_a_server_carries_the_whole_road() -> None:
    data = pa.table({"job": ["smith", "welder", "cook", "baker"] * 5, "illness": ["a", "b", "a", "c"] * 4 + ["b"] * 4})
    server, promises = Server(), [KAnonymity(k=5), LDiversity(column="illness", l=2)]
    assert isinstance(server, Store)
    with Workplace() as workplace:
        attached = server.attach(Memory(table=data), AttachPlan(["job", "illness"]), workplace, Quiet())
        plan = CountPlan([encode(TREE, attached.dictionary("job").values)], [sensitive_codes("illness", attached.dictionary("illness").values)])
        frequencies = server.frequencies(attached, plan)
        recoding = Mondrian().search(Problem([TREE], promises, [1.0]), frequencies, Quiet())
        masks = MaskPlan([Publication("job", TREE)], {}, ["illness"], ["job", "illness"])
        staged = server.stage(attached, recoding, masks, Memory(table=data), workplace, Quiet())  # type: ignore[arg-type]
        classes = server.classes(staged, ClassPlan(), Quiet())
        assert all(promise.holds(classes).all() for promise in promises)
        assert staged.rows == 20
        assert server.publish(staged, Memory(table=data)) == Published(("published",), 20)  # type: ignore[arg-type]


# --- a stream session that is restored ------------------------------------------------------------------------------------


class Waiting:
    """Holds rows until k of a kind have come."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._held: dict[str, int] = {}

    def push(self, batch: pa.RecordBatch) -> Sequence[pa.RecordBatch]:
        released = []
        for value in batch.column(0).to_pylist():
            self._held[value] = self._held.get(value, 0) + 1
            if self._held[value] == self._k:
                released += [value] * self._held.pop(value)
        return [pa.RecordBatch.from_arrays([pa.array(released)], names=batch.schema.names)] if released else []

    def flush(self) -> Sequence[pa.RecordBatch]:
        self._held = {}
        return []

    def snapshot(self) -> bytes:
        return json.dumps(self._held).encode()

    def restore(self, state: bytes) -> None:
        self._held = json.loads(state)


class WaitForK(Settings):
    """Releases a value when k people have it."""

    def start(self, problem: Problem) -> StreamSession:
        (promise,) = problem.promises
        return Waiting(int(promise.asked))


def test_a_stream_session_goes_on_where_another_was_interrupted() -> None:
    search, problem = WaitForK(), Problem([TREE], [KAnonymity(k=3)], [1.0])
    assert isinstance(search, StreamSearch)

    def batch(*jobs: str) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(jobs)], names=["job"])

    first = search.start(problem)
    assert first.push(batch("cook", "smith", "cook")) == []
    second = search.start(problem)
    second.restore(first.snapshot())
    (released,) = second.push(batch("cook", "smith"))
    assert released.column(0).to_pylist() == ["cook"] * 3
    assert second.flush() == []

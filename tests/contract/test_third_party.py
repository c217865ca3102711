"""Components of another package: found by entry point, held to the same contract suites, usable in a policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = '''
"""A promise, an algorithm and a source as somebody else would write them."""

from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.interfaces import Promise, Scan
from sfumato.core.files import PolicyPath, file_errors, state_of, unchanged
from sfumato.core.impossible import refuse_the_impossible
from sfumato.core.recoding import Recoding
from sfumato.core.settings import Settings
from sfumato.core.staging import StagedFile


class EvenSizes(Promise):
    """Every class has at least ``least`` people; nothing that the fused kernel knows.

    Cost: one comparison a class.
    """

    monotone_when_merged: ClassVar[bool] = True
    monotone_when_grown: ClassVar[bool] = True

    least: Annotated[int, Field(ge=2, description="the fewest people a class may hold")]

    @property
    def asked(self):
        return float(self.least)

    def holds(self, classes):
        return classes.sizes >= self.least

    def measure(self, classes):
        return float(classes.sizes.min()) if classes.number else self.asked

    def nearest(self, classes):
        people = int(classes.sizes.sum())
        return {"least": people} if people >= 2 else None


class OneClass(Settings):
    """Puts everybody into one class.

    Guarantee: if any recoding keeps a promise that survives merging, so does this. Cost: nothing.
    """

    def search(self, problem, frequencies, progress):
        refuse_the_impossible(problem, frequencies)
        codes = frequencies.combinations
        ranges = zip(problem.hierarchies, problem.minimum_levels, problem.maximum_levels, codes.T)
        tops = [_top(h, least, most, column) for h, least, most, column in ranges]
        keys = np.stack([low for low, _ in tops], axis=1)
        cells, class_of = np.unique(keys, axis=0, return_inverse=True)
        class_of = class_of.ravel().astype(np.int32)
        holds = np.ones(len(cells), bool)
        for promise in problem.promises:
            holds &= promise.holds(frequencies.classes(class_of))
        number = np.where(holds, np.cumsum(holds) - 1, -1).astype(np.int32)
        class_of = number[class_of]
        lows = np.array([[low[class_of == c].min() for low, _ in tops] for c in range(holds.sum())], np.int32)
        highs = np.array([[high[class_of == c].max() for _, high in tops] for c in range(holds.sum())], np.int32)
        return Recoding("boxes", class_of, lows, highs)


def _top(hierarchy, least, most, codes):
    """The interval that each code may be published as: everything, or the node of the greatest level."""
    codes = codes.astype(np.int64)
    if most == hierarchy.height:
        span = (codes.min(), codes.max())
        firsts, lasts = hierarchy.nodes(least)
        groups = hierarchy.groups(least)
        low = firsts[groups[span[0]]] if span[0] < hierarchy.size else span[0]
        high = lasts[groups[span[1]]] if span[1] < hierarchy.size else span[1]
        return np.full(len(codes), low), np.full(len(codes), high)
    firsts, lasts = hierarchy.nodes(most)
    groups = hierarchy.groups(most)
    special = codes >= hierarchy.size
    inner = groups[np.minimum(codes, hierarchy.size - 1)]
    return np.where(special, codes, firsts[inner]), np.where(special, codes, lasts[inner])


class ArrowFile(Settings):
    """An Arrow IPC file."""

    path: Annotated[PolicyPath, Field(description="the file")]

    def describe(self):
        with file_errors(self.path), pa.ipc.open_file(pa.OSFile(self.path)) as reader:
            return reader.schema

    def state(self):
        return state_of(self.path)

    def about(self):
        return None

    def scan(self):
        return Scan("arrow_file", (self.path,))

    def batches(self, columns, coded=()):
        with unchanged(self.path), pa.ipc.open_file(pa.OSFile(self.path)) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for start in range(0, batch.num_rows, 1 << 16):
                    yield batch.slice(start, 1 << 16).select(list(columns))


class ArrowFileSink(Settings):
    """An Arrow IPC file."""

    path: Annotated[PolicyPath, Field(description="the file")]

    def places(self):
        return (self.path,)

    def open(self, schema):
        return ArrowFileWriter(self.path, schema)


class ArrowFileWriter:
    """An Arrow IPC file that nobody can see yet."""

    def __init__(self, path, schema):
        self._file = StagedFile(path)
        self._plain = pa.schema([(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in schema])
        self._writer = pa.ipc.new_file(self._file.file, self._plain)

    @property
    def staging(self):
        return (str(self._file.path),)

    def write(self, batch):
        with self._file.errors():
            self._writer.write_table(pa.Table.from_batches([batch]).cast(self._plain))

    def finish(self):
        self._writer.close()
        self._file.sync()
        return ArrowFile(path=str(self._file.path))

    def publish(self):
        self._file.publish()
        return (str(self._file.target),)

    def abort(self):
        self._file.abort()
'''
ENTRY_POINTS = """
[sfumato.promises]
even_sizes = elsewhere:EvenSizes
[sfumato.algorithms]
one_class = elsewhere:OneClass
[sfumato.sources]
arrow_file = elsewhere:ArrowFile
[sfumato.sinks]
arrow_file = elsewhere:ArrowFileSink
"""
ROAD = """
import pyarrow as pa, sfumato
data = pa.table({"age": [str(20 + i % 9) for i in range(40)], "illness": [f"ill{i % 3}" for i in range(40)]})
with pa.OSFile("data.arrow", "wb") as file, pa.ipc.new_file(file, data.schema) as writer:
    writer.write_table(data)
columns = {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
for algorithm, promise in (("mondrian", "even_sizes"), ("one_class", "even_sizes"), ("one_class", "k_anonymity"), ("datafly", "even_sizes")):
    asked = {"even_sizes": {"least": 5}} if promise == "even_sizes" else {"k_anonymity": {"k": 5}}
    policy = {"source": {"arrow_file": {"path": "data.arrow"}}, "columns": columns, "promises": [asked], "algorithm": algorithm}
    release = sfumato.run(policy)
    assert release.record.promises[0].measured >= 5, algorithm
    assert release.table.num_rows == 40
    print(algorithm, promise, release.record.measures["after"]["classes"])
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """Install the package beside the project, as pip would, and return the environment that sees it."""
    site = tmp_path / "site"
    information = site / "elsewhere-1.0.dist-info"
    information.mkdir(parents=True)
    (site / "elsewhere.py").write_text(PACKAGE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), before] if before else [str(site)])}


@pytest.mark.slow
def test_components_of_another_package_go_the_whole_road(elsewhere: dict[str, str], tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", ROAD], env=elsewhere, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    words = [line.split() for line in ended.stdout.splitlines()]
    assert [(algorithm, promise) for algorithm, promise, _ in words] == [
        ("mondrian", "even_sizes"),
        ("one_class", "even_sizes"),
        ("one_class", "k_anonymity"),
        ("datafly", "even_sizes"),
    ]
    # the slow way really cuts
    assert int(words[0][2]) > 1
    listed = subprocess.run([sys.executable, "-m", "sfumato", "components"], env=elsewhere, capture_output=True, text=True, check=True, timeout=120)
    assert all(name in listed.stdout for name in ("even_sizes", "one_class", "arrow_file"))


@pytest.mark.slow
def test_components_of_another_package_pass_the_same_contract_suites(elsewhere: dict[str, str], tmp_path: Path) -> None:
    here = Path(__file__).parent
    suites = [str(here / f"test_{kind}.py") for kind in ("promises", "algorithms", "sources", "sinks")]
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:randomly",
            "-k",
            "even_sizes or one_class or arrow_file",
            f"--rootdir={here.parent.parent}",
            *suites,
        ],
        env=elsewhere,
        cwd=here.parent.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert " passed" in ended.stdout

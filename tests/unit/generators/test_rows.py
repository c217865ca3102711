"""What every generator must do: the same seed the same rows, as a table and as text, in chunks that nobody can see."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from sfumato.generators._rows import CHUNK, choose
from sfumato.registry import find, names

pytestmark = pytest.mark.slow

GENERATORS = pytest.mark.parametrize("generator", [find("generators", name)() for name in names("generators")], ids=names("generators"))


@GENERATORS
def test_the_same_seed_gives_the_same_rows(generator: Any) -> None:
    assert generator.table(500, seed=1).equals(generator.table(500, seed=1))
    assert "".join(generator.csv(500, seed=1)) == "".join(generator.csv(500, seed=1))


@GENERATORS
@pytest.mark.parametrize("seed", [2, 0, -1, 2**63])
def test_another_seed_gives_other_rows(generator: Any, seed: int) -> None:
    assert not generator.table(500, seed=seed).equals(generator.table(500, seed=1))


@GENERATORS
@pytest.mark.parametrize("rows", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1])
def test_there_are_as_many_rows_as_asked_for_below_one_header(generator: Any, rows: int) -> None:
    table = generator.table(rows, seed=1)
    header, *lines = csv.reader(io.StringIO("".join(generator.csv(rows, seed=1))))
    assert len(table) == len(lines) == rows
    assert header == table.column_names
    assert header not in lines
    assert all(len(line) == len(header) for line in lines)


@GENERATORS
def test_the_first_rows_are_the_same_however_many_follow(generator: Any) -> None:
    many = "".join(generator.csv(CHUNK + 10, seed=1))
    assert many.startswith("".join(generator.csv(300, seed=1)))
    assert generator.table(CHUNK + 10, seed=1).slice(0, 300).equals(generator.table(300, seed=1))


@GENERATORS
def test_every_chunk_has_rows_of_its_own(generator: Any) -> None:
    table = generator.table(2 * CHUNK, seed=1)
    one, other = (table.slice(first, CHUNK) for first in (0, CHUNK))
    assert all(not one[name].equals(other[name]) for name in table.column_names)
    # the first column is a number of its own for each row, or when it happened
    assert len(set(table.column(0).to_pylist())) > 1.9 * CHUNK


@GENERATORS
def test_text_and_table_say_the_same(generator: Any) -> None:
    table = generator.table(300, seed=4)
    lines = csv.DictReader(io.StringIO("".join(generator.csv(300, seed=4))))
    for line, row in zip(lines, table.to_pylist(), strict=True):
        assert {name: type(value)(line[name]) if value is not None else line[name] or None for name, value in row.items()} == row


def test_a_category_is_drawn_by_the_weights_of_its_line() -> None:
    weights = np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 5.0]])
    chosen = choose(np.random.default_rng(1), weights, np.repeat([0, 1], 10_000))
    assert np.bincount(chosen[:10_000], minlength=3) / 10_000 == pytest.approx([0.25, 0.75, 0], abs=0.02)
    assert set(chosen[10_000:].tolist()) == {2}


@GENERATORS
def test_a_stream_has_times_in_order_and_people_come_again(generator: Any) -> None:
    table = generator.table(2 * CHUNK, seed=1, times=True)
    times = table["at"].to_pylist()
    assert times == sorted(times)
    assert all(time.endswith("Z") for time in times[:10])
    person = next(name for name in ("pid", "person_id", "user", "device") if name in table.column_names)
    assert len(set(table[person].to_pylist())) < CHUNK


@GENERATORS
def test_a_stream_without_end_begins_like_one_that_has_one(generator: Any) -> None:
    begun = next(iter(generator.chunks(None, seed=1, times=True)))
    assert begun.equals(generator.table(CHUNK, seed=1, times=True).combine_chunks())

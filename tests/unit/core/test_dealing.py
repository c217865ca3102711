"""Rows that are alike dealt out to several classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.dealing import Dealing

# entry, class, rows: an entry may go to several classes, and a line may say the same as another
TRIPLES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=15)


def dealing(triples: list[tuple[int, int, int]]) -> Dealing:
    return Dealing.of(*(np.array(line) for line in zip(*triples, strict=True)))


def counted(*lines: np.ndarray) -> dict[tuple[int, ...], int]:
    keys, numbers = np.unique(np.stack(lines), axis=1, return_counts=True)
    return {tuple(key): number for key, number in zip(keys.T.tolist(), numbers.tolist(), strict=True)}


def told(found: Dealing) -> dict[tuple[int, ...], int]:
    return {(e, c): n for e, c, n in zip(found.entry.tolist(), found.class_of.tolist(), found.rows.tolist(), strict=True)}


@given(TRIPLES, st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_exactly_as_many_rows_go_to_a_class_as_it_says(triples: list[tuple[int, int, int]], seed: int, strangers: int) -> None:
    found = dealing(triples)
    # entry 6 is none of the dealing: its rows were not counted, or are suppressed
    rows = np.random.default_rng(seed).permutation(np.append(np.repeat(found.entry, found.rows), np.full(strangers, 6)))

    class_of = found.class_of_rows(rows)

    assert (class_of[rows == 6] == -1).all()
    assert counted(rows[rows < 6], class_of[rows < 6]) == told(found)


def test_which_rows_these_are_is_left_to_chance() -> None:
    found = dealing([(0, 0, 500), (0, 1, 500)])

    class_of = np.stack([found.class_of_rows(np.zeros(1000, np.int32)) for _ in range(40)])

    # by chance a row is in class 1 half of the time, whatever its place: seven deviations off would be one in 10^11
    assert abs(class_of.mean(axis=0) - 0.5).max() < 7 * 0.5 / np.sqrt(40)
    assert abs(class_of[:, :500].mean() - 0.5) < 7 * 0.5 / np.sqrt(40 * 500)
    assert len({row.tobytes() for row in class_of}) == 40


@given(TRIPLES, st.integers(0, 2**32 - 1))
def test_cells_finer_than_entries_are_dealt_whole_and_by_the_same_numbers(triples: list[tuple[int, int, int]], seed: int) -> None:
    found = dealing(triples)
    entries = np.random.default_rng(seed).permutation(np.repeat(found.entry, found.rows))
    # every row is in one of two cells of its entry; some cells are empty, and entry 6 is suppressed
    cell_of_row = 2 * entries + np.random.default_rng(seed).integers(0, 2, len(entries))
    entry_of_cell, rows_of_cell = np.append(np.arange(12) // 2, 6), np.append(np.bincount(cell_of_row, minlength=12), 3)

    cells = found.of_cells(entry_of_cell, rows_of_cell)

    assert told(Dealing.of(entry_of_cell[cells.cell], cells.class_of, cells.last - cells.first + 1)) == told(found)
    for cell in range(13):
        own = np.flatnonzero(cells.cell == cell)
        stretches = sorted(zip(cells.first[own].tolist(), cells.last[own].tolist(), strict=True))
        numbers = [row for first, last in stretches for row in range(first, last + 1)]
        assert numbers == (list(range(1, rows_of_cell[cell] + 1)) if cell < 12 else [])


def test_cells_of_one_entry_share_its_classes_by_chance() -> None:
    found = dealing([(0, 0, 300), (0, 1, 300)])
    shares = []
    for _ in range(40):
        cells = found.of_cells(np.zeros(2, np.int32), np.array([300, 300]))
        shares.append(int((cells.last - cells.first + 1)[(cells.cell == 0) & (cells.class_of == 0)].sum()))

    # hypergeometric: 150 on average, with a deviation of 6.1
    assert len(set(shares)) > 1
    assert all(100 < share < 200 for share in shares)


@given(TRIPLES, st.lists(st.integers(0, 30), min_size=6, max_size=6))
def test_another_number_of_rows_is_dealt_in_the_same_proportions(triples: list[tuple[int, int, int]], numbers: list[int]) -> None:
    found = dealing(triples)
    before = np.bincount(found.entry, found.rows, minlength=6)
    wanted = np.where(before > 0, np.array(numbers), 0)

    scaled = found.in_proportion(wanted)

    assert np.bincount(scaled.entry, scaled.rows, minlength=6).tolist() == wanted.tolist()
    for (entry, class_of), rows in told(scaled).items():
        assert abs(rows - told(found)[entry, class_of] * wanted[entry] / before[entry]) <= 1
    assert told(found.in_proportion(before.astype(int))) == told(found)


def test_rows_that_are_not_as_many_as_were_counted_are_refused() -> None:
    with pytest.raises(ValueError, match="shape mismatch"):
        dealing([(0, 0, 2), (0, 1, 2)]).class_of_rows(np.zeros(5, np.int32))

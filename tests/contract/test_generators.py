"""What every generator must do, whoever wrote it."""

from __future__ import annotations

import csv

import pytest

from sfumato.registry import find, names

GENERATORS = names("generators")


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_gives_the_same_rows_and_another_others(name: str) -> None:
    generator = find("generators", name)()
    one, other = "".join(generator.csv(40, 1)), "".join(generator.csv(40, 2))
    assert one == "".join(generator.csv(40, 1))
    assert one.splitlines()[0] == other.splitlines()[0]
    assert one != other


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("rows", [1, 7, 100])
def test_it_gives_so_many_rows_under_a_header(name: str, rows: int) -> None:
    generator = find("generators", name)()
    header, *body = csv.reader("".join(generator.csv(rows, 0)).splitlines())
    assert len(body) == rows
    assert {len(row) for row in body} == {len(header)}
    table = generator.table(rows, 0)
    assert table.column_names == header
    assert table.num_rows == rows

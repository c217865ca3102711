from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import DataError, PolicyError
from sfumato.hierarchies.automatic import Automatic
from sfumato.hierarchies.grid import Grid


def built(texts: list[str], **settings: object) -> Hierarchy:
    return Grid(**settings).build("home", pa.array(texts, pa.string()), np.ones(len(texts), np.int64))


def test_cells_nest_and_are_told_by_their_edges() -> None:
    ladder = built(["52.5163,13.3777", "52.5200,13.4050", "48.1374,11.5755", "-33.8,151.2"], sizes=[0.1, 1, 10])

    assert ladder.leaves.to_pylist() == ["-33.8,151.2", "48.1374,11.5755", "52.5163,13.3777", "52.5200,13.4050"]
    assert [level.labels for level in ladder.levels] == [
        ("-33.8 to -33.7, 151.2 to 151.3", "48.1 to 48.2, 11.5 to 11.6", "52.5 to 52.6, 13.3 to 13.4", "52.5 to 52.6, 13.4 to 13.5"),
        ("-34 to -33, 151 to 152", "48 to 49, 11 to 12", "52 to 53, 13 to 14"),
        ("-40 to -30, 150 to 160", "40 to 50, 10 to 20", "50 to 60, 10 to 20"),
        ("*",),
    ]


def test_an_edge_belongs_to_the_cell_north_and_east_of_it_whatever_binary_fractions_say() -> None:
    assert built(["0.3,0.7"], sizes=[0.1]).levels[0].labels == ("0.3 to 0.4, 0.7 to 0.8",)
    assert built(["-0.1,-0.1"], sizes=[0.1]).levels[0].labels == ("-0.1 to 0, -0.1 to 0",)


def test_the_poles_and_the_date_line_belong_to_the_last_cell() -> None:
    assert built(["90,180", "-90,-180"], sizes=[1, 10]).levels[1].labels == ("-90 to -80, -180 to -170", "80 to 90, 170 to 180")


@pytest.mark.parametrize("text", ["91,0", "0,181", "52.5", "here", "52.5,13.4,7", "1e1,0"])
def test_what_is_nowhere_on_the_globe_is_outside(text: str) -> None:
    ladder = built(["52.5,13.4", text])

    assert encode(ladder, pa.array([text])).codes.tolist() == [ladder.outside]


def test_a_column_of_one_coordinate_says_which() -> None:
    ladder = Grid(sizes=[1, 10], holds="latitude").build("lat", pa.array([12.5, 48.25, 52.5]), np.ones(3, np.int64))

    assert [level.labels for level in ladder.levels] == [("12 to 13", "48 to 49", "52 to 53"), ("10 to 20", "40 to 50", "50 to 60"), ("*",)]
    with pytest.raises(DataError):
        Grid(holds="latitude").build("lat", pa.array([100.0]), np.ones(1, np.int64))


@pytest.mark.parametrize("sizes", [[1, 0.1], [0.1, 0.25], [0], [-1], [200], []], ids=str)
def test_sizes_that_do_not_nest_are_refused(sizes: list[float]) -> None:
    with pytest.raises(PolicyError):
        Grid(sizes=sizes)


def test_places_get_a_grid_without_asking() -> None:
    ladder = Automatic().build("home", pa.array([f"52.{number},13.4" for number in range(30)]), np.ones(30, np.int64))

    assert ladder.levels[-2].labels == ("50 to 60, 10 to 20",)


def test_what_lies_just_below_an_edge_is_below_it() -> None:
    ladder = Grid(sizes=[10], holds="latitude").build("latitude", pa.array(["9.999999999", "10", "0.3"]), np.ones(3, np.int64))
    labels = dict(zip(ladder.leaves.to_pylist(), [ladder.node_label(1, int(node)) for node in ladder.groups(1)], strict=True))

    assert labels == {"9.999999999": "0 to 10", "10": "10 to 20", "0.3": "0 to 10"}

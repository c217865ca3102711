from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.encoding import encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.errors import DataError, PolicyError, UnreachableError
from sfumato.hierarchies.table import Table

CITIES = "Paris;France;Europe;*\nLima;Peru;America;*\nLyon;France;Europe;*\nQuito;Ecuador;America;*\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cities.csv"


def build(path: Path, text: str | bytes, **settings: object) -> Hierarchy:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Table(path=str(path), **settings).build("city", pa.array([], pa.string()), np.empty(0, np.int64))


def refused(path: Path, text: str | bytes, **settings: object) -> str:
    with pytest.raises(DataError) as caught:
        build(path, text, **settings)
    assert caught.value.code == "hierarchy-table"
    return caught.value.message.replace(str(path), "cities.csv")


def test_leaves_stand_depth_first_in_the_order_of_their_first_line(path: Path) -> None:
    cities = build(path, CITIES)

    assert cities.leaves.to_pylist() == ["Paris", "Lyon", "Lima", "Quito"]
    assert [level.labels for level in cities.levels] == [("France", "Peru", "Ecuador"), ("Europe", "America"), ("*",)]
    assert [level.starts.tolist() for level in cities.levels] == [[0, 2, 3], [0, 2], [0]]


def test_siblings_keep_their_order_where_a_label_is_used_at_two_levels(path: Path) -> None:
    places = build(path, "b;b;*\na;a;*\nx;b;*\n")

    assert places.leaves.to_pylist() == ["b", "x", "a"]


def test_a_common_last_column_is_the_root_and_keeps_its_name(path: Path) -> None:
    assert build(path, "red;colour\nblue;colour\n").root == "colour"


def test_a_last_column_that_differs_gets_a_root_above_it(path: Path) -> None:
    colours = build(path, "red;warm\nblue;cold\n")

    assert [level.labels for level in colours.levels] == [("warm", "cold"), ("*",)]


def test_leaves_alone_get_a_root_above_them(path: Path) -> None:
    assert [level.labels for level in build(path, "red\n").levels] == [("*",)]


def test_a_header_is_left_out(path: Path) -> None:
    assert build(path, "leaf;root\nred;*\n", header=True).leaves.to_pylist() == ["red"]


@pytest.mark.parametrize(
    "text",
    [
        "red,*\r\nblue,*\r\n",
        "\ufeffred,*\nblue,*",
        "\nred,*\n\nblue,*\n\n",
        '"red","*"\n"blue",*\n',
    ],
    ids=["line ends of Windows", "byte order mark", "blank lines", "quotes"],
)
def test_a_table_is_read_however_it_was_saved(path: Path, text: str) -> None:
    assert build(path, text, delimiter=",").leaves.to_pylist() == ["red", "blue"]


def test_a_label_may_hold_the_delimiter_within_quotes(path: Path) -> None:
    assert build(path, '"a;b";*\n').leaves.to_pylist() == ["a;b"]


def test_a_line_that_stands_twice_is_one_leaf(path: Path) -> None:
    assert build(path, CITIES + CITIES).size == 4


def test_a_chain_of_one_name_is_one_group_at_each_level(path: Path) -> None:
    schools = build(path, "Preschool;Preschool;Primary\n1st;Lower;Primary\n")

    assert [level.labels for level in schools.levels] == [("Preschool", "Lower"), ("Primary",)]


def test_numbers_match_the_text_of_a_numeric_column(path: Path) -> None:
    ages = build(path, "39;30-49;*\n7;0-19;*\n")

    assert encode(ages, pa.array([7, 39, 40])).codes.tolist() == [1, 0, ages.outside]


def test_the_empty_string_can_be_a_leaf(path: Path) -> None:
    assert encode(build(path, ";none;*\na;some;*\n"), pa.array([""])).codes.tolist() == [0]


def test_a_short_line_is_refused_with_its_number(path: Path) -> None:
    assert refused(path, "Paris;France;*\n\nLima;*\n") == "hierarchy table cities.csv:3 has 2 fields, line 1 has 3"


def test_a_long_line_is_refused_with_its_number(path: Path) -> None:
    assert refused(path, '"Pa\nris";*\nLima;Peru;*\n') == "hierarchy table cities.csv:3 has 3 fields, line 1 has 2"


def test_a_leaf_below_two_parents_is_refused_with_both_lines(path: Path) -> None:
    wanted = "hierarchy table cities.csv: lines 1 and 3 put one leaf below two parents; 1 lines contradict an earlier one"
    assert refused(path, "Paris;France;*\nLima;Peru;*\nParis;Texas;*\n") == wanted


def test_a_label_below_two_parents_is_refused_with_both_lines(path: Path) -> None:
    wanted = "hierarchy table cities.csv: lines 2 and 4 put one label of level 1 below two parents; 1 lines contradict an earlier one"
    assert refused(path, "Lima;Peru;America;*\nParis;France;Europe;*\nRome;Italy;Europe;*\nLyon;France;Africa;*\n") == wanted


def test_one_name_for_two_groups_apart_is_refused_with_both_lines(path: Path) -> None:
    wanted = "hierarchy table cities.csv: lines 1 and 3 use one label at level 0 and at level 1 for groups that do not hold one another"
    assert refused(path, "Georgia;USA;*\nTexas;USA;*\nTbilisi;Georgia;*\n") == wanted


def test_an_empty_label_above_a_leaf_is_refused(path: Path) -> None:
    assert refused(path, "Paris;France;*\nLima;;*\n") == "hierarchy table cities.csv:2 has an empty field after the first"


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_a_table_without_lines_is_refused(path: Path, text: str) -> None:
    assert refused(path, text) == "hierarchy table cities.csv has no lines"


def test_a_quote_that_does_not_close_is_refused_with_its_line(path: Path) -> None:
    wanted = "hierarchy table cities.csv:2 has a quote that does not close, or text after one that does"
    assert refused(path, 'Paris;*\n"Lima;*\nRome;*\n') == wanted


def test_text_in_another_encoding_is_refused(path: Path) -> None:
    assert refused(path, "Z\xfcrich;*\n".encode("latin-1")) == "hierarchy table cities.csv is not UTF-8 text"


def test_no_label_appears_in_a_message(path: Path) -> None:
    for text in ("canary;a;*\ncanary;b;*\n", "x;canary;a;*\ny;canary;b;*\n", "canary;a;*\nb;canary;*\n", "canary;a\nb\n", '"canary'):
        assert "canary" not in refused(path, text)


def test_a_missing_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="is not there"):
        Table(path=str(tmp_path / "nowhere.csv")).build("city", pa.array([], pa.string()), np.empty(0, np.int64))


@pytest.mark.parametrize("delimiter", ["\n", '"', "é", ";;"])
def test_a_delimiter_that_cannot_work_is_refused(delimiter: str) -> None:
    with pytest.raises(PolicyError):
        Table(path="x", delimiter=delimiter)


def test_the_tables_of_the_adult_data_are_read(adult: Path) -> None:
    sizes = {}
    for file in sorted(adult.glob("adult_hierarchy_*.csv")):
        built = Table(path=str(file)).build("column", pa.array([], pa.string()), np.empty(0, np.int64))
        sizes[file.stem.removeprefix("adult_hierarchy_")] = (built.size, built.height, built.root)

    assert sizes["age"] == (100, 4, "*")
    assert sizes["education"] == (16, 3, "*")
    assert sizes["sex"] == (2, 1, "*")


@pytest.mark.parametrize(("delimiter", "written"), [(",", '","'), ("\t", '"\\t"'), ("|", '"|"')])
def test_a_table_with_another_delimiter_says_which(delimiter: str, written: str, path: Path) -> None:
    message = refused(path, CITIES.replace(";", delimiter))

    assert message == f'hierarchy table cities.csv has one field a line with the delimiter ";", but {written} stands in every line'


def test_one_field_a_line_is_a_list_of_leaves(path: Path) -> None:
    assert build(path, "Paris\nWashington, D.C.\nLima\n").leaves.to_pylist() == ["Paris", "Washington, D.C.", "Lima"]

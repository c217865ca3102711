"""What every hierarchy keeps to, whatever it is built from."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.core import canonical
from sfumato.core.encoding import distinct_typed, encode
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.publication import Publication
from sfumato.errors import DataError
from sfumato.registry import find, names

pytestmark = pytest.mark.slow

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        ["", "*", "**", "1*", "12", "a,b", 'say "no"', "it's", "😀", "😀😁", "شارع", "רחוב", "line\nbreak", "[1, 2]", "{a, b}", " ", "\ufeff"]
    ),
    st.from_regex(r"[0-9]{3,5}[*]?", fullmatch=True),
)
NUMBERS = {
    "integer": st.integers(-(10**15), 10**15) | st.integers(-50, 50),
    "decimal": st.decimals(-(10**6), 10**6, places=3) | st.decimals(-5, 5, places=1),
    "date": st.dates(),
    "timestamp": st.datetimes().map(lambda instant: instant.isoformat() + "Z"),
}


def taxonomy(values: Sequence[str], folder: Path) -> dict[str, Any]:
    """Put the values below two groups of a tree."""
    assume(values and not {"Root", "first half", "second half"} & set(values))
    tree = {"first half": list(values[::2]), "second half": list(values[1::2])}
    tree = {group: leaves for group, leaves in tree.items() if leaves}
    return {"tree": {"Root": list(tree), **tree}}


def table(values: Sequence[str], folder: Path) -> dict[str, Any]:
    """Write the values into a table of two levels."""
    assume(values and not {"first half", "second half"} & set(values))
    with (folder / "table.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL)
        writer.writerows((value, ("first half", "second half")[place % 2], "*") for place, value in enumerate(values))
    return {"path": str(folder / "table.csv")}


# hierarchies that the policy's author writes down; all others are made from the values alone
WRITTEN: dict[str, Callable[[Sequence[str], Path], dict[str, Any]]] = {"taxonomy": taxonomy, "table": table}


def build(name: str, texts: Sequence[str], kind: canonical.ValueType) -> tuple[Hierarchy | None, pa.Array]:
    """Return the ladder over some values, None where it is for other types, and the values as they were read."""
    read = pa.array(sorted(texts), pa.string())
    counts = np.arange(1, len(read) + 1, dtype=np.int64)
    typed, rows, _ = distinct_typed(read, counts, kind, [])
    with tempfile.TemporaryDirectory() as folder:
        known = WRITTEN[name](read.to_pylist(), Path(folder)) if name in WRITTEN else {}
        try:
            return find("hierarchies", name)(**known).build("column", typed, rows), read
        except DataError as error:
            if error.code == "hierarchy-type":
                return None, read
            raise


def check(hierarchy: Hierarchy | None, read: pa.Array) -> None:
    if hierarchy is None:
        return
    check_nesting(hierarchy)
    check_labels(hierarchy)
    check_codes(hierarchy, read)


def check_nesting(hierarchy: Hierarchy) -> None:
    below = set(range(max(1, hierarchy.size)))
    for level in hierarchy.levels:
        starts = level.starts.tolist()
        assert starts[0] == 0
        assert starts == sorted(set(starts))
        assert set(starts) <= below
        assert len(level.labels) == len(starts)
        below = set(starts)
    assert len(hierarchy.levels[-1].starts) == 1


def check_labels(hierarchy: Hierarchy) -> None:
    """A label read back is the node it names, or one above that is called the same."""
    nodes: list[tuple[str, int, int, int]] = []
    for level in range(hierarchy.height + 1):
        firsts, lasts = hierarchy.nodes(level)
        nodes += [(hierarchy.node_label(level, node), level, int(low), int(high)) for node, (low, high) in enumerate(zip(firsts, lasts, strict=True))]
    lows, highs = Publication("column", hierarchy).read(pa.array([label for label, *_ in nodes], pa.string()))
    namesakes: dict[str, set[tuple[int, int]]] = {}
    for label, _, low, high in nodes:
        namesakes.setdefault(label, set()).add((low, high))
    for (label, _, low, high), read_low, read_high in zip(nodes, lows.tolist(), highs.tolist(), strict=True):
        covered = (read_low, min(read_high, hierarchy.size - 1))
        assert covered[0] <= low
        assert covered[1] >= high
        assert covered == (low, high) or (covered in namesakes[label] and not hierarchy.ordered) or label == hierarchy.root


def check_codes(hierarchy: Hierarchy, read: pa.Array) -> None:
    codes = encode(hierarchy, read).codes
    assert (codes < hierarchy.size).all()
    assert len(np.unique(codes)) == hierarchy.size
    strange = pa.concat_arrays([read, pa.array(["a stranger", "not there"])])
    codes = encode(hierarchy, strange, missing=["not there"]).codes
    assert codes[-2:].tolist() == [hierarchy.outside, hierarchy.missing]
    assert encode(hierarchy, read).null_code == hierarchy.missing


@pytest.mark.parametrize("name", names("hierarchies"))
@settings(max_examples=60, deadline=None)
@given(texts=st.sets(TEXT, max_size=60))
def test_a_ladder_over_any_text_nests_and_says_what_it_means(name: str, texts: set[str]) -> None:
    assume(not {"a stranger", "not there"} & texts)

    check(*build(name, sorted(texts), "text"))


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", names("hierarchies"))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_ladder_over_ordered_values_nests_and_says_what_it_means(name: str, kind: canonical.ValueType, data: st.DataObject) -> None:
    values = data.draw(st.sets(NUMBERS[kind], min_size=1, max_size=60))

    check(*build(name, [str(value) for value in values], kind))


@pytest.mark.parametrize("kind", ["text", *NUMBERS])
@pytest.mark.parametrize("name", [name for name in names("hierarchies") if name not in WRITTEN])
def test_a_column_without_any_value_has_the_root_alone(name: str, kind: canonical.ValueType) -> None:
    hierarchy, _ = build(name, [], kind)
    if hierarchy is None:
        pytest.skip(f"{name} is not for {kind}: no command makes this run")

    assert (hierarchy.size, hierarchy.height, hierarchy.root) == (0, 1, "*")
    assert Publication("column", hierarchy).read(pa.array([None, "*"], pa.string()))[1].tolist() == [hierarchy.missing, hierarchy.outside]

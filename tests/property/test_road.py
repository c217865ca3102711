"""No random table and policy ever yields a broken promise: checked on the release by code that the engine does not use."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import SfumatoError

TREE = {"Root": ["A", "B", "lone"], "A": ["a1", "a2", "a3"], "B": ["b1", "C"], "C": ["c1", "c2"]}
ABOVE = {"a1": "A", "a2": "A", "a3": "A", "b1": "B", "c1": "C", "c2": "C", "C": "B", "A": "*", "B": "*", "lone": "*"}

values = st.tuples(
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(-50, 50)),
    st.one_of(st.none(), st.sampled_from([leaf for leaf in ABOVE if leaf not in ("A", "B", "C")])),
    st.one_of(st.none(), st.text(max_size=3)),
    st.sampled_from(["flu", "flu", "cold", "gout", None]),
)
promises = st.one_of(
    st.just([]),
    st.integers(2, 3).map(lambda l: [{"l_diversity": {"column": "illness", "l": l}}]),
    st.floats(1.1, 2.5).map(lambda l: [{"l_diversity": {"column": "illness", "l": l, "kind": "entropy"}}]),
    st.tuples(st.floats(0.5, 4), st.integers(2, 3)).map(
        lambda p: [{"l_diversity": {"column": "illness", "l": p[1], "kind": "recursive", "c": p[0]}}]
    ),
    st.floats(0.05, 0.9).map(lambda t: [{"t_closeness": {"column": "illness", "t": t}}]),
)


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(values, min_size=1, max_size=60),
    k=st.integers(2, 6),
    further=promises,
    algorithm=st.sampled_from(["mondrian", "datafly", {"mondrian": {"relaxed": True}}]),
    limit=st.sampled_from([0.0, 0.1, 0.5]),
    people=st.booleans(),
    publish=st.sampled_from([None, "bounds", "interval"]),
)
def test_no_release_breaks_a_promise(
    rows: list, k: int, further: list, algorithm: str | dict, limit: float, people: bool, publish: str | None
) -> None:
    people = people and isinstance(algorithm, str)
    columns = ("person", "number", "tree", "text", "illness")
    data = pa.table(
        {
            name: pa.array([row[place] for row in rows], pa.int64() if name in ("person", "number") else pa.string())
            for place, name in enumerate(columns)
        }
    )
    policy = {
        "columns": {
            "person": {"role": "identifier"},
            "number": {"role": "quasi_identifier", **({"publish": publish} if publish else {})},
            "tree": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}},
            "text": {"role": "quasi_identifier"},
            "illness": {"role": "sensitive"},
        },
        "promises": [{"k_anonymity": {"k": k}}, *further],
        "algorithm": algorithm,
        "suppression_limit": limit,
        **({"subject": "person"} if people else {}),
    }
    try:
        release = sfumato.run(policy, data=data)
    except SfumatoError as error:
        assert error.status == 4
        return
    table = release.table
    assert len(rows) - table.num_rows <= limit * len(rows)
    shown = [name for name in table.column_names if name != "illness"]
    groups = defaultdict(list)
    for row in table.to_pylist():
        groups[tuple(row[name] for name in shown)].append(row["illness"])
    if not people:
        # with a subject, people are not to be seen in the release: tests of attacks count them through the source
        assert min(map(len, groups.values())) >= k
        for promise in further:
            check(promise, groups, Counter(row[4] for row in rows))
    assert Counter(table["illness"].to_pylist()) - Counter(row[4] for row in rows) == Counter()
    if publish != "bounds":
        assert every_value_is_covered(table, rows) or limit


def check(promise: dict, groups: dict, reference: Counter) -> None:
    (name, asked), *_ = promise.items()
    total = sum(reference.values())
    for illnesses in groups.values():
        counts = sorted(Counter(illnesses).values(), reverse=True)
        shares = [count / len(illnesses) for count in counts]
        if name == "t_closeness":
            found = Counter(illnesses)
            assert sum(abs(found[v] / len(illnesses) - reference[v] / total) for v in reference) / 2 <= asked["t"] + 1e-8
        elif asked.get("kind") == "entropy":
            assert -sum(share * math.log(share) for share in shares) >= math.log(asked["l"]) - 1e-8
        elif asked.get("kind") == "recursive":
            assert counts[0] < asked["c"] * sum(counts[asked["l"] - 1 :])
        else:
            assert len(counts) >= asked["l"]


def every_value_is_covered(table: pa.Table, rows: list) -> bool:
    """Return whether the rows can be matched to published ones that cover their number and their place in the tree."""
    published = Counter(zip(table["number"].to_pylist(), table["tree"].to_pylist(), table["illness"].to_pylist(), strict=True))
    originals = Counter((row[1], row[2], row[4]) for row in rows)
    covered = sum(
        min(1, sum(fits(number, n) and below(leaf, t) and illness == i for (n, t, i) in published)) * count
        for (number, leaf, illness), count in originals.items()
    )
    return covered == len(rows)


def fits(number: int | None, text: str | None) -> bool:
    if text == "*" or number is None or text is None:
        return text == "*" or (number is None and text is None)
    ends = text.strip("[]").split(", ")
    return int(ends[0]) <= number <= int(ends[-1])


def below(leaf: str | None, label: str | None) -> bool:
    while leaf != label and leaf is not None and leaf != "*":
        leaf = ABOVE[leaf]
    return leaf == label or label == "*"


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(20, 60), st.sampled_from("fm"), st.sampled_from(["x", "y", "z"])), min_size=30, max_size=120),
    k=st.integers(2, 5),
)
def test_pycanon_agrees(rows: list, k: int) -> None:
    from pycanon import anonymity

    data = pa.table({name: [row[place] for row in rows] for place, name in enumerate(("age", "sex", "illness"))})
    columns = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    promises = [{"k_anonymity": {"k": k}}, {"l_diversity": {"column": "illness", "l": 2}}, {"t_closeness": {"column": "illness", "t": 0.6}}]
    try:
        release = sfumato.run({"columns": columns, "promises": promises}, data=data)
    except SfumatoError as error:
        assert error.status == 4
        return
    frame = pd.DataFrame(release.table.to_pydict())
    measured = [promise.measured for promise in release.record.promises]
    assert anonymity.k_anonymity(frame, ["age", "sex"]) == measured[0]
    assert anonymity.l_diversity(frame, ["age", "sex"], ["illness"]) == measured[1]
    # its reference is the release; without suppression that is the table as read
    assert anonymity.t_closeness(frame, ["age", "sex"], ["illness"]) == pytest.approx(measured[2], abs=1e-3)

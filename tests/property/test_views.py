"""Views of random tables: what each promises holds, and what a derived one adds tells a reader of both nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import PromiseError

TREE = {"Root": ["x", "y"], "x": ["a", "b", "c"], "y": ["d", "e"]}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(6, 60))
    columns = {
        "number": list(range(rows)),
        "age": draw(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=rows, max_size=rows)),
        "group": draw(st.lists(st.sampled_from("abcde?"), min_size=rows, max_size=rows)),
        "illness": draw(st.lists(st.sampled_from("uvw"), min_size=rows, max_size=rows)),
    }
    return pa.table(columns, schema=pa.schema([("number", pa.int64()), ("age", pa.int64()), ("group", pa.string()), ("illness", pa.string())]))


def view(draw: st.DrawFn, k: int) -> dict[str, Any]:
    weight = draw(st.sampled_from([0.1, 1.0, 20.0]))
    promises: list[Any] = [{"k_anonymity": {"k": k}}]
    if draw(st.booleans()):
        promises.append({"l_diversity": {"column": "illness", "l": 2}})
    asked: dict[str, Any] = {
        "promises": promises,
        "algorithm": draw(st.sampled_from(["mondrian", "datafly"])),
        "suppression_limit": draw(st.sampled_from([0.0, 0.2, 0.6])),
    }
    group = {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}, "on_unknown": draw(st.sampled_from(["generalise", "suppress"]))}
    age = {"role": "quasi_identifier", "hierarchy": {"interval": draw(st.sampled_from([{}, {"width": 7}]))}, "weight": weight}
    return asked | {"columns": {"group": group, "age": draw(st.sampled_from([age, {"role": "identifier"}]))}}


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    fine, coarse = view(draw, draw(st.integers(2, 4))), view(draw, draw(st.integers(2, 8)))
    columns = {
        "number": {"role": "other", "accept": "singling_out"},
        "age": {"role": "quasi_identifier"},
        "group": {"role": "quasi_identifier", "on_unknown": "generalise", "hierarchy": {"taxonomy": {"tree": TREE}}},
        "illness": {"role": "sensitive"},
    }
    derived = {"derived_from": "fine"} if draw(st.booleans()) else {}
    return {"columns": columns, "views": {"coarse": coarse | derived, "fine": fine}, "readers": {"nurse": ["fine", "coarse"]}}


def classes(table: pa.Table) -> dict[int, tuple[Any, ...]]:
    names = [name for name in ("age", "group") if name in table.column_names]
    return dict(zip(table["number"].to_pylist(), zip(*(table[name].to_pylist() for name in names), strict=True), strict=True))


def keeps(classes_of: dict[int, Any], promises: list[Any], illness: list[str]) -> bool:
    members = defaultdict(list)
    for number, box in classes_of.items():
        members[box].append(illness[number])
    k = promises[0]["k_anonymity"]["k"]
    least = 2 if len(promises) > 1 else 1
    return all(len(values) >= k and len(set(values)) >= least for values in members.values())


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(table=tables(), policy=policies())
def test_views_keep_their_promises_alone_and_one_of_them_together(table: pa.Table, policy: dict[str, Any]) -> None:
    try:
        releases = sfumato.run(policy, data=table)
    except PromiseError as error:
        # with a derived view that shows no further column what two tell together is never more
        ages = {name: view["columns"]["age"]["role"] for name, view in policy["views"].items()}
        adds = "derived_from" not in policy["views"]["coarse"] or ages == {"fine": "identifier", "coarse": "quasi_identifier"}
        assert not error.code.startswith("verify") or (error.code == "verify-together" and adds)
        return
    illness = table["illness"].to_pylist()
    seen = {name: classes(release.table) for name, release in releases.items()}
    joint = {number: (seen["fine"].get(number), seen["coarse"].get(number)) for number in {*seen["fine"], *seen["coarse"]}}

    asked = {name: policy["views"][name]["promises"] for name in seen}
    assert all(keeps(seen[name], asked[name], illness) for name in seen)
    assert any(keeps(joint, promises, illness) for promises in asked.values())
    assert releases["fine"].record.together[0].smallest_class in (min(Counter(joint.values()).values()), "< 2", "< 3", "< 4")
    if "derived_from" in policy["views"]["coarse"]:
        assert set(seen["coarse"]) <= set(seen["fine"])
        assert len(set(joint.values())) == len(set(seen["fine"].values()))

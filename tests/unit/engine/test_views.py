"""Several audiences of one source: each view a release of its own, and what is learnt from several of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.cli.run import told_together
from sfumato.core.record import RunRecord, Together
from sfumato.engine.plan import make_plan
from sfumato.engine.preview import preview
from sfumato.errors import PromiseError, UsageError
from sfumato.sources.memory import Memory

AGES = [int(age) for age in np.random.default_rng(5).integers(20, 80, 400)]
TOWNS = [["Bern", "Basel", "Bonn", "Bremen"][int(town)] for town in np.random.default_rng(6).integers(0, 4, 400)]
TABLE = pa.table(
    {
        "number": list(range(400)),
        "age": AGES,
        "town": TOWNS,
        "illness": [["flu", "cold", "gout"][age % 3] for age in AGES],
        "ward": [str(age % 2) for age in AGES],
    }
)
TREE = {"Root": ["CH", "DE"], "CH": ["Bern", "Basel"], "DE": ["Bonn", "Bremen"]}
COLUMNS: dict[str, Any] = {
    "number": {"role": "identifier"},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {}}},
    "town": {
        "role": "quasi_identifier",
        "hierarchy": {"taxonomy": {"tree": {"Root": ["CH", "DE"], "CH": ["Bern", "Basel"], "DE": ["Bonn", "Bremen"]}}},
    },
    "illness": {"role": "sensitive"},
    "ward": {"role": "other"},
}
POLICY: dict[str, Any] = {"columns": COLUMNS, "promises": [{"k_anonymity": {"k": 4}}]}
FINE = {"promises": [{"k_anonymity": {"k": 4}}]}
COARSE = {"promises": [{"k_anonymity": {"k": 9}}]}
# another weight makes other cuts: without it the coarser classes would be unions of the finer by themselves
OTHERWISE = COARSE | {"columns": {"town": COLUMNS["town"] | {"weight": 50.0}}}


def policy(views: dict[str, Any], **others: Any) -> dict[str, Any]:
    return POLICY | {"views": views} | others


def smallest_class(table: pa.Table, *columns: str) -> int:
    return min(Counter(zip(*(table.column(name).to_pylist() for name in columns), strict=True)).values())


def test_each_view_is_a_release_with_its_own_columns_and_promises() -> None:
    without_town = {"columns": {"town": {"role": "identifier"}, "ward": {"role": "identifier"}}, **COARSE}

    releases = sfumato.run(policy({"ward": FINE, "research": without_town}), data=TABLE)

    assert isinstance(releases, sfumato.Releases)
    assert list(releases) == ["ward", "research"]
    assert releases["ward"].table.column_names == ["age", "town", "illness", "ward"]
    assert releases["research"].table.column_names == ["age", "illness"]
    assert smallest_class(releases["ward"].table, "age", "town") >= 4
    assert smallest_class(releases["research"].table, "age") >= 9
    assert [record["view"] for record in releases.record["views"].values()] == ["ward", "research"]


def test_the_source_is_read_once_for_all_views_once_more_to_verify_and_its_beginning_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[Any] = []
    batches = Memory.batches

    def counted(self: Memory, columns: Any, dictionaries: Any = ()) -> Any:
        read = 0
        for batch in batches(self, columns, dictionaries):
            read += batch.num_rows
            yield batch
        if self.table.column_names == TABLE.column_names:
            whole.append(read)

    monkeypatch.setattr(Memory, "batches", counted)

    sfumato.run(policy({"a": FINE, "b": COARSE, "c": FINE | {"columns": {"ward": {"role": "identifier"}}}}), data=TABLE)

    assert whole == [400, 400, 400]


def test_what_a_reader_of_two_views_could_single_out_stops_the_run(tmp_path: Path) -> None:
    views = {name: view | {"sink": str(tmp_path / f"{name}.csv")} for name, view in {"a": FINE, "b": OTHERWISE}.items()}

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy(views, readers={"nurse": ["a", "b"], "guest": ["a"]}), data=TABLE)

    assert refused.value.code == "verify-together"
    assert refused.value.message.startswith("nurse would learn more from a and b together than from one of them: their joint classes do not keep")
    assert refused.value.hint == "derived_from: a in views.b, or let nobody read all of them"
    assert list(tmp_path.iterdir()) == []


def test_the_same_two_views_are_published_where_nobody_reads_both() -> None:
    releases = sfumato.run(policy({"a": FINE, "b": OTHERWISE}, readers={"nurse": ["a"], "guest": ["b"]}), data=TABLE)

    (together,) = releases["a"].record.together
    assert (together.views, together.readers, together.smallest_class, together.keeps) == (["a", "b"], [], "< 4", None)
    assert releases["b"].record.together == [together]


def test_who_reads_three_views_reads_every_two_of_them() -> None:
    views = dict.fromkeys("abcd", FINE)
    releases = sfumato.run(policy(views, readers={"chief": ["a", "b", "c"]}), data=TABLE)

    told = {tuple(each.views): each.readers for release in releases.values() for each in release.record.together}
    assert told == {("a", "b", "c"): ["chief"], ("a", "d"): [], ("b", "d"): [], ("c", "d"): []}


KEYED = COLUMNS | {"number": {"role": "other", "accept": "singling_out"}}


def classes_by_number(table: pa.Table) -> dict[int, tuple[str, ...]]:
    """Return the published class of each person: the test can link the views, because it publishes who is who."""
    return dict(zip(table["number"].to_pylist(), zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True), strict=True))


@pytest.mark.parametrize("algorithms", [("mondrian", "mondrian"), ("datafly", "datafly"), ("mondrian", "datafly"), ("datafly", "mondrian")])
@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_classes_of_a_derived_view_are_unions_of_the_other_ones(algorithms: tuple[str, str], limit: float) -> None:
    fine = FINE | {"algorithm": algorithms[0], "suppression_limit": limit}
    coarse = COARSE | {"algorithm": algorithms[1], "suppression_limit": 3 * limit, "derived_from": "fine"}

    releases = sfumato.run(
        POLICY | {"columns": KEYED, "views": {"coarse": coarse, "fine": fine}, "readers": {"nurse": ["fine", "coarse"]}}, data=TABLE
    )

    fine_of, coarse_of = (classes_by_number(releases[name].table) for name in ("fine", "coarse"))
    assert set(coarse_of) <= set(fine_of)
    within = defaultdict(set)
    for number, box in fine_of.items():
        within[box].add(coarse_of.get(number))
    # a class may be left out here whole, never in part
    assert all(len(boxes) == 1 for boxes in within.values())
    assert min(Counter(coarse_of.values()).values()) >= 9
    together = releases["coarse"].record.together[0]
    assert (together.readers, together.keeps) == (["nurse"], "fine")
    assert releases["coarse"].record.derived_from == "fine"
    across = "coarse has one level a column for all rows and fine has boxes, which lie across levels: much more is lost than with boxes"
    assert (across in releases["coarse"].record.notes) == (algorithms == ("mondrian", "datafly"))


def test_a_view_may_be_derived_from_one_that_is_derived_itself() -> None:
    views = {"c": {"promises": [{"k_anonymity": {"k": 30}}], "derived_from": "b"}, "b": COARSE | {"derived_from": "a"}, "a": FINE}

    releases = sfumato.run(POLICY | {"columns": KEYED, "views": views, "readers": {"nurse": ["a", "b", "c"]}}, data=TABLE)

    a, b, c = (classes_by_number(releases[name].table) for name in "abc")
    assert len({(a[number], b[number], c[number]) for number in a}) == len(set(a.values()))
    assert min(Counter(c.values()).values()) >= 30


def test_a_derived_view_can_have_other_columns_and_ladders() -> None:
    age = {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 10}}, "level": {"minimum": 1}}
    views = {"fine": FINE, "coarse": COARSE | {"derived_from": "fine", "columns": {"town": {"role": "identifier"}, "age": age}}}

    releases = sfumato.run(policy(views, readers={"nurse": ["fine", "coarse"]}), data=TABLE)

    assert releases["coarse"].table.column_names == ["age", "illness", "ward"]
    assert smallest_class(releases["coarse"].table, "age") >= 9
    assert all(age.startswith("[") for age in releases["coarse"].table["age"].to_pylist())


def test_a_derived_view_leaves_out_what_the_other_leaves_out() -> None:
    outlier = pa.table({"number": [900], "age": [400], "town": ["Bern"], "illness": ["flu"], "ward": ["1"]}, schema=TABLE.schema)
    data = pa.concat_tables([TABLE, outlier])
    age = COLUMNS["age"] | {"level": {"maximum": 1}, "hierarchy": {"interval": {"width": 20, "minimum": 0, "maximum": 500}}}
    views = {"fine": FINE | {"suppression_limit": 0.05, "columns": {"age": age}}, "all": {"columns": {"age": {"role": "identifier"}}}}
    derived = {**views, "all": views["all"] | {"derived_from": "fine", "suppression_limit": 0.05}}

    apart = sfumato.run(policy(views), data=data)
    releases = sfumato.run(policy(derived, readers={"nurse": ["fine", "all"]}), data=data)

    assert [apart[name].table.num_rows for name in ("fine", "all")] == [400, 401]
    assert [releases[name].table.num_rows for name in ("fine", "all")] == [400, 400]
    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy(views, readers={"nurse": ["fine", "all"]}), data=data)
    assert refused.value.code == "verify-together"
    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy({**derived, "all": derived["all"] | {"suppression_limit": 0.0}}), data=data)
    assert refused.value.code == "derived-suppression"


def test_a_column_that_another_view_shows_as_it_is_counts_for_the_reader_of_both() -> None:
    plain = {"columns": {"age": {"role": "other"}, "town": {"role": "identifier"}}, "promises": []}

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy({"generalised": FINE, "plain": plain}, readers={"nurse": ["generalised", "plain"]}), data=TABLE)

    assert refused.value.code == "verify-together"
    assert "nor" not in refused.value.message


def test_promises_over_sensitive_values_are_measured_on_joint_classes() -> None:
    diverse = {"promises": [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]}
    views = {"a": diverse, "b": diverse | {"algorithm": "datafly", "suppression_limit": 0.2}}

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy(views, readers={"nurse": ["a", "b"]}), data=TABLE)

    assert "l_diversity (asked 2, measured 1)" in refused.value.message


def test_an_error_within_a_view_says_in_which() -> None:
    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy({"a": FINE, "b": {"promises": [{"k_anonymity": {"k": 500}}]}}), data=TABLE)

    assert refused.value.message.startswith("view b: ")


def test_people_are_counted_in_joint_classes_where_the_policy_names_a_subject() -> None:
    twice = pa.concat_tables([TABLE, TABLE])

    releases = sfumato.run(policy({"a": FINE, "b": OTHERWISE}, subject="number"), data=twice)

    assert releases["a"].record.together[0].smallest_class == "< 4"
    assert releases["a"].record.promises[0].measured >= 4
    assert smallest_class(releases["a"].table, "age", "town") >= 8


def test_a_broken_derivation_is_found_on_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.engine.run as engine

    def search_alone(plan: Any, problem: Any, counted: Any, units: Any, finer: Any, progress: Any) -> Any:
        return plan.resolved.algorithm.search(problem, counted.frequencies, progress)

    monkeypatch.setattr(engine, "search_within", search_alone)

    with pytest.raises(PromiseError) as refused:
        sfumato.run(policy({"fine": FINE, "coarse": OTHERWISE | {"derived_from": "fine"}}), data=TABLE)

    assert refused.value.code == "verify-derived"


def test_all_views_are_verified_before_the_first_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sfumato.engine.run as engine

    verify = engine.verify
    views = {name: FINE | {"sink": str(tmp_path / f"{name}.csv")} for name in "abc"}

    def last_fails(plan: Any, *others: Any) -> Any:
        assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
        if plan.view == "c":
            raise PromiseError("not this one", code="verify-promise")
        return verify(plan, *others)

    monkeypatch.setattr(engine, "verify", last_fails)
    with pytest.raises(PromiseError):
        sfumato.run(policy(views), data=TABLE)

    assert list(tmp_path.iterdir()) == []


def test_the_records_beside_the_releases_are_those_of_their_views(tmp_path: Path) -> None:
    views = {"a": FINE | {"sink": str(tmp_path / "a.csv")}, "b": COARSE | {"sink": str(tmp_path / "b.parquet"), "derived_from": "a"}}

    releases = sfumato.run(policy(views, readers={"nurse": ["a", "b"]}), data=TABLE)

    for name, file in (("a", "a.csv"), ("b", "b.parquet")):
        beside = json.loads((tmp_path / f"{file}.record.json").read_text())
        assert beside["view"] == name
        assert beside["files"] == [file]
        assert beside["together"] == releases.record["views"][name]["together"]
        assert releases[name].table.num_rows == 400
    assert isinstance(releases["a"].record, RunRecord)
    assert "<h4>a</h4>" in releases._repr_html_()


def test_one_view_can_be_planned_by_its_name() -> None:
    both = policy({"a": FINE, "b": COARSE})

    assert make_plan(both, TABLE, "b").resolved.promises[0].asked == 9
    with pytest.raises(UsageError, match=r"^the policy has several views \[view-unknown\]\n  try: --view a, or view= in Python$"):
        make_plan(both, TABLE)
    with pytest.raises(UsageError, match=r"^the policy has no view bb \[view-unknown\]"):
        make_plan(both, TABLE, "bb")
    with pytest.raises(UsageError, match=r"leave it out: the policy has no views"):
        make_plan(POLICY, TABLE, "a")


def test_a_preview_of_a_derived_view_is_derived_too() -> None:
    views = {"coarse": OTHERWISE | {"derived_from": "fine"}, "fine": FINE}
    both = policy(views, columns=KEYED)

    shown = preview(both, rows=400, data=TABLE, view="coarse")

    published = classes_by_number(sfumato.run(both, data=TABLE)["coarse"].table)
    assert {int(before["number"]): (after["age"], after["town"]) for before, after in shown.rows} == published


def test_a_view_that_does_not_show_a_column_is_no_measure_for_what_another_promises_about_it() -> None:
    zips = ["10", "11", "20", "21"]
    data = pa.table({"zip": [zips[row // 3] for row in range(12)], "illness": [f"ill {row // 3}" for row in range(12)]})
    columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"prefix": {}}}, "illness": {"role": "sensitive"}}
    diverse = [{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "illness", "l": 2}}]
    admin = {"columns": {"illness": {"role": "identifier"}}, "promises": [{"k_anonymity": {"k": 3}}]}
    views = {"admin": admin, "research": {"promises": diverse, "derived_from": "admin"}}

    with pytest.raises(PromiseError) as refused:
        sfumato.run({"columns": columns, "views": views, "readers": {"nurse": ["admin", "research"]}}, data=data)

    assert refused.value.code == "verify-together"
    assert "what research promises, l_diversity (asked 2, measured 1)" in refused.value.message
    assert refused.value.hint == "let nobody read all of them"


def test_a_column_that_only_the_whole_policy_calls_a_quasi_identifier_counts_too() -> None:
    data = pa.table({"age": [row % 6 for row in range(24)], "zip": [str(row % 4) for row in range(24)]})
    columns = {"age": {"role": "quasi_identifier"}, "zip": {"role": "quasi_identifier"}}
    views = {
        "a": {"columns": {"zip": {"role": "identifier"}}, "promises": [{"k_anonymity": {"k": 3}}]},
        "b": {"columns": {"age": {"role": "identifier"}, "zip": {"role": "other"}}, "promises": []},
    }

    with pytest.raises(PromiseError) as refused:
        sfumato.run({"columns": columns, "views": views, "readers": {"r": ["a", "b"]}}, data=data)

    assert refused.value.code == "verify-together"
    assert "generalise or remove zip in views.b" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"readers": ["nurse"], "smallest_class": 7, "keeps": "a"}, "nurse may read a and b together: smallest joint class 7; {hold}"),
        (
            {"readers": ["nurse"], "smallest_class": "< 4", "keeps": "a"},
            "nurse may read a and b together: smallest joint class < 4; {hold}, and smaller classes come of what one of them shows anyway",
        ),
        ({"readers": [], "smallest_class": "< 4"}, "nobody is said to read a and b together: smallest joint class < 4"),
    ],
)
def test_the_summary_says_what_views_tell_together(told: dict[str, Any], words: str) -> None:
    record = sfumato.run(POLICY, data=TABLE).record
    record = record.model_copy(update={"together": [Together(views=["a", "b"], promises=record.promises, **told)]})

    assert list(told_together({"a": record, "b": record})) == [words.format(hold="the promises hold of what these views tell together")]


def test_the_summary_speaks_of_no_promise_where_there_is_none() -> None:
    told = Together(views=["a", "b"], readers=["nurse"], smallest_class=9, keeps="a")
    record = sfumato.run(POLICY, data=TABLE).record.model_copy(update={"together": [told]})
    assert list(told_together({"a": record})) == ["nurse may read a and b together: smallest joint class 9"]


def test_what_says_the_same_of_everybody_need_not_be_removed() -> None:
    data = pa.table({"age": [row % 6 for row in range(24)], "zip": [str(row % 4) for row in range(24)], "name": [f"n{row}" for row in range(24)]})
    columns = {"age": {"role": "quasi_identifier"}, "zip": {"role": "quasi_identifier"}, "name": {"role": "identifier", "mask": "constant"}}
    views = {
        "a": {"columns": {"zip": {"role": "identifier"}}, "promises": [{"k_anonymity": {"k": 3}}]},
        "b": {"columns": {"age": {"role": "identifier"}, "zip": {"role": "other"}}, "promises": []},
    }

    with pytest.raises(PromiseError) as refused:
        sfumato.run({"columns": columns, "views": views, "readers": {"r": ["a", "b"]}}, data=data)

    assert "generalise or remove zip in views.b, or " in (refused.value.hint or "")
    assert "name in" not in (refused.value.hint or "")

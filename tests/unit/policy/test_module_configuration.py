"""The JSON configuration of a k-anonymisation module loads wherever a policy does."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.engine.explain import explain
from sfumato.engine.plan import make_plan
from sfumato.errors import PolicyError, PromiseError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve

CENSUS = """\
{
  "k": 2,
  "sensitive_attributes": ["class"],
  "indirect_identifiers": {
    "age": {
      "type": "numerical",
      "datafly_num_of_buckets": 4
    },
    "marital_status": {
      "type": "hierarchical",
      "datafly_init_level": 2,
      "tree": {
        "value": "*",
        "children": [
          # a comment, and a comma too many below
          {
            "value": "Married",
            "children": [
              {"value": "Married-civ-spouse", "children": []},
              {"value": "Married-AF-spouse", "children": []}
            ]
          },
          {"value": "Never-married", "children": []},
        ]
      }
    },
  }
}
"""
LOGS: dict[str, Any] = {
    "k": 2,
    "sensitive_attributes": ["host", "request"],
    "qids": {
        "timestamp": {"type": "timestamp"},
        "clientip": {"type": "ip"},
        "bytes": {"type": "numerical"},
        "os": {"type": "categorical"},
        "geo.dest": {
            "type": "hierarchical",
            "tree": {
                "value": "*",
                "children": [{"value": "Europe", "children": [{"value": "AT"}, {"value": "CH"}]}, {"value": "US", "children": []}],
            },
        },
    },
}
PEOPLE = pa.table(
    {
        "name": ["a", "b", "c", "d", "e", "f", "g", "h"],
        "age": [20, 21, 30, 31, 40, 41, 50, 51],
        "marital_status": ["Married-civ-spouse", "Married-AF-spouse", *["Married-civ-spouse"] * 2, *["Never-married"] * 4],
        "class": ["x", "y"] * 4,
    }
)


def columns(configuration: dict[str, Any]) -> dict[str, Any]:
    policy = resolve(load(configuration)).policy
    return {name: column.model_dump(exclude_defaults=True) for name, column in policy.columns.items()}


def hierarchy(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, **({"settings": settings} if settings else {})}


def mistakes(configuration: dict[str, Any]) -> list[str]:
    with pytest.raises(PolicyError) as raised:
        resolve(load(configuration))
    assert raised.value.status == 3
    return [str(mistake) for mistake in raised.value.mistakes]


@pytest.fixture
def census(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(CENSUS, encoding="utf-8")
    return path


# --- what each key means ------------------------------------------------------------------------------------------------


def test_types_become_hierarchies() -> None:
    tree = {"*": ["Europe", "US"], "Europe": ["AT", "CH"]}
    assert columns(LOGS) == {
        "timestamp": {"role": "quasi_identifier", "type": "timestamp", "hierarchy": hierarchy("interval")},
        "clientip": {"role": "quasi_identifier", "type": "ip", "hierarchy": hierarchy("network", ipv4=list(range(31, 0, -1)))},
        "bytes": {"role": "quasi_identifier", "hierarchy": hierarchy("interval")},
        "os": {"role": "quasi_identifier", "hierarchy": hierarchy("flat")},
        "geo.dest": {"role": "quasi_identifier", "hierarchy": hierarchy("taxonomy", tree=tree), "on_unknown": "suppress"},
        "host": {"role": "sensitive"},
        "request": {"role": "sensitive"},
    }


def test_without_keys_of_datafly_the_search_is_mondrian() -> None:
    assert load(LOGS).policy.algorithm.name == "mondrian"


def test_with_keys_of_datafly_the_search_is_datafly(census: Path) -> None:
    assert load(census).policy.algorithm.name == "datafly"


def test_buckets_hold_as_many_rows_each_and_are_the_lowest_level(census: Path) -> None:
    age = load(census).policy.columns["age"]

    assert age.hierarchy is not None
    assert age.hierarchy.settings == {"quantiles": 4}
    assert age.level.minimum == 1


@pytest.mark.parametrize(("start", "level"), [(0, 2), (1, 1), (2, 0), (7, 0)])
def test_the_first_level_of_a_tree_is_counted_from_its_root(start: int, level: int) -> None:
    tree = {"value": "*", "children": [{"value": "a", "children": [{"value": "b"}]}, {"value": "c"}]}
    found = load({"k": 2, "qids": {"job": {"type": "hierarchical", "datafly_init_level": start, "tree": tree}}})

    assert found.policy.columns["job"].level.minimum == level


def test_what_has_no_key_of_datafly_is_suppressed_entirely() -> None:
    tree = {"value": "*", "children": [{"value": "a", "children": [{"value": "b"}]}]}
    found = load(
        {
            "k": 2,
            "algorithm": "Datafly",
            "qids": {"age": {"type": "numerical"}, "sex": {"type": "categorical"}, "job": {"type": "hierarchical", "tree": tree}},
        }
    )
    table = pa.table({"age": [1, 2], "sex": ["f", "m"], "job": ["b", "b"]})

    assert sfumato.run(found, data=table).table.to_pylist() == [{"age": "*", "sex": "*", "job": "*"}] * 2


def test_keys_of_datafly_say_nothing_to_mondrian(census: Path) -> None:
    found = load({**json.loads(json.dumps(LOGS)), "algorithm": "mondrian", "qids": {"age": {"type": "numerical", "datafly_num_of_buckets": 3}}})

    assert found.policy.columns["age"].level.minimum == 0
    assert found.policy.algorithm.name == "mondrian"


def test_a_node_with_one_child_of_its_name_is_that_child() -> None:
    tree = {"value": "*", "children": [{"value": "alone", "children": [{"value": "alone"}]}, {"value": "b"}]}
    found = load({"k": 2, "qids": {"status": {"type": "hierarchical", "tree": tree}}}).policy.columns["status"].hierarchy

    assert found is not None
    assert found.settings == {"tree": {"*": ["alone", "b"]}}


# --- runs ---------------------------------------------------------------------------------------------------------------


def test_what_is_not_named_does_not_reach_the_release_and_is_told(census: Path) -> None:
    release = sfumato.run(census, data=PEOPLE)

    assert release.table.column_names == ["age", "marital_status", "class"]
    assert "columns that the policy does not name were removed: name" in release.record.notes
    assert release.record.columns["name"] == {"role": "identifier"}
    assert "Remove what the policy does not name: name." in explain(make_plan(census, PEOPLE))


def test_everybody_shares_a_class_with_k(census: Path) -> None:
    rows = sfumato.run(census, data=PEOPLE).table.to_pylist()

    assert len(rows) == 8
    assert min(Counter((row["age"], row["marital_status"]) for row in rows).values()) >= 2


def test_rows_outside_a_tree_are_left_out_only_within_the_limit(census: Path) -> None:
    strange = pa.concat_tables([PEOPLE, PEOPLE.slice(0, 1).set_column(2, "marital_status", pa.array(["unheard of"]))])

    with pytest.raises(PromiseError) as raised:
        sfumato.run(census, data=strange)
    assert raised.value.code == "suppression-limit"

    census.write_text(CENSUS.replace('"k": 2,', '"k": 2, "suppression_limit": 0.2,'), encoding="utf-8")
    assert sfumato.run(census, data=strange).record.rows.out == 8


def test_a_policy_that_names_all_columns_still_refuses_others() -> None:
    policy = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}]}
    with pytest.raises(sfumato.errors.DataError) as raised:
        sfumato.run(policy, data=PEOPLE)
    assert raised.value.code == "columns-differ"

    assert sfumato.run({**policy, "unnamed": "remove"}, data=PEOPLE).table.column_names == ["age"]


# --- mistakes -----------------------------------------------------------------------------------------------------------


def test_all_mistakes_are_told_together_in_the_words_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(
        """\
{"k": 1,
 "sensitive_attributes": ["class", "age", 5],
 "mysql": {"host": "here"},
 "algoritm": "datafly",
 "qids": {
  "age": {"type": "numeric"},
  "ip": {"type": "ip", "datafly_init_level": 3},
  "town": {"type": "hierarchical"},
  "job": {"type": "hierarchical", "tree": {"value": "*", "children": [{"value": "x"}, {"value": "x"}]}},
  "zip": {"type": "hierarchical", "tree": {"value": "*"}},
  "pay": 5,
  "sex": {"type":"categorical", "weight": 2}},
 "source": {"elasticsearch": {"index": "logs"}},
 "sink": "out.xyz"}
""",
        encoding="utf-8",
    )
    with pytest.raises(PolicyError) as raised:
        resolve(load(path))

    assert [str(mistake) for mistake in raised.value.mistakes] == [
        "line 1 k: must be at least 2 [policy-value]",
        "line 2 sensitive_attributes[2]: must be text [policy-value]",
        "line 3 mysql: names a server, and this version reads and writes only files [policy-not-built]\n"
        "  try: source: data.csv, in the file or with sfumato convert --source data.csv",
        "line 4 algoritm: unknown key [policy-unknown-key]\n  try: algorithm",
        "line 6 qids.age.type: must be one of numerical, categorical, hierarchical, timestamp, ip [policy-value]\n  try: numerical",
        "line 7 qids.ip.datafly_init_level: says nothing of an attribute of type ip [policy-role-key]\n  try: leave it out, or change the type",
        "line 7 qids.ip.type: the module's Datafly knows no attributes of type ip [policy-value]\n"
        '  try: "algorithm": "mondrian", or leave the attribute out',
        'line 8 qids.town: needs the key tree [policy-missing-key]\n  try: "tree": {"value": "*", "children": [...]}',
        "line 9 qids.job.tree.children[1]: is a value that stands in the tree a second time [policy-value]\n"
        "  try: leave one of them out, or rename a node",
        'line 10 qids.zip.tree: has no children: there is nothing to generalise [policy-value]\n  try: "children": [{"value": ...}]',
        "line 11 qids.pay: must be a mapping of keys to values [policy-value]",
        "line 12 qids.sex.weight: unknown key [policy-unknown-key]\n  try: one of datafly_init_level, datafly_num_of_buckets, tree, type",
        "line 13 source: there is no 'elasticsearch' among the sources of this version [component-unknown]\n"
        "  try: one of " + ", ".join(sfumato.registry.names("sources")),
        "line 14 sink: has an ending that says no format; known: .csv, .tsv, .txt, .parquet, .jsonl, .ndjson, .arrow, .feather, .arrows, .xlsx; "
        "or write {format: {path: ...}} [policy-value]\n  try: sink: out.csv",
    ]


def test_a_column_cannot_be_sensitive_and_an_identifier_or_stand_twice() -> None:
    given = {"k": 2, "sensitive_attributes": ["age", "ill", "ill"], "qids": {"age": {"type": "numerical"}}}

    assert mistakes(given) == [
        "sensitive_attributes[0]: is also among qids [policy-key-twice]\n  try: leave one of them out",
        "sensitive_attributes[2]: stands here a second time [policy-key-twice]\n  try: leave one of them out",
    ]


def test_identifiers_have_one_name() -> None:
    given = {"k": 2, "qids": {"age": {"type": "numerical"}}, "indirect_identifiers": {"age": {"type": "numerical"}}}

    assert mistakes(given) == ["qids: stands beside indirect_identifiers, which means the same [policy-key-twice]\n  try: leave one of them out"]


def test_k_and_identifiers_are_needed() -> None:
    assert mistakes({"sensitive_attributes": ["ill"]}) == [
        "needs the key k [policy-missing-key]\n  try: write k: ...",
        'needs the key indirect_identifiers [policy-missing-key]\n  try: "indirect_identifiers": {"age": {"type": "numerical"}}',
    ]


def test_without_identifiers_nothing_can_be_promised() -> None:
    (only,) = mistakes({"k": 2, "sensitive_attributes": ["ill"], "qids": {}})
    assert only.startswith("promises: something is promised, but there is no quasi_identifier")

"""Masks within documents of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.json_paths import steps_of
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError
from sfumato.masking.nested import Nested
from sfumato.masking.shorten import Shorten
from sfumato.policy.lint import lint
from sfumato.policy.load import load
from sfumato.policy.views import resolve_views
from sfumato.registry import find

LAST = {"character_mask": {"keep_last": 2}}


def masked(*documents: Any, **settings: Any) -> list[Any]:
    texts = pa.array([document if document is None or isinstance(document, str) else json.dumps(document) for document in documents], pa.string())
    found = Nested(**settings).apply(pa.RecordBatch.from_pydict({"doc": texts}), MaskContext("doc")).to_pylist()
    return [None if text is None else json.loads(text) for text in found]


def test_values_along_paths_are_masked_and_the_rest_stays_as_it_was_told() -> None:
    document = {"name": "Ada", "phones": [{"number": "12345", "kind": "home"}, {"number": "987", "kind": "work"}]}

    found = masked(document, paths={"$.phones[*].number": LAST, "$.name": "constant"}, others="keep")
    assert found == [{"name": "*", "phones": [{"number": "***45", "kind": "home"}, {"number": "*87", "kind": "work"}]}]


def test_elements_of_lists_and_of_lists_of_lists() -> None:
    assert masked(["abc", "xy"], paths={"$[*]": LAST}) == [["*bc", "**"]]
    assert masked([["abc"], []], paths={"$[*][*]": LAST}) == [[["*bc"], []]]
    assert masked(["abc", "xyz"], paths={"$[0]": LAST, "$[1]": "constant"}) == [["*bc", "*"]]


def test_several_operations_follow_each_other() -> None:
    assert masked({"a": "abcdef"}, paths={"$.a": [{"shorten": {"length": 4}}, LAST]}) == [{"a": "**cd"}]


def test_what_nobody_named_is_not_passed_on() -> None:
    documents = ({"a": "abc", "b": "secret"}, {"a": "abc"})
    assert masked(*documents, paths={"$.a": LAST}) == [None, {"a": "*bc"}]
    assert masked(*documents, paths={"$.a": LAST}, others="remove") == [{"a": "*bc"}, {"a": "*bc"}]
    assert masked(*documents, paths={"$.a": LAST}, others="keep") == [{"a": "*bc", "b": "secret"}, {"a": "*bc"}]


def test_a_path_that_is_not_there_is_no_mask() -> None:
    assert masked({"a": "abc"}, paths={"$.a": LAST, "$.b": LAST}) == [None]
    assert masked({"a": "abc"}, paths={"$.a": LAST, "$.b": LAST}, absent="keep") == [{"a": "*bc"}]


def test_what_is_no_document_cannot_be_taken() -> None:
    assert masked("{", "7", '"text"', None, paths={"$.a": LAST}) == [None] * 4
    assert masked("[" * 100_000, paths={"$[*]": LAST}) == [None]


def test_numbers_stay_numbers_and_missing_values_missing() -> None:
    assert masked({"a": 1250, "b": None, "c": True}, paths={"$.a": {"shorten": {"length": 2}}, "$.b": LAST, "$.c": "keep"}) == [
        {"a": 12, "b": None, "c": True}
    ]


def test_a_value_that_a_mask_cannot_take_makes_the_document_invalid() -> None:
    assert masked({"a": "x"}, {"a": "ada@example.org"}, paths={"$.a": "email_mask"})[0] is None


@pytest.mark.parametrize("path", ["a", "$", "$.", "$.a[", "$.a[x]", "$a", "", "$..a", '$["a]'])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path that is none"):
        steps_of(path)
    with pytest.raises(PolicyError, match="path that is none"):
        Nested(paths={path: "constant"})


@pytest.mark.parametrize(
    ("mask", "key", "words"),
    [
        ("shorter", "$.a.shorter", "there is no 'shorter' among the masks of this version"),
        ("shuffle", "$.a.shuffle", "looks at more than one value, and a path leads to one"),
        ({"fake": {"kind": "name", "by": ["who"], "key": "k"}}, "$.a.fake", "looks at more than one value, and a path leads to one"),
        ({"generalise": {"level": 1}}, "$.a.generalise", "shows a level of a hierarchy, and a value within a document has none"),
        ("drop", "$.a.drop", "removes a whole column"),
        ({"shorten": {"length": 3, "sides": "end"}}, "$.a.shorten.sides", "unknown key"),
        ({"shorten": {}}, "$.a.shorten", "needs the key length"),
        ({"shorten": {"length": "x"}}, "$.a.shorten.length", "must be a whole number"),
        (["constant", {"noise": {"amount": -1}}], "$.a[1].noise.amount", "must be more than 0.0"),
        ({"constant": []}, "$.a.constant", "must be a mapping of keys to values"),
        (7, "$.a", "must be an operation: a name, or {name: {settings}}"),
        ({"constant": {}, "keep": {}}, "$.a", "must be an operation: a name, or {name: {settings}}"),
        ([], "$.a", "needs an operation"),
    ],
)
def test_a_mask_that_cannot_stand_at_a_path_is_refused_in_our_words(mask: Any, key: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Nested(paths={"$.a": mask})
    assert [(mistake.key, mistake.message) for mistake in caught.value.mistakes] == [(f"paths.{key}", words)]


LINES = """\
source: data.csv
columns:
  doc:
    role: other
    mask:
      nested:
        paths:
          $.a: {shorten: {length: 0}}
          $.b:
            - constnt
            - keep
sink: out.csv
"""


def test_all_mistakes_along_paths_are_told_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(LINES)

    with pytest.raises(PolicyError) as caught:
        sfumato.run(tmp_path / "policy.yaml")
    found = [(mistake.line, mistake.key, mistake.code, mistake.hint) for mistake in caught.value.mistakes]
    assert found == [
        (8, "columns.doc.mask.nested.paths.$.a.shorten.length", "policy-value", None),
        (10, "columns.doc.mask.nested.paths.$.b[0].constnt", "component-unknown", "constant"),
    ]


def test_files_of_masks_along_paths_are_the_policys(write_policy: Callable[..., Path]) -> None:
    rows = 'doc\n"{""a"":""x""}"\n'
    mask = {"nested": {"paths": {"$.a": {"map_values": {"path": "map.csv"}}}}}
    policy = {"source": "data.csv", "columns": {"doc": {"role": "other", "mask": mask}}, "sink": "out.csv"}

    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(policy, rows))
    assert [mistake.key for mistake in caught.value.mistakes] == ["columns.doc.mask"]

    path = write_policy(policy, rows)
    (path.parent / "map.csv").write_text("old,new\nx,y\n")
    assert sfumato.run(path).table.to_pylist() == [{"doc": '{"a":"y"}'}]

    with pytest.raises(PolicyError) as caught:
        sfumato.run(write_policy(policy | {"sink": "map.csv"}, rows))
    assert [mistake.code for mistake in caught.value.mistakes] == ["sink-is-source"]


def test_keys_of_masks_along_paths_are_needed() -> None:
    mask = Nested(paths={"$.a": {"hash": {"key": "one"}}, "$.b": {"encrypt": {"key": "two"}}})
    assert mask.keys == ("one", "two")

    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$.a": {"hash": {"key": "one"}}}}}}}}
    with pytest.raises(PolicyError) as caught:
        sfumato.run(policy, data=pa.table({"doc": ["{}"]}))
    assert [mistake.message for mistake in caught.value.mistakes] == ["needs the key one, which the policy does not name"]


UNKEYED = "$.a: sha256 without a key can be undone by trying values, by anybody"


def test_what_to_know_of_masks_along_paths_is_told_in_plan_check_and_record() -> None:
    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$.a": {"hash": {"unkeyed": "sha256"}}}}}}}}
    data = pa.table({"doc": ['{"a":"x"}']})

    assert f"column doc: {UNKEYED}" in sfumato.run(policy, data=data).record.notes
    assert f"Mask doc with nested; mind that {UNKEYED}." in sfumato.plan(policy, data=data).steps
    assert UNKEYED in [warning.message for warning in lint(resolve_views(load(policy)).views)]


def test_what_masks_along_paths_reveal_is_told_in_plan_and_record() -> None:
    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$.a": "email_mask"}}}}}}
    data = pa.table({"doc": ['{"a":"ada@example.org"}']})
    reveals = f"How documents are built, and how long their lists are. {find('masking', 'email_mask')().card.reveals}"

    assert sfumato.run(policy, data=data).record.columns["doc"]["reveals"] == reveals
    assert sfumato.plan(policy, data=data).settings["columns"]["doc"]["reveals"] == reveals


def test_the_record_names_paths_that_no_row_has() -> None:
    mask = {"nested": {"paths": {"$.a": "constant", "$.b[*]": "constant"}, "absent": "keep"}}
    release = sfumato.run({"columns": {"doc": {"role": "other", "mask": mask}}}, data=pa.table({"doc": ['{"a":"x"}', '{"b":[]}']}))

    told = [note for note in release.record.notes if "path" in note]
    assert told == ["column doc: no row has a value at the path $.b[*], so that its mask did nothing"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", " 5", "[5]", "null", "05"])
def test_what_is_no_number_of_json_stands_as_a_text_in_place_of_one(value: str) -> None:
    found = masked({"a": 1, "b": True, "c": 1.50}, paths={f"$.{name}": {"constant": {"value": value}} for name in "abc"})
    assert found == [{"a": value, "b": value, "c": value}]


def test_numbers_stay_numbers_as_their_mask_writes_them() -> None:
    texts = pa.array(['{"a":1234.50,"b":7,"c":1e-9999}'])
    nested = Nested(paths={"$.a": {"constant": {"value": "12.50"}}, "$.b": {"shorten": {"length": 5}}, "$.c": {"constant": {"value": "0"}}})
    assert nested.apply(pa.RecordBatch.from_pydict({"doc": texts}), MaskContext("doc")).to_pylist() == ['{"a":12.50,"b":7,"c":0}']


@pytest.mark.parametrize("number", [5.0, 1e22, 1e-7, -0.0, 1234.5])
def test_a_number_within_a_document_has_the_pseudonym_that_it_has_in_a_column(number: float) -> None:
    hashed = {"hash": {"unkeyed": "sha256"}}
    column = find("masking", "hash")(unkeyed="sha256").apply(pa.RecordBatch.from_pydict({"doc": [number]}), MaskContext("doc")).to_pylist()
    assert masked({"a": number}, paths={"$.a": hashed}) == [{"a": column[0]}]


def test_missing_elements_and_what_would_be_within_them_stay_missing() -> None:
    assert masked([None, "x"], paths={"$[*]": "constant"}) == [[None, "*"]]
    assert masked([None, {"a": "x"}], {"b": None}, paths={"$[*].a": "constant"}, absent="keep") == [[None, {"a": "*"}], None]
    assert masked({"b": None}, paths={"$.b.c[*]": "constant"}) == [{"b": None}]
    assert masked({"Alice Smith": None}, paths={"$.b.c": "constant"}, absent="keep") == [None]


def test_an_object_where_a_value_was_named_is_not_passed_on() -> None:
    documents = ({"name": {"first": "Ada"}}, {"name": ["Ada"]}, {"name": []}, {"name": "Ada"})

    assert masked(*documents, paths={"$.name": "constant"}, others="keep") == [None, None, {"name": []}, {"name": "*"}]
    assert masked(*documents, paths={"$.name": "constant"}) == [None, None, {"name": []}, {"name": "*"}]


@pytest.mark.parametrize("absent", ["error", "keep"])
@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("$[*].phones[*]", [{"phones": ["1"]}, {"phones": "canary"}]),
        ("$[*].phones[*]", [{"phones": ["1"]}, "canary"]),
        ("$[*].phones[*]", [{"phones": ["1"]}, {"phones": {"home": "canary"}}]),
        ("$.a[*].n", {"a": [{"n": "1"}, ["canary"]]}),
        ("$.a[*][*]", {"a": [["1"], "canary"]}),
        ("$.a[*][*]", {"a": [["1"], 0]}),
    ],
)
def test_what_stands_on_the_way_of_a_path_in_another_shape_is_not_passed_on(path: str, document: Any, absent: str) -> None:
    settings = {"others": "keep", "absent": absent}

    assert masked(document, paths={path: "constant"}, **settings) == [None]


def test_a_shape_that_another_path_names_or_that_holds_nothing_is_passed_on() -> None:
    both = {"$.phone": "constant", "$.phone[*]": "constant"}

    assert masked({"phone": "1"}, {"phone": ["1"]}, paths=both, others="keep", absent="keep") == [{"phone": "*"}, {"phone": ["*"]}]
    assert masked({"a": None}, {"a": {}}, {"a": []}, paths={"$.a[*]": "constant"}, others="keep", absent="keep") == [
        {"a": None},
        {"a": {}},
        {"a": []},
    ]
    assert masked("[7]", {"a": {"b": 1}}, paths={"$.a.b": "constant", "$[*]": "constant"}, others="keep", absent="keep") == [["*"], {"a": {"b": "*"}}]


def test_documents_that_json_would_change_cannot_be_taken() -> None:
    texts = ('{"a": "x", "a": "y"}', '{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', '{"a": "\\ud800"}')

    assert masked(*texts, paths={"$.a": "keep"}) == [None] * 5


@pytest.mark.parametrize("depth", [300, 900, 2000])
def test_deep_documents_are_masked_or_cannot_be_taken(depth: int) -> None:
    text = '{"a":' * depth + '"canary"' + "}" * depth

    found = Nested(paths={"$.b": "constant"}, others="remove", absent="keep").apply(pa.RecordBatch.from_pydict({"doc": [text]}), MaskContext("doc"))
    assert found.to_pylist() in ([None], ["{}"])


def test_masks_built_in_python_can_stand_at_a_path() -> None:
    assert masked({"a": "abc"}, paths={"$.a": Shorten(length=1)}) == [{"a": "a"}]


def test_lists_of_json_lines_are_masked_and_written_as_lists_again(tmp_path: Path) -> None:
    lines = [{"who": "a", "calls": [{"to": "0421 1234", "long": 3}, {"to": "0421 9876", "long": 5}]}, {"who": "b", "calls": []}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    policy = {
        "source": {"json_lines": {"path": str(tmp_path / "in.jsonl"), "lists": "text"}},
        "columns": {
            "who": {"role": "identifier"},
            "calls": {"role": "other", "mask": {"nested": {"paths": {"$[*].to": LAST}, "others": "keep", "absent": "keep"}}},
        },
        "sink": {"json_lines": {"path": str(tmp_path / "out.jsonl"), "lists": ["calls"]}},
    }

    sfumato.run(policy)

    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(found, key=str) == sorted([{"calls": [{"to": "*******34", "long": 3}, {"to": "*******76", "long": 5}]}, {"calls": []}], key=str)


def test_a_run_stops_where_a_document_holds_what_nobody_named() -> None:
    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$.a": LAST}}}}}}

    with pytest.raises(DataError) as raised:
        sfumato.run(policy, data=pa.table({"doc": ['{"a": "abc"}', '{"a": "abc", "b": "canary"}']}))
    assert raised.value.message == "column doc: 1 row with a value that nested, for values that no path names, cannot take, row 2"


@pytest.mark.parametrize(
    ("document", "others", "why"),
    [
        ('{"mail": "canary"}', "keep", "nested, for what is at $.mail,"),
        ('{"canary": "ann@example.org"}', "keep", "nested, for want of $.mail,"),
        ('{"mail": ["canary"]}', "keep", "nested, for a list or an object at $.mail,"),
        ('["canary"]', "keep", "nested, for want of $.mail,"),
        ('{"mail": "ann@example.org", "canary": 1}', "refuse", "nested, for values that no path names,"),
        ("canary", "keep", "nested"),
    ],
)
def test_a_document_that_cannot_be_taken_is_told_with_the_path_of_the_policy_and_nothing_of_it(document: str, others: str, why: str) -> None:
    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$.mail": "email_mask"}, "others": others}}}}}
    fine = '{"mail": "bo@example.org"}'

    with pytest.raises(DataError) as raised:
        sfumato.run(policy, data=pa.table({"doc": [fine, document, fine]}))
    assert raised.value.message == f"column doc: 1 row with a value that {why} cannot take, row 2"


def test_numbers_that_no_path_names_stay_as_they_were_written() -> None:
    written = '{"a":"*","n":[0.1000000000000000055511151231257827,1E5,1.10,-0.0,2],"m":{"x":1e+5,"y":"\\u00e9"}}'
    mask = Nested(paths={"$.a": "constant"}, others="keep")
    batch = pa.RecordBatch.from_pydict({"doc": [written.replace("*", "ann")]})

    assert mask.apply(batch, MaskContext("doc")).to_pylist() == [written.replace("\\u00e9", "é")]


def test_a_number_in_another_form_is_masked_as_the_number_that_it_is() -> None:
    mask = Nested(paths={"$.n[*]": {"round_number": {"base": 10}}})
    batch = pa.RecordBatch.from_pydict({"doc": ['{"n":[1.20E1,17.50]}']})

    assert mask.apply(batch, MaskContext("doc")).to_pylist() == ['{"n":[10,20]}']


def test_names_of_objects_that_nobody_named_are_not_passed_on() -> None:
    document = {"patients": {"Alice Smith": {}, "Bob": {"age": 3}}, "a": "abc", "list": []}
    assert masked(document, paths={"$.a": LAST}) == [None]
    assert masked(document, paths={"$.a": LAST}, others="remove") == [{"a": "*bc", "list": []}]
    assert masked([{"x": 1}, "abc"], paths={"$[1]": LAST}, others="remove") == [[{}, "*bc"]]


def test_a_number_has_the_pseudonym_that_it_has_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTED_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    hashed = {"hash": {"key": "main", "domain": "people"}}
    columns = {
        "whole": {"role": "other", "mask": hashed},
        "list": {"role": "other", "mask": {"nested": {"paths": {"$[*]": hashed}}}},
    }
    table = pa.table({"whole": [5], "list": pa.array([[5.0]], pa.list_(pa.float64()))})
    release: Any = sfumato.run({"columns": columns, "keys": {"main": {"environment": "NESTED_KEY"}}}, table)
    (row,) = release.table.to_pylist()

    assert row["whole"] in str(row["list"])


def test_a_number_that_is_kept_stays_as_it_is_written() -> None:
    document = '{"a":1E5,"b":0.1234567890123456789,"c":-0.0}'
    mask = {"nested": {"paths": {f"$.{name}": "keep" for name in "abc"}}}
    release: Any = sfumato.run({"columns": {"x": {"role": "other", "mask": mask}}}, pa.table({"x": [document]}))
    assert release.table["x"].to_pylist() == [document]


@pytest.mark.parametrize(
    ("mask", "shown"),
    [
        ({"constant": {"value": "1200"}}, "1200"),
        ({"round_number": {"base": 100}}, "1200"),
        ({"map_values": {"mapping": {"1200": "1200"}, "default": "1200"}}, "1200"),
        ({"choice": {"values": ["1200"]}}, "1200"),
        ({"random_number": {"minimum": 1200, "maximum": 1201, "decimals": 0}}, None),
        ({"shorten": {"length": 4}}, None),
        ({"expression": {"sql": "'1200'"}}, "1200"),
        ({"top_bottom_code": {"top": 1200}}, "1200"),
    ],
)
def test_what_a_mask_leaves_as_it_was_is_not_told_apart_by_its_writing(mask: Any, shown: str | None) -> None:
    documents = [f'{{"n":{number}}}' for number in ("1200.00", "1.2E3", "1200.0", "1234.56", "1201", "1200")]
    batch = pa.RecordBatch.from_pydict({"doc": documents})

    found = Nested(paths={"$.n": mask}).apply(batch, MaskContext("doc")).to_pylist()
    written = {text.removeprefix('{"n":').removesuffix("}") for text in found}
    assert written == {shown} if shown is not None else not written & {"1200.00", "1.2E3", "1200.0", "1234.56"}


def test_noise_has_the_decimals_that_a_number_is_written_with() -> None:
    batch = pa.RecordBatch.from_pydict({"doc": ['{"n":10.00}'] * 200 + ['{"n":10}'] * 50})

    found = [text[5:-1] for text in Nested(paths={"$.n": {"noise": {"amount": 0.4}}}).apply(batch, MaskContext("doc")).to_pylist()]
    assert {len(text.partition(".")[2]) for text in found[:200]} == {2}
    assert len(set(found[:200])) > 40
    assert set(found[200:]) == {"10"}


def test_noise_on_typed_numbers_within_structures_is_that_of_a_column() -> None:
    small, fractions = pa.array([120] * 200, pa.int8()), pa.array([60.0] * 200)
    noise = {"noise": {"amount": 0.4}}
    columns = {"body": {"role": "other", "mask": {"nested": {"paths": {"$.small": {"noise": {"amount": 50}}, "$.weight": noise}}}}}

    table = pa.table({"body": pa.StructArray.from_arrays([small, fractions], ["small", "weight"])})
    release = sfumato.run({"columns": columns}, data=table)
    assert release.table is not None
    body = release.table.column("body").combine_chunks()
    # beyond what the type holds it stands at the end
    assert max(body.field("small").to_pylist()) == 127
    assert body.field("small").type == pa.int8()
    assert len(set(body.field("weight").to_pylist())) > 190


def test_a_document_that_lacks_a_path_is_told_how_it_may() -> None:
    policy = {"columns": {"doc": {"role": "other", "mask": {"nested": {"paths": {"$[0].sku": {"constant": {"value": "first"}}}, "others": "keep"}}}}}
    table = pa.table({"doc": ['[{"sku": "a"}]', "[]"]})

    with pytest.raises(DataError) as raised:
        sfumato.run(policy, data=table)
    assert raised.value.sentence() == (
        "column doc: 1 row with a value that nested, for want of $[0].sku, cannot take, row 2 [mask-invalid]\n"
        "  try: absent: keep beside paths, if documents may lack it, or mask the others with `when`, or say on_invalid: remove in columns.doc"
    )

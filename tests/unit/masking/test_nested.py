"""Masks within documents of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.json_paths import steps_of
from sfumato.core.mask import MaskContext
from sfumato.errors import DataError, PolicyError
from sfumato.masking.nested import Nested

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
    ("mask", "words"),
    [("nobody", "that there is not"), ("shuffle", "more than one value"), ({"shorten": {"long": 3}}, "shorten"), (7, "needs an operation")],
)
def test_a_mask_that_is_none_is_refused(mask: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Nested(paths={"$.a": mask})


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
    assert raised.value.message == "column doc: 1 row with a value that nested cannot take, row 2"


def test_names_of_objects_that_nobody_named_are_not_passed_on() -> None:
    document = {"patients": {"Alice Smith": {}, "Bob": {"age": 3}}, "a": "abc", "list": []}
    assert masked(document, paths={"$.a": LAST}) == [None]
    assert masked(document, paths={"$.a": LAST}, others="remove") == [{"a": "*bc", "list": []}]
    assert masked([{"x": 1}, "abc"], paths={"$[1]": LAST}, others="remove") == [[{}, "*bc"]]

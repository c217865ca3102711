"""Columns of lists, structures and maps: what may be asked of them, and in which types they leave."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import sfumato
from sfumato.engine.preview import preview
from sfumato.errors import DataError, PolicyError, SfumatoError

KIND = pa.list_(pa.struct([("to", pa.string()), ("minutes", pa.int32()), ("on", pa.date32())]))
CALLS = [
    [{"to": "0421 1234", "minutes": 3, "on": date(2020, 1, 31)}, {"to": "0421 9876", "minutes": 5, "on": None}],
    [],
    None,
    [None, {"to": None, "minutes": None, "on": None}],
]
TABLE = pa.table({"who": ["Ada", "Ben", "Cem", "Dora"], "photo": [b"a"] * 4, "calls": pa.array(CALLS, KIND), "tags": [["x", "yz"], [], None, [None]]})
GONE = {"who": {"role": "identifier"}, "photo": {"role": "identifier"}, "calls": {"role": "identifier"}, "tags": {"role": "identifier"}}
LAST = {"character_mask": {"keep_last": 2}}
MASKED = [
    [{"to": "*******34", "minutes": 3, "on": date(2020, 1, 31)}, {"to": "*******76", "minutes": 5, "on": None}],
    [],
    None,
    [None, {"to": None, "minutes": None, "on": None}],
]


def nested(**settings: Any) -> dict[str, Any]:
    return {"role": "other", "mask": {"nested": settings}}


def run(columns: dict[str, Any], data: Any = TABLE, **policy: Any) -> Any:
    return sfumato.run({"columns": GONE | columns, **policy}, data=data)


def same_rows(found: list[Any], expected: list[Any]) -> bool:
    return sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("unnamed", ["named", "remove"])
def test_a_column_that_is_removed_may_hold_anything(unnamed: str) -> None:
    if unnamed == "remove":
        release = sfumato.run({"columns": {"who": {"role": "other"}}, "unnamed": "remove"}, data=TABLE)
    else:
        release = run({"who": {"role": "other"}, "calls": {"role": "other", "mask": "drop"}})
    assert release.table.column_names == ["who"]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_masked_list_is_a_list_again_in_files_with_types(tmp_path: Path, ending: str) -> None:
    source, sink = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    parquet.write_table(TABLE, source) if ending == "parquet" else feather.write_feather(TABLE, source)

    sfumato.run({"source": str(source), "columns": GONE | {"calls": nested(paths={"$[*].to": LAST}, others="keep")}, "sink": str(sink)})

    found = parquet.read_table(sink) if ending == "parquet" else feather.read_table(sink)
    assert found.schema.field("calls").type.value_type == KIND.value_type
    assert same_rows(found.column("calls").to_pylist(), MASKED)


def test_sinks_without_types_get_text_in_json(tmp_path: Path) -> None:
    release = run({"calls": nested(paths={"$[*].to": LAST}, others="keep")}, sink=str(tmp_path / "out.csv"))

    assert release.table.schema.field("calls").type == pa.string()
    assert '[{"to":"*******34","minutes":3,"on":"2020-01-31"},{"to":"*******76","minutes":5,"on":null}]' in release.table.column("calls").to_pylist()


def test_lists_can_be_written_as_lists_of_json_lines(tmp_path: Path) -> None:
    run({"tags": nested(paths={"$[*]": "constant"})}, sink={"json_lines": {"path": str(tmp_path / "out.jsonl"), "lists": ["tags"]}})

    assert sorted((tmp_path / "out.jsonl").read_text().splitlines()) == ['{"tags":["*","*"]}', '{"tags":[]}', '{"tags":[null]}', '{"tags":null}']


def test_where_a_mask_makes_text_of_a_number_the_column_is_text_whatever_the_rows_hold() -> None:
    columns = {"calls": nested(paths={"$[*].minutes": {"shorten": {"length": 1}}}, others="keep")}

    assert run(columns).table.schema.field("calls").type == pa.string()
    assert run(columns, TABLE.slice(1, 2)).table.schema.field("calls").type == pa.string()


def test_a_mask_that_keeps_the_type_of_a_number_keeps_that_of_the_column() -> None:
    release = run({"calls": nested(paths={"$[*].minutes": {"round_number": {"base": 100}}, "$[*].on": "empty"}, others="keep")})

    assert release.table.schema.field("calls").type == KIND
    assert [{"to": "0421 1234", "minutes": 0, "on": None}, {"to": "0421 9876", "minutes": 0, "on": None}] in release.table.column("calls").to_pylist()


def test_what_is_removed_from_a_structure_is_missing_there() -> None:
    release = run({"calls": nested(paths={"$[*].to": LAST}, others="remove")})

    assert release.table.schema.field("calls").type == KIND
    assert [{"to": "*******34", "minutes": None, "on": None}, {"to": "*******76", "minutes": None, "on": None}] in release.table.column(
        "calls"
    ).to_pylist()


@pytest.mark.parametrize("mask", [None, "keep", "shuffle", "empty"])
def test_what_looks_at_no_part_of_a_value_leaves_its_type(mask: str | None) -> None:
    release = run({"calls": {"role": "other"} | ({"mask": mask} if mask else {})})

    assert release.table.schema.field("calls").type == KIND
    assert same_rows(release.table.column("calls").to_pylist(), [None] * 4 if mask == "empty" else CALLS)


def test_a_pseudonym_of_a_whole_list_is_text() -> None:
    release = run({"tags": {"role": "other", "mask": {"hash": {"unkeyed": "sha256"}}}})

    assert release.table.schema.field("tags").type == pa.string()
    assert len(set(release.table.column("tags").to_pylist())) == 4


def test_a_map_is_given_back_where_its_keys_are_there() -> None:
    table = pa.table({"phones": pa.array([[("home", "0421 1234")], [], None], pa.map_(pa.string(), pa.string()))})

    def masked(**settings: Any) -> pa.ChunkedArray:
        return sfumato.run({"columns": {"phones": nested(**settings)}}, data=table).table.column("phones")

    assert same_rows(masked(paths={"$[*].key": "keep", "$[*].value": LAST}).to_pylist(), [[("home", "*******34")], [], None])
    assert masked(paths={"$[*].value": LAST}, others="remove").type == pa.string()
    assert masked(paths={"$[*].value": LAST, "$[*].key": "empty"}).type == pa.string()
    with pytest.raises(PolicyError, match=r"names no mask for \$\[\*\]\.key, and others is refuse"):
        masked(paths={"$[*].value": LAST})


@pytest.mark.parametrize("library", [pandas, polars])
def test_lists_in_data_frames_come_back_as_lists(library: Any) -> None:
    frame = library.DataFrame({"who": ["Ada", "Ben"], "tags": [["x", "yz"], []]})

    release = sfumato.run({"columns": {"who": {"role": "identifier"}, "tags": nested(paths={"$[*]": "constant"})}}, data=frame)

    assert isinstance(release.data, library.DataFrame)
    assert sorted(list(tags) for tags in release.data["tags"]) == [[], ["*", "*"]]


def test_structures_of_an_anonymiser_keep_their_types() -> None:
    policy = {"columns": GONE | {"calls": nested(paths={"$[*].to": LAST}, others="keep")}}
    anonymiser = sfumato.Anonymiser(policy)

    assert anonymiser.fit_transform(TABLE).column("calls").to_pylist() == MASKED
    assert anonymiser.transform(TABLE).column("calls").to_pylist() == MASKED


def refused(columns: dict[str, Any], **policy: Any) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        run(columns, **policy)
    return caught.value


HINT = "role other with a mask, as in mask: {nested: {paths: {...}}}, or role identifier, which removes them"
PROMISES: Any = [{"k_anonymity": {"k": 2}}]


def test_lists_are_no_values_by_which_people_are_alike() -> None:
    error = refused({"calls": {"role": "sensitive"}, "tags": {"role": "quasi_identifier"}}, promises=PROMISES)

    assert isinstance(error, DataError)
    assert (error.code, error.hint) == ("column-nested", HINT)
    words = "the source has columns whose values are lists or structures, and cannot be quasi_identifier, sensitive or the subject: calls, tags"
    assert error.message == words


@pytest.mark.parametrize(
    "more", [{}, {"mask": "keep"}, {"mask": "constant", "when": {"column": "tags", "missing": False}}], ids=["no mask", "keep", "under a condition"]
)
def test_lists_are_not_kept_beside_promises(more: dict[str, Any]) -> None:
    error = refused({"who": {"role": "quasi_identifier"}, "tags": {"role": "other", **more}}, promises=PROMISES)

    assert error.code == "column-nested"
    words = "the source has columns whose values are lists or structures, and cannot be kept as they are where something is promised: tags"
    assert error.message == words


def test_bytes_that_would_be_published_are_refused_by_name() -> None:
    error = refused({"photo": {"role": "other"}})
    assert (error.code, error.message) == ("column-nested", "the source has columns that cannot be read: photo (bytes)")


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (
            {"nested": {"paths": {"$[*].too": "constant"}}},
            "has the path $[*].too, which leads to no single value; the column has $[*].to, $[*].minutes, $[*].on",
        ),
        (
            {"nested": {"paths": {"$[*]": "constant"}}},
            "has the path $[*], which leads to no single value; the column has $[*].to, $[*].minutes, $[*].on",
        ),
        (
            {"nested": {"paths": {"$[*].to.x": "constant"}}},
            "has the path $[*].to.x, which leads to no single value; the column has $[*].to, $[*].minutes, $[*].on",
        ),
        ({"nested": {"paths": {"$[*].to": "constant"}}}, "names no mask for $[*].minutes, $[*].on, and others is refuse"),
        (
            {"nested": {"paths": {"$[*].on": {"noise": {"amount": 1}}}, "others": "keep"}},
            "has a mask at $[*].on that does not fit: noise takes integer or decimal, and the column is of type date",
        ),
    ],
    ids=["a misspelt path", "a path to structures", "a path into text", "values without a mask", "a mask for numbers"],
)
def test_paths_are_held_against_the_type_before_the_first_row(mask: Any, words: str) -> None:
    error = refused({"calls": {"role": "other", "mask": mask}})

    assert isinstance(error, PolicyError)
    assert [(mistake.key, mistake.message, mistake.code) for mistake in error.mistakes] == [
        ("columns.calls.mask", f"nested {words}", "policy-mask-type")
    ]


def test_numbers_that_are_not_finite_stop_the_run() -> None:
    error = refused({"x": {"role": "other"}}, data=TABLE.append_column("x", pa.array([[1.0], [float("nan")], [], None])))
    assert error.code == "nested-value"


def test_files_whose_lists_differ_in_type_are_no_table(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [[1]]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": [["x"]]}), tmp_path / "2.parquet")

    with pytest.raises(DataError) as caught:
        sfumato.run({"source": str(tmp_path) + "/", "columns": {"a": {"role": "other"}}})
    assert caught.value.code == "files-differ"


@pytest.mark.slow
def test_a_huge_list_is_masked_element_by_element() -> None:
    table = pa.table({"a": [[str(number) for number in range(200_000)]]})

    (found,) = sfumato.run({"columns": {"a": nested(paths={"$[*]": "constant"})}}, data=table).table.column("a").to_pylist()
    assert found == ["*"] * 200_000


def test_a_preview_shows_lists_as_text() -> None:
    shown = preview({"columns": GONE | {"tags": nested(paths={"$[*]": "constant"})}}, data=TABLE)

    assert ({"tags": '["x","yz"]'}, {"tags": '["*","*"]'}) in shown.rows


def test_lists_lie_in_folders_called_after_values_too(tmp_path: Path) -> None:
    columns = {"who": {"role": "other"}, "tags": nested(paths={"$[*]": "constant"})}
    run(columns, sink={"parquet": {"path": str(tmp_path / "out"), "partition_by": ["who"]}})

    found = parquet.read_table(tmp_path / "out").select(["who", "tags"]).to_pylist()
    assert sorted(found, key=str) == [
        {"who": "Ada", "tags": ["*", "*"]},
        {"who": "Ben", "tags": []},
        {"who": "Cem", "tags": None},
        {"who": "Dora", "tags": [None]},
    ]


def test_values_of_a_column_that_are_folders_are_text(tmp_path: Path) -> None:
    columns = {"who": {"role": "other"}, "tags": nested(paths={"$[*]": "constant"})}
    release = run(columns, sink={"parquet": {"path": str(tmp_path / "out"), "partition_by": ["tags"]}})

    assert sorted(map(str, release.table.column("tags").to_pylist())) == ["None", '["*","*"]', "[]", "[null]"]

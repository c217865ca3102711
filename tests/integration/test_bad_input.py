"""Bad input as users have it: one clear error, or the right result; nothing half written, no traceback."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError, PolicyError, PromiseError, SfumatoError, UnreachableError

COLUMNS = {"age": {"role": "quasi_identifier"}, "job": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
POLICY = {"source": "data.csv", "columns": COLUMNS, "promises": [{"k_anonymity": {"k": 2}}], "sink": "release.csv"}
GOOD = "age,job,illness\n" + "".join(f"{20 + i},job{i % 2},ill{i % 3}\n" for i in range(20))


def refused(path: Path, kind: type[SfumatoError], code: str) -> SfumatoError:
    with pytest.raises(kind) as raised:
        sfumato.run(path)
    assert raised.value.code == code
    assert raised.value.hint or isinstance(raised.value, PolicyError)
    left = [p.name for p in path.parent.iterdir() if p.name.startswith((".", "release"))]
    assert left == []
    return raised.value


def test_a_missing_file(write_policy: Callable[..., Path]) -> None:
    assert "data.csv is not there" in str(refused(write_policy(POLICY), UnreachableError, "file-missing"))


def test_an_empty_file(write_policy: Callable[..., Path]) -> None:
    refused(write_policy(POLICY, ""), DataError, "file-empty")


def test_a_header_without_rows_where_something_is_promised(write_policy: Callable[..., Path]) -> None:
    refused(write_policy(POLICY, "age,job,illness\n"), DataError, "source-empty")


@pytest.mark.parametrize("mask", ["keep", "shuffle", "constant", {"microaggregate": {"k": 3}}, {"aggregate": {"function": "average"}}], ids=str)
@pytest.mark.parametrize("sink", ["release.csv", "release.parquet"])
def test_a_header_without_rows_is_published_so_where_nothing_is_promised(write_policy: Callable[..., Path], mask: Any, sink: str) -> None:
    columns = {"age": {"role": "other", "mask": mask}, "job": {"role": "other"}, "illness": {"role": "sensitive"}}
    release = sfumato.run(write_policy({"source": "data.csv", "columns": columns, "sink": sink}, "age,job,illness\n"))
    assert (release.table.num_rows, release.table.column_names) == (0, ["age", "job", "illness"])
    assert "the source has no rows: an empty table was published" in release.record.notes
    assert not any("condition" in note for note in release.record.notes)


def test_views_of_a_header_without_rows_are_published_so(write_policy: Callable[..., Path]) -> None:
    columns = {"age": {"role": "other"}, "job": {"role": "other", "mask": "shuffle"}}
    views = {"one": {"sink": "one.csv"}, "other": {"columns": {"age": {"role": "identifier"}}, "sink": "other.csv"}}
    policy = {"source": "data.csv", "columns": columns, "views": views, "readers": {"both": ["one", "other"]}}
    releases: Any = sfumato.run(write_policy(policy, "age,job\n"))
    assert [releases[name].table.num_rows for name in ("one", "other")] == [0, 0]
    promised = {"columns": {"age": {"role": "quasi_identifier"}}, "promises": [{"k_anonymity": {"k": 2}}], "sink": "other.csv"}
    wrong = write_policy({**policy, "views": {**views, "other": promised}}, "age,job\n")
    with pytest.raises(DataError) as caught:
        sfumato.run(wrong)
    assert caught.value.code == "source-empty"


def test_a_folder_without_files_in_place_of_a_file(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    (tmp_path / "data.csv").mkdir()
    refused(write_policy(POLICY), UnreachableError, "source-no-files")


def test_an_unreadable_file(tmp_path: Path, write_policy: Callable[..., Path], unreadable: Callable[[Path], None]) -> None:
    path = write_policy(POLICY, GOOD)
    unreadable(tmp_path / "data.csv")
    refused(path, UnreachableError, "file-permission")


def test_one_row_cannot_be_anonymous(write_policy: Callable[..., Path]) -> None:
    error = refused(write_policy(POLICY, "age,job,illness\n30,a,x\n"), PromiseError, "promise-impossible")
    assert "no k_anonymity at all" in str(error)


def test_all_rows_equal_are_published_as_they_are(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    sfumato.run(write_policy(POLICY, "age,job,illness\n" + "30,a,x\n" * 5))
    assert (tmp_path / "release.csv").read_text() == "age,job,illness\n" + "30,a,x\n" * 5


def test_constant_and_all_missing_columns(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    for algorithm in ("mondrian", "datafly"):
        rows = "age,job,illness\n" + "".join(f",job,ill{i}\n" for i in range(6))
        sfumato.run(write_policy({**POLICY, "algorithm": algorithm}, rows))
        assert sorted((tmp_path / "release.csv").read_text().splitlines()[1:]) == [f",job,ill{i}" for i in range(6)]


def test_duplicate_column_names(write_policy: Callable[..., Path]) -> None:
    error = refused(write_policy(POLICY, "age,job,age\n1,2,3\n"), DataError, "column-duplicate")
    assert "columns 1 and 3" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_two_hundred_columns(algorithm: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    names = [f"c{i}" for i in range(200)]
    rows = ",".join(names) + "\n" + "".join(",".join(str((r * (i + 3)) % 4) for i in range(200)) + "\n" for r in range(60))
    columns = {name: {"role": "quasi_identifier"} for name in names}
    release = sfumato.run(write_policy({**POLICY, "columns": columns, "algorithm": algorithm}, rows))
    counts = Counter((tmp_path / "release.csv").read_text().splitlines()[1:])
    assert min(counts.values()) >= 2
    assert release.record.rows.out == 60


@pytest.mark.parametrize(("line", "code"), [("31,a", "delimited-line-short"), ("31,a,x,y", "delimited-line-long")])
def test_a_line_too_short_or_too_long_is_named(line: str, code: str, write_policy: Callable[..., Path]) -> None:
    error = refused(write_policy(POLICY, f"age,job,illness\n30,a,x\n{line}\n32,a,x\n"), DataError, code)
    assert "data.csv:3 " in str(error)


def test_mixed_line_ends(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    sfumato.run(write_policy(POLICY, "age,job,illness\r\n30,a,x\n30,a,y\r\n31,b,z\r31,b,w"))
    assert (tmp_path / "release.csv").read_text().count("\n") == 5


def test_a_cell_of_three_megabytes(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    large = 'long, "quoted" text\n' * 160_000
    cell = '"' + large.replace('"', '""') + '"'
    sfumato.run(write_policy(POLICY, f"age,job,illness\n30,a,{cell}\n30,a,y\n"))
    table = sfumato.run(write_policy({**POLICY, "sink": "release2.csv"}, f"age,job,illness\n30,a,{cell}\n30,a,y\n")).table
    assert large in table["illness"].to_pylist()


TAXONOMY = {"hierarchy": {"taxonomy": {"tree": {"Root": ["job0", "job1"]}}}}


@pytest.mark.parametrize("on_unknown", ["error", "suppress", "generalise"])
def test_a_value_outside_the_taxonomy(on_unknown: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    columns = {**COLUMNS, "job": {"role": "quasi_identifier", **TAXONOMY, "on_unknown": on_unknown}}
    rows = GOOD + "20,strange,x\n21,other,y\n22,third,z\n"
    path = write_policy({**POLICY, "columns": columns, "suppression_limit": 0.2}, rows)
    if on_unknown == "error":
        assert "3 rows" in str(refused(path, DataError, "value-outside-hierarchy"))
        return
    record = sfumato.run(path).record
    text = (tmp_path / "release.csv").read_text()
    assert record.columns["job"]["outside_hierarchy"] == 3
    assert not any(word in text for word in ("strange", "other", "third"))
    assert record.rows.out == (20 if on_unknown == "suppress" else 23)
    if on_unknown == "generalise":
        assert "*" in {row.split('"')[2].split(",")[1] if '"' in row else row.split(",")[1] for row in text.splitlines()[1:]}


def test_unknown_values_beyond_the_suppression_limit(write_policy: Callable[..., Path]) -> None:
    columns = {**COLUMNS, "job": {"role": "quasi_identifier", **TAXONOMY, "on_unknown": "suppress"}}
    error = refused(write_policy({**POLICY, "columns": columns}, GOOD + "20,strange,x\n"), PromiseError, "suppression-limit")
    assert "suppression_limit: 0.0477" in str(error)


def test_k_larger_than_the_table(write_policy: Callable[..., Path]) -> None:
    error = refused(write_policy({**POLICY, "promises": [{"k_anonymity": {"k": 21}}]}, GOOD), PromiseError, "promise-impossible")
    assert "{k_anonymity: {k: 20}}" in str(error)


def test_l_larger_than_the_number_of_sensitive_values(write_policy: Callable[..., Path]) -> None:
    promises = [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 4}}]
    error = refused(write_policy({**POLICY, "promises": promises}, GOOD), PromiseError, "promise-impossible")
    assert error.message == "cannot be kept, even with everybody in one class: l_diversity of illness (asked 4); nothing has been published"
    assert error.hint == "the strictest that would hold: {l_diversity: {column: illness, l: 3}}"


def test_a_sink_that_is_the_source(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    path = write_policy({**POLICY, "sink": "data.csv"}, GOOD)
    with pytest.raises(PolicyError, match="sink-is-source"):
        sfumato.run(path)
    (tmp_path / "link.csv").symlink_to(tmp_path / "data.csv")
    with pytest.raises(PolicyError, match="sink-is-source"):
        sfumato.run(write_policy({**POLICY, "sink": "link.csv"}))
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "data.csv")
    with pytest.raises(PolicyError, match="sink-is-source"):
        sfumato.run(write_policy({**POLICY, "sink": "hard.csv"}))
    assert (tmp_path / "data.csv").read_text() == GOOD


def test_two_runs_writing_the_same_sink_at_once(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    from sfumato.core.staging import StagedFile

    path = write_policy(POLICY, GOOD)
    other = StagedFile(str(tmp_path / "release.csv"))
    with pytest.raises(UnreachableError, match="another run is writing"):
        sfumato.run(path)
    assert other.path.exists()
    other.abort()
    assert sfumato.run(path).record.rows.out == 20


@pytest.mark.slow
def test_many_runs_at_once_leave_one_whole_release(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    path = write_policy(POLICY, GOOD)
    running = [
        subprocess.Popen([sys.executable, "-m", "sfumato", "run", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ended = [process.communicate(timeout=120) and process.returncode for process in running]
    assert 0 in ended
    assert set(ended) <= {0, 5}
    assert (tmp_path / "release.csv").read_text().count("\n") == 21
    assert json.loads((tmp_path / "release.csv.record.json").read_text())["rows"]["out"] == 20
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("moment", ["count", "verify"])
def test_a_source_that_changes_while_it_is_read(
    moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_policy: Callable[..., Path]
) -> None:
    from sfumato.engine import run as road

    path = write_policy(POLICY, GOOD)
    original = getattr(road, moment)

    def meddled(*arguments: object, **keywords: object) -> object:
        text = (tmp_path / "data.csv").read_text()
        (tmp_path / "data.csv").write_text(text.replace("ill1", "ill2"))
        return original(*arguments, **keywords)

    monkeypatch.setattr(road, moment, meddled)
    with pytest.raises(DataError, match="changed while it was read"):
        sfumato.run(path)
    assert not (tmp_path / "release.csv").exists()


def test_no_writable_home(
    tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    path = write_policy(POLICY, GOOD)
    environment = {"HOME": "/proc/nowhere", "XDG_STATE_HOME": "", "TMPDIR": str(tmp_path)}
    without = {key: value for key, value in os.environ.items() if key != "SFUMATO_HOME"}
    ended = subprocess.run(
        [sys.executable, "-m", "sfumato", "run", str(path)], env={**without, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert stat.S_IMODE((tmp_path / f"sfumato-{os.getuid()}").stat().st_mode) == 0o700
    nowhere = sfumato_command("run", path, environment={"SFUMATO_HOME": "/proc/nowhere"})
    assert nowhere.returncode == 5
    assert "home-unwritable" in nowhere.stderr


@pytest.mark.parametrize(
    ("columns", "code"),
    [({**COLUMNS, "zip": {"role": "other"}}, "columns-differ"), ({"age": COLUMNS["age"], "illness": COLUMNS["illness"]}, "columns-differ")],
)
def test_columns_that_differ_from_the_source(columns: dict, code: str, write_policy: Callable[..., Path]) -> None:
    error = refused(write_policy({**POLICY, "columns": columns}, GOOD), DataError, code)
    assert ("zip" in str(error)) or ("job" in str(error))


def test_a_column_that_was_misspelt_gets_the_nearest_name(write_policy: Callable[..., Path]) -> None:
    columns = {"age": COLUMNS["age"], "jop": COLUMNS["job"], "illness": COLUMNS["illness"]}
    error = refused(write_policy({**POLICY, "columns": columns}, GOOD), DataError, "columns-differ")
    assert error.hint == "name each of them with a role; role identifier removes it; job in place of jop"


def test_numbers_that_are_not(write_policy: Callable[..., Path]) -> None:
    columns = {**COLUMNS, "age": {"role": "quasi_identifier", "type": "integer"}}
    refused(write_policy({**POLICY, "columns": columns}, GOOD + "old,job1,x\nold,job1,x\n"), DataError, "value-type")
    columns["age"] = {"role": "quasi_identifier", "type": "integer", "missing": "old"}
    assert sfumato.run(write_policy({**POLICY, "columns": columns})).record.rows.out == 22


def test_text_that_would_break_a_csv_comes_back_as_it_was() -> None:
    strange = ['a "quote"', "comma, comma", "line\nbreak", "", None, "🦊", "עברית", "é"]
    data = pa.table({"age": [30] * 8, "job": ["x"] * 8, "illness": strange})
    release = sfumato.run({key: value for key, value in POLICY.items() if key not in ("source", "sink")}, data=data)
    assert Counter(release.table["illness"].to_pylist()) == Counter(strange)


def test_strange_text_survives_delimited_files(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    cells = ['"a ""quote"""', '"comma, comma"', '"line\nbreak"', '""', "", "🦊", "עברית", "é", "nul\0byte"]
    release = sfumato.run(write_policy(POLICY, "age,job,illness\n" + "".join(f"30,x,{cell}\n" for cell in cells)))
    expected = ['a "quote"', "comma, comma", "line\nbreak", "", None, "🦊", "עברית", "é", "nul\0byte"]
    assert Counter(release.table["illness"].to_pylist()) == Counter(expected)


def test_a_suppression_limit_is_what_it_says_in_decimal(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    columns = {**COLUMNS, "job": {"role": "quasi_identifier", **TAXONOMY, "on_unknown": "suppress"}}
    rows = "age,job,illness\n" + "30,job0,x\n" * 71 + "30,strange,x\n" * 29
    record = sfumato.run(write_policy({**POLICY, "columns": columns, "suppression_limit": 0.29}, rows)).record
    assert (record.rows.out, record.rows.suppressed) == (71, 29)


def test_few_rows_outside_a_hierarchy_cannot_be_worked_out_from_the_record(write_policy: Callable[..., Path]) -> None:
    tree = {"taxonomy": {"tree": {"Root": ["x", "y", "u"]}}}
    columns = {"q": {"role": "quasi_identifier", "hierarchy": tree, "on_unknown": "suppress", "level": {"maximum": 0}}}
    asked = {**POLICY, "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "algorithm": "datafly", "suppression_limit": 0.5}
    record = sfumato.run(write_policy(asked, "q\n" + "x\n" * 10 + "y\n" * 4 + "u\n" * 3 + "z\n" * 2)).record
    before = record.measures["before"]
    assert record.columns["q"]["outside_hierarchy"] == "< 5"
    assert record.rows.in_ == 19
    assert before["classes"] * before["average_class_size"] * 5 == pytest.approx(10)


def test_texts_for_a_missing_sensitive_value_are_one_with_the_missing_value(write_policy: Callable[..., Path]) -> None:
    columns = {**COLUMNS, "illness": {"role": "sensitive", "missing": ["?", "n/a"]}}
    promises = [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 2}}]
    rows = "age,job,illness\n" + "30,a,?\n30,a,n/a\n30,a,\n"
    refused(write_policy({**POLICY, "columns": columns, "promises": promises}, rows), PromiseError, "promise-impossible")


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"age": {"role": "quasi_identifier", "publish": "bounds"}, "age_from": {"role": "other"}}, "policy-bounds-clash"),
        ({"job": {"role": "quasi_identifier", "publish": "bounds"}}, "policy-publish"),
        ({"age": {"role": "quasi_identifier", "publish": "set"}}, "policy-publish"),
        ({"age": {"role": "quasi_identifier", "level": {"minimum": 90}}}, "policy-level-range"),
    ],
)
def test_styles_and_levels_that_do_not_fit_a_column(columns: dict, code: str, write_policy: Callable[..., Path]) -> None:
    rows = "age,age_from,illness\n30,x,y\n31,x,y\n" if "age_from" in columns else GOOD
    named = {**columns, "illness": COLUMNS["illness"]} if "age_from" in columns else {**COLUMNS, **columns}
    refused(write_policy({**POLICY, "columns": named}, rows), PolicyError, code)


def test_a_private_part_that_cannot_be_kept_stops_the_publication(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    runs = Path(os.environ["SFUMATO_HOME"]) / "runs"
    hidden = runs.with_name("runs-away")
    if runs.exists():
        runs.rename(hidden)
    runs.touch()
    try:
        refused(write_policy(POLICY, GOOD), UnreachableError, "home-unwritable")
    finally:
        runs.unlink()
        if hidden.exists():
            hidden.rename(runs)


def test_data_that_is_no_table_is_refused_and_frames_are_taken() -> None:
    import pandas as pd

    from sfumato.errors import UsageError

    policy = {key: value for key, value in POLICY.items() if key not in ("source", "sink")}
    with pytest.raises(UsageError, match="data-kind"):
        sfumato.run(policy, data=[1, 2])
    frame = pd.DataFrame({"age": [30, 31] * 4, "job": ["a"] * 8, "illness": ["x"] * 8})
    assert sfumato.run(policy, data=frame).table.num_rows == 8


def test_a_record_or_a_staging_name_never_replaces_what_is_read(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    for name in ("release.csv.record.json", ".release.csv.sfumato"):
        (tmp_path / name).write_text(GOOD)
        with pytest.raises(PolicyError, match="sink-is-source"):
            sfumato.run(write_policy({**POLICY, "source": {"delimited": {"path": name}}}))
        assert (tmp_path / name).read_text() == GOOD
        (tmp_path / name).unlink()


def test_a_file_planted_under_the_private_name_is_not_written_to(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    (tmp_path / "other.txt").write_text("mine")
    (tmp_path / ".release.csv.sfumato").hardlink_to(tmp_path / "other.txt")
    sfumato.run(write_policy(POLICY, GOOD))
    assert (tmp_path / "other.txt").read_text() == "mine"
    assert (tmp_path / "release.csv").read_text().count("\n") == 21


def test_pipes_are_refused_and_not_waited_for(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    os.mkfifo(tmp_path / "data.csv")
    refused(write_policy(POLICY), UnreachableError, "file-not-regular")


@pytest.mark.parametrize("publish", ["set", "label"])
def test_sets_reach_the_root(publish: str) -> None:
    data = pa.table({"job": ["a", "b", "c", "d"], "s": ["x"] * 4})
    columns = {"job": {"role": "quasi_identifier", "publish": publish}, "s": {"role": "sensitive"}}
    release = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 4}}]}, data=data)
    assert set(release.table["job"].to_pylist()) == {"{a, b, c, d}" if publish == "set" else "*"}


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_bounds_of_nodes_are_their_ends(algorithm: str) -> None:
    data = pa.table({"age": [21, 22, 23, 31, 32, 33], "s": ["x"] * 6})
    columns = {"age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 10}}, "publish": "bounds"}, "s": {"role": "sensitive"}}
    release = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}], "algorithm": algorithm}, data=data)
    shown = set(zip(release.table["age_from"].to_pylist(), release.table["age_to"].to_pylist(), strict=True))
    assert shown == ({("21", "23"), ("31", "33")} if algorithm == "mondrian" else {("20", "29"), ("30", "39")})


def test_a_missing_last_field_without_a_line_end_stays_missing(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    columns = {"a": {"role": "other"}, "b": {"role": "other"}}
    release = sfumato.run(write_policy({"source": "data.csv", "columns": columns, "sink": "release.csv"}, 'a,b\n"x",'))
    assert release.table.to_pylist() == [{"a": "x", "b": None}]

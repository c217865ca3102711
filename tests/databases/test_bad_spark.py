"""What can go wrong with Spark: each gets one clear error, no release is ever half there, and no value is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.databases.spark_inside import refuse_shared_keys
from sfumato.errors import PolicyError, SfumatoError, UnreachableError
from tests.servers import made

ROWS = 120
TABLE = pa.table({"age": [20 + number % 60 for number in range(ROWS)], "note": [f"Canary {number % 6}" for number in range(ROWS)]})
POLICY: dict[str, Any] = {
    "columns": {"age": {"role": "quasi_identifier"}, "note": {"role": "other"}},
    "promises": [{"k_anonymity": {"k": 5}}],
}


@pytest.fixture
def people(spark_session: Any, tmp_path: Path) -> str:
    """A folder of Parquet files as Spark writes them."""
    spark_session.createDataFrame(TABLE).write.parquet(f"file:{tmp_path / 'people'}")
    return str(tmp_path / "people")


def failed(policy: dict[str, Any], data: Any = None) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(policy, data)
    assert "Canary" not in str(caught.value)
    return caught.value


def test_a_path_that_is_not_there_is_told(spark_session: Any, tmp_path: Path) -> None:
    error = failed({**POLICY, "source": {"spark": {"path": str(tmp_path / "nowhere")}}})

    assert (type(error), error.code) == (UnreachableError, "file-missing")
    assert error.message == f"{tmp_path / 'nowhere'} is not there"


def test_a_folder_without_files_is_told(spark_session: Any, tmp_path: Path) -> None:
    assert failed({**POLICY, "source": {"spark": {"path": str(tmp_path)}}}).code == "source-no-files"


def test_a_file_that_is_no_parquet_is_told(spark_session: Any, tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("age,note\n1,Canary\n" * 50)

    assert failed({**POLICY, "source": {"spark": {"path": str(tmp_path / "people.parquet")}}}).code == "parquet-damaged"


def test_a_file_that_is_cut_is_told_and_nothing_is_left(people: str, tmp_path: Path) -> None:
    for part in Path(people).glob("part-*"):
        part.write_bytes(b"\0" * 8 + part.read_bytes()[8:])
    for mark in Path(people).glob(".part-*"):
        mark.unlink()

    for sink in ({"spark": {"path": str(tmp_path / "release")}}, str(tmp_path / "release.csv")):
        assert failed({**POLICY, "source": {"spark": {"path": people}}, "sink": sink}).code in ("spark-failed", "parquet-damaged")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people"]


def test_a_table_that_is_not_there_is_told(spark_session: Any) -> None:
    error = failed({**POLICY, "source": {"spark": {"table": "pe`op.le", "schema": "default"}}})

    assert (error.code, error.message) == ("table-missing", "Spark has no table default.pe`op.le")


def test_a_type_that_nobody_knows_is_named(spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(TABLE).selectExpr("age", "array(note) AS note", "unhex('00') AS bytes")
    policy = {**POLICY, "columns": {**POLICY["columns"], "bytes": {"role": "identifier"}}}
    for sink in ({"spark": {"path": str(tmp_path / "release")}}, str(tmp_path / "release.csv")):
        error = failed({**policy, "sink": sink}, frame)
        assert (error.code, error.message) == (
            "column-nested",
            "the source has columns that cannot be read: note (values of type array<string>)",
        )


def test_columns_that_are_one_to_spark_are_refused(spark_session: Any, tmp_path: Path) -> None:
    policy = {**POLICY, "columns": {**POLICY["columns"], "AGE": {"role": "other"}}, "sink": {"spark": {"path": str(tmp_path / "release")}}}
    error = failed(policy, TABLE.append_column("AGE", TABLE["age"]))

    assert "Spark would take columns for one: age, AGE" in str(error)


def test_what_a_worker_says_of_a_value_is_not_told(spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(TABLE).selectExpr("age", "if(age > 70, raise_error(note), note) AS note")
    for sink in ({"spark": {"path": str(tmp_path / "release")}}, str(tmp_path / "release.csv")):
        error = failed({**POLICY, "sink": sink}, frame)
        assert error.code == "spark-failed"
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_not_utf8_is_told(spark_session: Any, tmp_path: Path) -> None:
    frame = spark_session.createDataFrame(TABLE).selectExpr("cast(if(age > 70, unhex('FF'), unhex('41')) AS string) AS age", "note")
    for sink in ({"spark": {"path": str(tmp_path / "release")}}, str(tmp_path / "release.csv")):
        assert failed({**POLICY, "sink": sink}, frame).code == "file-encoding"
    assert list(tmp_path.iterdir()) == []


def test_a_sink_that_holds_something_else_is_left_alone(people: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("an older release")
    for place, code in ((people, "sink-is-source"), (str(tmp_path / "file"), "sink-not-folder"), (str(tmp_path), "sink-not-release")):
        source = {"spark": {"path": people}} if code == "sink-is-source" else {"spark": {"path": f"file:{people}"}}
        assert failed({**POLICY, "source": source, "sink": {"spark": {"path": place}}}).code == code
    assert (tmp_path / "file").read_text() == "an older release"


def test_a_sink_that_is_the_source_by_another_name_is_refused(people: str) -> None:
    error = failed({**POLICY, "source": {"spark": {"path": people}}, "sink": {"spark": {"path": f"file:{people}/"}}})

    assert error.code == "sink-is-source"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs path or table, and not both"),
        ({"path": "people", "table": "people"}, "needs path or table, and not both"),
        ({"path": "people", "schema": "ward"}, "schema is that of a table"),
        ({"frame": "people"}, "frame is given from Python, as sfumato.run(policy, data=frame)"),
    ],
)
def test_a_source_is_one_place(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        sfumato.run({**POLICY, "source": {"spark": settings}})

    assert words in str(caught.value)


def test_another_master_than_the_one_that_runs_is_refused(people: str) -> None:
    error = failed({**POLICY, "source": {"spark": {"path": people, "master": "spark://elsewhere:7077"}}})

    assert (error.code, error.message) == ("spark-master", "Spark runs already, with another master than spark://elsewhere:7077")


def test_a_file_system_that_cannot_rename_is_refused(people: str, spark_session: Any) -> None:
    error = failed({**POLICY, "source": {"spark": {"path": people}}, "sink": {"spark": {"path": "http://node/release"}}})

    assert error.code == "spark-files"


def test_a_table_with_a_name_that_no_catalogue_has_is_refused(people: str) -> None:
    assert failed({**POLICY, "source": {"spark": {"path": people}}, "sink": {"spark": {"table": "re lease"}}}).code == "database-name"


def test_two_cells_with_one_key_are_refused() -> None:
    with pytest.raises(UnreachableError) as caught:
        refuse_shared_keys(pa.array([1, 2, 1]))

    assert caught.value.code == "spark-keys"


def test_nothing_is_written_for_a_value_that_spark_cannot_hold(spark_session: Any, tmp_path: Path) -> None:
    schema = pa.schema([("at", pa.timestamp("ns"))])
    writer = made("sinks", {"spark": {"path": str(tmp_path / "release")}}).open(schema)
    with pytest.raises(SfumatoError) as caught:
        writer.write(pa.RecordBatch.from_arrays([pa.array([1], pa.timestamp("ns"))], schema=schema))
    writer.abort()

    assert caught.value.code == "database-value"
    assert list(tmp_path.iterdir()) == []


GONE = """
import json, sys
import sfumato
from sfumato.core.quiet import Quiet
from pyspark.sql import SparkSession

class Ending(Quiet):
    def __init__(self, at, how):
        self.at, self.how = at, how

    def stage(self, name, total=None):
        if name == self.at:
            running = SparkSession.getActiveSession()
            if self.how == "stopped":
                running.stop()
            else:
                import os, signal
                os.kill(int(running._jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)

for ending in ("counting", "stopped"), ("verifying", "stopped"), ("writing", "killed"):
    try:
        sfumato.run(json.loads(sys.argv[1]), progress=Ending(*ending))
    except sfumato.errors.SfumatoError as error:
        print(*ending, error.code)
"""


@pytest.mark.slow
def test_a_session_that_ends_in_mid_run_is_told_and_nothing_is_published(people: str, tmp_path: Path) -> None:
    policy = {**POLICY, "source": {"spark": {"path": people, "master": "local[1]"}}, "sink": {"spark": {"path": str(tmp_path / "release")}}}
    ended = python(GONE, json.dumps(policy))

    told = ["counting stopped spark-gone", "verifying stopped spark-gone", "writing killed spark-gone"]
    assert (ended.stdout.splitlines(), ended.returncode) == (told, 0), ended.stderr
    assert "Canary" not in ended.stderr
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "environment", "words"),
    [
        (
            "",
            {"PATH": "/nowhere", "JAVA_HOME": ""},
            "Spark needs Java 17 or later, and none is found that works [spark-java]\n"
            "  try: sudo apt-get install openjdk-17-jre-headless; or JAVA_HOME, where it is elsewhere\n",
        ),
        ("sys.modules['pyspark'] = None", {}, "Spark needs the library pyspark [spark-missing]\n  try: pip install 'sfumato[spark]'\n"),
        (
            "",
            {"SPARK_REMOTE": "sc://nowhere:15002"},
            "Spark is reached by Spark Connect, which can neither lock nor rename folders [spark-connect]\n"
            "  try: run on the driver, in a session of its own: SparkSession.builder.master(...)\n",
        ),
    ],
)
def test_what_spark_lacks_is_told_with_what_provides_it(
    tmp_path: Path, spark_session: Any, code: str, environment: dict[str, str], words: str
) -> None:
    given = {**POLICY, "source": {"spark": {"path": str(tmp_path)}}}
    ended = python(
        f"import sys\n{code}\nimport sfumato\ntry:\n    sfumato.run({given!r})\nexcept sfumato.errors.SfumatoError as error:\n    print(error)",
        **environment,
    )

    assert (ended.stdout, ended.stderr) == (words, "")


@pytest.mark.slow
def test_the_command_line_makes_a_session_of_which_nothing_is_heard(people: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "source: {spark: {path: people}}\n"
        "columns: {age: {role: quasi_identifier}, note: {role: other}}\n"
        "promises: [{k_anonymity: {k: 5}}]\n"
        "sink: {spark: {path: release, record: release.json}}\n"
    )
    ended = python("from sfumato.__main__ import main\nmain()", "run", str(policy))

    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["people", "policy.yaml", "release", "release.json"]


def python(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=known, check=False, timeout=300)

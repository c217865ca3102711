"""The dump: what is read back is what stands in the script, and a script that is not whole is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.sinks._dumped import Dumped
from sfumato.sinks.sql_dump import SqlDump

TABLE = pa.table({"name": ["Ann", None, "it's\t"], "age": pa.array([1, None, -3], pa.int32())})
SCRIPTS = {
    "postgresql": (
        '\nCREATE TABLE "people" (\n    "name" text,\n    "age" integer\n);\nCOPY "people" ("name", "age") FROM stdin;\n'
        "Ann\t1\n\\N\t\\N\nit's\\t\t-3\n\\.\n"
    ),
    "mysql": (
        "\nCREATE TABLE `people` (\n    `name` longtext,\n    `age` int\n) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n"
        "INSERT INTO `people` (`name`, `age`) VALUES\n('Ann',1),\n(NULL,NULL),\n('it\\'s\\t',-3);\n"
    ),
}
DIALECTS: Any = list(SCRIPTS)


def written(path: Path, dialect: Any, table: pa.Table = TABLE) -> Dumped:
    writer: Any = SqlDump(path=str(path), table="people", dialect=dialect).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()
    return Dumped(path=str(path), table="people", dialect=dialect)


def rows(source: Dumped) -> list[dict[str, Any]]:
    return pa.Table.from_batches(source.batches(source.describe().names)).to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_script_is_what_people_would_write(tmp_path: Path, dialect: Any) -> None:
    written(tmp_path / "people.sql", dialect)

    assert (tmp_path / "people.sql").read_text().endswith(SCRIPTS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_types_are_read_from_the_script(tmp_path: Path, dialect: Any) -> None:
    source = written(tmp_path / "people.sql", dialect)

    assert source.describe() == TABLE.schema
    assert rows(source) == TABLE.to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5), max_size=5))
def test_any_text_is_read_back_as_it_was(tmp_path: Path, dialect: Any, texts: list[str | None]) -> None:
    table = pa.table({'a`"\n;': pa.array(texts, pa.string()), "b": pa.array(texts, pa.string())})

    assert rows(written(tmp_path / "people.sql", dialect, table)) == table.to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "change",
    [
        lambda script: script.replace("people", "others"),
        lambda script: script[:-4],
        lambda script: script.replace("integer", "no type").replace(" int\n", " -\n"),
        lambda script: script.replace("-3", "many"),
        lambda script: script.replace("Ann\t1", "Ann").replace("'Ann',1", "'Ann'"),
        lambda script: script.replace('("name", "age")', '("age", "name")').replace("(`name`, `age`)", "(`age`, `name`)"),
        lambda script: script.replace('COPY "people"', 'COPY "others"').replace("INTO `people`", "INTO `others`"),
    ],
)  # fmt: skip
def test_a_script_that_was_changed_is_told(tmp_path: Path, dialect: Any, change: Any) -> None:
    path = tmp_path / "people.sql"
    source = written(path, dialect)
    path.write_text(change(path.read_text()))

    with pytest.raises(DataError) as caught:
        rows(source)
    assert caught.value.code == "dump-damaged"
    assert "Ann" not in str(caught.value)


def test_the_command_line_says_what_is_dumped_and_where_its_record_is(
    sfumato_command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("age,town\n" + "".join(f"{20 + number},Ulm\n" for number in range(20)))
    columns = {"age": {"role": "quasi_identifier", "publish": "range"}, "town": {"role": "quasi_identifier", "publish": "label"}}
    policy = {"source": "people.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": {"sql_dump": {"path": "release.sql"}}}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy))

    planned = sfumato_command("plan", str(tmp_path / "policy.yaml"))
    done = sfumato_command("run", str(tmp_path / "policy.yaml"))

    assert "age, quasi_identifier: published as a range of the database, or a network where its values are addresses" in planned.stdout
    assert f"release   {tmp_path}/release.sql\nrecord    {tmp_path}/release.sql.record.json" in done.stdout

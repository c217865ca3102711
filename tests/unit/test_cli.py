"""The other commands: plan, run, components, schema, generate."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.cli.components import components
from sfumato.policy.schema import policy_schema
from sfumato.registry import KINDS, find, names

Command = Callable[..., subprocess.CompletedProcess[str]]
POLICY = {
    "source": "data.csv",
    "subject": "person",
    "columns": {
        "person": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "hierarchy": "interval", "on_unknown": "generalise"},
        "illness": {"role": "sensitive"},
    },
    "promises": [{"k_anonymity": {"k": 2}}],
    "sink": "release.csv",
}
ROWS = "person,age,illness\n" + "".join(f"p{i},{30 + i % 5},ill{i % 2}\n" for i in range(12))


def test_plan_says_in_words_what_would_happen_and_writes_nothing(tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    path = write_policy(POLICY, ROWS)
    before = sorted(tmp_path.iterdir())
    ended = sfumato_command("plan", path)
    assert ended.returncode == 0
    assert ended.stdout.partition("\n\n")[0].splitlines() == [
        f"1. Read 3 columns from {tmp_path}/data.csv.",
        "2. Remove person.",
        "3. Take age for whole numbers, decimals, dates, timestamps or IP addresses where all values of the column are such, else for text; "
        "the record says which.",
        "4. Generalise age by interval; a value outside it is published as everything.",
        "5. Keep illness as it is.",
        "6. Count people, not rows: person says whose row it is.",
        "7. Search with mondrian for a recoding (by what each value is replaced) that loses little detail; leave out no row.",
        "8. Keep k_anonymity (k 2) in every class, or publish nothing.",
        "9. Write the release under a private name, read it back, and measure every promise on its text.",
        f"10. Publish it as {tmp_path}/release.csv, sorted by what is published, with its record in {tmp_path}/release.csv.record.json.",
    ]
    assert ended.stdout.endswith("\nNothing has been written.\n")
    assert len(json.loads(sfumato_command("plan", path, "--format", "json").stdout)["steps"]) == 10
    assert sorted(tmp_path.iterdir()) == before


def test_run_prints_the_record_that_stands_beside_the_release(tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    ended = sfumato_command("run", write_policy(POLICY, ROWS), "--format", "json")
    assert ended.returncode == 0
    assert ended.stderr == ""
    printed = json.loads(ended.stdout)
    assert printed["files"] == [str(tmp_path / "release.csv")]
    # the record travels with the release: it does not say where on this machine that was
    assert printed | {"files": ["release.csv"]} == json.loads((tmp_path / "release.csv.record.json").read_text())
    assert {"version", "status", "rows", "promises", "measures", "recoding", "timings", "files"} <= set(printed)
    assert printed["rows"] == {"in": 12, "out": 12, "suppressed": 0}
    assert printed["columns"]["age"]["type"] == "integer"
    assert set(printed["promises"][0]) >= {"promise", "asked", "measured", "holds"}
    for moment in ("before", "after"):
        assert {"loss", "gcp", "granularity", "discernibility", "average_class_size"} <= set(printed["measures"][moment])


def test_run_without_a_sink_says_so(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    ended = sfumato_command("run", write_policy({key: value for key, value in POLICY.items() if key != "sink"}, ROWS))
    assert ended.returncode == 3
    assert ended.stderr == "policy.yaml:1 sink: the policy names no sink [policy-no-sink]\n  try: sink: release.csv\n"


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ({}, "sink: the policy names no sink [policy-no-sink]"),
        ({"snik": "release.csv"}, "snik: unknown key [policy-unknown-key]"),
        ({"sink": "release.ods"}, "sink: has an ending that says no format"),
    ],
)
def test_run_tells_all_mistakes_whatever_is_wrong_with_the_sink(
    sink: dict[str, str], told: str, write_policy: Callable[..., Path], sfumato_command: Command
) -> None:
    policy = {key: value for key, value in POLICY.items() if key not in ("sink", "source")}
    ended = sfumato_command("run", write_policy({**policy, "promises": [{"k_anonymity": {"k": 1}}], **sink}, ROWS))

    assert ended.returncode == 3
    assert told in ended.stderr
    assert "promises[0].k_anonymity.k: must be at least 2 [policy-value]" in ended.stderr
    assert "source: the policy names no source [policy-no-source]" in ended.stderr
    assert ended.stderr.count(" [policy-") == 3


def test_plan_without_a_source_says_so_with_all_other_mistakes(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    policy = {key: value for key, value in POLICY.items() if key != "source"}
    ended = sfumato_command("plan", write_policy({**policy, "algoritm": "datafly"}))

    assert ended.returncode == 3
    assert "source: the policy names no source [policy-no-source]\n  try: source: data.csv\n" in ended.stderr
    assert "algoritm: unknown key [policy-unknown-key]" in ended.stderr


def test_components_are_all_listed_with_their_settings(sfumato_command: Command) -> None:
    told = json.loads(sfumato_command("components", "--format", "json").stdout)
    assert set(told) == set(KINDS)
    for kind in KINDS:
        for name in names(kind):
            assert told[kind][name]["meaning"]
            assert set(told[kind][name]["settings"]) == set(find(kind, name).model_fields)
            assert all(about["meaning"] for about in told[kind][name]["settings"].values())
    words = sfumato_command("components", "promises").stdout
    assert "k_anonymity" in words
    assert "mondrian" not in words
    assert sfumato_command("components", "promisses").returncode == 2


def test_components_tell_their_defaults_as_a_policy_writes_them(sfumato_command: Command) -> None:
    sources, promises = (sfumato_command("components", kind).stdout for kind in ("sources", "promises"))
    assert '    delimiter      what stands between two fields (default ",")\n' in sources
    assert "null where a quote is doubled (default null)\n" in sources
    assert "    header         whether the first line names the columns (default true)\n" in sources
    assert "    given          other sensitive columns that an attacker may know (default [])\n" in promises


def test_the_schema_names_every_component_and_key() -> None:
    schema = policy_schema()
    assert set(schema["properties"]) >= {"source", "columns", "promises", "algorithm", "sink", "views", "readers", "subject"}
    promises = schema["$defs"]["promises"]["anyOf"]
    assert {next(iter(form["properties"])) for form in promises if "properties" in form} == set(names("promises"))
    json.dumps(schema)


def test_the_schema_knows_the_short_forms_of_lists() -> None:
    schema = policy_schema()
    column = schema["$defs"]["Column"]["properties"]
    for short in (column["missing"], column["accept"], schema["properties"]["accept"], schema["properties"]["readers"]["additionalProperties"]):
        assert {form.get("type", "enum" if "const" in form or "enum" in form else None) for form in short["anyOf"]} & {"string", "enum"}
        assert any(form.get("type") == "array" for form in short["anyOf"])


def test_the_schema_takes_one_operation_or_a_list_of_them() -> None:
    column = policy_schema()["$defs"]["Column"]["properties"]
    operation = {"$ref": "#/$defs/masking"}
    for key in ("mask", "otherwise"):
        assert column[key]["anyOf"] == [operation, {"type": "array", "items": operation, "minItems": 1}]


def test_the_schema_refers_only_to_what_it_defines() -> None:
    schema = policy_schema()
    referred = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema)))
    assert referred <= set(schema["$defs"])


def test_the_schema_is_in_words_without_examples_in_python(sfumato_command: Command) -> None:
    printed = sfumato_command("schema").stdout

    assert '"description": "Every published combination of quasi-identifiers is shared by at least' in printed
    assert ">>>" not in printed


@pytest.mark.parametrize("kind", names("generators"))
def test_generate_prints_json_lines_where_json_is_asked_for(kind: str, sfumato_command: Command) -> None:
    table = [line.split(",") for line in sfumato_command("generate", kind, "--rows", "20").stdout.splitlines()]
    rows = [json.loads(line) for line in sfumato_command("generate", kind, "--rows", "20", "--format", "json").stdout.splitlines()]

    assert [{name: "" if value is None else str(value).removesuffix(".0") for name, value in row.items()} for row in rows] == [
        dict(zip(table[0], row, strict=True)) for row in table[1:]
    ]
    columns = find("generators", kind)().table(1, 0).schema
    numbers = {field.name for field in columns if not pa.types.is_string(field.type)}
    assert {name for row in rows for name, value in row.items() if isinstance(value, int | float)} == numbers


@pytest.mark.parametrize("rate", ["inf", "nan", "0", "-3", "1e308"])
def test_a_rate_that_nothing_can_keep_is_refused(rate: str, sfumato_command: Command) -> None:
    ended = sfumato_command("generate", "shop", "--rows", "2", "--rate", rate)

    assert ended.returncode == 2
    assert ended.stderr.startswith("the rate is not from 0.001 to 1,000,000 rows a second [generate-rate]\n")


def test_so_many_rows_and_rows_without_end_are_not_asked_for_together(sfumato_command: Command) -> None:
    ended = sfumato_command("generate", "shop", "--rows", "3", "--endless")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "--rows says how many, and --endless that there is no end [generate-endless]\n  try: leave one of them out\n"


@pytest.mark.parametrize("name", ["x.parquet", "x.csv.gz", "x.tsv", "x.json"])
def test_nothing_is_generated_in_a_format_that_its_ending_does_not_say(name: str, tmp_path: Path, sfumato_command: Command) -> None:
    ended = sfumato_command("generate", "shop", "--rows", "2", "-o", tmp_path / name)

    assert ended.returncode == 2
    assert f"{name} has an ending in whose format nothing is generated [generate-ending]" in ended.stderr
    assert not (tmp_path / name).exists()


def test_more_rows_than_can_be_generated_are_refused(tmp_path: Path, sfumato_command: Callable[..., Any]) -> None:
    ended = sfumato_command("generate", "shop", "--rows", "10000000000000000000", "-o", tmp_path / "x.csv")

    assert ended.returncode == 2
    assert "'--rows': Input should be less than or equal to 1000000000000" in ended.stderr
    assert not (tmp_path / "x.csv").exists()


def test_a_file_is_generated_over_only_where_that_is_meant(tmp_path: Path, sfumato_command: Command) -> None:
    (tmp_path / "x.csv").write_text("somebody's work\n")

    ended = sfumato_command("generate", "shop", "--rows", "2", "-o", tmp_path / "x.csv")
    assert (ended.returncode, "[output-exists]" in ended.stderr) == (2, True)
    assert (tmp_path / "x.csv").read_text() == "somebody's work\n"
    assert sfumato_command("generate", "shop", "--rows", "2", "-o", tmp_path / "x.csv", "--force").returncode == 0
    assert (tmp_path / "x.csv").read_text().startswith("at,user,product\n")
    assert sfumato_command("generate", "shop", "--rows", "2", "-o", "/dev/null").returncode == 0


def test_a_stream_is_generated_at_a_rate_and_into_json_lines(tmp_path: Path, sfumato_command: Command) -> None:
    ended = sfumato_command("generate", "hospital", "--times", "--rows", "30", "--rate", "1000", "-o", tmp_path / "stream.jsonl")
    assert ended.returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "stream.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 30
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)


def test_a_stream_without_end_flows_until_nobody_reads_it() -> None:
    command = [sys.executable, "-m", "sfumato", "generate", "shop", "--endless", "--rate", "2000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(300)]
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
        process.wait(timeout=20)
    assert lines[0] == "at,user,product\n"
    assert len(set(lines)) == 300


def test_one_row_is_one_row(tmp_path: Path, sfumato_command: Command) -> None:
    ended = sfumato_command("generate", "census", "--rows", "1", "-o", tmp_path / "one.csv")

    assert ended.stdout == f"1 row of census in {tmp_path}/one.csv\n"


def test_an_unknown_mask_is_called_one() -> None:
    from sfumato.errors import UsageError

    with pytest.raises(UsageError, match="there is no 'blur' among the masks of this version"):
        find("masking", "blur")


@pytest.mark.parametrize("kind", names("generators"))
def test_generate_writes_the_same_rows_for_the_same_seed(kind: str, tmp_path: Path, sfumato_command: Command) -> None:
    ended = sfumato_command("generate", kind, "--rows", "50", "--seed", "3", "-o", tmp_path / "one.csv")
    assert ended.returncode == 0
    printed = sfumato_command("generate", kind, "--rows", "50", "--seed", "3").stdout
    assert (tmp_path / "one.csv").read_text() == printed
    assert len(printed.splitlines()) == 51
    assert sfumato_command("generate", "hospitol").returncode == 2
    assert sfumato_command("generate", kind, "-o", tmp_path / "no" / "such" / "folder.csv").returncode == 5


@pytest.mark.parametrize(
    ("arguments", "help_of"),
    [
        (("frobnicate",), "sfumato"),
        (("run",), "sfumato run"),
        (("run", "a", "b"), "sfumato run"),
        (("run", "p.yaml", "--format", "xml"), "sfumato run"),
        (("keys", "new", "mine.key"), "sfumato keys new"),
    ],
)
def test_wrong_usage_ends_with_two_and_names_the_help_of_the_command(arguments: tuple[str, ...], help_of: str, sfumato_command: Command) -> None:
    ended = sfumato_command(*arguments)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[1:] == [f"  try: {help_of} --help"]


def test_the_version_is_told(sfumato_command: Command) -> None:
    import sfumato

    assert sfumato_command("--version").stdout.strip() == sfumato.__version__
    assert {"run", "Policy", "Column", "Release"} <= set(dir(sfumato))
    with pytest.raises(AttributeError):
        sfumato.nothing  # noqa: B018 - asking is the test


def test_what_is_no_policy_is_refused_from_python_too() -> None:
    import sfumato
    from sfumato.errors import UsageError

    with pytest.raises(UsageError, match="policy-kind"):
        sfumato.run(5)  # type: ignore[arg-type]


def test_a_shell_is_told_how_to_complete_commands(sfumato_command: Command) -> None:
    told = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": "sfumato hier", "COMP_CWORD": "1"}

    assert sfumato_command(environment=told).stdout == "hierarchy\n"
    assert "_sfumato_completion()" in sfumato_command(environment={"_SFUMATO_COMPLETE": "source_bash"}).stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sfumato preview policy.yaml --view ", "staff\nresearch\n"),
        ("sfumato hierarchy show policy.yaml a", "age\n"),
        ("sfumato reveal policy.yaml --column n", "name\n"),
        ("sfumato components ma", "masking\n"),
        ("sfumato components --kind pro", "promises\n"),
        ("sfumato generate ce", "census\n"),
        ("sfumato assess table.csv -q name -q ", "age\n"),
        ("sfumato assess policy.yaml --subject n", "name\n"),
        ("sfumato assess other.csv --delimiter ';' -q n", "name\n"),
        ("sfumato preview nothing.yaml --view ", "\n"),
        ("sfumato assess - -q ", "\n"),
        ("sfumato assess 'open -q ", "\n"),
    ],
)
def test_a_shell_is_offered_views_columns_and_kinds(line: str, offered: str, tmp_path: Path, sfumato_command: Command) -> None:
    (tmp_path / "table.csv").write_text("name,age\nAna,30\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("name;age\nAna;30\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        "columns: {name: {role: identifier}, age: {role: quasi_identifier}}\nviews: {staff: {sink: a.csv}, research: {sink: b.csv}}\n",
        encoding="utf-8",
    )
    words = {"_SFUMATO_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}

    assert sfumato_command(environment=words, cwd=tmp_path).stdout == offered


def test_a_run_that_leaves_out_fewer_than_k_rows_says_so(tmp_path: Path, sfumato_command: Command) -> None:
    (tmp_path / "in.csv").write_text("age,ill\n" + "30,flu\n" * 9 + "99,ok\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        "source: in.csv\ncolumns: {age: {role: quasi_identifier, hierarchy: flat}, ill: {role: sensitive}}\n"
        "promises: [{k_anonymity: {k: 5}}]\nalgorithm: datafly\nsuppression_limit: 0.2\nsink: out.csv\n",
        encoding="utf-8",
    )
    ended = sfumato_command("run", tmp_path / "policy.yaml")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "rows      < 14 in, 9 out, < 5 suppressed" in ended.stdout


@pytest.mark.parametrize(("one", "many"), [("algorithm", "algorithms"), ("mask", "masking"), ("hierarchy", "hierarchies")])
def test_a_kind_of_components_may_be_named_by_one_of_it(one: str, many: str, capsys: pytest.CaptureFixture[str]) -> None:
    components(one, "text")
    shown = capsys.readouterr().out
    components(many, "text")

    assert shown == capsys.readouterr().out
    assert shown.startswith(f"{many}\n")

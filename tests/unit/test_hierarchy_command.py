"""``sfumato hierarchy``: show, check, draft."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato

Command = Callable[..., subprocess.CompletedProcess[str]]
TREE = {"Root": ["craft", "food"], "craft": ["smith", "welder"], "food": ["cook", "baker"]}
POLICY: dict[str, Any] = {
    "source": "data.csv",
    "columns": {
        "age": {"role": "quasi_identifier"},
        "job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}, "on_unknown": "generalise"},
    },
    "promises": [{"k_anonymity": {"k": 3}}],
    "sink": "release.csv",
}
ROWS = "age,job\n" + "".join(f"{20 + number % 7},{job}\n" for number, job in enumerate(["smith"] * 5 + ["cook"] * 2 + ["", "judge"]))


def test_show_draws_the_tree_with_rows_and_marks_small_nodes(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    ended = sfumato_command("hierarchy", "show", write_policy(POLICY, ROWS), "job")

    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "*             9",
        "├─ craft      5",
        "│  └─ smith   5",
        "├─ food       2  fewer than 3",
        "│  └─ cook    2  fewer than 3",
        "├─ (missing)  1  fewer than 3",
        "└─ (unknown)  1  fewer than 3",
        "   └─ judge   1  fewer than 3",
    ]


def test_show_can_be_short(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    path = write_policy(POLICY, ROWS)

    assert sfumato_command("hierarchy", "show", path, "job", "--depth", "1", "--most", "1").stdout.splitlines() == [
        "*              9",
        "├─ craft       5",
        "└─ and 3 more  4",
    ]


def test_show_as_json_counts_every_row_on_every_level(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    found = json.loads(sfumato_command("hierarchy", "show", write_policy(POLICY, ROWS), "age", "--format", "json").stdout)

    def check(node: dict[str, Any]) -> None:
        if "children" in node:
            assert sum(child["rows"] for child in node["children"]) == node["rows"]
            for child in node["children"]:
                check(child)

    check(found["tree"])
    assert (found["type"], found["smallest"], found["tree"]["rows"]) == ("integer", 3, 9)


def test_a_label_does_not_move_the_cursor(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    policy = POLICY | {"columns": {"age": {"role": "quasi_identifier"}, "job": {"role": "quasi_identifier"}}}

    ended = sfumato_command("hierarchy", "show", write_policy(policy, 'age,job\n1,"\x1b[2Jsm\nith"\n'), "job")

    assert "\x1b" not in ended.stdout
    assert len(ended.stdout.splitlines()) == 2


def test_check_tells_what_data_and_ladders_do_not_know_of_each_other(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    ended = sfumato_command("hierarchy", "check", write_policy(POLICY, ROWS))

    assert ended.returncode == 0
    assert ended.stdout.splitlines()[1] == "job: text, 4 leaves, levels 0 to 2; 1 rows with a value it does not know, 2 leaves that no row has"


def test_check_fails_where_a_run_would(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    columns = POLICY["columns"] | {"job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": TREE}}}}

    ended = sfumato_command("hierarchy", "check", write_policy(POLICY | {"columns": columns}, ROWS), "--format", "json")

    assert ended.returncode == 6
    assert json.loads(ended.stdout)[1]["unknown_rows"] == 1
    said = sfumato_command("hierarchy", "check", write_policy(POLICY | {"columns": columns}, ROWS))
    assert said.returncode == 6
    assert "value-outside-hierarchy" in said.stderr
    assert "judge" not in said.stderr


@pytest.mark.parametrize("column", ["age", "job"])
def test_a_drafted_ladder_can_be_named_in_the_policy_and_does_the_same(
    column: str, tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command
) -> None:
    rows = "age,job\n" + "".join(f"+{20 + number % 7},{job}\n" for number, job in enumerate(["smith"] * 5 + ["cook"] * 6))
    policy = POLICY | {"algorithm": "datafly", "suppression_limit": 1}
    path = write_policy(policy, rows)
    assert sfumato_command("run", path).returncode == 0
    before = (tmp_path / "release.csv").read_text()

    ended = sfumato_command("hierarchy", "draft", path, column, "-o", tmp_path / "ladder.csv")
    drafted = {**POLICY["columns"], column: {"role": "quasi_identifier", "hierarchy": {"table": {"path": "ladder.csv"}}}}
    again = sfumato_command("run", write_policy(policy | {"columns": drafted}, rows))

    assert (ended.returncode, again.returncode) == (0, 0)
    assert "as private as the source" in ended.stdout
    assert (tmp_path / "ladder.csv").stat().st_mode & 0o777 == 0o600
    assert sorted((tmp_path / "release.csv").read_text().splitlines()) == sorted(before.splitlines())


@pytest.mark.parametrize(("arguments", "status"), [(["show", "jbo"], 2), (["draft", "age", "-o", "/dev/null/x.csv"], 5)], ids=str)
def test_what_is_not_there_is_said(arguments: list[str], status: int, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    verb, column, *others = arguments

    ended = sfumato_command("hierarchy", verb, write_policy(POLICY, ROWS), column, *others)

    assert ended.returncode == status
    assert "Traceback" not in ended.stderr


def test_draft_never_writes_over_somebody_s_work(tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    path = write_policy(POLICY, ROWS)
    drafted = tmp_path / "jobs.csv"
    drafted.write_text("edited by hand")

    refused = sfumato_command("hierarchy", "draft", path, "job", "-o", str(drafted))
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, f"{drafted} is there already [output-exists]")
    assert drafted.read_text() == "edited by hand"

    assert sfumato_command("hierarchy", "draft", path, "job", "-o", str(drafted), "--force").returncode == 0
    assert drafted.read_text().startswith("smith;")


def test_a_tree_that_nobody_would_read_is_shown_in_part(tmp_path: Path, sfumato_command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    days = [f"{1950 + number % 60}-{1 + number % 12:02d}-{1 + number % 28:02d}" for number in range(3000)]
    (tmp_path / "in.csv").write_text("born\n" + "".join(f"{day}\n" for day in days), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        "source: in.csv\ncolumns: {born: {role: quasi_identifier}}\npromises: [{k_anonymity: {k: 2}}]\nsink: out.csv\n", encoding="utf-8"
    )
    shown = sfumato_command("hierarchy", "show", tmp_path / "policy.yaml", "born").stdout

    assert len(shown.splitlines()) < 250
    assert "levels below the root are shown; all with --depth" in shown
    assert shown.startswith(str(sfumato.hierarchy(tmp_path / "policy.yaml", "born")))

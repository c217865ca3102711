"""Labels for PostgreSQL Anonymizer: quoted whatever the names are, and nothing shown that has no counterpart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers import ask, component

Command = Callable[..., subprocess.CompletedProcess[str]]
NASTY = 'it\'s "x"\n; DROP TABLE people; -- \\ 🙂 $$ /*'
CONSTANT = "it's \\ a 'q' $$ \n -- ü 🙂"


def policy(tmp_path: Path, url: str, columns: dict[str, Any], **more: Any) -> Path:
    written = {"source": {"sql": {**component(url, NASTY), "schema": "public"}}, "columns": columns, "sink": str(tmp_path / "out.csv"), **more}
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def people(postgresql_url: str) -> str:
    names = [NASTY, "name", "note", "age", "digest", "mail", "hidden"]
    columns = ", ".join('"' + name.replace('"', '""') + f'" {"integer" if name == "age" else "text"}' for name in names)
    ask(postgresql_url, f'CREATE TABLE "{NASTY.replace(chr(34), chr(34) * 2)}" ({columns})')
    return postgresql_url


def test_labels_are_what_the_server_reads_them_as(people: str, tmp_path: Path, sfumato_command: Command) -> None:
    masks: dict[str, Any] = {
        NASTY: {"constant": {"value": CONSTANT}},
        "name": {"shorten": {"length": 2}},
        "note": "keep",
        "age": {"constant": {}},
        "digest": {"hash": {"unkeyed": "sha256"}},
        "mail": "email_mask",
    }
    columns = {name: {"role": "identifier", "mask": mask} for name, mask in masks.items()} | {"hidden": {"role": "identifier"}}
    told = json.loads(sfumato_command("plan", "--anon-labels", policy(tmp_path, people, columns), "--format", "json").stdout)["statements"]
    labels = [statement for statement in told if not statement.startswith("--")]

    # the server has no such extension here: a comment has the same grammar, and can be read back
    for label in labels:
        ask(people, label.replace("SECURITY LABEL FOR anon ON", "COMMENT ON", 1).replace("%", "%%"))
    described = "pg_description d JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid"
    query = f"SELECT a.attname, d.description FROM {described} WHERE d.objsubid > 0"
    found = {name: text for name, text in ask(people, query) if name in columns}
    value = found.pop(NASTY).removeprefix("MASKED WITH VALUE ")
    assert ask(people, f"SELECT {value}") == [(CONSTANT,)]
    assert found == {
        "name": 'MASKED WITH FUNCTION anon.left("name", 2)',
        "note": "NOT MASKED",
        "age": "MASKED WITH VALUE NULL",
        "digest": "MASKED WITH FUNCTION anon.digest(\"digest\", '', 'sha256')",
        "mail": "MASKED WITH VALUE NULL",
        "hidden": "MASKED WITH VALUE NULL",
    }


def test_why_a_column_is_shown_as_nothing_stands_above_it_in_one_line(people: str, tmp_path: Path, sfumato_command: Command) -> None:
    masks: dict[str, Any] = {
        NASTY: "email_mask",
        "name": {"shorten": {"length": 2, "ellipsis": "…"}},
        "age": {"hash": {"unkeyed": "sha256"}},
        "digest": "drop",
    }
    columns = {name: {"role": "identifier", "mask": mask} for name, mask in masks.items()} | {"mail": {"role": "identifier"}}
    columns["note"] = {"role": "other", "mask": {"shorten": {"length": 2}}, "when": {"column": "name", "equals": "Ann"}}
    ended = sfumato_command("plan", "--anon-labels", policy(tmp_path, people, columns, unnamed="remove"))
    assert ended.returncode == 0, ended.stderr
    told = ended.stdout
    comments = [line for line in told.splitlines() if line.startswith("-- column")]
    why = {
        NASTY: "email_mask has no counterpart in anon",
        "name": "shorten has no counterpart in anon with these settings",
        "note": "shorten has no counterpart in anon with a condition, with something for missing values, or in several steps",
        "age": "hash gives text, the column is of type integer, and a label cannot change that",
        "digest": "the policy removes it",
        "mail": "the policy removes it",
        "hidden": "the policy does not name it",
    }
    assert comments == [f"-- column {json.dumps(name)}: {words}; it is shown as nothing" for name, words in why.items()]
    assert told.count("MASKED WITH VALUE NULL") == 7


def test_a_policy_with_promises_is_refused(people: str, tmp_path: Path, sfumato_command: Command) -> None:
    columns = {"age": {"role": "quasi_identifier"}}
    ended = sfumato_command("plan", "--anon-labels", policy(tmp_path, people, columns, unnamed="remove", promises=[{"k_anonymity": {"k": 2}}]))
    assert ended.returncode == 2
    assert "labels of anon keep no promise, and generalise nothing by what other rows hold [plan-no-labels]" in ended.stderr

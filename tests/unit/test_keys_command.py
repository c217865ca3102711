"""The commands ``keys`` and ``reveal``, as a user calls them, within the process."""

from __future__ import annotations

import base64
import json
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

from sfumato.cli.app import run_command
from sfumato.core.keys import parse_keys
from sfumato.errors import UnreachableError

Say = Callable[..., tuple[int, str, str]]
PEOPLE = [("p1", "Ann Canary", "4111-1111-1111-1111", "Rome"), ("p2", "", "5500-0000-0000-0004", "Rome"), ("p3", "日本 🙂", "", "Pisa")]
COLUMNS: dict[str, Any] = {
    "id": {"role": "identifier", "mask": {"tokenise": {"vault": "my.vault"}}},
    "name": {"role": "identifier", "mask": {"encrypt": {"key": "main"}}},
    "card": {"role": "identifier", "mask": {"format_preserving_encrypt": {"key": "main", "keep": "-"}}, "on_invalid": "remove"},
    "town": {"role": "other", "mask": ["keep", {"deterministic_encrypt": {"key": "main", "domain": "towns"}}]},
}


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def call(*arguments: str | Path) -> tuple[int, str, str]:
        status = run_command([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def audit(installation: Path) -> Path:
    path = installation / "audit" / "reveals.jsonl"
    path.unlink(missing_ok=True)
    return path


@pytest.fixture
def released(tmp_path: Path, write_policy: Callable[..., Path], say: Say) -> Path:
    """A policy that has been run: its release is ``release.csv`` beside it."""
    say("keys", "new", "--id", "k1", "--output", tmp_path / "main.key")
    rows = "id,name,card,town\n" + "".join(f'{one},"{name}",{card},{town}\n' for one, name, card, town in PEOPLE)
    policy = {"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": COLUMNS, "sink": "release.csv"}
    path = write_policy(policy, rows)
    status, _, error = say("run", path)
    assert status == 0, error
    return path


def reveal(say: Say, policy: Path, column: str, *more: str | Path, output: str = "revealed.csv", source: str = "release.csv") -> tuple[int, str, str]:
    folder = policy.parent
    return say("reveal", policy, "--column", column, "--input", folder / source, "--output", folder / output, "--purpose", "case 17", *more)


def columns(path: Path) -> dict[str, list[str | None]]:
    options = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=dict.fromkeys(COLUMNS, pa.string()))
    table = pa.csv.read_csv(path, convert_options=options)
    return {name: table[name].to_pylist() for name in table.column_names}


# --- keys ---------------------------------------------------------------------------------------------------------------


def test_a_new_key_is_printed_as_a_policy_reads_it(say: Say) -> None:
    status, printed, _ = say("keys", "new", "--id", "spring")
    assert status == 0
    (key,) = parse_keys(printed, "main")
    assert (key.id, len(key.secret)) == ("spring", 32)
    told = json.loads(say("keys", "new", "--format", "json")[1])
    assert told["key"].startswith(f"{told['id']}:")


def test_a_new_key_in_a_file_is_private_and_not_printed(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "main.key"
    status, printed, error = say("keys", "new", "--id", "k1", "-o", path)
    assert (status, error) == (0, "")
    assert printed == f"the key k1 is in {path}, which only you may read; without it nothing that it encrypts can be revealed\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert parse_keys(path.read_text(), "main")[0].id == "k1"


def test_a_key_file_is_never_replaced(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "main.key"
    say("keys", "new", "-o", path)
    before = path.read_bytes()
    status, _, error = say("keys", "new", "-o", path)
    assert status == 2
    assert error == f"{path} is there already [output-exists]\n  try: name another file, or: sfumato keys add {path}\n"
    assert path.read_bytes() == before


def test_an_id_that_is_none_is_refused(say: Say) -> None:
    status, printed, error = say("keys", "new", "--id", "my key")
    assert (status, printed) == (2, "")
    assert error == (
        "the id of a key has letters, digits, points, hyphens and underscores, 63 at most, and begins with a letter or digit [key-name]\n"
        "  try: --id 2026-01\n"
    )


def test_a_folder_that_is_not_there_is_told(say: Say, tmp_path: Path) -> None:
    status, _, error = say("keys", "new", "-o", tmp_path / "no" / "main.key")
    assert status == 5
    assert error.startswith(f"the folder {tmp_path / 'no'} is not there [file-missing]")


def test_an_added_key_comes_first_and_the_older_ones_stay(say: Say, tmp_path: Path) -> None:
    path = tmp_path / "main.key"
    say("keys", "new", "--id", "k1", "-o", path)
    old = path.read_text()
    status, printed, _ = say("keys", "add", path, "--id", "k2")
    assert (status, printed) == (
        0,
        f"the key k2 is the one in use of {path} from now on; k1 still undoes what it made\n"
        "what hash, fake, date_shift and other pseudonyms make under this key is another from now on, and no longer joins earlier releases\n",
    )
    assert path.read_text().endswith(old)
    assert json.loads(say("keys", "add", path, "--id", "k3", "--format", "json")[1]) == {"id": "k3", "file": str(path)}
    assert [key.id for key in parse_keys(path.read_text(), "main")] == ["k3", "k2", "k1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    status, _, error = say("keys", "add", path, "--id", "k1")
    assert (status, error) == (2, f"{path} has a key with the id k1 already [key-twice]\n  try: --id with another one, or none\n")


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        ("k1:AAAA\n", 0o600, "key-short"),
        ("canary\n", 0o600, "key-unreadable"),
        ("", 0o600, "key-unreadable"),
        (f"k1:{'A' * 43}=\n", 0o644, "key-permission"),
    ],
)
def test_a_damaged_or_open_key_file_is_not_added_to_and_not_told(say: Say, tmp_path: Path, content: str, mode: int, code: str) -> None:
    path = tmp_path / "main.key"
    path.write_text(content)
    path.chmod(mode)
    status, printed, error = say("keys", "add", path)
    assert (status, printed) == (5, "")
    assert f"[{code}]" in error
    assert "canary" not in error
    assert "AAAA" not in error
    assert path.read_text() == content


@pytest.mark.parametrize("command", ["new", "add"])
@pytest.mark.parametrize("format", ["text", "json"])
def test_the_name_of_a_file_that_could_be_a_key_is_not_printed(say: Say, tmp_path: Path, command: str, format: str) -> None:
    path = tmp_path / bytes(range(7, 250, 8)).hex()
    told = [say("keys", "new", "--id", "k1", "--output", path, "--format", format)]
    for _ in range(2):
        told.append(say("keys", "add", path, "--id", "k2", "--format", format) if command == "add" else say("keys", "new", "--output", path))
    assert [status for status, _, _ in told] == ([0, 0, 2] if command == "add" else [0, 2, 2])
    assert path.name[8:24] not in str(told)
    assert "the file that is named" in told[0][1]


# --- run ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "mode", "status", "error"),
    [
        (None, 0o600, 5, "main.key is not there [file-missing]"),
        ("k1:AAAAcanaryAA\n", 0o600, 5, "key main: the key on line 1 has 9 bytes, and 32 are needed [key-short]"),
        ("canary\n", 0o600, 5, "key main: line 1 is not of the form id:base64 [key-unreadable]"),
        (f"k1:{'A' * 43}=\n", 0o604, 5, "key main: others may read "),
        (f"k1:{'A' * 43}=\n", 0o620, 5, "key main: others may write "),
        (f"k1:{'A' * 43}=\n", 0o666, 5, "key main: others may read and write "),
    ],
)
def test_a_run_without_a_good_key_publishes_nothing(
    say: Say, tmp_path: Path, write_policy: Callable[..., Path], content: str | None, mode: int, status: int, error: str
) -> None:
    if content is not None:
        (tmp_path / "main.key").write_text(content)
        (tmp_path / "main.key").chmod(mode)
    policy = {"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": {"name": COLUMNS["name"]}, "sink": "release.csv"}
    ended, printed, told = say("run", write_policy(policy, "name\nAnn Canary\n"))
    assert (ended, printed) == (status, "")
    assert error in told
    assert "anary" not in told
    assert "AAAA" not in told
    assert not (tmp_path / "release.csv").exists()


def test_one_id_on_two_lines_is_told_with_what_to_remove() -> None:
    lines = "".join(f"k1:{base64.b64encode(bytes(range(start, start + 32))).decode()}\n" for start in (1, 2))
    with pytest.raises(UnreachableError) as raised:
        parse_keys(lines, "main")
    assert raised.value.sentence() == (
        "key main: line 2 has the id of another line [key-unreadable]\n  try: remove one of the two lines, or give one of the keys another id"
    )


@pytest.mark.parametrize("broken", ["full", "truncated"])
def test_a_run_whose_vault_gives_no_tokens_publishes_nothing(say: Say, tmp_path: Path, write_policy: Callable[..., Path], broken: str) -> None:
    column = {"role": "identifier", "mask": {"tokenise": {"vault": "my.vault", "start": 1, "size": 2}}}
    path = write_policy({"source": "data.csv", "columns": {"name": column}, "sink": "release.csv"}, "name\nAnn Canary\nBo Canary\n")
    assert say("run", path)[0] == 0
    (tmp_path / "release.csv").unlink()
    if broken == "full":
        (tmp_path / "data.csv").write_text("name\nAnn Canary\nCy Canary\n")
    else:
        (tmp_path / "my.vault").write_bytes((tmp_path / "my.vault").read_bytes()[:6000])
    ended, printed, told = say("run", path)
    assert (ended, printed) == ((6, "") if broken == "full" else (5, ""))
    assert ("[vault-full]" if broken == "full" else "[vault-damaged]") in told
    assert "Canary" not in told
    assert not (tmp_path / "release.csv").exists()


# --- reveal -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "place"), [("id", 0), ("name", 1), ("card", 2), ("town", 3)])
def test_a_masked_column_is_revealed_and_all_others_stay(say: Say, released: Path, column: str, place: int) -> None:
    status, printed, error = reveal(say, released, column)
    folder = released.parent
    assert (status, error) == (0, "")
    before, after = columns(folder / "release.csv"), columns(folder / "revealed.csv")
    number = sum(value is not None for value in before[column])
    uncertain = "nothing in such values says whether this key, policy and domain made them: compare some with what you know\n"
    assert printed == (
        f"{number} values of {column} in {folder / 'revealed.csv'}, which only you may read; the audit says so\n" + uncertain * (column == "card")
    )
    expected = [person[place] or (None if column == "card" else "") for person in PEOPLE]
    assert sorted(after[column], key=str) == sorted(expected, key=str)
    assert {name: values for name, values in after.items() if name != column} == {name: values for name, values in before.items() if name != column}
    assert stat.S_IMODE((folder / "revealed.csv").stat().st_mode) == 0o600


def test_the_audit_says_who_what_and_why_and_no_value(say: Say, released: Path, audit: Path) -> None:
    told = json.loads(reveal(say, released, "name", "--format", "json")[1])
    reveal(say, released, "id", output="again.csv")
    begun, first, _, second = (json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines())
    assert told == {
        "file": str(released.parent / "revealed.csv"),
        "column": "name",
        "rows": 3,
        "left": 0,
        "keys": ["k1"],
        "certain": True,
        "audit": str(audit),
    }
    assert set(first) == {"time", "user", "policy", "view", "column", "purpose", "input", "output", "rows", "keys", "outcome"}
    assert (begun["outcome"], begun["column"]) == ("begun", "name")
    assert (first["input"], first["output"]) == (str(released.parent / "release.csv"), str(released.parent / "revealed.csv"))
    assert [first[key] for key in ("view", "column", "purpose", "rows", "keys", "outcome")] == ["default", "name", "case 17", 3, ["k1"], "revealed"]
    assert first["policy"] == json.loads((released.parent / "release.csv.record.json").read_text())["policy"]
    assert (second["column"], second["keys"]) == ("id", [])
    assert "Canary" not in audit.read_text(encoding="utf-8")
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600


def failed(say: Say, policy: Path, column: str, *more: str | Path, **others: str) -> str:
    status, printed, error = reveal(say, policy, column, *more, **others)
    assert status
    assert printed == ""
    assert "Canary" not in error
    assert sorted(file.name for file in policy.parent.iterdir() if "revealed" in file.name) == []
    return error


def test_values_that_are_no_ciphertexts_are_counted_and_written_to_the_audit(say: Say, released: Path, audit: Path) -> None:
    folder = released.parent
    text = (folder / "release.csv").read_text(encoding="utf-8")
    (folder / "release.csv").write_text(text.replace("s1.k1.", "s1.k1.A", 1) + "x,Ann Canary,,\n", encoding="utf-8")
    assert failed(say, released, "name") == (
        "column name: 2 rows with what encrypt has not made, or not for this policy and view; nothing was written [reveal-invalid]\n"
        "  try: the file, the column, the view and the domain as they were when it was masked\n"
    )
    assert [json.loads(line)["outcome"] for line in audit.read_text().splitlines()] == ["begun", "reveal-invalid"]


def test_a_key_of_another_id_is_told(say: Say, released: Path) -> None:
    path = released.parent / "main.key"
    path.unlink()
    say("keys", "new", "--id", "k9", "-o", path)
    assert (
        failed(say, released, "name") == "key main: there is none with the id k1, only k9 [key-id]\n  try: add the older key below the current one\n"
    )


def test_another_key_of_the_same_id_reveals_nothing(say: Say, released: Path) -> None:
    path = released.parent / "main.key"
    path.unlink()
    say("keys", "new", "--id", "k1", "-o", path)
    assert "[reveal-invalid]" in failed(say, released, "name")


def test_a_missing_key_is_told(say: Say, released: Path) -> None:
    (released.parent / "main.key").unlink()
    assert "main.key is not there [file-missing]" in failed(say, released, "name")


def test_a_key_that_everybody_may_read_is_refused(say: Say, released: Path) -> None:
    (released.parent / "main.key").chmod(0o644)
    assert "[key-permission]" in failed(say, released, "name")


def test_after_a_new_key_old_values_are_revealed(say: Say, released: Path) -> None:
    say("keys", "add", released.parent / "main.key", "--id", "k2")
    # digits do not say their key
    assert failed(say, released, "card") == (
        "column card: format_preserving_encrypt does not say under which key values were made, and main has several: k2, k1 [key-id]\n"
        "  try: --key-id k1, or k2: the one that was current when they were made\n"
    )
    assert reveal(say, released, "name")[0] == 0
    assert reveal(say, released, "card", "--key-id", "k1", output="cards.csv")[0] == 0
    assert "4111-1111-1111-1111" in (released.parent / "cards.csv").read_text()
    told = json.loads(reveal(say, released, "card", "--key-id", "main=k1", "--format", "json", output="again.csv")[1])
    assert (told["keys"], told["certain"]) == (["k1"], False)
    words = "column card: no key of its mask has the id k3 [key-id]\n  try: one of k1, k2\n"
    assert reveal(say, released, "card", "--key-id", "k3", output="others.csv")[2] == words
    words = "column id: no key of its mask has the id k1 [key-id]\n  try: leave it out: the mask of the column has no key\n"
    assert reveal(say, released, "id", "--key-id", "k1", output="others.csv")[2] == words


def test_nothing_is_revealed_to_standard_output(say: Say, released: Path) -> None:
    folder = released.parent
    asked = ("--column", "name", "--input", folder / "release.csv", "--output", "-", "--purpose", "case 17")
    words = "what is revealed goes into a file that only you may read [reveal-output]\n  try: --output names.csv\n"
    assert say("reveal", released, *asked) == (2, "", words)


def test_a_key_of_one_byte_again_and_again_is_refused(say: Say, released: Path) -> None:
    path = released.parent / "main.key"
    path.write_text(f"k1:{base64.b64encode(bytes(32)).decode()}\n")
    assert failed(say, released, "name") == (
        "key main: the key on line 1 is one byte again and again, which anybody could guess [key-weak]\n  try: make one with: sfumato keys new\n"
    )


def test_a_file_that_is_there_is_never_replaced(say: Say, released: Path) -> None:
    (released.parent / "there.csv").write_text("mine")
    status, _, error = reveal(say, released, "name", output="there.csv")
    assert (status, error) == (2, f"{released.parent / 'there.csv'} is there already [output-exists]\n  try: name another file\n")
    assert (released.parent / "there.csv").read_text() == "mine"


def test_a_column_that_is_not_masked_or_not_in_the_file_is_told(say: Say, released: Path) -> None:
    assert failed(say, released, "nme") == "the policy does not mask the column nme [reveal-column]\n  try: name\n"
    (released.parent / "other.csv").write_text("x\n1\n")
    assert failed(say, released, "name", source="other.csv") == (
        "the input has no column name [column-unknown]\n"
        "  try: the file that the policy's sink has written, or one whose first line names its columns\n"
    )


def test_nothing_is_revealed_for_no_purpose(say: Say, released: Path) -> None:
    folder = released.parent
    asked = ("--column", "name", "--input", folder / "release.csv", "--output", folder / "revealed.csv")
    status, _, error = say("reveal", released, *asked, "--purpose", " ")
    assert (status, error) == (2, "nothing says what the values are for [reveal-purpose]\n  try: --purpose 'recall of a device, case 17'\n")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "other", "mask": {"hash": {"key": "main"}}}, "hash cannot be undone"),
        ({"role": "other", "mask": [{"constant": {}}, {"encrypt": {"key": "main"}}]}, "constant cannot be undone"),
        (
            {"role": "other", "mask": {"format_preserving_encrypt": {"key": "main"}}, "when": {"column": "id", "equals": "p1"}},
            "masks only some rows, and no row says which",
        ),
        (
            {
                "role": "other",
                "mask": {"encrypt": {"key": "main"}},
                "when": {"column": "id", "equals": "p1"},
                "otherwise": [{"shorten": {"length": 3}}, {"encrypt": {"key": "main"}}],
            },
            "has two branches whose values look alike, and none says of which it is",
        ),
        ({"role": "other", "mask": {"nested": {"paths": {"$.a": {"hash": {"key": "main"}}}}}}, "what nested masks cannot be undone"),
    ],
)
def test_what_cannot_be_undone_is_told(say: Say, released: Path, write_policy: Callable[..., Path], column: dict[str, Any], words: str) -> None:
    policy = {"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": {**COLUMNS, "name": column}, "sink": "release.csv"}
    assert failed(say, write_policy(policy), "name") == (
        f"column name: {words} [reveal-irreversible]\n  try: encrypt, deterministic_encrypt, format_preserving_encrypt and tokenise can be undone\n"
    )


def test_a_view_reveals_what_it_masked(say: Say, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    say("keys", "new", "--id", "k1", "--output", tmp_path / "main.key")
    policy = {
        "source": "data.csv",
        "keys": {"main": {"file": "main.key"}},
        "columns": {"name": {"role": "identifier", "mask": {"deterministic_encrypt": {"key": "main"}}}},
        "views": {"doctor": {"sink": "release.csv"}, "nurse": {"sink": "nurse.csv"}},
    }
    path = write_policy(policy, "name\nAnn Canary\n")
    assert say("run", path)[0] == 0
    assert "[view-unknown]" in failed(say, path, "name")
    assert "[reveal-invalid]" in failed(say, path, "name", "--view", "nurse")
    assert reveal(say, path, "name", "--view", "doctor")[0] == 0
    assert (tmp_path / "revealed.csv").read_text() == "name\nAnn Canary\n"


def audited(path: Path) -> list[tuple[str, str, str]]:
    return [(line["column"], line["view"], line["outcome"]) for line in map(json.loads, path.read_text().splitlines())]


def test_every_attempt_is_in_the_audit_whatever_is_wrong_with_it(say: Say, released: Path, audit: Path) -> None:
    (released.parent / "there.csv").write_text("mine")
    reveal(say, released, "name", output="there.csv")
    reveal(say, released, "name", "--view", "nobody")
    say("reveal", released, "--column", "name", "--input", "x.csv", "--output", "-", "--purpose", "case 17")
    say("reveal", released, "--column", "name", "--input", "x.csv", "--output", "y.csv", "--purpose", "")
    say("reveal", released.parent / "none.yaml", "--column", "name", "--input", "x.csv", "--output", "y.csv", "--purpose", "case 17")
    assert audited(audit) == [
        ("name", "default", "output-exists"),
        ("name", "nobody", "view-unknown"),
        ("name", "default", "reveal-output"),
        ("name", "", "reveal-purpose"),
        ("name", "", "file-missing"),
    ]


CONDITION = {"column": "id", "equals": "p1"}


@pytest.mark.parametrize(
    ("otherwise", "left", "names"),
    [
        (None, 2, ["Ann Canary", "", "日本 🙂"]),
        ({"constant": {"value": "hidden"}}, 2, ["Ann Canary", "hidden", "hidden"]),
        ({"deterministic_encrypt": {"key": "main", "domain": "rest"}}, 0, ["Ann Canary", "", "日本 🙂"]),
    ],
)
def test_rows_that_a_condition_chose_are_revealed_where_values_say_that_they_were(
    say: Say, released: Path, write_policy: Callable[..., Path], otherwise: Any, left: int, names: list[str]
) -> None:
    column = {"role": "other", "mask": {"encrypt": {"key": "main"}}, "when": CONDITION, **({"otherwise": otherwise} if otherwise else {})}
    keys = {"main": {"file": "main.key"}}
    policy = write_policy({"source": "data.csv", "keys": keys, "columns": {**COLUMNS, "name": column}, "sink": "some.csv"})
    assert say("run", policy)[0] == 0
    status, printed, error = reveal(say, policy, "name", source="some.csv")
    assert status == 0, error
    more = f"{left} other values stay as they are: no mask that can be undone has made them\n" if left else ""
    assert (
        printed
        == f"{3 - left} value{'s' * (left == 0)} of name in {policy.parent / 'revealed.csv'}, which only you may read; the audit says so\n" + more
    )
    assert sorted(columns(policy.parent / "revealed.csv")["name"]) == sorted(names)


def test_a_changed_ciphertext_is_told_where_a_condition_chose_the_rows_too(say: Say, released: Path, write_policy: Callable[..., Path]) -> None:
    column = {"role": "other", "mask": {"encrypt": {"key": "main"}}, "when": CONDITION}
    policy = write_policy({"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": {**COLUMNS, "name": column}, "sink": "some.csv"})
    assert say("run", policy)[0] == 0
    text = (policy.parent / "some.csv").read_text()
    changed = re.sub(r"(?m)^([0-9]+,s1\.k1\..{9})(.)", lambda found: found[1] + ("A" if found[2] != "A" else "B"), text)
    assert changed != text
    (policy.parent / "some.csv").write_text(changed)
    assert "1 row with what encrypt has not made" in failed(say, policy, "name", source="some.csv")


def test_what_can_be_undone_within_documents_is_revealed(say: Say, tmp_path: Path, write_policy: Callable[..., Path], audit: Path) -> None:
    say("keys", "new", "--id", "k1", "--output", tmp_path / "main.key")
    paths = {
        "$.people[*].name": {"encrypt": {"key": "main"}},
        "$.people[*].town": {"constant": {"value": "somewhere"}},
        "$.card": {"format_preserving_encrypt": {"key": "main"}},
    }
    policy = {
        "source": "data.jsonl",
        "keys": {"main": {"file": "main.key"}},
        "columns": {"notes": {"role": "other", "mask": {"nested": {"paths": paths, "absent": "keep"}}}},
        "sink": "release.csv",
    }
    documents = [{"people": [{"name": "Ann", "town": "Rome"}, {"name": None, "town": "Pisa"}], "card": "4111111111111111"}, {"card": None}]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"notes": json.dumps(document)}) + "\n" for document in documents))
    path = write_policy(policy)
    assert say("plan", path)[1].count("sfumato reveal undoes it in part") == 1
    assert say("run", path)[0] == 0
    released = (tmp_path / "release.csv").read_text()
    assert "Ann" not in released
    assert "4111111111111111" not in released
    status, printed, error = reveal(say, path, "notes")
    assert status == 0, error
    assert "2 values of notes" in printed
    assert "nothing in such values says whether this key" in printed
    told = [json.loads(value) for value in pa.csv.read_csv(tmp_path / "revealed.csv")["notes"].to_pylist()]
    people = [{"name": "Ann", "town": "somewhere"}, {"name": None, "town": "somewhere"}]
    assert sorted(told, key=len) == [{"card": None}, {"people": people, "card": "4111111111111111"}]
    assert json.loads(audit.read_text().splitlines()[-1])["keys"] == ["k1"]
    (tmp_path / "release.csv").write_text(released.replace("s1.k1.", "s1.k1.A"))
    (tmp_path / "revealed.csv").unlink()
    assert "[reveal-invalid]" in failed(say, path, "notes")


def test_the_audit_names_the_key_of_the_vault(say: Say, tmp_path: Path, write_policy: Callable[..., Path], audit: Path) -> None:
    say("keys", "new", "--id", "k1", "--output", tmp_path / "main.key")
    columns = {"name": {"role": "identifier", "mask": {"tokenise": {"vault": "my.vault", "key": "main"}}}}
    path = write_policy({"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": columns, "sink": "release.csv"}, "name\nAnn\n")
    assert say("run", path)[0] == 0
    say("keys", "add", tmp_path / "main.key", "--id", "k2")
    assert reveal(say, path, "name")[0] == 0
    assert json.loads(audit.read_text().splitlines()[-1])["keys"] == ["k1"]


def test_only_columns_that_can_be_undone_are_offered(say: Say, released: Path) -> None:
    policy = json.loads(released.read_text())
    policy["columns"]["nama"] = {"role": "other", "mask": "constant"}
    released.write_text(json.dumps(policy))
    assert failed(say, released, "nam").endswith("  try: name\n")
    kept = {name: {**column, "mask": "constant"} if "mask" in column else column for name, column in policy["columns"].items()}
    released.write_text(json.dumps({**policy, "columns": kept}))
    assert failed(say, released, "nam").endswith("  try: the policy masks no column in a way that can be undone\n")


def test_what_the_command_of_a_key_complains_of_is_shown_to_nobody(write_policy: Callable[..., Path], capfd: pytest.CaptureFixture[str]) -> None:
    key = {"command": ["sh", "-c", "echo canary >&2; exit 3"]}
    columns = {"name": {"role": "identifier", "mask": {"hash": {"key": "main"}}}}
    path = write_policy({"source": "data.csv", "keys": {"main": key}, "columns": columns, "sink": "release.csv"}, "name\nann\n")

    assert run_command(["run", str(path)]) == 5
    told = capfd.readouterr().err
    assert "key main: the command sh ended with status 3 [key-missing]\n  try: run it by hand: what it complains of is not shown here\n" in told
    assert "canary" not in told


def test_two_branches_under_two_keys_are_both_revealed(say: Say, released: Path, write_policy: Callable[..., Path]) -> None:
    say("keys", "new", "--id", "x1", "--output", released.parent / "other.key")
    column = {"role": "other", "mask": {"encrypt": {"key": "main"}}, "when": CONDITION, "otherwise": {"encrypt": {"key": "other"}}}
    keys = {"main": {"file": "main.key"}, "other": {"file": "other.key"}}
    policy = write_policy({"source": "data.csv", "keys": keys, "columns": {**COLUMNS, "name": column}, "sink": "some.csv"})
    assert say("run", policy)[0] == 0
    status, _, error = reveal(say, policy, "name", source="some.csv")
    assert status == 0, error
    assert sorted(columns(policy.parent / "revealed.csv")["name"]) == sorted(name for _, name, _, _ in PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_reveal_that_is_ended_leaves_nothing_and_is_in_the_audit(
    number: signal.Signals, say: Say, tmp_path: Path, write_policy: Callable[..., Path], audit: Path
) -> None:
    say("keys", "new", "--id", "k1", "--output", tmp_path / "main.key")
    columns = {"name": {"role": "identifier", "mask": {"encrypt": {"key": "main"}}}}
    policy = {"source": "data.csv", "keys": {"main": {"file": "main.key"}}, "columns": columns, "sink": "release.csv"}
    path = write_policy(policy, "name\n" + "".join(f"Ann Canary {row}\n" for row in range(450_000)))
    assert say("run", path)[0] == 0
    arguments = ["reveal", path, "--column", "name", "--input", tmp_path / "release.csv", "--output", tmp_path / "names.csv", "--purpose", "x"]
    with subprocess.Popen([sys.executable, "-m", "sfumato", *map(str, arguments)], stderr=subprocess.DEVNULL) as process:
        staged = tmp_path / ".names.csv.sfumato"
        while not (staged.exists() and staged.stat().st_size):
            time.sleep(0.005)
        process.send_signal(number)
    outcomes = [json.loads(line)["outcome"] for line in audit.read_text().splitlines()]
    assert outcomes[0] == "begun"
    assert outcomes[1:] == ([] if number == signal.SIGKILL else ["interrupted"])
    # what a killed process has left is cleared away by the next start
    assert say("run", write_policy(policy, "name\nAnn Canary\n"))[0] == 0
    assert sorted(file.name for file in tmp_path.iterdir() if "names" in file.name) == []

"""Keys that stand where they should not, or that would never come to an end: nothing of one is shown, and nobody waits for ever."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core.keys import KeySource
from sfumato.engine.reveal import Request, reveal
from sfumato.errors import Mistake, PolicyError, SfumatoError, UsageError
from sfumato.key_material import without_keys

SECRET = "pepL0Z+Ql2V/F9fzQPhxG/iTBz7fUQEmTnIvGv5AOFg="
WRITTEN = f"167c6012:{SECRET}"


def shows_nothing(error: SfumatoError) -> bool:
    told = f"{error} {error.hint} {error.message} {json.dumps(error.as_mapping())}"
    return not any(SECRET[start : start + 8] in told for start in range(len(SECRET) - 8))


def policy(folder: Path, named: str, used: str) -> Path:
    (folder / "k.key").write_text(f"{WRITTEN}\n", encoding="utf-8")
    (folder / "k.key").chmod(0o600)
    (folder / "data.csv").write_text("name\nAnn\n", encoding="utf-8")
    path = folder / "p.yaml"
    mask = f'{{deterministic_encrypt: {{key: "{used}"}}}}'
    path.write_text(
        f'source: data.csv\nkeys: {{"{named}": {{file: k.key}}}}\ncolumns: {{name: {{role: identifier, mask: {mask}}}}}\nsink: out.csv\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("pasted", [WRITTEN, SECRET, WRITTEN.rstrip("="), WRITTEN.replace("+", "-").replace("/", "_")])
@pytest.mark.parametrize("where", ["used", "named", "both"])
def test_a_key_that_stands_where_its_name_belongs_is_not_shown(tmp_path: Path, pasted: str, where: str) -> None:
    path = policy(tmp_path, "k" if where == "used" else pasted, "k" if where == "named" else pasted)
    with pytest.raises(PolicyError) as caught:
        sfumato.plan(path)
    assert "policy-key-pasted" in {mistake.code for mistake in caught.value.mistakes}
    assert not any(part in str(caught.value) + json.dumps(caught.value.as_mapping()) for part in (pasted, pasted[12:30]))


RAW = bytes(range(7, 250, 11))
FORMS = [
    RAW[:16].hex(),
    RAW.hex().upper(),
    base64.b64encode(RAW[:16]).decode().rstrip("="),
    base64.urlsafe_b64encode(RAW).decode(),
    base64.b32encode(RAW[:16]).decode().rstrip("="),
    RAW[:16].hex(":"),
    RAW.hex(" ", 4),
    base64.b85encode(RAW).decode(),
]


@pytest.mark.parametrize("pasted", FORMS)
@pytest.mark.parametrize("where", ["name", "used", "file", "environment", "command", "setting"])
def test_a_key_in_any_writing_is_not_shown_where_it_was_pasted(tmp_path: Path, pasted: str, where: str) -> None:
    (tmp_path / "data.csv").write_text("name\nAnn\n", encoding="utf-8")
    source = {where: [pasted] if where == "command" else pasted} if where in ("file", "environment", "command") else {"file": "k.key"}
    keys = {pasted if where == "name" else "k": source if where != "setting" else {pasted: "x"}}
    mask = {"hash": {"key": pasted if where in ("name", "used") else "k"}}
    columns = {"name": {"role": "identifier", "mask": mask}}
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({"source": str(tmp_path / "data.csv"), "keys": keys, "columns": columns, "sink": str(tmp_path / "out.csv")})
    told = f"{caught.value} {json.dumps(caught.value.as_mapping())}"
    assert not any(pasted[start : start + 8] in told for start in range(len(pasted) - 8))
    assert "key k:" in told or "keys" in told
    assert caught.value.code in ("policy-key-pasted", "policy-unknown-key", "key-missing")


def is_hidden(pasted: str, told: str) -> bool:
    return not any(pasted[start : start + 8] in told for start in range(len(pasted) - 8))


@pytest.mark.parametrize("pasted", FORMS)
def test_a_plan_shows_no_key_that_was_pasted_as_another_name(tmp_path: Path, pasted: str) -> None:
    masks: dict[str, Any] = {
        "name": {"hash": {"key": "k", "domain": pasted}},
        "number": {"tokenise": {"namespace": pasted}},
        "account": {"tokenise": {"vault": str(tmp_path / pasted)}},
        "town": {"shuffle": {"together": pasted}},
        "country": {"shuffle": {"together": pasted}},
    }
    columns = {name: {"role": "identifier", "mask": mask} for name, mask in masks.items()}
    made = sfumato.plan({"keys": {"k": {"environment": "K"}}, "columns": columns}, data=pa.table({name: ["x", "y"] for name in masks}))
    assert is_hidden(pasted, f"{made} {json.dumps(made.as_mapping())} {made._repr_html_()}")
    assert made.as_mapping()["columns"]["name"]["mask"]["hash"]["key"] == "k"


@pytest.mark.parametrize("pasted", FORMS)
@pytest.mark.parametrize("mask", ["together", "called", "vault"])
def test_an_error_shows_no_key_that_was_pasted_as_another_name(tmp_path: Path, pasted: str, mask: str) -> None:
    (tmp_path / pasted).mkdir(parents=True)
    masks: dict[str, Any] = {
        "together": {"shuffle": {"together": pasted}},
        "called": {pasted: {}},
        "vault": {"tokenise": {"vault": str(tmp_path / pasted)}},
    }
    with pytest.raises(SfumatoError) as caught:
        sfumato.run({"columns": {"name": {"role": "identifier", "mask": masks[mask]}}}, data=pa.table({"name": ["Ann"]}))
    assert caught.value.code == {"together": "policy-mask-together", "called": "component-unknown", "vault": "vault-file"}[mask]
    assert is_hidden(pasted, f"{caught.value} {json.dumps(caught.value.as_mapping())}")


@pytest.mark.parametrize("name", [*FORMS, WRITTEN.replace("/", "_")])
def test_a_file_may_be_called_like_a_key_and_is_read_though_not_shown(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(f"{WRITTEN}\n", encoding="utf-8")
    file.chmod(0o644)
    assert name not in str(refused(file=str(file)))
    file.chmod(0o600)
    assert KeySource(file=str(file)).read("main")[0].id == "167c6012"


@pytest.mark.parametrize(
    "text",
    [
        "SFUMATO_KEY_OF_WARD_12_2026",
        "vault-read-pseudonyms",
        "keys/Research-2026/PatientNames/main.key",
        "${HOME}/keys/Research-2026/main.key",
        "keys (copy 2) of ward & wing.key",
    ],
)
def test_the_names_that_people_give_are_shown(text: str) -> None:
    assert text in str(refused(environment=text))
    assert text in str(refused(file=text))


@pytest.mark.parametrize("pasted", [WRITTEN, SECRET, f"k={WRITTEN}", f"k={SECRET}", WRITTEN.rstrip("=")])
def test_a_key_that_is_given_as_its_id_is_not_shown(tmp_path: Path, pasted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path / "home"))
    path = policy(tmp_path, "k", "k")
    with pytest.raises(UsageError) as caught:
        reveal(path, Request("name", "a test", None, [pasted]), tmp_path / "data.csv", tmp_path / "names.csv")
    assert caught.value.code == "key-id"
    assert shows_nothing(caught.value)
    written = "".join(file.read_text(errors="replace") for file in (tmp_path / "home").rglob("*") if file.is_file())
    assert SECRET[4:20] not in written


def test_no_error_shows_a_key_wherever_it_was_pasted() -> None:
    assert shows_nothing(UsageError(f"column {WRITTEN}: is not there", code="x", hint=f"only {WRITTEN} is known"))
    assert shows_nothing(PolicyError([Mistake(f"columns.{WRITTEN}", f"needs {SECRET}", code="x", hint=f"{WRITTEN}: ...")]))


@pytest.mark.parametrize(
    "text",
    ["file:///srv/releases/of/2026/Research/and/some/longer/folder", "sha256:" + "0123456789abcdef" * 4, "postgresql://Server/database_1"],
)
def test_what_is_no_key_is_shown(text: str) -> None:
    assert UsageError(f"{text} is not there", code="x").message == f"{text} is not there"


def refused(**source: Any) -> SfumatoError:
    with pytest.raises(SfumatoError) as caught:
        KeySource(**source).read("main")
    return caught.value


@pytest.mark.parametrize("source", [{"command": ["a\0b"]}, {"file": "a\0b"}, {"environment": "a\0b"}])
def test_what_no_system_can_be_asked_for_is_a_mistake_of_the_policy(source: dict[str, Any]) -> None:
    columns = {"name": {"role": "identifier", "mask": {"hash": {"key": "p"}}}}
    with pytest.raises(PolicyError) as caught:
        sfumato.run({"keys": {"p": source}, "columns": columns}, data=pa.table({"name": ["Ann"]}))
    assert "has a zero character in it" in str(caught.value)


def test_a_variable_with_its_value_is_not_to_be_exported() -> None:
    assert refused(environment="A=B").hint == "the name of the variable alone: none has = in it"
    assert refused(environment="A").hint == "export A=$(cat key), or name a file"


def test_a_command_that_prints_without_end_is_ended() -> None:
    error = refused(command=["sh", "-c", "yes & exec yes"])
    assert str(error) == "key main: it has more than 65536 bytes [key-unreadable]\n  try: make one with: sfumato keys new"


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.keys._SECONDS", 0.3)
    error = refused(command=["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/child; wait"])
    assert error.code == "key-missing"
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    for _ in range(100):
        if not _runs(child):
            return
        time.sleep(0.05)
    pytest.fail("what the command started goes on")


def test_what_a_command_leaves_behind_with_its_output_open_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.core.keys._SECONDS", 0.3)
    assert refused(command=["sh", "-c", "sleep 60 &"]).code == "key-missing"


def _runs(process: int) -> bool:
    status = Path(f"/proc/{process}/status")
    return status.exists() and re.search(r"State:\s+Z", status.read_text(encoding="utf-8")) is None


def test_a_pipe_that_nobody_writes_into_is_no_file_of_a_key(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        error = refused(file=str(tmp_path / name))
        assert str(error) == f"key main: {tmp_path / name} is no regular file [key-file]\n  try: a file, or command: [cat, ...] where it is a pipe"


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "k.key").write_bytes(b"#" * 200_000)
    (tmp_path / "k.key").chmod(0o600)
    assert refused(file=str(tmp_path / "k.key")).code == "key-unreadable"


PLACES: dict[str, Any] = {
    "key": lambda pasted: {"keys": {pasted: {"environment": "K"}}, "columns": {"name": {"role": "identifier", "mask": {"hash": {"key": "k"}}}}},
    "used": lambda pasted: {"keys": {"k": {"environment": "K"}}, "columns": {"name": {"role": "identifier", "mask": {"hash": {"key": pasted}}}}},
    "top": lambda pasted: {pasted: 1, "columns": {"name": {"role": "identifier"}}},
    "setting": lambda pasted: {"columns": {"name": {"role": "identifier", pasted: 1}}},
    "column": lambda pasted: {"columns": {pasted: {"role": "identifier"}, "name": {"role": "identifier"}}},
    "read": lambda pasted: {"columns": {"name": {"role": "other", "mask": {"shuffle": {"within": [pasted]}}}}},
    "subject": lambda pasted: {"subject": pasted, "columns": {"name": {"role": "identifier"}}},
    "role": lambda pasted: {"columns": {"name": {"role": pasted}}},
    "view": lambda pasted: {
        "columns": {"name": {"role": "other"}},
        "views": {pasted: {}, "other": {"derived_from": "another"}},
        "readers": {"r": [pasted, "another"]},
    },
    "algorithm": lambda pasted: {"algorithm": {pasted: {}}, "columns": {"name": {"role": "other"}}},
    "promise": lambda pasted: {"promises": [{"l_diversity": {"l": 2, "column": pasted}}], "columns": {"name": {"role": "other"}}},
}
WITHOUT_ITS_END = [SECRET.rstrip("="), f"x{SECRET}", f"x{SECRET}".rstrip("="), base64.b32encode(RAW).decode()]


@pytest.mark.parametrize("pasted", [*FORMS[:5], *WITHOUT_ITS_END], ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_no_message_that_quotes_the_policy_shows_a_key(pasted: str, place: str) -> None:
    with pytest.raises(SfumatoError) as caught:
        sfumato.run(PLACES[place](pasted), data=pa.table({"name": ["Ann", "Ben"]}))
    assert is_hidden(pasted, f"{caught.value} {json.dumps(caught.value.as_mapping())}")


def test_long_names_and_paths_are_shown_as_they_are() -> None:
    path = "/srv/research_2026/exports-of-the-ward/2026-11-17/patients_of_ward_12.csv"
    told = f"columns.date_of_last_discharge_from_ward_12: {path} has no column PatientAdmissionNumberOfWard"
    assert without_keys(told) == told

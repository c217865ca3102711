"""Revealing: what comes back is what was there, or nothing is written."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import sfumato
from sfumato.core.keys import new_key
from sfumato.engine.reveal import Request, Revealed, reveal
from sfumato.errors import DataError, SfumatoError, UsageError

ALIKE = "column value: has two branches whose values look alike, and none says of which it is"
WHEN = {"when": {"column": "kind", "equals": "x"}}
ENCRYPT_A, ENCRYPT_B = {"encrypt": {"key": "a"}}, {"encrypt": {"key": "b"}}
DIGITS_A, DIGITS_B = {"format_preserving_encrypt": {"key": "a"}}, {"format_preserving_encrypt": {"key": "b"}}
TOKENS = {"tokenise": {"order": "sequence", "vault": "my.vault"}}
CARDS = ["1234567890", "2345678901", "3456789012", "4567890123"]


@dataclass(frozen=True)
class Case:
    """A policy in a folder with two keys, whose release is revealed."""

    folder: Path

    def run(self, column: dict[str, Any], values: Sequence[str] = CARDS, sink: Any = "release.csv") -> None:
        rows = [("kind", "value"), *((("x", "y")[place % 2], value) for place, value in enumerate(values))]
        with (self.folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
        keys = {name: {"file": f"{name}.key"} for name in "ab"}
        columns = {"kind": {"role": "other"}, "value": {"role": "other", **column}}
        (self.folder / "policy.yaml").write_text(json.dumps({"source": "data.csv", "keys": keys, "columns": columns, "sink": sink}))
        sfumato.run(self.folder / "policy.yaml")

    def reveal(self, *key_ids: str, release: str = "release.csv") -> Revealed:
        (self.folder / "revealed.csv").unlink(missing_ok=True)
        request = Request("value", "case 17", None, key_ids)
        return reveal(self.folder / "policy.yaml", request, self.folder / release, self.folder / "revealed.csv")

    @property
    def revealed(self) -> list[str]:
        with (self.folder / "revealed.csv").open(newline="", encoding="utf-8") as file:
            return sorted(row["value"] for row in csv.DictReader(file))

    def change(self, pattern: str, new: str) -> None:
        path = self.folder / "release.csv"
        changed = re.sub(pattern, new, path.read_text())
        assert changed != path.read_text()
        path.write_text(changed)

    def refusal(self, *key_ids: str, release: str = "release.csv") -> SfumatoError:
        with pytest.raises((UsageError, DataError)) as caught:
            self.reveal(*key_ids, release=release)
        assert not (self.folder / "revealed.csv").exists()
        return caught.value

    def add_key(self, name: str, identity: str) -> None:
        path = self.folder / f"{name}.key"
        path.write_text(new_key(identity) + "\n" + path.read_text())


@pytest.fixture
def case(tmp_path: Path) -> Case:
    for name in "ab":
        (tmp_path / f"{name}.key").touch(mode=0o600)
        Case(tmp_path).add_key(name, f"{name}1")
    return Case(tmp_path)


# --- conditions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "otherwise"),
    [
        ([TOKENS, ENCRYPT_A], [ENCRYPT_A, "keep"]),
        ([ENCRYPT_A], [DIGITS_A, ENCRYPT_A, "keep"]),
        ([ENCRYPT_A], [{"hash": {"key": "a"}}, ENCRYPT_A, "keep"]),
        ([ENCRYPT_A], ["keep", {"constant": {}}, ENCRYPT_A]),
        ([DIGITS_A, ENCRYPT_A, "keep"], [ENCRYPT_A, "keep"]),
        ([ENCRYPT_A], [{"shorten": {"length": 3}}, ENCRYPT_A, {"shorten": {"length": 500}}]),
    ],
)
def test_an_operation_that_lets_ciphertexts_through_does_not_hide_that_branches_are_alike(case: Case, mask: list[Any], otherwise: list[Any]) -> None:
    case.run({"mask": mask, "otherwise": otherwise, **WHEN})
    assert case.refusal().message == ALIKE


@pytest.mark.parametrize("otherwise", [[ENCRYPT_B], [{"hash": {"key": "a"}}, ENCRYPT_B]])
def test_one_key_of_two_names_is_one_key(case: Case, otherwise: list[Any]) -> None:
    case.add_key("a", "a2")
    (case.folder / "b.key").write_text((case.folder / "a.key").read_text().splitlines()[1])
    case.run({"mask": [TOKENS, ENCRYPT_A], "otherwise": otherwise, **WHEN})
    assert case.refusal().message == ALIKE


@pytest.mark.parametrize(
    ("mask", "otherwise"),
    [
        ([ENCRYPT_A], [ENCRYPT_A, "keep"]),
        ([ENCRYPT_A, "keep"], [{"deterministic_encrypt": {"key": "a"}}]),
        ([TOKENS, ENCRYPT_A], [{"deterministic_encrypt": {"key": "a"}}]),
        ([TOKENS, ENCRYPT_A], [ENCRYPT_A, ENCRYPT_B]),
        ([ENCRYPT_A], [TOKENS, {"encrypt": {"key": "a", "domain": "rest"}}]),
    ],
)
def test_branches_that_can_be_told_apart_are_both_revealed(case: Case, mask: list[Any], otherwise: list[Any]) -> None:
    case.run({"mask": mask, "otherwise": otherwise, **WHEN}, ["4", "2", "1", "1", "2"])
    assert case.reveal() == Revealed(5, 0, ("a1", "b1") if ENCRYPT_B in otherwise else ("a1",), True)
    assert case.revealed == ["1", "1", "2", "2", "4"]


@pytest.mark.parametrize("lost", [ENCRYPT_B, {"deterministic_encrypt": {"key": "a"}}])
def test_ciphertexts_of_what_another_branch_has_lost_stay_as_they_are(case: Case, lost: dict[str, Any]) -> None:
    case.run({"mask": ENCRYPT_A, "otherwise": [{"constant": {"value": "hidden"}}, lost], **WHEN})
    assert case.reveal() == Revealed(2, 2, ("a1",), True)
    assert case.revealed[:2] == [CARDS[0], CARDS[2]]
    assert [value.startswith("s1.") for value in case.revealed[2:]] == [True, True]


@pytest.mark.parametrize(
    ("pattern", "new"), [(r"s1\.a1\.", "s1.a1.*"), (r"s1\.a1\.", "s2.a1."), (r"s1\.a1\.[^\n]*", "s1.a1"), (r"s1\.a1\.", " s1.a1.")]
)
def test_a_damaged_ciphertext_is_never_taken_for_a_value_that_a_condition_left(case: Case, pattern: str, new: str) -> None:
    case.run({"mask": ENCRYPT_A, **WHEN})
    case.change(pattern, new)
    assert case.refusal().message == "column value: 2 rows with what encrypt has not made, or not for this policy and view; nothing was written"


def test_a_value_that_only_looks_a_little_like_a_ciphertext_stays(case: Case) -> None:
    case.run({"mask": ENCRYPT_A, **WHEN}, ["Ann", "s3.example.org"])
    assert case.reveal().left == 1
    assert case.revealed == ["Ann", "s3.example.org"]


# --- several keys -------------------------------------------------------------------------------------------------------


def test_keys_of_several_names_are_chosen_by_name(case: Case) -> None:
    case.run({"mask": [DIGITS_A, DIGITS_B]})
    case.add_key("a", "a2")
    case.add_key("b", "b2")
    assert str(case.refusal("a1")) == (
        "column value: format_preserving_encrypt does not say under which key values were made, and b has several: b2, b1 [key-id]\n"
        "  try: --key-id b=b1, or b2: the one that was current when they were made"
    )
    for asked in (("a=a1", "b=b1"), ("a1", "b1"), ("a1", "b=b1")):
        assert not case.reveal(*asked).certain
        assert case.revealed == CARDS


def test_an_id_that_several_names_have_is_meant_of_all_unless_a_name_is_said(case: Case) -> None:
    for name in "ab":
        case.add_key(name, "2026")
    case.run({"mask": [DIGITS_A, DIGITS_B]})
    for name in "ab":
        case.add_key(name, "2027")
    case.reveal("2026")
    assert case.revealed == CARDS
    case.reveal("2027", "a=2026", "b=2026")
    assert case.revealed == CARDS


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("c=a1",), "column value: its mask needs no key c"),
        (("b=a1",), "key b: there is none with the id a1, only b1"),
        (("c1",), "column value: no key of its mask has the id c1"),
        (("a=a1", "a=a2"), "column value: two ids are given for one key"),
        (("a1", "a2"), "column value: two ids are given for one key"),
    ],
)
def test_a_key_that_is_not_there_or_named_twice_is_refused(case: Case, asked: tuple[str, ...], words: str) -> None:
    case.add_key("a", "a2")
    case.run({"mask": [DIGITS_A, DIGITS_B]})
    assert (case.refusal(*asked).code, case.refusal(*asked).message) == ("key-id", words)


@pytest.mark.parametrize("asked", [(), ("a2",), ("a1",)])
def test_what_lies_in_a_ciphertext_was_made_under_the_key_that_it_names(case: Case, asked: tuple[str, ...]) -> None:
    case.run({"mask": [DIGITS_A, ENCRYPT_A]}, CARDS[:2])
    old = (case.folder / "release.csv").read_text()
    case.add_key("a", "a2")
    case.run({"mask": [DIGITS_A, ENCRYPT_A]}, CARDS[2:])
    with (case.folder / "release.csv").open("a") as file:
        file.write(old.partition("\n")[2])
    assert case.reveal(*asked) == Revealed(4, 0, ("a1", "a2"), False)
    assert case.revealed == CARDS


def test_digits_in_a_ciphertext_of_another_key_still_need_theirs(case: Case) -> None:
    case.run({"mask": [DIGITS_A, ENCRYPT_B]})
    case.add_key("a", "a2")
    case.add_key("b", "b2")
    assert case.refusal().code == "key-id"
    case.reveal("a=a1")
    assert case.revealed == CARDS


# --- documents ----------------------------------------------------------------------------------------------------------


def nested(paths: dict[str, Any]) -> dict[str, Any]:
    return {"mask": {"nested": {"paths": paths, "others": "keep"}}}


def test_digits_of_numbers_come_back_to_the_last_one(case: Case) -> None:
    # of so many, some become digits that end with zeros
    numbers = sorted(f"{10 + row % 80}.{row * 7919 % 100000:05}{1 + row % 9}" for row in range(300))
    case.run(nested({"$.at": {"format_preserving_encrypt": {"key": "a", "keep": "."}}}), [f'{{"at":{number}}}' for number in numbers])
    case.reveal()
    assert sorted(str(json.loads(document)["at"]) for document in case.revealed) == numbers


def test_digits_of_numbers_outlive_a_program_that_writes_them_anew(case: Case) -> None:
    numbers = sorted(f"{10 + row % 80}.{row * 7919 % 100000:05}{1 + row % 9}" for row in range(300))
    mask = {"nested": {"paths": {"$[*]": {"format_preserving_encrypt": {"key": "a", "keep": "."}}}}}
    case.run({"mask": mask}, [f"[{number}]" for number in numbers], {"json_lines": {"path": "release.jsonl", "lists": ["value"]}})
    release = case.folder / "release.jsonl"
    release.write_text("".join(json.dumps(json.loads(line)) + "\n" for line in release.read_text().splitlines()))
    case.reveal(release="release.jsonl")
    assert sorted(str(json.loads(document)[0]) for document in case.revealed) == numbers


@pytest.mark.parametrize("masks", [(DIGITS_A, DIGITS_B), (ENCRYPT_A, ENCRYPT_B), (TOKENS, ENCRYPT_A), (ENCRYPT_A, "keep")])
def test_paths_that_lead_to_one_value_are_undone_from_the_last_to_the_first(case: Case, masks: tuple[Any, Any]) -> None:
    case.run(nested({"$.l[*]": masks[0], "$.l[0]": masks[1]}), ['{"l":["1234567","7654321"]}'])
    case.reveal()
    assert case.revealed == ['{"l":["1234567","7654321"]}']


@pytest.mark.parametrize("paths", [{"$.l[*]": ENCRYPT_A, "$.l[0]": "constant"}, {"$.l[0]": "constant", "$.l[*]": ENCRYPT_A}])
def test_a_value_of_which_one_of_two_paths_has_lost_something_stays_masked(case: Case, paths: dict[str, Any]) -> None:
    case.run(nested(paths), ['{"l":["1234567","7654321"]}'])
    case.reveal()
    first, second = json.loads(case.revealed[0])["l"]
    assert second == "7654321"
    assert first == "*" or first.startswith("s1.")


TEXTS = ['"1.10"', '"1e5"', '"NaN"', '"Infinity"', '"true"', '"00123"', '"123456789012345678901234567890.5"']


@pytest.mark.parametrize("mask", [{"tokenise": {"output": "integer", "vault": "my.vault"}}, ENCRYPT_A])
def test_texts_come_back_as_texts_whatever_they_look_like(case: Case, mask: dict[str, Any]) -> None:
    documents = [f'{{"n":{text}}}' for text in TEXTS]
    case.run(nested({"$.n": mask}), documents)
    assert case.reveal().certain
    assert case.revealed == sorted(documents)


@pytest.mark.parametrize("mask", [{"tokenise": {"output": "integer", "vault": "my.vault"}}, ENCRYPT_A])
def test_numbers_come_back_with_all_their_digits(case: Case, mask: dict[str, Any]) -> None:
    numbers = ["1234567890123456.789", "0.12345678901234567891", "12345678901234567890123", "1.10", "-0.0", "1E5"]
    case.run(nested({"$.n": mask}), [f'{{"n":{number}}}' for number in numbers])
    case.reveal()
    shortest = ["1234567890123456.789", "0.12345678901234567891", "12345678901234567890123", "1.1", "0", "100000"]
    assert sorted(json.loads(one)["n"] for one in case.revealed) == sorted(shortest)


def test_numbers_whose_tokens_are_numbers_like_them_come_back_as_numbers(case: Case) -> None:
    case.run(nested({"$.n": TOKENS}), ['{"n":1.0}', '{"n":2.50}', '{"n":true}', '{"n":"1"}'])
    case.reveal()
    assert case.revealed == ['{"n":"1"}', '{"n":1}', '{"n":2.5}', '{"n":true}']


# --- files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sink",
    [
        {"delimited": {"path": "release.csv", "header": False}},
        {"delimited": {"path": "release.csv", "delimiter": ";", "quote": "'"}},
        {"delimited": {"path": "release.dat", "delimiter": "\t", "header": False, "compression": "gzip"}},
        {"json_lines": {"path": "release.jsonl", "separator": "/"}},
        {"parquet": {"path": "parts", "partition_by": ["kind"]}},
        {"arrow": {"path": "release.bin"}},
        {"excel": {"path": "release.xlsx", "header": False, "sheet": "people"}},
    ],
    ids=lambda sink: "-".join([*sink, *next(iter(sink.values()))]),
)
def test_what_the_sink_of_the_policy_has_written_is_read_with_its_settings(case: Case, sink: dict[str, Any]) -> None:
    values = ["it's; one", 'a "second"', "third"]
    case.run({"mask": ENCRYPT_A}, values, sink)
    case.reveal(release=next(iter(sink.values()))["path"])
    assert case.revealed == sorted(values)


def test_a_copy_of_the_release_is_read_like_it_and_a_file_of_another_ending_by_that(case: Case) -> None:
    case.run({"mask": ENCRYPT_A}, sink={"delimited": {"path": "release.csv", "delimiter": ";"}})
    text = (case.folder / "release.csv").read_text()
    (case.folder / "copy.csv").write_text(text)
    (case.folder / "copy.tsv").write_text(text.replace(";", "\t"))
    for copy in ("copy.csv", "copy.tsv"):
        case.reveal(release=copy)
        assert case.revealed == CARDS


def test_a_stream_that_was_led_into_a_file_is_read_like_it(case: Case, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    case.run({"mask": ENCRYPT_A}, sink={"standard_output": {"delimiter": ";"}})
    (case.folder / "release.csv").write_bytes(capfdbinary.readouterr().out)
    case.reveal()
    assert case.revealed == CARDS


def test_a_file_without_a_header_needs_the_record_that_names_its_columns(case: Case) -> None:
    case.run({"mask": ENCRYPT_A}, sink={"delimited": {"path": "release.csv", "header": False}})
    record = case.folder / "release.csv.record.json"
    assert json.loads(record.read_text())["release_columns"] == ["kind", "value"]
    record.rename(case.folder / "copy.csv.record.json")
    (case.folder / "copy.csv").write_text((case.folder / "release.csv").read_text())
    case.reveal(release="copy.csv")
    assert case.revealed == CARDS
    (case.folder / "revealed.csv").unlink()
    assert str(case.refusal()) == (
        f"{case.folder / 'release.csv'} has no header, and there is no record that says how its columns are called [reveal-header]\n"
        "  try: put the record of its run beside it, as release.csv.record.json"
    )
    for broken in ("", "[]", "{}", '{"release_columns": "kind"}', '{"release_columns": [1]}'):
        record.write_text(broken)
        assert case.refusal().code == "reveal-header"


def test_cells_that_are_taken_for_names_are_never_told(case: Case) -> None:
    case.run({"mask": ENCRYPT_A})
    (case.folder / "release.csv").write_text("Ann Canary,s1.a1.AAAA\nBo Canary,s1.a1.AAAB\n")
    assert str(case.refusal()) == (
        "the input has no column value [column-unknown]\n"
        "  try: the file that the policy's sink has written, or one whose first line names its columns"
    )
    (case.folder / "release.csv").write_text("Ann Canary,kind\nBo Canary,x\n")
    assert case.refusal().hint == "only kind is known"


@pytest.mark.parametrize(("release", "code"), [("*.csv", "reveal-input"), (".", "reveal-input"), ("release.ods", "format-unknown")])
def test_only_one_file_of_a_known_format_is_read(case: Case, release: str, code: str) -> None:
    case.run({"mask": ENCRYPT_A})
    (case.folder / "other.csv").write_text("kind,Ann Canary\nx,1\n")
    error = case.refusal(release=release)
    assert error.code == code
    assert "Canary" not in str(error)


# --- the audit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["purpose", "column", "input", "output", "view"])
def test_bytes_that_are_no_text_are_refused_and_stand_in_the_audit(case: Case, installation: Path, name: str) -> None:
    case.run({"mask": ENCRYPT_A})
    given = {"column": "value", "purpose": "case 17", "view": None, "input": "release.csv", "output": "revealed.csv"} | {name: "a\udcff.csv"}
    request = Request(str(given["column"]), str(given["purpose"]), given["view"])
    with pytest.raises(UsageError) as caught:
        reveal(case.folder / "policy.yaml", request, case.folder / str(given["input"]), case.folder / str(given["output"]))
    assert (caught.value.code, caught.value.message) == ("argument-encoding", f"--{name} holds bytes that are no UTF-8 text")
    last = json.loads((installation / "audit" / "reveals.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert last["outcome"] == "argument-encoding"
    assert last[name].endswith("a\udcff.csv")


def test_nobody_changes_the_user_of_the_audit_by_the_environment(case: Case, installation: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case.run({"mask": ENCRYPT_A})
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "mallory")
    case.reveal()
    # a number where the user has no name
    told = [subprocess.run(["id", "--user", *more], capture_output=True, text=True, check=False).stdout.strip() for more in (["--name"], [])]
    assert json.loads((installation / "audit" / "reveals.jsonl").read_text(encoding="utf-8").splitlines()[-1])["user"] == (told[0] or told[1])


@pytest.mark.parametrize("sink", [{"json_lines": {"path": "release.jsonl", "lists": ["tags"]}}, "release.parquet", "release.arrow"], ids=str)
def test_lists_beside_what_is_revealed_stay_lists(case: Case, sink: Any) -> None:
    values, tags = CARDS[:2], [["a", None], []]
    name = sink if isinstance(sink, str) else sink["json_lines"]["path"]
    columns = {"value": {"role": "identifier", "mask": ENCRYPT_A}, "tags": {"role": "other", "mask": {"nested": {"paths": {"$[*]": "keep"}}}}}
    policy = {"source": "data.parquet", "keys": {"a": {"file": "a.key"}}, "columns": columns, "sink": sink}
    (case.folder / "policy.yaml").write_text(json.dumps(policy))
    parquet.write_table(pa.table({"value": values, "tags": tags}), case.folder / "data.parquet")
    sfumato.run(case.folder / "policy.yaml")

    revealed = case.folder / f"revealed{Path(name).suffix}"
    reveal(case.folder / "policy.yaml", Request("value", "case 17"), case.folder / name, revealed)

    if revealed.suffix == ".jsonl":
        found = [json.loads(line) for line in revealed.read_text().splitlines()]
    else:
        found = (parquet.read_table(revealed) if revealed.suffix == ".parquet" else feather.read_table(revealed)).to_pylist()
    assert sorted(found, key=lambda row: row["value"]) == [{"value": value, "tags": tag} for value, tag in zip(values, tags, strict=True)]

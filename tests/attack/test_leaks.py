"""What an attacker with the source's order, the policy, the record and the logs would try."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import PromiseError, SfumatoError

PEOPLE = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}


def table(rows: int, seed: int = 1) -> pa.Table:
    chance = random.Random(seed)
    return pa.table(
        {
            "age": [chance.randrange(20, 70) for _ in range(rows)],
            "sex": [chance.choice("fm") for _ in range(rows)],
            "illness": [f"ill{chance.randrange(6)}" for _ in range(rows)],
        }
    )


def policy(k: int = 4, **further: object) -> dict:
    return {"columns": PEOPLE, "promises": [{"k_anonymity": {"k": k}}], **further}


def classes(release: pa.Table, *names: str) -> Counter:
    return Counter(zip(*(release[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_the_order_of_a_release_says_nothing_about_the_order_of_its_source(algorithm: str) -> None:
    data = table(300)
    order = list(range(300))
    random.Random(7).shuffle(order)
    one = sfumato.run(policy(algorithm=algorithm), data=data).table
    other = sfumato.run(policy(algorithm=algorithm), data=data.take(order)).table
    assert one.equals(other)
    assert one["illness"].to_pylist() != data["illness"].to_pylist()


def test_rows_of_a_class_do_not_follow_each_other_as_in_the_source() -> None:
    rows = 600
    data = table(rows).append_column("number", pa.array([f"{i:04d}" for i in range(rows)]))
    columns = {**PEOPLE, "number": {"role": "other", "accept": "singling_out"}}
    release = sfumato.run({**policy(), "columns": columns}, data=data).table
    members: dict[tuple, list[str]] = {}
    for age, sex, number in zip(release["age"].to_pylist(), release["sex"].to_pylist(), release["number"].to_pylist(), strict=True):
        members.setdefault((age, sex), []).append(number)
    in_source_order = sum(numbers == sorted(numbers) for numbers in members.values())
    # four rows stand in one given order by chance once in 24 times
    assert in_source_order < len(members) / 4


def test_with_masks_the_order_within_a_class_is_random() -> None:
    data = table(300).append_column("name", pa.array([f"person {i}" for i in range(300)]))
    columns = {**PEOPLE, "name": {"role": "identifier", "mask": "constant"}}
    releases = [sfumato.run({**policy(), "columns": columns}, data=data).table for _ in range(2)]
    assert set(releases[0]["name"].to_pylist()) == {"*"}
    assert not releases[0].equals(releases[1])
    assert classes(releases[0], "age", "sex", "illness") == classes(releases[1], "age", "sex", "illness")


@pytest.mark.parametrize("algorithm", ["datafly"])
def test_a_lone_suppressed_row_is_never_published_and_cannot_be_counted(algorithm: str) -> None:
    data = pa.table({"age": ["30"] * 8 + ["99"], "sex": ["f"] * 9, "illness": ["a", "b", "c", "d"] * 2 + ["HIV"]})
    columns = {**PEOPLE, "age": {"role": "quasi_identifier", "level": {"maximum": 0}}}
    release = sfumato.run({**policy(), "columns": columns, "suppression_limit": 0.2, "algorithm": algorithm}, data=data)
    assert release.table.num_rows == 8
    assert "HIV" not in release.table["illness"].to_pylist()
    assert release.record.rows.suppressed == "< 4"
    assert release.record.rows.in_ == "< 12"
    told = json.dumps(release.record.as_mapping())
    before = release.record.measures["before"]
    assert before["classes"] * before["average_class_size"] * 4 == pytest.approx(8)
    assert "HIV" not in told


def test_one_person_in_many_rows_counts_once() -> None:
    # ten rows of one age are one person's; without the subject they would pass for ten people
    data = pa.table(
        {
            "person": ["p0"] * 10 + [f"p{i}" for i in range(1, 12)],
            "age": [40] * 10 + [41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51],
            "sex": ["f"] * 21,
            "illness": [f"ill{i % 5}" for i in range(21)],
        }
    )
    columns = {"person": {"role": "identifier"}, **PEOPLE}
    release = sfumato.run({**policy(k=3), "columns": columns, "subject": "person"}, data=data)
    without = sfumato.run({**policy(k=3), "columns": columns}, data=data)
    assert "40" in without.table["age"].to_pylist()
    for interval, rows in Counter(release.table["age"].to_pylist()).items():
        low, high = (int(end) for end in interval.strip("[]").split(", "))
        people = {p for p, age in zip(data["person"].to_pylist(), data["age"].to_pylist(), strict=True) if low <= age <= high}
        assert len(people) >= 3
        assert rows >= 3
    assert release.record.promises[0].measured == min(
        len({p for p, age in zip(data["person"].to_pylist(), data["age"].to_pylist(), strict=True) if low <= age <= high})
        for low, high in ([int(end) for end in text.strip("[]").split(", ")] for text in set(release.table["age"].to_pylist()))
    )


@pytest.mark.parametrize("coded", [False, True], ids=["texts", "codes"])
def test_a_missing_subject_and_an_empty_one_are_one_person(coded: bool) -> None:
    whose = pa.array([None, "", "a"])
    data = pa.table({"person": whose.dictionary_encode() if coded else whose, "age": [10, 20, 30]})
    asked = {"subject": "person", "columns": {"person": {"role": "identifier"}, "age": {"role": "quasi_identifier"}}}

    with pytest.raises(PromiseError):
        sfumato.run(asked | {"promises": [{"k_anonymity": {"k": 3}}]}, data=data)
    assert sfumato.run(asked | {"promises": [{"k_anonymity": {"k": 2}}]}, data=data).record.promises[0].measured == 2


def test_the_mean_of_a_missing_subject_and_an_empty_one_is_that_of_one_person() -> None:
    data = pa.table({"person": pa.array([None, "", None, ""]), "pay": [10, 20, 30, 40]})
    columns = {"person": {"role": "identifier"}, "pay": {"role": "other", "mask": "microaggregate"}}

    with pytest.raises(SfumatoError) as raised:
        sfumato.run({"subject": "person", "columns": columns}, data=data)
    assert raised.value.code == "mask-invalid"


def test_a_nearly_unique_column_left_as_other_stops_the_run() -> None:
    data = table(50).append_column("note", pa.array([f"note {i}" for i in range(50)]))
    columns = {**PEOPLE, "note": {"role": "other"}}
    with pytest.raises(PromiseError) as raised:
        sfumato.run({**policy(), "columns": columns}, data=data)
    assert raised.value.code == "singling-out"
    assert "note 1" not in str(raised.value)
    accepted = sfumato.run({**policy(), "columns": columns, "accept": "singling_out"}, data=data)
    assert accepted.table.num_rows == 50


CANARY = "Zebulon-Quetzal"


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({}, None),
        ({"promises": [{"k_anonymity": {"k": 500}}]}, None),
        ({"columns": {"job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"Root": ["a", "b"]}}}}}}, None),
        ({"columns": {"job": {"role": "quasi_identifier", "type": "integer"}}}, None),
        ({"columns": {"job": {"role": "quasi_identifier", "hierarchy": "interval"}}}, None),
        ({"columns": {"illness": {"role": "other"}}}, None),
        ({"promises": [{"k_anonymity": {"k": 2}}, {"l_diversity": {"column": "illness", "l": 90}}]}, None),
        ({}, f"name,job,illness\n{CANARY},{CANARY}\n"),
        ({}, f"name,job,illness\n{CANARY},{CANARY},x,y\n"),
        ({}, f'name,job,illness\n{CANARY},"{CANARY},x\n'),
        ({}, f'name,job,illness\n{CANARY},"{CANARY}"x,y\n'),
        ({}, f"name,job,illness\n{CANARY},{CANARY},\udcff\n"),
        ({"sink": "missing.parquet/x/../../nowhere/\0"}, None),
    ],
)
@pytest.mark.parametrize("format", ["text", "json"])
def test_no_message_record_or_status_holds_a_planted_value(
    change: dict,
    data: str | None,
    format: str,
    tmp_path: Path,
    write_policy: Callable[..., Path],
    sfumato_command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    columns = {"name": {"role": "identifier"}, "job": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    asked = {"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "sink": "release.csv"}
    asked = {**asked, **change, "columns": {**columns, **change.get("columns", {})}}
    rows = data or "name,job,illness\n" + "".join(f"{CANARY} {i},{CANARY} {i // 2},{CANARY} {i}\n" for i in range(40))
    path = write_policy(asked)
    (tmp_path / "data.csv").write_bytes(rows.encode("utf-8", "surrogateescape"))

    ended = sfumato_command("run", path, "--format", format)

    assert CANARY not in ended.stderr
    assert CANARY not in ended.stdout
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 3, 4, 5, 6)
    record = tmp_path / "release.csv.record.json"
    assert record.exists() == (ended.returncode == 0)
    if record.exists():
        assert CANARY not in record.read_text()


def test_private_folders_and_files_are_private(tmp_path: Path, write_policy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # an installation of its own: what other tests have killed may lie in the common one
    home = tmp_path / "home"
    monkeypatch.setenv("SFUMATO_HOME", str(home))
    path = write_policy({"source": "data.csv", **policy(), "sink": "release.csv"}, "age,sex,illness\n" + "30,f,a\n31,m,b\n" * 10)
    sfumato.run(path)
    runs = list((home / "runs").iterdir())
    assert runs
    for place in [home, home / "runs", home / "work", *runs]:
        assert place.stat().st_mode & 0o777 == 0o700
    for file in [home / "key", *(file for run in runs for file in run.iterdir())]:
        assert file.stat().st_mode & 0o777 == 0o600
    assert list((home / "work").iterdir()) == []


@pytest.mark.slow
def test_progress_on_a_terminal_names_stages_and_counts_only(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    rows = "name,job,illness\n" + "".join(f"{CANARY} {i},{CANARY} {i % 900},{CANARY} {i % 50}\n" for i in range(100_000))
    columns = {"name": {"role": "identifier"}, "job": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}
    policy = {"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "sink": "release.csv"}
    terminal, theirs = pty.openpty()
    # a bar appears when a stage has taken a second; here at once
    command = "import sys, sfumato.cli.progress as p; p._PATIENCE = 0.0; from sfumato.__main__ import main; main()"
    process = subprocess.Popen([sys.executable, "-c", command, "run", str(write_policy(policy, rows))], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            shown += part
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"rows/s" in shown
    assert CANARY.encode() not in shown + told


def test_a_suppressed_person_cannot_be_worked_out_from_the_measures() -> None:
    # the suppressed row alone has this age: the width of the column must not show it
    ages = [20 + i % 10 for i in range(40)]
    columns = {
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"width": 5}}, "level": {"minimum": 1}},
        "illness": {"role": "sensitive"},
    }
    promises = [{"k_anonymity": {"k": 3}}, {"t_closeness": {"column": "illness", "t": 0.6}}]
    policy = {"columns": columns, "promises": promises, "algorithm": "datafly", "suppression_limit": 0.05}
    records = [
        sfumato.run(policy, data=pa.table({"age": [*ages, oldest], "illness": ["flu" if i % 3 else "cold" for i in range(41)]})).record
        for oldest in (90, 117)
    ]
    one, other = (record.as_mapping() for record in records)
    assert one["rows"]["suppressed"] == "< 3"
    assert one["measures"] == other["measures"]
    assert one["promises"] == other["promises"]
    assert len(str(one["promises"][1]["measured"])) <= 4


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
@pytest.mark.parametrize(
    ("values", "hierarchy", "allowed"),
    [
        (["12345", "99999"], {"prefix": {}}, {"1234*", "9999*", "*"}),
        (["25", "47"], {"interval": {"width": 10}}, {"[20, 29]", "[40, 49]", "*"}),
        (["Paris", "Rome"], {"taxonomy": {"tree": {"Root": ["France", "Italy"], "France": ["Paris"], "Italy": ["Rome"]}}}, {"France", "Italy", "*"}),
    ],
)
def test_nothing_finer_than_the_least_level_is_published(algorithm: str, values: list, hierarchy: dict, allowed: set) -> None:
    data = pa.table({"q": [value for value in values for _ in range(3)], "s": ["x"] * 6})
    columns = {"q": {"role": "quasi_identifier", "hierarchy": hierarchy, "level": {"minimum": 1}}, "s": {"role": "sensitive"}}
    release = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}], "algorithm": algorithm}, data=data)
    assert set(release.table["q"].to_pylist()) <= allowed
    assert release.table["q"].to_pylist() != ["*"] * 6


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly"])
def test_an_unknown_or_missing_value_is_never_published_below_a_named_root(algorithm: str) -> None:
    data = pa.table({"city": ["Paris"] * 3 + ["Tokyo"] * 3 + [None, "Rome"], "s": ["x"] * 8})
    columns = {
        "city": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"Europe": ["Paris", "Rome"]}}}, "on_unknown": "generalise"},
        "s": {"role": "sensitive"},
    }
    release = sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "algorithm": algorithm}, data=data)
    shown = Counter(release.table["city"].to_pylist())
    assert shown["*"] >= 4
    assert shown["Europe"] <= 4


def test_a_file_without_a_header_does_not_put_its_first_row_into_a_message(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    from sfumato.errors import DataError

    path = write_policy({"source": "data.csv", **policy(), "sink": "release.csv"}, f"{CANARY},10961,HIV\nBo,10962,flu\n")
    with pytest.raises(DataError) as raised:
        sfumato.run(path)
    assert CANARY not in str(raised.value)
    assert "header: false" in str(raised.value)

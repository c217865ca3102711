"""Drift: whether a policy still fits its source, and its last release its promises."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import sfumato
from sfumato.core import places
from sfumato.engine.drift import drift

TOWNS = ["Bremen", "Ulm", "Bonn"]
Command = Callable[..., subprocess.CompletedProcess[str]]


def policy(folder: Path, **more: Any) -> dict[str, Any]:
    columns: Mapping[str, Any] = {
        "age": {"role": "quasi_identifier"},
        "town": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"tree": {"all": TOWNS}}}, "on_unknown": "generalise"},
        "illness": {"role": "sensitive"},
    }
    source, sink = str(folder / "people.csv"), str(folder / "release.csv")
    return {"source": source, "columns": columns, "unnamed": "remove", "promises": [{"k_anonymity": {"k": 3}}], "sink": sink, **more}


def write(folder: Path, rows: int = 60, header: str = "age,town,illness", town: Callable[[int], str] = lambda number: TOWNS[number % 3]) -> None:
    lines = [f"{20 + number % 30},{town(number)},i{number % 4}" + (",x" if header.count(",") > 2 else "") for number in range(rows)]
    (folder / "people.csv").write_text("\n".join([header, *lines]) + "\n")


@pytest.fixture
def released(tmp_path: Path) -> Path:
    write(tmp_path)
    sfumato.run(policy(tmp_path))
    return tmp_path


def test_nothing_drifts_where_nothing_has_changed(released: Path) -> None:
    outcome = drift(policy(released))

    assert outcome.found == []
    assert outcome.since is not None


def test_a_release_that_nobody_has_made_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    outcome = drift(policy(tmp_path))

    assert outcome.since is None
    assert [each.what for each in outcome.found] == ["release"]


def test_new_columns_and_columns_that_are_gone_are_told(released: Path) -> None:
    write(released, header="age,town,illness,secret")
    assert [(each.what, each.words) for each in drift(policy(released)).found] == [("schema", "the source has new columns: secret")]

    strict = {**policy(released), "unnamed": "refuse"}
    assert [each.what for each in drift(strict).found] == ["schema"]

    write(released, header="age,city,illness")
    (found,) = drift(policy(released)).found
    assert found.what == "schema"
    assert "town" in found.words


def test_columns_of_another_type_are_told(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    own = {**policy(tmp_path), "source": str(tmp_path / "people.parquet")}
    ages = [20 + number % 30 for number in range(60)]
    others = {"town": [TOWNS[number % 3] for number in range(60)], "illness": ["x"] * 60}
    pa.parquet.write_table(pa.table({"age": pa.array(ages, pa.int32()), **others}), tmp_path / "people.parquet")
    sfumato.run(own)
    pa.parquet.write_table(pa.table({"age": pa.array(ages, pa.float64()), **others}), tmp_path / "people.parquet")

    assert [each.words for each in drift(own).found] == ["column age was of type integer of 32 bits and is of type double"]


@pytest.mark.parametrize(("way", "done"), [("generalise", "generalised"), ("suppress", "suppressed")])
@pytest.mark.parametrize(("strangers", "told"), [(7, "7"), (2, "< 3")])
def test_values_of_which_the_policy_says_what_becomes_of_them_are_a_note(tmp_path: Path, way: str, done: str, strangers: int, told: str) -> None:
    write(tmp_path, town=lambda number: "Secretville" if number < strangers else TOWNS[number % 3])
    own = {**policy(tmp_path), "suppression_limit": 0.5}
    own["columns"] = {**own["columns"], "town": {**own["columns"]["town"], "on_unknown": way}}
    sfumato.run(own)
    outcome = drift(own)

    assert outcome.found == []
    assert outcome.notes == [f"column town: {told} rows with a value that its hierarchy does not know, which is {done} as the policy says"]


def test_values_that_nobody_has_foreseen_are_counted_and_not_told(released: Path) -> None:
    write(released, town=lambda number: "Secretville" if number < 7 else TOWNS[number % 3])
    strict = policy(released)
    strict["columns"] = {**strict["columns"], "town": {**strict["columns"]["town"], "on_unknown": "error"}}
    (found,) = drift(strict).found

    assert (found.what, found.words.split(" [")[0]) == ("values", "column town: 7 rows with a value that its hierarchy does not know")
    assert "Secretville" not in found.words


@pytest.mark.parametrize(
    ("header", "unnamed"), [("age,town,illness,secret", "refuse"), ("age,city,illness", "refuse"), ("age,city,illness", "remove")]
)
def test_a_source_with_other_columns_hides_nothing_of_the_release(tmp_path: Path, header: str, unnamed: str) -> None:
    own = {**policy(tmp_path), "unnamed": unnamed}
    write(tmp_path)
    sfumato.run(own)
    write(tmp_path, header=header)
    release = tmp_path / "release.csv"
    lines = release.read_text().splitlines()
    release.write_text("\n".join([*lines[:-1], "99,Ulm,i1"]) + "\n")
    schema, *others = drift(own).found

    assert schema.what == "schema"
    assert [(each.what, each.words.split(" (")[0]) for each in others] == [
        ("release", "the release holds other values than were published"),
        ("promises", "the release as it is there does not keep k_anonymity"),
    ]


def test_a_source_with_new_columns_hides_nothing_of_its_others(tmp_path: Path) -> None:
    own = {**policy(tmp_path), "unnamed": "refuse"}
    own["columns"] = {**own["columns"], "town": {**own["columns"]["town"], "on_unknown": "error"}}
    write(tmp_path)
    sfumato.run(own)
    write(tmp_path, header="age,town,illness,secret", town=lambda number: "Secretville" if number < 7 else TOWNS[number % 3])

    assert [(each.what, each.words.split(" [")[0]) for each in drift(own).found] == [
        ("schema", "the source has columns that the policy does not name: secret"),
        ("values", "column town: 7 rows with a value that its hierarchy does not know"),
    ]


def test_promises_that_can_no_longer_be_kept_are_told(released: Path) -> None:
    write(released, rows=2)
    found = drift(policy(released)).found

    assert "promises" in [each.what for each in found]


def test_a_release_that_somebody_has_changed_is_told(released: Path) -> None:
    release = released / "release.csv"
    lines = release.read_text().splitlines()
    release.write_text("\n".join([*lines[:-1], "99,Ulm,i1"]) + "\n")
    changed, found = drift(policy(released)).found
    assert (changed.what, changed.words) == ("release", "the release holds other values than were published")
    assert found.what == "promises"
    assert "k_anonymity (asked 3, measured 1)" in found.words

    release.write_text("\n".join(lines[:-5]) + "\n")
    assert "the release has 55 rows, and its record says 60" in [each.words for each in drift(policy(released)).found]

    release.write_text("something\n1\n")
    assert [each.what for each in drift(policy(released)).found] == ["release"]

    release.unlink()
    assert [each.what for each in drift(policy(released)).found] == ["release"]


@pytest.mark.parametrize("name", ["release.csv", "release.parquet", "release.jsonl"])
def test_a_release_whose_values_were_changed_within_its_promises_is_told(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    own = {**policy(tmp_path), "sink": str(tmp_path / name)}
    sfumato.run(own)
    assert drift(own).found == []

    write(tmp_path, town=lambda number: TOWNS[number % 2])
    other = tmp_path / "other"
    other.mkdir()
    sfumato.run({**own, "sink": str(other / name)})
    (other / name).replace(tmp_path / name)
    assert [(each.what, each.words) for each in drift(own).found] == [("release", "the release holds other values than were published")]


def test_a_release_with_a_column_more_is_told(released: Path) -> None:
    release = released / "release.csv"
    header, *lines = release.read_text().splitlines()
    release.write_text("\n".join([f"{header},name", *(f"{line},x" for line in lines)]) + "\n")
    (found,) = drift(policy(released)).found
    assert (found.what, found.words) == ("release", "the release has other columns than were published: name is new")


def test_a_release_is_known_however_many_runs_came_after_it(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.engine.publish._RUNS_KEPT", 2)
    for _ in range(4):
        sfumato.run({**policy(released), "sink": str(released / "other.csv")})
    assert drift(policy(released)).since is not None
    # and of the other release no more than its last runs
    kept = [json.loads(path.read_text())["record"]["files"] for path in places.folder("runs").glob("*/run.json")]
    assert kept.count([str(released / "other.csv")]) == 2


def test_a_run_that_another_one_removes_meanwhile_is_none(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = str(released / "other.csv")
    sfumato.run({**policy(released), "sink": other})
    (gone,) = (path.parent for path in places.folder("runs").glob("*/run.json") if json.loads(path.read_text())["record"]["files"] == [other])
    read = Path.read_text

    def read_meanwhile(path: Path, **more: Any) -> str:
        if path.parent == gone:
            shutil.rmtree(gone)
        return read(path, **more)

    monkeypatch.setattr(Path, "read_text", read_meanwhile)
    assert drift(policy(released)).since is not None
    assert not gone.exists()


def test_a_release_of_which_nothing_is_known_has_a_status_of_its_own(released: Path, sfumato_command: Command) -> None:
    path = released / "policy.yaml"
    path.write_text(json.dumps(policy(released)))
    for folder in places.folder("runs").iterdir():
        shutil.rmtree(folder)
    unknown = sfumato_command("drift", path)
    assert (unknown.returncode, "nothing has drifted" in unknown.stdout, "[drift-unknown]" in unknown.stderr) == (7, False, True)


def test_the_status_tells_a_pipeline(tmp_path: Path, sfumato_command: Command) -> None:
    write(tmp_path)
    released, path = tmp_path, tmp_path / "policy.yaml"
    own = policy(released)
    own["columns"] = {**own["columns"], "town": {**own["columns"]["town"], "on_unknown": "error"}}
    path.write_text(json.dumps(own))
    sfumato.run(path)
    fine = sfumato_command("drift", path)
    assert (fine.returncode, fine.stdout.splitlines()[-1]) == (0, "nothing has drifted")

    write(released, town=lambda _: "Elsewhere")
    bad = sfumato_command("drift", path)
    assert bad.returncode == 7
    assert "values: column town: 60 rows" in bad.stdout
    assert "drifted" in bad.stderr
    told = sfumato_command("drift", path, "--format", "json")
    assert json.loads(told.stdout.split("\n}\n", 1)[0] + "\n}")["drifted"][0]["what"] == "values"

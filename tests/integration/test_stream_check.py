"""``sfumato stream check`` as a user calls it: a release is held against its source, and whatever somebody has changed in it is found."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.core.keys import new_key
from sfumato.engine.stream.running import Running, run_stream

CANARY = "Qkxcanary"
POLICY: dict[str, Any] = {
    "source": "events.jsonl",
    "subject": "pid",
    "columns": {
        "pid": {"role": "identifier"},
        "at": {"role": "identifier", "type": "timestamp"},
        "age": {"role": "quasi_identifier", "type": "integer"},
        "zip": {"role": "quasi_identifier", "type": "text", "hierarchy": {"prefix": {}}},
        "item": {"role": "identifier"},
        "illness": {"role": "sensitive"},
    },
    "promises": [{"k_anonymity": {"k": 3}}, {"l_diversity": {"column": "illness", "l": 2}}],
    "stream": {"state": "state", "batch": 50, "learn": 50},
    "sink": "release.jsonl",
}
EVENTS = {
    "columns": POLICY["columns"]
    | {name: {"role": "identifier"} for name in ("age", "zip")}
    | {"item": {"role": "other"}, "pid": {"role": "other", "accept": "singling_out"}},
    "promises": [],
}
WAYS: dict[str, dict[str, Any]] = {
    "windows": {"window": {"count": 40}, "promises": [*POLICY["promises"], {"t_closeness": {"column": "illness", "t": 0.6}}]},
    "sessions": {"window": {"session": "30s", "column": "at"}},
    "means": {"window": {"count": 40}, "algorithm": {"microaggregation": {"publish": "mean"}}},
    "clusters": {"algorithm": {"castle": {"delta": 30}}, "promises": [*POLICY["promises"], {"t_closeness": {"column": "illness", "t": 0.6}}]},
    "events": EVENTS
    | {"algorithm": {"z_anonymity": {"z": 4, "window": "30s", "time": "at", "path": "item", "noise": {"diffmax": 2, "copied": ["illness"]}}}},
    "everybody": EVENTS
    | {"algorithm": {"z_anonymity": {"z": 4, "window": "2m", "time": "at", "path": "item", "count": "all", "tuning": {"every": "1m"}}}},
    "at once": {"columns": POLICY["columns"] | {name: {"role": "identifier"} for name in ("age", "zip")}, "promises": []},
}


def line(number: int) -> str:
    chance = np.random.default_rng(number)
    told = {
        "pid": f"{CANARY} {int(chance.integers(40))}",
        "at": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
        "age": int(chance.integers(20, 70)),
        "zip": f"{int(chance.integers(10_000, 10_100))}",
        "item": f"a.{int(chance.integers(10))}" if chance.random() < 0.8 else "e.f",
        "illness": ("flu", "gout", "asthma")[int(chance.integers(3))],
    }
    return "no record\n" if number % 90 == 17 else json.dumps(told) + "\n"


def ran(folder: Path, way: str, **further: Any) -> Path:
    """Run a stream to its end, and return its policy."""
    path = folder / "policy.yaml"
    path.write_text(json.dumps(POLICY | WAYS[way] | further))
    (folder / "events.jsonl").write_text("".join(map(line, range(400))))
    run_stream(path, Running(once=True))
    return path


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "release.jsonl").read_text().splitlines()]


def rewrite(folder: Path, told: list[dict[str, Any]]) -> None:
    """Write rows in place of those that were released, and say in all that is public that this is right."""
    texts = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in told]
    (folder / "release.jsonl").write_text("".join(texts))


def broken(path: Path) -> set[str]:
    found = sfumato.check_stream(path)
    assert not found.holds
    assert CANARY not in json.dumps(found.as_mapping())
    return {each["promise"] for view in found.as_mapping()["views"].values() for each in view["broken"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sink", ["release.jsonl", "release.csv", "release.parquet", "release.arrow"])
def test_a_release_as_it_was_written_holds(tmp_path: Path, way: str, sink: str) -> None:
    found = sfumato.check_stream(ran(tmp_path, way, sink=sink))
    assert found.sentences() == []
    assert found.holds
    assert found.records == 400
    assert found.rows[""] > 100


def test_attributes_that_are_categories_of_others_too_are_made_up_as_the_check_says(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(POLICY | WAYS["events"]))
    told = [json.loads(line(number)) for number in range(400) if number % 90 != 17]
    depths = [
        record | {"item": ".".join(f"{record['item']}.{number % 3}.{number % 2}".split(".")[: 1 + number % 4])} for number, record in enumerate(told)
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in depths))
    run_stream(path, Running(once=True))

    found = sfumato.check_stream(path)

    assert found.sentences() == []
    assert found.views[""].measured["made-up records"] > 20
    assert found.views[""].measured["people who have shown what left"] >= 1


def test_what_is_measured_is_what_the_rows_say(tmp_path: Path) -> None:
    measured = sfumato.check_stream(ran(tmp_path, "windows")).views[""].measured
    assert measured["people of a cluster"] >= 3
    assert measured["values of illness"] >= 2
    assert 0 < measured["distance of illness"] <= 0.6


@pytest.mark.parametrize("way", ["windows", "clusters", "events", "at once"])
def test_a_changed_value_is_found(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way)
    told = rows(tmp_path)
    told[7]["illness"] = "".join(reversed(told[7]["illness"]))
    rewrite(tmp_path, told)
    assert broken(path) == {"values"}


@pytest.mark.parametrize("field", ['"a":1', '"a":{}', '"zip":1', '"age":""'])
def test_a_field_that_nobody_released_is_found(tmp_path: Path, field: str) -> None:
    path = ran(tmp_path, "windows")
    told = rows(tmp_path)
    place = next(place for place, row in enumerate(told) if len(row["age"]) + len(row["zip"]) > len(field) + 2)
    lines = (tmp_path / "release.jsonl").read_text().splitlines(keepends=True)
    text = json.dumps(dict.fromkeys(("age", "zip"), "*") | {"illness": told[place]["illness"]}, separators=(",", ":"))
    # as long as it was, so that all others stay where they are
    lines[place] = ("{" + field + "," + text[1:]).ljust(len(lines[place]) - 1) + "\n"
    (tmp_path / "release.jsonl").write_text("".join(lines))

    assert broken(path) == {"manifest"}


def test_nested_fields_are_found_where_they_were_released(tmp_path: Path) -> None:
    columns = {name.replace("age", "of.age").replace("illness", "of.illness"): column for name, column in POLICY["columns"].items()}
    promises = [{"k_anonymity": {"k": 3}}]
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY | {"columns": columns, "promises": promises, "window": {"count": 40}}))
    told = [json.loads(line(number)) for number in range(200) if number % 90 != 17]
    nested = [record | {"of": {"age": record.pop("age"), "illness": record.pop("illness")}} for record in told]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in nested))
    run_stream(tmp_path / "policy.yaml", Running(once=True))

    assert "of" in rows(tmp_path)[0]
    assert sfumato.check_stream(tmp_path / "policy.yaml").sentences() == []


def test_an_address_within_another_is_in_its_network(tmp_path: Path) -> None:
    columns = {"pid": {"role": "identifier"}, "ip": {"role": "quasi_identifier", "type": "ip", "hierarchy": {"network": {}}}}
    policy = {"columns": columns, "promises": [{"k_anonymity": {"k": 3}}], "window": {"count": 12}}
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY | policy))
    told = [{"pid": n, "ip": f"10.0.1.{n}" if n % 2 else f"::ffff:10.0.1.{n}"} for n in range(24)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    run_stream(tmp_path / "policy.yaml", Running(once=True))

    assert len(rows(tmp_path)) == 24
    assert sfumato.check_stream(tmp_path / "policy.yaml").sentences() == []


@pytest.mark.parametrize("way", ["windows", "clusters", "events", "at once"])
@pytest.mark.parametrize("change", ["removed", "doubled"])
def test_a_row_that_was_removed_or_doubled_is_found(tmp_path: Path, way: str, change: str) -> None:
    path = ran(tmp_path, way)
    told = rows(tmp_path)
    rewrite(tmp_path, told[:7] + told[8:] if change == "removed" else [*told[:8], *told[7:]])
    assert "manifest" in broken(path)


def test_two_rows_that_changed_places_are_found(tmp_path: Path) -> None:
    path = ran(tmp_path, "windows")
    told = rows(tmp_path)
    other = next(place for place in range(1, 40) if {told[place]["age"], told[place]["zip"]}.isdisjoint({told[0]["age"], told[0]["zip"]}))
    told[0], told[other] = told[other], told[0]
    rewrite(tmp_path, told)
    assert {"covers", "clusters"} <= broken(path)


@pytest.mark.parametrize("way", ["windows", "clusters"])
def test_a_cluster_that_was_split_below_k_is_found(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way)
    told = rows(tmp_path)
    place = next(place for place, row in enumerate(told) if row["age"].startswith("["))
    low, _, high = told[place]["age"].strip("[]").partition(", ")
    # it still covers its original, and one person now stands alone
    told[place]["age"] = f"[{int(low) - 1}, {high}]" if len(str(int(low) - 1)) == len(low) else f"[{low}, {int(high) + 1}]"
    rewrite(tmp_path, told)
    assert broken(path) == {"clusters", "k_anonymity"}


@pytest.mark.parametrize("way", ["windows", "clusters"])
def test_a_value_outside_of_its_box_is_found(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way)
    told = rows(tmp_path)
    shown = next(row["age"] for row in told if row["age"].startswith("["))
    for row in told:
        if row["age"] == shown:
            row["age"] = "[90, 99]"
    rewrite(tmp_path, told)
    assert broken(path) == {"covers"}


def test_a_cluster_of_too_few_people_is_found_by_who_they_are(tmp_path: Path) -> None:
    """The rows of a cluster look right: only the records tell that they are one person's."""
    path = ran(tmp_path, "windows")
    records = (tmp_path / "events.jsonl").read_text().splitlines()
    links = np.fromfile(tmp_path / "state" / "links" / "release.rows", "<i8").reshape(-1, 2)
    # a file is known by its beginning and its end, which stay
    members = links[links[:, 1] == links[len(links) // 2, 1], 0].tolist()
    names = {json.loads(records[number])["pid"] for number in members}
    for number in members:
        told = json.loads(records[number])
        # of the same length, so that the source is read as before
        name = min(names, key=lambda each: abs(len(each) - len(told["pid"])))
        records[number] = json.dumps(told | {"pid": name}).ljust(len(records[number]))
    (tmp_path / "events.jsonl").write_text("".join(f"{text}\n" for text in records))
    assert "k_anonymity" in broken(path)


@pytest.mark.parametrize("way", ["windows", "means", "clusters", "everybody"])
def test_nobody_who_was_counted_as_two_people_is_found(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.engine.stream.people.known_people", lambda subjects, _: subjects)
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(POLICY | WAYS[way]))
    told = [json.loads(line(number)) for number in range(400) if number % 90 != 17]
    whose = (None, "", "a") if way != "everybody" else (None, "", "a", "b")
    records = [record | {"pid": whose[number % len(whose)]} for number, record in enumerate(told)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    run_stream(path, Running(once=True))
    assert broken(path) & {"k_anonymity", "z_anonymity"}


def made_up(folder: Path) -> int:
    """Return the place of a made-up row."""
    links = np.fromfile(folder / "state" / "links" / "release.rows", "<i8").reshape(-1, 2)
    return int(np.flatnonzero(links[:, 0] < 0)[0])


def test_a_record_made_up_for_somebody_who_never_showed_the_category_is_found(tmp_path: Path) -> None:
    path = ran(tmp_path, "events")
    told = rows(tmp_path)
    place = made_up(tmp_path)
    told[place]["pid"] = told[place]["pid"].replace("canary", "nobody")
    rewrite(tmp_path, told)
    found = sfumato.check_stream(path)
    assert "a record was made up for somebody who has not shown its category" in {each.what for each in found.views[""].broken.values()}


def test_a_record_made_up_for_another_than_who_was_drawn_is_found(tmp_path: Path) -> None:
    path = ran(tmp_path, "events")
    told, links = rows(tmp_path), np.fromfile(tmp_path / "state" / "links" / "release.rows", "<i8").reshape(-1, 2)
    fakes = np.flatnonzero(links[:, 0] < 0).tolist()
    everybody = {row["pid"] for row in told}
    what = "a made-up record is in another name than that of who was drawn for it"
    alone = 0
    for place in fakes[:10]:
        for other in sorted(each for each in everybody if each != told[place]["pid"] and len(each) == len(told[place]["pid"])):
            rewrite(tmp_path, [row | {"pid": other} if number == place else row for number, row in enumerate(told)])
            found = {each.what: each.first for each in sfumato.check_stream(path).views[""].broken.values()}
            assert found[what] == f"row {place}"
            # somebody for whom it might have been made up: nothing else tells
            alone += len(found) == 1
            if alone:
                return
    assert alone


def test_a_release_of_which_nobody_wrote_down_who_was_drawn_is_checked_as_far_as_that_goes(tmp_path: Path) -> None:
    path, references = ran(tmp_path, "events"), tmp_path / "state" / "links" / "release.references.jsonl"
    with sqlite3.connect(tmp_path / "state" / "state.sqlite") as database:
        written = [json.loads(text) for text in references.read_text().splitlines()]
        assert any(each["references"].pop("drawn") for each in written)
        references.write_text("".join(json.dumps(each) + "\n" for each in written))
        database.execute("UPDATE file SET length = ? WHERE path = 'links/release.references.jsonl'", (references.stat().st_size,))
    database.close()

    found = sfumato.check_stream(path)

    assert found.sentences() == []
    assert "who of those who may be it records were made up for: an earlier version has not written it down" in found.views[""].not_checked


@pytest.mark.parametrize("way", ["events", "everybody"])
def test_another_attribute_than_the_records_own_is_found(tmp_path: Path, way: str) -> None:
    path = ran(tmp_path, way)
    told = rows(tmp_path)
    row = next(row for row in told if row["item"].startswith("a."))
    row["item"] = "a.4" if row["item"] != "a.4" else "a.5"
    rewrite(tmp_path, told)
    assert broken(path) == {"z_anonymity"}


@pytest.mark.parametrize("way", ["events", "everybody"])
def test_an_attribute_that_too_few_people_had_shown_is_found(tmp_path: Path, way: str) -> None:
    """What left looks right: only the records tell that all who showed it are one person."""
    path = ran(tmp_path, way)
    texts = (tmp_path / "events.jsonl").read_text()
    # a file is known by its beginning and its end, which stay
    changed = re.sub(r"canary \d+", lambda found: f"canary {'1' * (len(found[0]) - 7)}", texts[5_000:-5_000])
    (tmp_path / "events.jsonl").write_text(texts[:5_000] + changed + texts[-5_000:])
    found = sfumato.check_stream(path)
    assert "a record is shared by too few people" in {each.what for each in found.views[""].broken.values()}


def test_the_command_says_one_sentence_for_each_broken_promise_and_ends_with_4(tmp_path: Path, sfumato_command: Callable[..., Any]) -> None:
    path = ran(tmp_path, "windows")
    assert re.search(r"holds     everything that was checked, (\d+) rows of \1\n$", sfumato_command("stream", "check", path).stdout)
    told = rows(tmp_path)
    for row in told[:3]:
        row["illness"] = "".join(reversed(row["illness"]))
    rewrite(tmp_path, told)
    ended = sfumato_command("stream", "check", path)
    assert ended.returncode == 4
    sentence = "broken    release: values: column illness: a kept value differs from its original, 3 times, first at row 0\n"
    assert sentence in ended.stdout
    assert ended.stderr.startswith("the release does not keep 1 promise [stream-broken]\n")
    answer = sfumato_command("stream", "check", path, "--format", "json")
    assert answer.returncode == 4
    assert json.loads(answer.stdout)["views"][""]["broken"][0]["times"] == 3
    assert CANARY not in ended.stdout + ended.stderr + answer.stdout + answer.stderr


def test_what_nobody_can_check_any_more_is_said(tmp_path: Path) -> None:
    path = ran(tmp_path, "windows")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "events.jsonl").rename(tmp_path / "elsewhere" / "events.jsonl")
    found = sfumato.check_stream(path)
    assert found.holds
    assert found.views[""].not_checked == [
        "rows whose records are no longer in the source",
        "rows: the records that they are of cannot be read",
        "dead letters: the records that they are of cannot be read",
    ]
    (tmp_path / "elsewhere" / "events.jsonl").rename(tmp_path / "events.jsonl")
    (tmp_path / "state" / "links" / "release.rows").unlink()
    found = sfumato.check_stream(path)
    assert found.holds
    assert found.views[""].not_checked == ["rows against records: the links have been deleted"]


def test_a_stream_that_goes_on_is_checked_up_to_its_last_commit(tmp_path: Path) -> None:
    path = ran(tmp_path, "windows")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write("".join(map(line, range(400, 430))))
    run_stream(path, Running(once=True, at_end="keep"))
    # as a process that was killed would leave it
    with (tmp_path / "release.jsonl").open("a") as file:
        file.write('{"age": "')
    status = json.loads((tmp_path / "state" / "status.json").read_text())
    (tmp_path / "state" / "status.json").write_text(json.dumps(status | {"state": "running"}))
    found = sfumato.check_stream(path)
    assert found.holds
    assert found.records == 430


def test_a_pipe_is_checked_by_what_its_spool_still_has(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(POLICY | WAYS["windows"] | {"source": {"standard_input": {"format": "json_lines"}}}))
    (tmp_path / "came.jsonl").write_text("".join(map(line, range(400))))
    with (tmp_path / "came.jsonl").open("rb") as pipe:
        run_stream(path, Running(), pipe=pipe)
    found = sfumato.check_stream(path)
    assert found.holds
    assert found.records == 400
    assert found.views[""].not_checked == []
    for file in (tmp_path / "state" / "spool").iterdir():
        file.unlink()
    assert sfumato.check_stream(path).views[""].not_checked[0] == "rows whose records are no longer in the source"


TREE = {"all": ["mild", "severe"], "mild": ["flu", "cold"], "severe": ["gout", "asthma"]}
RICH: dict[str, Any] = {
    "source": "rich.csv",
    "subject": "pid",
    "columns": {
        "pid": {"role": "identifier"},
        "born": {"role": "quasi_identifier", "type": "date", "hierarchy": {"calendar": {}}},
        "client": {"role": "quasi_identifier", "type": "ip", "hierarchy": {"network": {}}},
        "pay": {"role": "quasi_identifier", "type": "decimal", "publish": "bounds", "missing": ["?"]},
        "town": {
            "role": "quasi_identifier",
            "hierarchy": {"taxonomy": {"tree": {"land": ["north", "south"], "north": ["a", "b"], "south": ["c", "d"]}}},
        },
        "seen": {"role": "quasi_identifier", "type": "timestamp", "publish": "interval"},
        "illness": {"role": "sensitive", "hierarchy": {"taxonomy": {"tree": TREE}}},
        "grade": {"role": "sensitive", "type": "integer", "missing": ["?"]},
        "note": {"role": "other", "mask": {"hash": {"key": "k"}}},
        "ward": {"role": "other", "mask": {"shuffle": {}}},
    },
    "promises": [
        {"k_anonymity": {"k": 3}},
        {"l_diversity": {"column": "illness", "l": 1.5, "kind": "entropy"}},
        {"t_closeness": {"column": "illness", "t": 0.7, "distance": "hierarchical"}},
        {"t_closeness": {"column": "grade", "t": 0.7, "distance": "ordered"}},
    ],
    "keys": {"k": {"file": "key.txt"}},
    "window": {"count": 60},
    "stream": {"state": "state"},
    "sink": "out.jsonl",
}


def rich(number: int) -> str:
    chance = np.random.default_rng(number)

    def one(values: str) -> str:
        return values.split()[int(chance.integers(len(values.split())))]

    fields = [
        f"p{int(chance.integers(80))}",
        f"19{int(chance.integers(60, 99))}-{int(chance.integers(1, 13)):02}-{int(chance.integers(1, 28)):02}",
        f"10.{int(chance.integers(3))}.{int(chance.integers(9))}.{int(chance.integers(250))}",
        "?" if number % 31 == 5 else f"{chance.uniform(1, 9):.2f}",
        one("a b c d"),
        f"2026-01-01T{int(chance.integers(24)):02}:{int(chance.integers(60)):02}:00Z",
        one("flu cold gout asthma"),
        "?" if number % 37 == 3 else str(int(chance.integers(1, 12))),
        one("x y z"),
        one("w1 w2"),
    ]
    return ",".join(fields) + "\n"


@pytest.mark.parametrize("sink", ["out.jsonl", "out.csv", "out.parquet"])
@pytest.mark.parametrize("further", [{}, {"algorithm": "microaggregation"}, {"algorithm": "datafly"}])
def test_all_that_a_policy_can_say_of_columns_is_read_back(tmp_path: Path, sink: str, further: dict[str, Any]) -> None:
    (tmp_path / "key.txt").write_text(new_key("k1"))
    (tmp_path / "key.txt").chmod(0o600)
    (tmp_path / "rich.csv").write_text(",".join(RICH["columns"]) + "\n" + "".join(map(rich, range(300))))
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(RICH | further | {"sink": sink}))
    accounts = run_stream(path, Running(once=True)).views[""].accounts
    found = sfumato.check_stream(path)
    assert accounts["released"] > 200
    assert found.sentences() == []
    assert found.views[""].not_checked == ["column ward: its mask takes a group of rows together"]
    assert {"distance of illness", "distance of grade"} <= found.views[""].measured.keys()


@pytest.mark.parametrize("batch", [7, 50, 5000])
def test_what_clusters_were_compared_with_is_counted_once_more(tmp_path: Path, batch: int) -> None:
    path = ran(tmp_path, "clusters", stream={"state": "state", "batch": batch, "learn": 50})
    assert sfumato.check_stream(path).holds
    references = tmp_path / "state" / "links" / "release.references.jsonl"
    told = references.read_text()
    name, counts = next(iter(json.loads(told.splitlines()[-1])["references"].items()))
    # as many digits as before: what counts of the file is its length
    more = [count - 1 if count in range(1, 10) else count for count in counts]
    assert more != counts
    before, _, last = told.rstrip("\n").rpartition("\n")
    references.write_text(before + ("\n" if before else "") + last.replace(json.dumps(counts), json.dumps(more)) + "\n")

    found = sfumato.check_stream(path)

    assert name == "illness"
    assert [each.split(",")[0] for each in found.sentences()] == [
        "release: t_closeness: what a release was tested against is not what its records say"
    ]


@pytest.mark.parametrize("algorithm", ["mondrian", {"microaggregation": {"publish": "mean"}}])
@pytest.mark.parametrize("kind", ["date", "timestamp", None])
def test_a_year_covers_the_days_and_instants_that_lie_in_it(tmp_path: Path, algorithm: Any, kind: str | None) -> None:
    columns = {
        "pid": {"role": "identifier"},
        "born": {"role": "quasi_identifier"} | ({"type": kind} if kind else {}),
        "illness": {"role": "sensitive"},
    }
    path = tmp_path / "policy.yaml"
    further = {"columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "window": {"count": 4}, "algorithm": algorithm}
    path.write_text(json.dumps(POLICY | further))
    clock = "T10:00:00Z" if kind == "timestamp" else ""
    days = ["2020-01-01", "2020-01-02", "2020-05-05", "2020-08-30"]
    told = [{"pid": f"p{place}", "born": day + clock, "illness": "flu"} for place, day in enumerate(days)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    run_stream(path, Running(once=True))

    assert "2020" in {row["born"] for row in rows(tmp_path)}
    assert sfumato.check_stream(path).sentences() == []

    rewrite(tmp_path, [row | {"born": row["born"].replace("2020", "2021")} for row in rows(tmp_path)])
    assert broken(path) == {"covers"}


@pytest.mark.parametrize(
    "promise",
    [
        {"l_diversity": {"column": "illness", "l": 2}},
        *({"t_closeness": {"column": "illness", "t": 0.9, "distance": far}} for far in ("equal", "hierarchical")),
    ],
)
def test_a_missing_value_beside_a_hierarchy_is_measured_as_one_more(tmp_path: Path, promise: dict[str, Any]) -> None:
    columns = {
        "pid": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "type": "integer"},
        "illness": {"role": "sensitive", "type": "text", "hierarchy": {"taxonomy": {"tree": TREE}}},
    }
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(POLICY | {"columns": columns, "promises": [{"k_anonymity": {"k": 2}}, promise], "window": {"count": 4}}))
    told = [{"pid": f"p{place}", "age": 31 + place, "illness": value} for place, value in enumerate(["flu", None, "cold", "gout"])]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    run_stream(path, Running(once=True))

    found = sfumato.check_stream(path)

    assert found.sentences() == []
    assert found.views[""].rows == 4


def test_a_floor_above_z_holds_where_the_first_pieces_release_nothing(tmp_path: Path) -> None:
    columns = {"pid": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}, "item": {"role": "sensitive", "type": "text"}}
    search = {"z": 2, "time": "at", "window": "100s", "path": "item", "tuning": {"every": "20s", "z_min": 2, "z_max": 7}, "floors": {"0-24": 4}}
    path = tmp_path / "policy.yaml"
    further = {"columns": columns, "promises": [], "algorithm": {"z_anonymity": search}, "stream": {"state": "state", "batch": 1}}
    path.write_text(json.dumps(POLICY | further))
    for first, end in ((0, 3), (3, 8)):
        with (tmp_path / "events.jsonl").open("a") as file:
            file.write("".join(json.dumps({"pid": f"p{number}", "at": 1000 + number, "item": "a.b"}) + "\n" for number in range(first, end)))
        run_stream(path, Running(once=True, at_end="keep"))

    found = sfumato.check_stream(path)

    assert found.rows[""] == 5
    assert found.sentences() == []


def test_categories_that_come_after_their_groups_were_made_break_no_reference(tmp_path: Path) -> None:
    columns = {"pid": {"role": "identifier"}, "town": {"role": "quasi_identifier", "type": "text"}, "illness": {"role": "sensitive", "type": "text"}}
    promises = [{"k_anonymity": {"k": 2}}, {"t_closeness": {"column": "illness", "t": 0.5}}]
    further = {"columns": columns, "promises": promises, "algorithm": {"castle": {"delta": 20}}, "stream": {"state": "state", "learn": 40}}
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(POLICY | further))
    told = [
        {
            "pid": f"p{number}",
            "town": f"late {number}" if number > 60 and number % 3 == 0 else f"town {number % 30}",
            "illness": ["flu", "gout"][number % 2],
        }
        for number in range(200)
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    accounts = run_stream(path, Running(once=True)).views[""].accounts

    found = sfumato.check_stream(path)

    assert accounts["suppressed"] > 40
    assert found.sentences() == []
    assert "what t_closeness was measured against: which records were left out before is not known here" in found.views[""].not_checked


@pytest.mark.parametrize("way", ["events", "everybody"])
@pytest.mark.parametrize("mask", [None, {"hash": {"key": "k"}}])
def test_a_true_record_in_the_name_of_nobody_is_found(tmp_path: Path, way: str, mask: dict[str, Any] | None) -> None:
    (tmp_path / "key.txt").write_text(new_key("k1"))
    (tmp_path / "key.txt").chmod(0o600)
    masked = {"pid": {"role": "identifier", "mask": mask}} if mask else {}
    path = ran(tmp_path, way, columns=EVENTS["columns"] | masked, keys={"k": {"file": "key.txt"}})
    assert sfumato.check_stream(path).holds
    links = np.fromfile(tmp_path / "state" / "links" / "release.rows", "<i8").reshape(-1, 2)
    place = int(np.flatnonzero(links[:, 0] >= 0)[7])
    told = rows(tmp_path)
    told[place]["pid"] = "".join(reversed(told[place]["pid"]))
    rewrite(tmp_path, told)

    assert broken(path) == {"values"}


def test_numbers_in_lists_are_held_against_the_records_as_they_are_written(tmp_path: Path) -> None:
    paths = {"$[*].n": "keep", "$[*].v": {"round_number": {"base": 5}}}
    columns = {"id": {"role": "identifier"}, "tags": {"role": "other", "accept": "singling_out", "mask": {"nested": {"paths": paths}}}}
    source, sink = {"json_lines": {"path": "in.jsonl", "lists": "text"}}, {"json_lines": {"path": "out.jsonl", "lists": ["tags"]}}
    (tmp_path / "policy.yaml").write_text(json.dumps({"source": source, "columns": columns, "stream": {"state": "state"}, "sink": sink}))
    lines = [json.dumps({"id": number, "tags": [{"n": "a", "v": number + 0.5}, {"n": "b", "v": -number}]}) for number in range(30)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, ""]))
    run_stream(tmp_path / "policy.yaml", Running(once=True))
    assert sfumato.check_stream(tmp_path / "policy.yaml").holds
    told = rows_of(tmp_path / "out.jsonl")
    told[3]["tags"][0]["v"] += 5
    (tmp_path / "out.jsonl").write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in told))
    assert not sfumato.check_stream(tmp_path / "policy.yaml").holds


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", ["../../evil", "a/b", "100%", "</i>"])
def test_a_view_of_any_name_keeps_its_links_to_itself(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "there"
    folder.mkdir(mode=0o755)
    policy = POLICY | WAYS["windows"] | {"views": {name: {"sink": "release.jsonl"}}}
    del policy["sink"]
    (folder / "policy.yaml").write_text(json.dumps(policy))
    (folder / "events.jsonl").write_text("".join(map(line, range(200))))
    run_stream(folder / "policy.yaml", Running(once=True))
    assert sfumato.check_stream(folder / "policy.yaml").holds
    assert sorted(path.name for path in folder.iterdir()) == ["events.jsonl", "policy.yaml", "release.jsonl", "release.jsonl.manifest.jsonl", "state"]
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("unit", "times"), [("s", 1), ("ms", 1000), ("us", 1_000_000)])
def test_times_of_events_may_be_numbers_of_any_unit(tmp_path: Path, unit: str, times: int) -> None:
    columns = {"who": {"role": "identifier"}, "at": {"role": "identifier", "type": "integer"}, "item": {"role": "other"}}
    search = {"z_anonymity": {"z": 3, "window": "1m", "time": "at", "unit": unit, "path": "item"}}
    told = {"source": "in.jsonl", "subject": "who", "columns": columns, "algorithm": search, "stream": {"state": "state"}, "sink": "out.jsonl"}
    (tmp_path / "policy.yaml").write_text(json.dumps(told))
    # every twenty seconds somebody else shows the same
    lines = [json.dumps({"who": number, "at": (1_700_000_000 + 20 * number) * times, "item": "a.b"}) for number in range(12)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, ""]))
    assert run_stream(tmp_path / "policy.yaml", Running(once=True)).views[""].accounts["released"] == 10
    assert sfumato.check_stream(tmp_path / "policy.yaml").holds


MEANS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "integer": ("integer", lambda chance: int(chance.integers(20, 90))),
    "amounts": ("decimal", lambda chance: int(chance.integers(-10_000, 90_000)) / 100),
    "many digits": ("decimal", lambda chance: int(chance.integers(52 * 10**9, 53 * 10**9)) / 10**9),
    "large": ("integer", lambda chance: int(chance.integers(10**14, 10**15))),
    "days": ("date", lambda chance: str(np.datetime64("1940-01-01") + int(chance.integers(30_000)))),
    "instants": ("timestamp", lambda chance: f"{np.datetime64('1960-01-01T00:00:00.000000') + int(chance.integers(2**51))}Z"),
}


def ran_with_means(folder: Path, of: str) -> Path:
    """Run a stream that publishes means of values of a kind, of people with one record or several, and return its policy."""
    kind, draw = MEANS[of]
    columns = POLICY["columns"] | {"age": {"role": "quasi_identifier", "type": kind, "publish": "interval"}, "zip": {"role": "identifier"}}
    path = folder / "policy.yaml"
    path.write_text(json.dumps(POLICY | WAYS["means"] | {"columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}))
    chance = np.random.default_rng(7)
    told = [json.loads(line(number)) | {"age": draw(chance)} for number in range(200) if number % 90 != 17]
    (folder / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in told))
    run_stream(path, Running(once=True))
    return path


@pytest.mark.parametrize("of", MEANS)
def test_means_are_those_of_the_people(tmp_path: Path, of: str) -> None:
    path = ran_with_means(tmp_path, of)
    assert any(not str(row["age"]).startswith(("[", "*")) for row in rows(tmp_path))
    assert sfumato.check_stream(path).sentences() == []


def altered(mean: str, of: str) -> str:
    """Return another mean that is as long as one of a kind, and as near to it as can be told apart."""
    if of == "days":
        # of a mean that falls between two days either is right
        return str(np.datetime64(mean) + 2)
    # in its last digit; of instants, whose sums a float does not hold to the microsecond, in its seconds
    place = mean.index(".") - 1 if of == "instants" else len(mean) - 1
    return mean[:place] + chr(ord(mean[place]) ^ 1) + mean[place + 1 :]


@pytest.mark.parametrize("of", [of for of in MEANS if of != "large"])
def test_a_mean_that_was_altered_for_its_whole_cluster_is_found(tmp_path: Path, of: str) -> None:
    path = ran_with_means(tmp_path, of)
    told = rows(tmp_path)
    records = [json.loads(text)["age"] for text in (tmp_path / "events.jsonl").read_text().splitlines()]
    shown = next(row["age"] for row in told if row["age"] not in ("*", *map(str, records)))
    other = altered(shown, of)
    rewrite(tmp_path, [row | {"age": other if row["age"] == shown else row["age"]} for row in told])
    (sentence,) = sfumato.check_stream(path).sentences()
    assert sentence.startswith("release: covers: column age: a mean is not that of its people, at cluster ")

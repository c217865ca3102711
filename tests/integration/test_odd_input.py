"""Input that no sane person writes, and that comes all the same: each is refused in one sentence, or right."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato
from sfumato.core import delimited_text
from sfumato.errors import DataError, PolicyError, SfumatoError, UnreachableError
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.sources.delimited import Delimited

Command = Callable[..., subprocess.CompletedProcess[str]]
COLUMNS: dict[str, Any] = {"at": {"role": "quasi_identifier"}}


def run(values: pa.Array, columns: dict[str, Any] | None = None, **others: Any) -> pa.Table:
    return sfumato.run({"columns": columns or COLUMNS, "promises": [{"k_anonymity": {"k": 2}}], **others}, data=pa.table({"at": values})).table


@pytest.mark.parametrize("values", [pa.array([2**61, 1] * 3, pa.timestamp("us")), pa.array([2**55, 1] * 3, pa.timestamp("s"))], ids=["us", "s"])
def test_an_instant_beyond_the_calendar_is_not_of_its_type(values: pa.Array) -> None:
    with pytest.raises(DataError) as caught:
        run(values)
    assert caught.value.code == "value-type"

    assert set(run(values, {"at": {"role": "quasi_identifier", "on_unknown": "generalise"}})["at"].to_pylist()) >= {"*"}


def test_a_time_zone_that_nobody_knows_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        run(pa.array([1, 2], pa.timestamp("us", tz="Mars/Olympus")))
    assert caught.value.code == "column-zone"


@pytest.mark.parametrize("role", ["quasi_identifier", "sensitive"])
def test_text_that_is_no_utf8_is_refused_without_its_bytes(role: str) -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\x01\0\0\0\x02\0\0\0"), pa.py_buffer(b"\xfcx")])
    columns = {"at": {"role": role}, "age": {"role": "quasi_identifier"}}
    with pytest.raises(DataError) as caught:
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 2}}]}, data=pa.table({"at": broken, "age": [1, 1]}))
    assert caught.value.code == "file-encoding"
    assert "fc" not in str(caught.value)


def test_lengths_of_time_are_no_columns() -> None:
    with pytest.raises(DataError) as caught:
        run(pa.array([1, 2], pa.duration("s")))
    assert caught.value.code == "column-nested"


def test_a_promise_built_past_its_checks_is_checked_again() -> None:
    for promise in (KAnonymity.model_construct(k=-1), KAnonymity(k=2).model_copy(update={"k": 0}), KAnonymity.model_construct(k="x")):
        with pytest.raises(PolicyError):
            sfumato.run({"columns": COLUMNS, "promises": [promise]}, data=pa.table({"at": ["1", "2"]}))


@pytest.mark.parametrize(
    "sink",
    ["x" * 300 + ".csv", {"delimited": {"path": "x" * 300 + ".csv.manifest.jsonl"}}, {"delimited": {"path": "/"}}],
    ids=["long", "long manifest", "root"],
)
def test_a_sink_that_no_system_has_is_refused(sink: object) -> None:
    with pytest.raises(UnreachableError):
        run(pa.array(["1", "1"]), sink=sink)


@pytest.mark.parametrize(
    "hierarchy", [{"prefix": {"lengths": [99999999999999999999]}}, {"interval": {"edges": list(range(20_000))}}], ids=["prefix", "edges"]
)
def test_settings_beyond_all_use_are_refused(hierarchy: dict[str, Any]) -> None:
    with pytest.raises(SfumatoError):
        run(pa.array(["1", "1"]), {"at": {"role": "quasi_identifier", "hierarchy": hierarchy}})


def test_a_tree_of_thousands_of_levels_is_refused_at_once(tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    (tmp_path / "deep.txt").write_text("".join(f"n{number}: n{number + 1}, l{number}\n" for number in range(3000)))
    columns = {"job": {"role": "quasi_identifier", "hierarchy": {"taxonomy": {"path": "deep.txt"}}}}
    policy = write_policy({"source": "data.csv", "columns": columns, "promises": [{"k_anonymity": {"k": 2}}], "sink": "out.csv"}, "job\nl1\n")

    before = time.monotonic()
    ended = sfumato_command("check", policy)

    assert ended.returncode == 3
    assert "more than 100 levels" in ended.stderr
    assert time.monotonic() - before < 60


def test_the_largest_record_is_as_large_as_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_text, "_LARGEST_RECORD", 12 << 20)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "".join(f'"{"x" * (size << 20)}",1\n' for size in (10, 5, 10)))

    sizes = [len(row["a"]) for batch in Delimited(path=str(path)).batches(["a"]) for row in batch.to_pylist()]

    assert sizes == [10 << 20, 5 << 20, 10 << 20]


def test_a_date_of_the_year_0_and_one_that_is_none_are_text(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("born\n0000-01-01\n2021-02-30\n2020-01-01\n2020-01-02\n", encoding="utf-8")
    policy = {
        "source": str(tmp_path / "in.csv"),
        "columns": {"born": {"role": "quasi_identifier"}},
        "promises": [{"k_anonymity": {"k": 2}}],
        "sink": str(tmp_path / "out.csv"),
    }
    release: Any = sfumato.run(policy)

    assert release.record.columns["born"]["type"] == "text"

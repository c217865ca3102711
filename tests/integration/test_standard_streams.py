"""A policy in a pipe: standard input is read twice by way of a private file, standard output gets only what is verified."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.errors import PolicyError
from sfumato.policy.load import load
from sfumato.policy.resolve import resolve
from sfumato.sinks.standard_output import StandardOutput
from sfumato.sources.standard_input import StandardInput

COMMAND = [sys.executable, "-m", "sfumato"]
ROWS = "age,job\n" + "".join(f"{30 + place % 7},{'smith' if place % 2 else 'cook'}\n" for place in range(70))
POLICY: dict[str, Any] = {
    "source": "-",
    "columns": {"age": {"role": "quasi_identifier"}, "job": {"role": "other"}},
    "promises": [{"k_anonymity": {"k": 5}}],
    "sink": "-",
}
Streams = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    """Return the command with bytes for standard input, in a private installation of its own."""

    def call(*arguments: str | Path, given: bytes | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "SFUMATO_HOME": str(tmp_path / "home")}
        ends = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        # Python itself does not wait for what it cannot read
        return subprocess.run([*COMMAND, *map(str, arguments)], input=given, env=environment, timeout=120, check=False, **ends)  # type: ignore[call-overload, no-any-return]

    return call


def left_behind(tmp_path: Path) -> list[str]:
    return [str(path) for path in (tmp_path / "home" / "work").iterdir()]


pytestmark = pytest.mark.slow


def test_a_run_in_a_pipe_gives_what_a_run_on_files_gives(tmp_path: Path, streams: Streams, write_policy: Callable[..., Path]) -> None:
    streams("run", write_policy(POLICY | {"source": "data.csv", "sink": "release.csv"}, ROWS))

    ended = streams("run", write_policy(POLICY), given=ROWS.encode())

    assert (ended.returncode, ended.stdout) == (0, (tmp_path / "release.csv").read_bytes())
    assert b"release   standard output\nrecord    kept in the private folder\n" in ended.stderr
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("format", ["json_lines", "parquet", "arrow"])
def test_standard_input_has_the_formats_of_files(format: str, streams: Streams, write_policy: Callable[..., Path]) -> None:
    table = pa.table({"age": [30] * 5 + [40] * 5, "job": ["x", "y"] * 5})
    content = io.BytesIO()
    if format == "parquet":
        parquet.write_table(table, content)
    elif format == "arrow":
        with pa.ipc.new_stream(content, table.schema) as writer:
            writer.write_table(table)
    else:
        content.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    policy = POLICY | {"source": {"standard_input": {"format": format}}, "sink": {"standard_output": {"format": "json_lines"}}}

    ended = streams("run", write_policy(policy), given=content.getvalue())

    assert ended.returncode == 0
    assert [json.loads(line)["age"] for line in ended.stdout.splitlines()] == ["30"] * 5 + ["40"] * 5


def test_both_ends_may_be_compressed(streams: Streams, write_policy: Callable[..., Path]) -> None:
    policy = POLICY | {"source": {"standard_input": {"compression": "gzip"}}, "sink": {"standard_output": {"compression": "gzip"}}}

    ended = streams("run", write_policy(policy), given=gzip.compress(ROWS.encode()))

    assert gzip.decompress(ended.stdout).startswith(b"age,job\n30,")


def test_the_record_is_a_file_where_the_policy_names_one(tmp_path: Path, streams: Streams, write_policy: Callable[..., Path]) -> None:
    ended = streams("run", write_policy(POLICY | {"sink": {"standard_output": {"record": "kept.json"}}}), "--format", "json", given=ROWS.encode())

    kept, told = json.loads((tmp_path / "kept.json").read_text()), json.loads(ended.stderr[ended.stderr.index(b"{") :])
    assert kept["files"] == ["stdout"]
    assert kept["rows"] == told["rows"] == {"in": 70, "out": 70, "suppressed": 0}
    assert ended.stdout.startswith(b"age,job\n")


def test_nothing_is_sent_where_a_promise_cannot_be_kept(streams: Streams, write_policy: Callable[..., Path]) -> None:
    ended = streams("run", write_policy(POLICY | {"promises": [{"k_anonymity": {"k": 500}}]}), "--format", "json", given=ROWS.encode())

    assert (ended.returncode, ended.stdout) == (4, b"")
    assert json.loads(ended.stderr[ended.stderr.index(b"{") :])["error"]["code"] == "promise-impossible"


def test_a_reader_who_goes_early_is_no_failure(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    rows = "age,job\n" + "30,a job with a long name\n" * 200_000
    (tmp_path / "rows.csv").write_text(rows)
    with (tmp_path / "rows.csv").open("rb") as given:
        policy = write_policy(POLICY | {"sink": {"standard_output": {"record": "kept.json"}}})
        command = subprocess.Popen([*COMMAND, "run", str(policy)], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.readline() == b"age,job\n"
    command.stdout.close()
    with command.stderr as said:
        assert b"Traceback" not in said.read()

    assert command.wait(timeout=120) == 0
    assert (tmp_path / "kept.json").exists()


def test_a_disk_that_is_full_fails_the_run(streams: Streams, write_policy: Callable[..., Path]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = streams("run", write_policy(POLICY), given=ROWS.encode(), stdout=full)

    assert ended.returncode == 5
    assert ended.stderr.endswith(
        b"standard output took only part of the release: no space left on device [output-cut]\n  try: throw away what was written, then run again\n"
    )


def test_a_terminal_is_refused_at_once(streams: Streams, write_policy: Callable[..., Path]) -> None:
    ours, theirs = pty.openpty()
    try:
        ended = streams("run", write_policy(POLICY), stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)

    assert ended.returncode == 5
    assert ended.stderr.decode().endswith(
        "standard input is a terminal [input-terminal]\n"
        "  try: give it rows: sfumato run policy.yaml < data.csv, or zcat data.csv.gz | sfumato run policy.yaml\n"
    )


@pytest.mark.parametrize(
    ("redirection", "status", "said"),
    [
        ("< /dev/null", 6, "standard input is empty [file-empty]"),
        ("<&-", 5, "standard input is closed [input-closed]"),
        ("< data.csv >&-", 5, "standard output is closed [output-closed]"),
    ],
)
def test_a_stream_that_is_empty_or_closed_is_one_error(redirection: str, status: int, said: str, write_policy: Callable[..., Path]) -> None:
    policy = write_policy(POLICY, ROWS)
    line = f"{sys.executable} -m sfumato run {policy.name} {redirection}"

    ended = subprocess.run(["/bin/sh", "-c", line], cwd=policy.parent, capture_output=True, text=True, check=False, timeout=120)

    assert (ended.returncode, ended.stdout) == (status, "")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_wrong_line_is_named_without_the_private_file(tmp_path: Path, streams: Streams, write_policy: Callable[..., Path]) -> None:
    ended = streams("run", write_policy(POLICY), given=b"age,job\n30,x\n31\n")

    assert ended.returncode == 6
    assert b"standard input:3 has 1 field, the file has 2 columns [delimited-line-short]" in ended.stderr
    assert left_behind(tmp_path) == []


def test_another_encoding_gets_a_command_for_the_pipe(streams: Streams, write_policy: Callable[..., Path]) -> None:
    ended = streams("run", write_policy(POLICY), given="age,job\n30,käse\n".encode("latin-1"))

    assert ended.stderr.decode().endswith(
        "standard input is not UTF-8 text [file-encoding]\n  try: convert it on the way: iconv -f latin1 -t utf-8 | sfumato run policy.yaml\n"
    )


def test_a_file_led_into_both_ends_is_refused(tmp_path: Path, streams: Streams, write_policy: Callable[..., Path]) -> None:
    policy = write_policy(POLICY, ROWS)
    with (tmp_path / "data.csv").open("rb") as given, (tmp_path / "data.csv").open("ab") as taken:
        ended = streams("run", policy, stdin=given, stdout=taken)

    assert ended.returncode == 3
    assert b"would write over a file that the run reads [sink-is-source]" in ended.stderr
    assert (tmp_path / "data.csv").read_text() == ROWS


def test_one_terminal_for_both_is_no_mistake_of_the_policy(streams: Streams, write_policy: Callable[..., Path]) -> None:
    ours, theirs = pty.openpty()
    try:
        ended = streams("check", write_policy(POLICY), stdin=theirs, stdout=theirs)
    finally:
        os.close(ours)
        os.close(theirs)

    assert ended.returncode == 0


def test_the_plan_speaks_of_streams_in_words(streams: Streams, write_policy: Callable[..., Path]) -> None:
    words = streams("plan", write_policy(POLICY), given=ROWS.encode()).stdout.decode()

    assert "Read 2 columns from standard input." in words
    assert "Publish it as standard output, sorted by what is published, with its record in the private folder." in words


def test_assess_reads_standard_input(streams: Streams) -> None:
    assert b"70 rows" in streams("assess", "-", "-q", "age", given=ROWS.encode()).stdout


def test_settings_of_another_format_are_refused() -> None:
    with pytest.raises(PolicyError) as source:
        StandardInput(format="json_lines", delimiter=";")
    with pytest.raises(PolicyError) as sink:
        StandardOutput(format="delimited", separator="/")

    assert source.value.mistakes[0].message == "has settings that the format json_lines does not know: delimiter"
    assert sink.value.mistakes[0].message == "has settings that the format delimited does not know: separator"


def test_a_dash_without_quotes_gets_the_hint(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("source:\n  -\ncolumns: {age: {role: other}}\n")

    with pytest.raises(PolicyError) as caught:
        resolve(load(tmp_path / "policy.yaml"))

    assert caught.value.hint == 'source: "-"'


@pytest.mark.slow
def test_no_view_is_published_where_standard_output_refuses_its_own(tmp_path: Path, write_policy: Callable[..., Path], streams: Streams) -> None:
    views = {"file": {"sink": "out/file.csv"}, "stream": {"sink": "-"}}
    policy = write_policy({key: value for key, value in POLICY.items() if key != "sink"} | {"views": views})

    with Path("/dev/full").open("wb") as full:
        ended = streams("run", policy, given=ROWS.encode(), stdout=full)

    assert ended.returncode == 5
    assert b"output-cut" in ended.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == []

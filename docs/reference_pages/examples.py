"""The examples of the reference: policies and programs of ``docs/examples``, run with the people there, and what came out.

Their data are ``people.csv``, in whatever format an example asks for; ``contacts.csv``, the same people with what masks are for; or ``visits.csv``,
where some come twice, values are missing, and dates and numbers are written in another way.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import sfumato
from reference_pages.example_server import server
from sfumato.registry import find

EXAMPLES = Path(__file__).parents[1] / "examples"
_ROWS = 8
_PEOPLE = "With the 24 people of [people.csv](../../examples/people.csv), here in the format that the example asks for:"
_OTHERS = {
    "contacts.csv": "With the 24 people of [contacts.csv](../../examples/contacts.csv):",
    "visits.csv": "With the 12 visits of [visits.csv](../../examples/visits.csv):",
}
# known to everybody, so that the pages can be made again
_KEY = {"SFUMATO_KEY": "example:" + base64.b64encode(bytes(range(32))).decode()}


@cache
def example(path: Path) -> str:
    """Return an example and what came out of it; a shell runs it where its command stands beside it."""
    text = path.read_text(encoding="utf-8")
    with folder() as place:
        (place / "policy.yaml").write_text(text, encoding="utf-8")
        if path.suffix == ".py":
            told = f"```python\n{text}```\n\n{_released(_program(text, path.name), [])}"
        elif path.with_suffix(".sh").exists():
            line = path.with_suffix(".sh").read_text(encoding="utf-8")
            with server(place / "policy.yaml"):
                told = f"```yaml\n{text}```\n\n```\n$ {line}{_shell(line)}```"
        else:
            with server(place / "policy.yaml"):
                told = f"```yaml\n{text}```\n\n{_published(place / 'policy.yaml', text)}"
    people = next((words for name, words in _OTHERS.items() if name in text), _PEOPLE)
    return f"{people}\n\n{told}"


def _program(text: str, name: str) -> Any:
    values: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, name, "exec"), values)  # noqa: S102 - our own examples
    return values["release"]


def _published(policy: Path, text: str) -> str:
    """Run a policy and return some rows of its release, or of the releases of its views or tables."""
    changing = re.findall(r"(?m)^# made anew by every run: (.*)$", text)
    with mock.patch.dict(os.environ, _KEY):
        release: Any = sfumato.run(policy)
    if not isinstance(release, Mapping):
        return _released(release, changing)
    part = "view" if next(iter(release.values())).record.table is None else "table"
    return "\n\n".join(f"The {part} `{name}`. {_released(one, changing)}" for name, one in release.items())


def _shell(line: str) -> str:
    """Return the first lines that a shell prints for a command."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(line, shell=True, check=True, capture_output=True, text=True, env={**os.environ, "PATH": path})  # noqa: S602 - ours
    return "".join(f"{shown}\n" for shown in done.stdout.splitlines()[:_ROWS])


def _released(release: Any, changing: list[str]) -> str:
    """Return some rows of a release; of columns that another run would make otherwise only what all their values have in common."""
    # what leaves a stream is a table without a record
    made = [] if isinstance(release, pa.Table) else release.record.promises
    promises = "; ".join(f"{promise.promise} asked {promise.asked:g}, measured {promise.measured:.4g}" for promise in made)
    table = release if isinstance(release, pa.Table) else release.table
    for name in changing:
        alike = f"{os.path.commonprefix(table[name].to_pylist())}..."  # noqa: RUF071 - texts, not paths
        table = table.set_column(table.column_names.index(name), name, [[alike] * table.num_rows])
    # the order within a class can be random where a mask is at work: here it would only be noise
    texts = sorted(["" if value is None else str(value) for value in row.values()] for row in table.to_pylist())
    places = sorted({place * len(texts) // _ROWS for place in range(_ROWS)})
    rows = [table.column_names, *(texts[place] for place in places)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    measured = (
        f"Measured on what was written: {promises}." if promises else "What left." if isinstance(release, pa.Table) else "Nothing was promised."
    )
    return f"{measured} {len(places)} of its {table.num_rows} rows:\n\n```\n" + "\n".join(lines) + "\n```"


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Make a folder with the people in every format, and go there."""
    table = pa.csv.read_csv(EXAMPLES / "people.csv", convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(_columns(), pa.string())))
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        _write(table, folder)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def _columns() -> list[str]:
    return (EXAMPLES / "people.csv").read_text(encoding="utf-8").split("\n", 1)[0].split(",")


def _write(table: pa.Table, folder: Path) -> None:
    plain = pa.csv.WriteOptions(quoting_style="needed")
    pa.csv.write_csv(table, folder / "people.csv", plain)
    pa.csv.write_csv(table, folder / "people.tsv", pa.csv.WriteOptions(quoting_style="needed", delimiter="\t"))
    pa.parquet.write_table(table, folder / "people.parquet")
    pa.feather.write_feather(table, str(folder / "people.arrow"))
    _write_workbook(table, folder / "people.xlsx")
    (folder / "people").mkdir()
    pa.csv.write_csv(table.slice(0, 12), folder / "people" / "spring.csv", plain)
    pa.csv.write_csv(table.slice(12), folder / "people" / "summer.csv", plain)
    (folder / "people.jsonl").write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in table.to_pylist()), encoding="utf-8")
    for file in EXAMPLES.iterdir():
        if file.is_file() and file.name != "people.csv":
            (folder / file.name).write_bytes(file.read_bytes())
            # keys are refused where others may read them
            (folder / file.name).chmod(0o600)


def _write_workbook(table: pa.Table, path: Path) -> None:
    writer = find("sinks", "excel")(path=str(path)).open(table.schema)
    for batch in table.to_batches():
        writer.write(batch)
    writer.finish()
    writer.publish()

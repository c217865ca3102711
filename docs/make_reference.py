"""Writes the reference pages: one a component and one a command, from the code itself and from examples that are run.

``make docs`` writes them; a test holds them against what this would write. An example is a policy (or a program) in ``docs/examples``; its data
are ``people.csv`` there, in whatever format it asks for, or ``contacts.csv``, the same people with what masks are for.
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from typer.main import get_command

import sfumato
from sfumato.cli.app import app, run_command
from sfumato.core.yaml_text import yaml_text
from sfumato.registry import KINDS, find, names

HERE = Path(__file__).parent
EXAMPLES = HERE / "examples"
PAGES = HERE / "reference"
_ROWS = 8
_PEOPLE = "With the 24 people of [people.csv](../../examples/people.csv), here in the format that the example asks for:"
_CONTACTS = "With the 24 people of [contacts.csv](../../examples/contacts.csv):"
# known to everybody, so that the pages can be made again
_KEY = {"SFUMATO_KEY": "example:" + base64.b64encode(bytes(range(32))).decode()}
_LINES = 40
_TITLES = {"masking": "mask", "hierarchies": "hierarchy"}
# stores and generators are not written in policies: a store is chosen by the source, a generator is a command
_WITHOUT_EXAMPLE = ("stores", "generators")


def pages() -> dict[str, str]:
    """Return the text of every page by its path below the folder of the reference."""
    found = {}
    for kind in KINDS:
        for name in names(kind):
            found[f"{kind}/{name}.md"] = _component(kind, name)
    for words in _commands():
        found[f"commands/{'_'.join(words)}.md"] = _command(words)
    found["README.md"] = _index(found)
    return found


def _component(kind: str, name: str) -> str:
    component = find(kind, name)
    parts = [
        f"# {name}\n\nA {_TITLES.get(kind, kind.removesuffix('s'))} of sfumato. {_module_words(component)}",
        _plain(inspect.getdoc(component) or ""),
    ]
    if component.model_fields:
        rows = [f"| `{field}` | {about.description or ''} | {_default(about)} |" for field, about in component.model_fields.items()]
        parts.append("## Settings\n\n| setting | meaning | default |\n|---|---|---|\n" + "\n".join(row.replace("\n", " ") for row in rows))
    else:
        parts.append("## Settings\n\nNone.")
    if kind not in _WITHOUT_EXAMPLE:
        example = _example(kind, name)
        parts.append(f"## Example\n\n{_CONTACTS if 'contacts.csv' in example else _PEOPLE}\n\n{example}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _module_words(component: Any) -> str:
    """Return what the module says beyond its first line: the paper, and what is done differently."""
    text = inspect.getdoc(sys.modules[component.__module__]) or ""
    return _plain(text)


def _plain(text: str) -> str:
    """Return a docstring as Markdown: examples for Python in a fence, double backquotes as single ones."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    blocks = []
    for block in text.split("\n\n"):
        blocks.append(f"```python\n{block}\n```" if block.startswith(">>>") else block)
    return "\n\n".join(blocks)


def _default(about: Any) -> str:
    if about.is_required():
        return "needed"
    default = about.get_default(call_default_factory=True)
    return f"`{yaml_text(default)}`".replace("|", "\\|")


def _example(kind: str, name: str) -> str:
    policy, program = (EXAMPLES / kind / f"{name}.{ending}" for ending in ("yaml", "py"))
    text = (policy if policy.exists() else program).read_text(encoding="utf-8")
    with _folder() as folder:
        command = EXAMPLES / kind / f"{name}.sh"
        if command.exists():
            (folder / "policy.yaml").write_text(text, encoding="utf-8")
            line = command.read_text(encoding="utf-8")
            return f"```yaml\n{text}```\n\n```\n$ {line}{_shell(line)}```"
        if policy.exists():
            (folder / "policy.yaml").write_text(text, encoding="utf-8")
            with mock.patch.dict(os.environ, _KEY):
                release: Any = sfumato.run(folder / "policy.yaml")
            told = f"```yaml\n{text}```"
            changing = re.findall(r"(?m)^# made anew by every run: (.*)$", text)
        else:
            values: dict[str, Any] = {}
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, program.name, "exec"), values)  # noqa: S102 - our own examples
            release = values["release"]
            told = f"```python\n{text}```"
            changing = []
        return f"{told}\n\n{_released(release, changing)}"


def _shell(line: str) -> str:
    """Return the first lines that a shell prints for a command."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(line, shell=True, check=True, capture_output=True, text=True, env={**os.environ, "PATH": path})  # noqa: S602 - ours
    return "".join(f"{shown}\n" for shown in done.stdout.splitlines()[:_ROWS])


def _released(release: Any, changing: list[str]) -> str:
    """Return some rows of a release; of columns that another run would make otherwise only what all their values have in common."""
    promises = "; ".join(f"{promise.promise} asked {promise.asked:g}, measured {promise.measured:.4g}" for promise in release.record.promises)
    table = release.table
    for name in changing:
        alike = f"{os.path.commonprefix(table[name].to_pylist())}..."  # noqa: RUF071 - texts, not paths
        table = table.set_column(table.column_names.index(name), name, [[alike] * table.num_rows])
    # the order within a class can be random where a mask is at work: here it would only be noise
    texts = sorted(["" if value is None else str(value) for value in row.values()] for row in table.to_pylist())
    places = sorted({place * len(texts) // _ROWS for place in range(_ROWS)})
    rows = [table.column_names, *(texts[place] for place in places)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    measured = f"Measured on what was written: {promises}." if promises else "Nothing was promised."
    return f"{measured} {len(places)} of its {table.num_rows} rows:\n\n```\n" + "\n".join(lines) + "\n```"


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
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


def _commands() -> list[tuple[str, ...]]:
    top: Any = get_command(app)
    found: list[tuple[str, ...]] = []
    for name, command in top.commands.items():
        below = getattr(command, "commands", None)
        found += [(name, inner) for inner in below] if below else [(name,)]
    return found


def _command(words: tuple[str, ...]) -> str:
    parts = [f"# sfumato {' '.join(words)}", f"```\n{_printed([*words, '--help'])}```"]
    examples = EXAMPLES / "commands" / f"{'_'.join(words)}.txt"
    for line in examples.read_text(encoding="utf-8").splitlines():
        with _folder() as folder:
            printed = _printed(line.split()[1:]).replace(f"{folder}/", "")
        lines = printed.splitlines()
        shown = "\n".join([*lines[:_LINES], "..."] if len(lines) > _LINES else lines)
        parts.append(f"```\n$ {line}\n{shown}\n```")
    return "\n\n".join(parts) + "\n"


def _printed(arguments: list[str]) -> str:
    """Return what a command prints on a terminal of a hundred columns."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), mock.patch.dict(os.environ, {"COLUMNS": "100"}):
        status = run_command(arguments)
    if status:
        raise SystemExit(f"sfumato {' '.join(arguments)} ended with status {status}")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


def _index(found: dict[str, str]) -> str:
    lines = ["# Reference\n\nMade by `make docs` from the code; the examples were run. Policies as a whole are in [policy.md](../policy.md)."]
    for kind in [*KINDS, "commands"]:
        links = [
            f"- [{Path(page).stem.replace('_', ' ') if kind == 'commands' else Path(page).stem}]({page})"
            for page in found
            if page.startswith(f"{kind}/")
        ]
        lines.append(f"## {kind.capitalize()}\n\n" + "\n".join(links))
    lines.append("## Error codes\n\nEach has a section in [errors.md](../errors.md).")
    return "\n\n".join(lines) + "\n"


def main() -> None:
    """Write the pages, and remove those that nothing stands behind any more."""
    texts = pages()
    for old in PAGES.rglob("*.md"):
        if str(old.relative_to(PAGES)) not in texts:
            old.unlink()
    for page, text in texts.items():
        (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

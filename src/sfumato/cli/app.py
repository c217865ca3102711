"""All commands, and what every one of them does with errors: one clear sentence, an exit status, never a traceback or a cell value."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import closed_pipe, completions
from sfumato.cli.answers import answers
from sfumato.errors import SfumatoError, UnreachableError

INTERRUPTED = 130
# what an interrupt leaves behind, by the command that it met
_WHOLE = "; a release is published whole or not at all"
_AFTERWARDS = {"generate": "", "stream": "; the next run goes on from the last commit"}

app = typer.Typer(
    name="sfumato",
    help="Release tables in which nobody can be singled out, and check it on what was written.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """How a command answers."""

    text = "text"
    json = "json"


ViewOption = Annotated[str | None, typer.Option(help="one of the policy's views or tables", autocompletion=completions.views)]
PolicyArgument = Annotated[Path, typer.Argument(help="the policy file", show_default=False)]
FormatOption = Annotated[Format, typer.Option("--format", help="answer in words or as JSON")]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("sfumato"))
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is and exit.")] = False,
) -> None:
    """Release tables in which nobody can be singled out, and check it on what was written."""
    del version


@app.command()
def check(
    policy: PolicyArgument,
    strict: Annotated[bool, typer.Option("--strict", help="take warnings for mistakes, for pipelines")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Say everything that is wrong with a policy, with line and key, and warn of what goes together badly."""
    from sfumato.cli.check import check as command

    command(policy, strict, format.value)


@app.command()
def plan(
    policy: PolicyArgument,
    sql: Annotated[bool, typer.Option("--sql", help="print the statements that a database would be asked to do, in place of words")] = False,
    anon_labels: Annotated[
        bool, typer.Option("--anon-labels", help="print the security labels by which PostgreSQL Anonymizer would mask the table itself")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Say in words, or in SQL, what a run would do. Writes nothing."""
    from sfumato.cli.plan import plan as command

    command(policy, sql, anon_labels, format.value)


@app.command()
def run(
    policy: PolicyArgument,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="go on with what an earlier run has left that was killed: a private copy in a database, or a table that it masks in place",
        ),
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Anonymise, verify what was written, and publish it with its record."""
    from sfumato.cli.run import run as command

    command(policy, format.value, resume)


@app.command()
def drift(policy: PolicyArgument, format: FormatOption = Format.text) -> None:
    """Say whether a policy still fits its source, and its last release its promises; the status tells a pipeline."""
    from sfumato.cli.drift import drift as command

    command(policy, format.value)


@app.command()
def retain(
    policy: PolicyArgument,
    now: Annotated[str | None, typer.Option(help="the instant from which ages are counted; the present where it is not given")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Archive the rows of a table that are old enough, anonymised and period by period, and delete them."""
    from sfumato.cli.retain import retain as command

    command(policy, now, format.value)


@app.command()
def convert(
    configuration: Annotated[Path, typer.Argument(help="the JSON configuration of a k-anonymisation module", show_default=False)],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the policy to write; standard output where it is not given")] = None,
    source: Annotated[Path | None, typer.Option(help="the file that rows come from")] = None,
    sink: Annotated[Path | None, typer.Option(help="the file that the release goes to")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file that is there")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Write the configuration of a k-anonymisation module as a policy."""
    from sfumato.cli.convert import convert as command

    command(configuration, output, source, sink, force, format.value)


@app.command()
def components(
    kind: Annotated[str | None, typer.Argument(help="one kind only: sources, promises, algorithms, ...", autocompletion=completions.kinds)] = None,
    only: Annotated[str | None, typer.Option("--kind", help="the same as the argument", autocompletion=completions.kinds)] = None,
    table: Annotated[bool, typer.Option("--table", help="of masking: which operation fits which types, roles and uses, from their cards")] = False,
    format: FormatOption = Format.text,
) -> None:
    """List what there is, with settings and meaning."""
    if table:
        from sfumato.cli.cards import cards

        cards(kind or only or "masking", format.value)
        return
    from sfumato.cli.components import components as command

    command(kind or only, format.value)


@app.command()
def schema(format: FormatOption = Format.json) -> None:
    """Print the JSON Schema of policies, for editors."""
    from sfumato.cli.schema import schema as command

    command(format.value)


@app.command()
def generate(
    kind: Annotated[
        str, typer.Argument(help="what to generate: hospital, census, shop, domains or positions", autocompletion=completions.generators)
    ],
    rows: Annotated[int | None, typer.Option(help="how many rows; 1000 where it is not given", min=1, max=10**12)] = None,
    endless: Annotated[bool, typer.Option("--endless", help="rows without end, until it is stopped")] = False,
    rate: Annotated[float | None, typer.Option(help="so many rows leave a second, 1,000,000 at most; all at once where it is not given")] = None,
    times: Annotated[bool, typer.Option("--times", help="a stream: people come again, and a column `at` says when; some always are")] = False,
    seed: Annotated[int, typer.Option(help="the same seed gives the same rows")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="the file to write, .csv, or .jsonl for JSON lines; standard output where it is not given")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file that is there")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Generate demonstration data: a table, or a stream."""
    from sfumato.cli.generate import generate as command

    command(kind, rows, endless, seed, output, format.value, times, rate, force)


@app.command()
def assess(
    data: Annotated[
        Path,
        typer.Argument(
            help="the table: a file, a folder of files, a pattern in quotes, or - for standard input; or a policy, whose source and "
            "quasi-identifiers are taken",
            show_default=False,
        ),
    ],
    quasi_identifier: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi-identifier",
            "-q",
            help="a column by which people could be known; repeat it",
            show_default=False,
            autocompletion=completions.table_columns,
        ),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="the column that says which person a row is about", autocompletion=completions.table_columns)
    ] = None,
    population: Annotated[str | None, typer.Option(help="how many people the table is a part of, or a file with all of them")] = None,
    delimiter: Annotated[str | None, typer.Option(help="what stands between two fields")] = None,
    encoding: Annotated[str | None, typer.Option(help="the encoding of the text, such as latin-1")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Measure the risk of a table as it is: who could be found in it, and by what."""
    from sfumato.cli.assess import assess as command

    command(data, quasi_identifier or [], subject, population, delimiter, encoding, format.value)


@app.command()
def preview(
    policy: PolicyArgument,
    rows: Annotated[int, typer.Option(help="how many rows", min=1, max=1000)] = 20,
    view: ViewOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Show rows before and after, beside each other. It shows values: for those who may see the source."""
    from sfumato.cli.preview import preview as command

    command(policy, rows, view, format.value)


ladders = typer.Typer(help="Look at the ladder of a column, hold it against the data, or write it as a file to edit.", no_args_is_help=True)
app.add_typer(ladders, name="hierarchy")
ColumnArgument = Annotated[str, typer.Argument(help="the column", show_default=False, autocompletion=completions.columns)]


@ladders.command("show")
def show_hierarchy(
    policy: PolicyArgument,
    column: ColumnArgument,
    depth: Annotated[int | None, typer.Option(help="how many levels below the root", min=0)] = None,
    most: Annotated[int, typer.Option(help="how many children of a node", min=1)] = 20,
    view: ViewOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Show a column's ladder as a tree with the rows of each node. It shows values: for those who may see the source."""
    from sfumato.cli.hierarchy import show as command

    command(policy, column, depth, most, view, format.value)


@ladders.command("check")
def check_hierarchies(policy: PolicyArgument, view: ViewOption = None, format: FormatOption = Format.text) -> None:
    """Hold the ladders of a policy against its data."""
    from sfumato.cli.hierarchy import check as command

    command(policy, view, format.value)


@ladders.command("draft")
def draft_hierarchy(
    policy: PolicyArgument,
    column: ColumnArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write", show_default=False)],
    view: ViewOption = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file that is there")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Write a column's ladder as a table to edit."""
    from sfumato.cli.hierarchy import draft as command

    command(policy, column, output, view, force, format.value)


@app.command()
def reveal(
    policy: PolicyArgument,
    column: Annotated[str, typer.Option(help="the column", show_default=False, autocompletion=completions.columns)],
    input: Annotated[Path, typer.Option(help="the file with masked values", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="the file to write", show_default=False)],
    purpose: Annotated[str, typer.Option(help="what the values are for; it goes into the audit", show_default=False)],
    view: ViewOption = None,
    key_id: Annotated[
        list[str] | None,
        typer.Option("--key-id", help="the key to use where values do not name theirs: its id, or name=id; repeat it for keys of other names"),
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Undo the mask of a column, for those who have its key or vault. Every time is written into an audit."""
    from sfumato.cli.reveal import reveal as command

    command(policy, column, input, output, purpose, view, key_id or [], format.value)


secrets = typer.Typer(help="Make keys for masks.", no_args_is_help=True)
app.add_typer(secrets, name="keys")
IdentityOption = Annotated[str | None, typer.Option("--id", help="the public name of the key; a random one where none is given")]


@secrets.command("new")
def new_key(
    identity: IdentityOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the file to write; standard output where it is not given")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Make a key, in a file that only its owner may read."""
    from sfumato.cli.keys import new as command

    command(identity, output, format.value)


@secrets.command("add")
def add_key(
    file: Annotated[Path, typer.Argument(help="the file of keys", show_default=False)],
    identity: IdentityOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Put a new key before those of a file: it is used from now on, and the others still undo what they made."""
    from sfumato.cli.keys import add as command

    command(file, identity, format.value)


streams = typer.Typer(help="Anonymise records as they come.", no_args_is_help=True)
app.add_typer(streams, name="stream")


class End(StrEnum):
    """What becomes of records that wait."""

    flush = "flush"
    keep = "keep"


@streams.command("run")
def run_stream(
    policy: PolicyArgument,
    once: Annotated[bool, typer.Option("--once", help="end where the files end, instead of waiting for more")] = False,
    at_end: Annotated[
        End, typer.Option(help="at the end of the records: release what can be and leave out the rest, or keep it for the next run")
    ] = End.flush,
    on_stop: Annotated[End, typer.Option(help="the same where a signal stops the stream")] = End.keep,
    metrics: Annotated[str | None, typer.Option(help="serve /metrics and /health at a port of this machine, or at host:port")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Anonymise the records of a file that grows, a folder or a pipe, and go on where an earlier run ended, however it did."""
    from sfumato.cli.stream import run as command

    command(policy, once, at_end.value, on_stop.value, metrics, format.value)


@streams.command("status")
def stream_status(policy: PolicyArgument, format: FormatOption = Format.text) -> None:
    """Say how a stream goes: what became of its records, and what is measured of it."""
    from sfumato.cli.stream import status as command

    command(policy, format.value)


@streams.command("check")
def stream_check(policy: PolicyArgument, format: FormatOption = Format.text) -> None:
    """Hold what a stream has released against its source once more, and find what is not as it was promised."""
    from sfumato.cli.stream import check as command

    command(policy, format.value)


@streams.command("report")
def stream_report(
    policy: PolicyArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="the page to write; beside the policy where it is not given")] = None,
    force: Annotated[bool, typer.Option("--force", help="replace the file that is there")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Write a page with what was measured of a stream over time, or print the numbers as JSON."""
    from sfumato.cli.stream import report as command

    command(policy, output, force, format.value)


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    interrupts: list[int] = []
    # one more interrupt, while the first is told, must not end us by the signal
    ended: list[bool] = []

    def interrupt(number: int, frame: Any) -> None:
        del frame
        interrupts.append(number)
        if not ended:
            raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        status = app(args=list(arguments), prog_name="sfumato", standalone_mode=False) or 0
        ended.append(True)
    except BaseException as error:  # noqa: BLE001 - the last place that can keep a value out of a traceback
        ended.append(True)
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else _failed(arguments, error, bool(interrupts))
    # an interrupt within a library can come out as any error, or as none
    if status == INTERRUPTED or (interrupts and status != 0):
        return _say(arguments, f"interrupted{_AFTERWARDS.get(next(iter(arguments), ''), _WHOLE)}", INTERRUPTED)
    closed_pipe.flush()
    return int(status)


def interrupt_again(what: Any) -> None:
    """Take up an interrupt that was swallowed where nothing can be raised, a moment later; say nothing about anything else there."""
    if what.exc_type is KeyboardInterrupt:
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()


def _failed(arguments: Sequence[str], error: BaseException, interrupted: bool) -> int:
    if interrupted:
        return INTERRUPTED
    if isinstance(error, SfumatoError):
        return _say_error(arguments, error)
    # typer makes an exit of a closed pipe
    if isinstance(error, BrokenPipeError) or (isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)):
        closed_pipe.forget()
        return 0
    if isinstance(error, SystemExit) and _at_fault(error) is None:
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        # a library's own files: those of ours say more
        return _say(arguments, "there is no space left on a disk; nothing has been published", 5, "disk-full", "free some space, then run again")
    if isinstance(error, MemoryError):
        return _say(arguments, "there is not enough memory; nothing has been published", 5, "memory", "a machine with more, or fewer columns")
    words = getattr(error, "format_message", None)
    if words is not None and getattr(error, "exit_code", None) == 2:
        # typer's own errors of usage; without arguments it says how to use the program
        if type(error).__name__ == "NoArgsIsHelpError":
            return _say(arguments, str(words()), 2)
        context = getattr(error, "ctx", None)
        return _say(arguments, str(words()).rstrip("."), 2, "usage", f"{context.command_path if context else 'sfumato'} --help")
    blamed = _at_fault(error)
    if blamed is not None:
        return _say_error(arguments, blamed)
    # the message of a foreign error may quote a cell: its kind and place say enough
    return _say(arguments, f"this is our fault: {type(error).__name__} at {_place(error)}", 1, "internal", "report it with this line")


def _at_fault(error: BaseException) -> SfumatoError | None:
    """Return the error of a component of another package, where what was raised came out of one."""
    from sfumato.core.makers import kind_of, package_at_fault, without_version

    told = package_at_fault(error)
    if told is None:
        return None
    package, place = told
    return UnreachableError(
        f"a component of the package {package} has failed, by {kind_of(error)} at {place}",
        code="component-fault",
        hint=f"report it to the makers of {without_version(package)} with this line; until it is mended, do without",
    )


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    place = "unknown"
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if "sfumato" in file.parts:
            place = f"{'/'.join(file.parts[-2:])}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _say_error(arguments: Sequence[str], error: SfumatoError) -> int:
    if _wants_json(arguments):
        answers().write(json.dumps({"error": error.as_mapping()}, indent=1) + "\n")
    if not _wants_json(arguments) or answers() is not sys.stderr:
        sys.stderr.write(f"{error.sentence()}\n")
    return error.status


def _say(arguments: Sequence[str], sentence: str, status: int, code: str | None = None, hint: str | None = None) -> int:
    if _wants_json(arguments):
        told = {"status": status, "code": code, "message": sentence, "hint": hint}
        answers().write(json.dumps({"error": told}, indent=1) + "\n")
    sys.stderr.write(sentence + (f" [{code}]" if code else "") + (f"\n  try: {hint}" if hint else "") + "\n")
    return status


def _wants_json(arguments: Sequence[str]) -> bool:
    return "--format=json" in arguments or any(one == "--format" and other == "json" for one, other in pairwise(arguments))

"""``sfumato stream``: run a stream, say how it goes, check what it has released."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.answers import answers, leave_output_to_the_release
from sfumato.cli.compiling import compile_stream_if_needed
from sfumato.errors import PromiseError, UnreachableError, number_of

if TYPE_CHECKING:
    from sfumato.engine.stream.progress import StreamProgress
    from sfumato.policy.model import Component

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STALE = 10.0
_NOBODY_READS = "nobody reads standard output any more, and the stream has ended; the next run goes on from the last commit\n"
_COLUMNS = 80
_AT_LINES = "look at its last lines, and for a stray quote"
_WHERE_TO_LOOK = {
    "arrow": "half a message, whose writer has not written the rest or is gone",
    "json_lines": "its last line has no end",
}
_NAMED = 5
"""So many files are named at most."""


def run(policy: Path, once: bool, at_end: str, on_stop: str, metrics: str | None, format: str) -> None:
    """Run a stream until its end or until it is stopped, and say what became of the records."""
    from sfumato.engine.stream.running import Running, run_stream
    from sfumato.policy.load import load

    loaded = load(policy)
    if any(
        sink is not None and sink.name == "standard_output" for sink in [loaded.policy.sink, *(view.sink for view in loaded.policy.views.values())]
    ):
        leave_output_to_the_release()
    compile_stream_if_needed(loaded)
    stop = threading.Event()
    with _Line(format) as line:
        _stopped_by_signals(stop)
        try:
            progress = run_stream(loaded, Running(once, at_end, on_stop, metrics), stop, line.show)  # type: ignore[arg-type]
        except BrokenPipeError:
            # no fault, but whoever meant the stream to go on must be able to find out why it did not
            sys.stderr.write(_NOBODY_READS)
            raise
    if format == "json":
        answers().write(json.dumps(progress.as_mapping(), indent=1, ensure_ascii=False) + "\n")
        return
    answers().write("".join(f"{text}\n" for text in _summary(progress, loaded.policy.source)))


def status(policy: Path, format: str) -> None:
    """Say how a stream goes, whether it runs or not."""
    from sfumato.engine.stream.health import STALLED_AFTER, Health, held_up
    from sfumato.engine.stream.kept_state import KeptState, told_status
    from sfumato.engine.stream.running import state_folder
    from sfumato.policy.identity import policy_hash
    from sfumato.policy.load import load

    loaded = load(policy)
    folder = state_folder(loaded)
    told = told_status(folder)
    if KeptState(folder).identity != policy_hash(loaded.policy):
        told["policy"] = "changed"
    told["folder"], told["seconds_ago"] = str(folder), round(time.time() - told.pop("at"), 1)
    if told["state"] != "running":
        told.pop("health", None)
    elif told["seconds_ago"] >= STALLED_AFTER:
        told["health"] = held_up("nothing was heard of the process", told["seconds_ago"]).as_mapping()
    if format == "json":
        answers().write(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
        return
    ago = f", {told['seconds_ago']:.0f} s ago" if told["seconds_ago"] > _STALE else ""
    why = f" [{told['error']}]" if told.get("error") else ""
    lines = [f"state     {told['state']}{why}{ago}"]
    lines += [f"health    {Health(**told['health']).words()}"] if "health" in told else []
    rate = f", now {told['records_per_second']:,.0f} a second" if told["state"] == "running" else ""
    lines += [f"records   {told['records']:,}{rate}"]
    lines += ["policy    changed since: all of this is of the policy before, and stream run refuses the new one"] if "policy" in told else []
    lines += [
        *_of_awaited(told.get("awaited")),
        *_of_absent(told.get("absent_columns", [])),
        *_of_lost(told.get("lost_files", 0)),
        *_of_needed(told.get("needed_files", [])),
    ]
    lines += _of_unfinished(told.get("unfinished"), loaded.policy.source)
    lines += [text for name, view in told["views"].items() for text in _of_view(name, view["accounts"], view["measured"], view.get("set_aside", {}))]
    answers().write("".join(f"{text}\n" for text in [*lines, f"private   {folder}"]))


def report(policy: Path, output: Path | None, force: bool, format: str) -> None:
    """Write the page of a stream, or its numbers as JSON."""
    from sfumato.cli.new_file import write_new
    from sfumato.engine.stream.report import measured_over_time, refuse_own_files
    from sfumato.policy.load import load
    from sfumato.reports.stream_page import stream_page

    loaded = load(policy)
    views = measured_over_time(loaded)
    if output is not None or format == "text":
        target = output or policy.with_suffix(".report.html")
        refuse_own_files(target, loaded)
        write_new(target, stream_page(f"the stream of {loaded.name}", views), force or _is_own_page(target))
        if format == "text":
            answers().write(f"report    {target}\n")
    if format == "json":
        answers().write(json.dumps(views, indent=1, ensure_ascii=False) + "\n")


def _is_own_page(target: Path) -> bool:
    """Return whether there is a page that this command has written, which may be written over."""
    from sfumato.core.files import file_errors
    from sfumato.reports.stream_page import is_own_page

    if not target.is_file():
        return False
    with file_errors(target):
        return is_own_page(target.read_text(encoding="utf-8", errors="replace"))


def check(policy: Path, format: str) -> None:
    """Hold what a stream has released against its source, and end with a status of its own where a promise is broken."""
    from sfumato.engine.stream.check import check_stream
    from sfumato.engine.stream.findings import as_text

    found = check_stream(policy)
    if format == "json":
        answers().write(json.dumps(found.as_mapping(), indent=1, ensure_ascii=False) + "\n")
        if not found.holds:
            # one answer, not two: it says all there is to say
            raise SystemExit(PromiseError.status)
        if found.is_unchecked:
            raise SystemExit(UnreachableError.status)
        return
    lines = [f"records   {found.records:,}"]
    for name, view in found.views.items():
        lines += _of_view(name, found.accounts[name], {}, {})
        lines += [f"{'':<9} {what}: {as_text(number)}" for what, number in view.measured.items()]
        lines += [f"{'':<9} not checked: {what}" for what in view.not_checked]
    broken = found.sentences()
    answers().write("".join(f"{text}\n" for text in [*lines, *(f"broken    {text}" for text in broken)]))
    if broken:
        hint = "keep the files as they are, and find out who wrote to them; sfumato stream run writes nothing that breaks a promise"
        raise PromiseError(f"the release does not keep {number_of(len(broken), 'promise')}", code="stream-broken", hint=hint)
    if found.is_unchecked:
        hint = "put back what the lines above say is gone; rows that left by standard output are kept by nobody: give the view a file as its sink"
        raise UnreachableError("no row of the release could be checked", code="stream-unchecked", hint=hint)
    if not sum(found.rows.values()):
        answers().write("holds     nothing was released yet\n")
        return
    checked = sum(view.rows for view in found.views.values())
    answers().write(f"holds     everything that was checked, {number_of(checked, 'row')} of {sum(found.rows.values()):,}\n")


class _Line:
    """A line in the terminal that is written over as the stream goes; none where standard error is no terminal."""

    def __init__(self, format: str) -> None:
        self._text, self._awaited = "", ""
        self._told = format == "text" and sys.stderr is not None
        self._wanted = self._told and sys.stderr.isatty()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *error: object) -> None:
        if self._text:
            sys.stderr.write("\n")

    def show(self, progress: StreamProgress) -> None:
        if self._told and progress.state == "running" and progress.awaited not in (None, self._awaited):
            # also where it is no terminal: whoever has mistyped a path would wait for ever
            self._awaited = str(progress.awaited)
            sys.stderr.write(f"waits for {self._awaited}: no file yet\n")
            sys.stderr.flush()
        if self._wanted:
            # one less than there is room for: some terminals go to the next line behind the last place
            width = max(1, _columns() - 1)
            text = progress.line(width)
            if text != self._text:
                sys.stderr.write("\r" + text.ljust(min(len(self._text), width)))
                sys.stderr.flush()
                self._text = text


def _columns() -> int:
    """Return how many characters a line of the terminal has."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def _stopped_by_signals(stop: threading.Event) -> None:
    """Let the first signal end the stream after the piece at hand; a second one ends it at once, which is safe too."""

    def ask(number: int, frame: Any) -> None:
        del number, frame
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in _STOPS:
        signal.signal(number, ask)


def _summary(progress: StreamProgress, source: Component | None) -> list[str]:
    lines = [f"records   {progress.records:,}", *_of_awaited(progress.awaited), *_of_lost(progress.lost)]
    for name, view in progress.views.items():
        lines += _of_view(name, view.accounts, view.measured, view.set_aside)
    return [*lines, *_of_unfinished(progress.as_mapping().get("unfinished"), source)]


def _of_awaited(path: str | None) -> list[str]:
    if path is None:
        return []
    others = " with the ending of its format; a pattern such as in/*.log names others" if any(Path(path).glob("*")) else ""
    return [f"source    no file yet: {path}{others}"]


def _of_absent(columns: Sequence[str]) -> list[str]:
    """Return what is said of columns that no record has named so far."""
    return [f"columns   no record so far has: {', '.join(columns)}"] if columns else []


def _of_lost(files: int) -> list[str]:
    """Return what is said of files that went before they were read to their end."""
    return [f"lost      {files:,} {'file' if files == 1 else 'files'} of the source went before the end was read"] if files else []


def _of_needed(files: Sequence[str]) -> list[str]:
    """Return what is said of files that must stay: a process that takes the stream up would read them again."""
    further = [f"{len(files) - _NAMED:,} more"] if len(files) > _NAMED else []
    return [f"needed    still, to go on after a crash: {', '.join([*files[:_NAMED], *further])}"] if files else []


def _of_unfinished(told: Mapping[str, Any] | None, source: Component | None) -> list[str]:
    """Return what is said of bytes that are no whole record: the stream waits, and nothing else tells why."""
    from sfumato.engine.stream.progress import words_of_unfinished

    return [f"source    {words_of_unfinished(**told)}: {_WHERE_TO_LOOK.get(_format(source), _AT_LINES)}"] if told else []


def _format(source: Component | None) -> str:
    """Return in which format a source is."""
    return "" if source is None else str(source.settings.get("format", source.name))


def _of_view(name: str, accounts: Any, measured: Any, set_aside: Any) -> list[str]:
    came_out = accounts.get("released", 0) + accounts.get("aggregated", 0)
    became = [f"{number:,} {_word(key, number)}" for key, number in accounts.items() if number or (key == "released" and not came_out)]
    # rows beside those of records, which are no records
    made_up = int(measured.get("rows", 0)) - came_out
    became += [f"and {number_of(made_up, 'made-up row')}"] if made_up > 0 else []
    lines = [f"{(name or 'release'):<9} {', '.join(became)}"]
    removed = ", ".join(f"{number:,.0f} of {key.partition('.')[2]}" for key, number in measured.items() if key.startswith("removed."))
    lines += [f"{'':<9} values that masks have removed: {removed}"] if removed else []
    lines += _of_clock(measured)
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in set_aside.items())
    lines += [f"{'':<9} set aside since it was started: {reasons}"] if reasons else []
    lines += [f"{'':<9} {_MOSTLY_SET_ASIDE}"] if 2 * accounts.get("dead", 0) > sum(accounts.values()) else []
    from sfumato.engine.stream.live_line import short_number

    told = [
        f"{key} {short_number(measured[key])}"
        for key in ("z", "p_kanon", "loss", "delay.mean", "delay.longest", "residual_information")
        if key in measured
    ]
    lines += [f"{'':<9} {', '.join(told)}"] if told else []
    shares = {int(key.rpartition(".")[2]): share for key, share in measured.items() if key.startswith("shares.")}
    if shares:
        from sfumato.reports.stream_page import level_name

        detail = ", ".join(f"{share:.1%} {level_name(level)}" for level, share in sorted(shares.items()))
        lines.append(f"{'':<9} {detail}; {_of_people(measured)}")
    return lines


def _of_people(measured: Mapping[str, float]) -> str:
    """Return what is said of the people in the window; where so few are silent that it is not told, nor where there are no more people than that."""
    people, silent, z = int(measured["people"]), measured.get("silent"), int(measured["z"])
    if silent is None and people <= z:
        return f"{people:,} {'person' if people == 1 else 'people'} in the window"
    nobody = f"fewer than {z:,}" if silent is None else f"{silent:,.0f}"
    return f"nothing of {nobody} of the {people:,} {'person' if people == 1 else 'people'} in the window"


def _of_clock(measured: Mapping[str, float]) -> list[str]:
    """Return what is said where most of the latest records are late: one wrong time may be why."""
    from sfumato.engine.stream.lately import is_mostly_late, words_of_ahead

    if not is_mostly_late(measured):
        return []
    share, ahead = measured["late_lately"], words_of_ahead(measured["clock_ahead"])
    return [f"{'':<9} clock: {share:.0%} of the latest records are late; the stream's time is {ahead} ahead of the records that come"]


def _word(key: str, number: int) -> str:
    return "dead letter" if key == "dead" and number == 1 else _WORDS[key]


_MOSTLY_SET_ASIDE = "most records are dead letters: dead_letters.jsonl in the private folder has them, and docs/streams.md how to send them again"
_WORDS = {
    "released": "released",
    "aggregated": "released in aggregates",
    "suppressed": "suppressed",
    "late": "late",
    "dead": "dead letters",
    "held": "held",
}

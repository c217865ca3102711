"""Publish: the release and its record become visible, in this order and each in one step; the private part stays here."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core import places
from sfumato.core.files import file_errors
from sfumato.core.interfaces import PUBLISHED, InOneStep, Progress, Published, RecordedSink, Staged
from sfumato.core.recoding import Recoding
from sfumato.core.record import RunRecord, record_of
from sfumato.core.staging import StagedFile
from sfumato.core.standard_streams import OUTPUT
from sfumato.core.workplace import Workplace
from sfumato.engine.count import Counted
from sfumato.engine.plan import Plan

_RUNS_KEPT = 50
_RELEASES_KEPT = 500
_RELEASE = "release"
_LENGTH = len("20260131T123000-0123abcd")


def publish(
    releases: Sequence[tuple[Plan, Staged, RunRecord]], workplace: Workplace, progress: Progress, together: InOneStep | None = None
) -> list[Published]:
    """Rename staged releases and their records to their final names, all in one step on request. An interrupt waits until all have them."""
    records: list[StagedFile | None] = []
    try:
        for plan, staged, record in releases:
            if isinstance(plan.sink, RecordedSink):
                plan.sink.take_record(record.as_mapping())
            records.append(_staged_record(plan, staged, record, workplace))
        with uninterrupted():
            if together is not None:
                published = _in_one_step(releases, records, together)
                progress.stage(PUBLISHED)
                return published
            # a stream can refuse what it is sent, a renaming hardly ever fails: streams come first
            order = sorted(range(len(releases)), key=lambda place: list(releases[place][0].sink.places()) != [OUTPUT])
            places = {place: _rename(*releases[place][:2], records[place]) for place in order}
            progress.stage(PUBLISHED)
    except BaseException:
        for each in records:
            if each is not None:
                each.abort()
        raise
    return [places[place] for place in range(len(releases))]


def _in_one_step(releases: Sequence[tuple[Plan, Staged, RunRecord]], records: Sequence[StagedFile | None], together: InOneStep) -> list[Published]:
    """Publish all tables of a database by one step, and then their records; where that fails the old records are there again."""
    published = [plan.store.publish(staged, plan.sink) for plan, staged, _ in releases]
    files = [record for record in records if record is not None]
    old = {record.target: record.target.read_bytes() for record in files if record.target.exists()}
    try:
        for record in files:
            with file_errors(record.target, "written"):
                record.target.unlink(missing_ok=True)
        together.publish()
    except BaseException:
        for target, content in old.items():
            target.write_bytes(content)
        raise
    for record in files:
        record.publish()
    return published


def _staged_record(plan: Plan, release: Staged, record: RunRecord, workplace: Workplace) -> StagedFile | None:
    """Write the record to where it will be, under a private name; a release in memory has none."""
    targets, path = list(plan.sink.places()), record_of(plan.sink)
    if path is None:
        return None
    staged = StagedFile(path)
    try:
        workplace.note([str(staged.path)])
        # it stands beside the release: where that is on this machine is nobody's business
        beside = record.as_mapping() | {"files": [Path(target).name for target in targets]}
        staged.write((json.dumps(beside, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        staged.sync()
        if release.staging:
            # of what is staged elsewhere the next start could not tell whether it was published
            workplace.note_publishing(str(staged.path), path, list(release.staging))
    except BaseException:
        staged.abort()
        raise
    return staged


def _rename(plan: Plan, staged: Staged, record: StagedFile | None) -> Published:
    if record is not None:
        with file_errors(record.target, "written"):
            # an old record beside new rows would lie: for a moment there is none
            record.target.unlink(missing_ok=True)
    published = plan.store.publish(staged, plan.sink)
    if record is not None:
        record.publish()
    return published


def add_notes(path: str, notes: Sequence[str]) -> None:
    """Write into a record that is published what was not known before."""
    with file_errors(Path(path), "read"):
        record = json.loads(Path(path).read_bytes())
    file = StagedFile(path)
    try:
        file.write((json.dumps(record | {"notes": [*record["notes"], *notes]}, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        file.publish()
    except BaseException:
        file.abort()
        raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let interrupts wait. Only the main thread hears of them; whoever takes their handlers away meanwhile keeps them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def wait(number: int, frame: Any) -> None:
        del frame
        waiting.append(number)

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is wait:
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
                if number in waiting:
                    os.kill(os.getpid(), number)


@contextmanager
def private_part(plan: Plan, counted: Counted, recoding: Recoding, record: RunRecord, run: str | None = None) -> Iterator[None]:
    """Keep what drift and audit need in the installation's private folder, written before the release and kept if it is published.

    That is: columns, leaves, boxes, suppressed combinations and true counts. Tables of one ``run`` are kept as long as each other.
    """
    base = places.folder("runs")
    folder = base / (run_name() if run is None else f"{run}-{secrets.token_hex(4)}")
    try:
        with file_errors(folder, "written"):
            _write_private(folder, plan, counted, recoding, record)
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _remove_old(base)


def keep_facts(facts: Mapping[str, Any]) -> None:
    """Keep what drift needs of a release that holds no rows of its own."""
    base = places.folder("runs")
    folder = base / run_name()
    with file_errors(folder, "written"):
        _write_facts(folder, facts)
    _remove_old(base)


def _remove_old(base: Path) -> None:
    own = {path: path.name[:_LENGTH] for path in base.iterdir() if re.fullmatch(r"\d{8}T\d{6}(-[0-9a-f]{8}){1,2}", path.name)}
    kept = {*sorted(set(own.values()))[-_RUNS_KEPT:], *_newest(own)}
    for old in (path for path, name in own.items() if name not in kept):
        shutil.rmtree(old, ignore_errors=True)


def _newest(own: Mapping[Path, str]) -> list[str]:
    """Return the last run of each release, of as many releases as are kept: what drift holds it against, however many runs came after it."""
    last: dict[str, str] = {}
    for path, name in sorted(own.items(), key=lambda entry: entry[1]):
        with suppress(OSError):
            release = (path / _RELEASE).read_text()
            # the newest ones last
            last.pop(release, None)
            last[release] = name
    return list(last.values())[-_RELEASES_KEPT:]


def run_name() -> str:
    """Return a name that no other run has, and that comes after those of earlier ones, also of the same second."""
    now = time.time()
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now))}-{int(now % 1 * 1_000_000):05x}{secrets.token_hex(2)[:3]}"


def _write_private(folder: Path, plan: Plan, counted: Counted, recoding: Recoding, record: RunRecord) -> None:
    facts = {
        "record": record.as_mapping(),
        "schema": {field.name: str(field.type) for field in plan.schema},
        "rows": {"in": counted.rows, "refused": counted.refused_rows},
        "outside": dict(counted.outside),
        "leaves": {name: hierarchy.leaves.to_pylist() for name, hierarchy in counted.hierarchies.items()},
    }
    _write_facts(folder, facts)
    with os.fdopen(os.open(folder / "boxes.npz", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as binary:
        suppressed = counted.frequencies.combinations[recoding.suppressed]
        np.savez(binary, lows=recoding.lows, highs=recoding.highs, suppressed=suppressed)


def _write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    folder.mkdir(mode=0o700)
    with os.fdopen(os.open(folder / "run.json", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump(facts, file)
    with os.fdopen(os.open(folder / _RELEASE, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(hashlib.sha256(json.dumps(facts["record"].get("files", [])).encode()).hexdigest())

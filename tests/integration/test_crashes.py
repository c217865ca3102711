"""Killed processes, full disks and interrupts: nothing half written, nothing left behind after the next start."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMPILING = "compiling for this machine; this happens once for each kind of work and takes from some seconds to two minutes\n"
POLICY = {
    "source": "data.csv",
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {}}},
        "job": {
            "role": "quasi_identifier",
            "hierarchy": {"taxonomy": {"tree": {"Root": ["craft", "food"], "craft": ["smith", "welder"], "food": ["cook"]}}},
        },
        "illness": {"role": "sensitive"},
    },
    "promises": [{"k_anonymity": {"k": 5}}],
    "sink": "out/release.csv",
}
# every stage of the road, by a function that runs in it
STAGES = {
    "count": "sfumato.engine.run.count",
    "search": "sfumato.engine.run._search",
    "write": "sfumato.sinks.delimited.DelimitedWriter.write",
    "finish": "sfumato.sinks.delimited.DelimitedWriter.finish",
    "verify": "sfumato.engine.run.verify",
    "record": "sfumato.engine.run.make_record",
    "publish": "sfumato.sinks.delimited.DelimitedWriter.publish",
    "publish record": "sfumato.core.staging.StagedFile.publish",
    "private": "sfumato.engine.publish._write_private",
}
KILLER = """
import importlib, os, signal, sys
path, after, policy = sys.argv[1:]
owner, name = path.rsplit(".", 1)
try:
    holder = importlib.import_module(owner)
except ModuleNotFoundError:
    module, holder_name = owner.rsplit(".", 1)
    holder = getattr(importlib.import_module(module), holder_name)
original = getattr(holder, name)
def killed(*arguments, **keywords):
    if after == "after":
        original(*arguments, **keywords)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(holder, name, killed)
import sfumato
sfumato.run(policy)
"""


@pytest.fixture(autouse=True)
def home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an installation of its own: objects of other tests may still have their work folders in the common one."""
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path_factory.mktemp("home")))


def rows(number: int) -> str:
    jobs = ("smith", "welder", "cook")
    return "name,age,job,illness\n" + "".join(f"P{i},{20 + i * 7 % 50},{jobs[i % 3]},ill{i % 4}\n" for i in range(number))


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_run_leaves_the_old_release_or_the_new_one_whole(stage: str, moment: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    import sfumato

    policy = write_policy(POLICY, rows(60))
    sfumato.run(policy)
    old = (tmp_path / "out/release.csv").read_bytes()
    (tmp_path / "data.csv").write_text(rows(90))

    killed = subprocess.run([sys.executable, "-c", KILLER, STAGES[stage], moment, str(policy)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "out/release.csv").read_bytes().count(b"\n") in (61, 91)
    if (tmp_path / "out/release.csv").read_bytes() == old and (tmp_path / "out/release.csv.record.json").exists():
        assert '"out": 60' in (tmp_path / "out/release.csv.record.json").read_text()

    sfumato.run(policy)
    assert visible(tmp_path / "out") == ["release.csv", "release.csv.record.json"]
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []
    assert list((Path(os.environ["SFUMATO_HOME"]) / "work").iterdir()) == []
    assert (tmp_path / "out/release.csv").read_bytes().count(b"\n") == 91


@pytest.mark.slow
def test_a_run_killed_between_rows_and_record_has_its_record_published_by_the_next_start(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    import sfumato
    from sfumato.core.workplace import Workplace

    policy = write_policy(POLICY, rows(60))
    killed = subprocess.run([sys.executable, "-c", KILLER, STAGES["publish"], "after", str(policy)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert visible(tmp_path / "out") == ["release.csv"]

    Workplace().close()

    assert visible(tmp_path / "out") == ["release.csv", "release.csv.record.json"]
    assert sfumato.run(policy).record.rows.out == 60


@pytest.mark.slow
def test_views_of_a_run_killed_between_them_are_each_whole_or_absent(tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    import sfumato
    from sfumato.core.workplace import Workplace

    views = {name: {"sink": f"out/{name}.csv"} for name in ("first", "second")}
    policy = write_policy({key: value for key, value in POLICY.items() if key != "sink"} | {"views": views}, rows(60))
    killed = subprocess.run([sys.executable, "-c", KILLER, STAGES["publish"], "after", str(policy)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL

    Workplace().close()

    assert visible(tmp_path / "out") == ["first.csv", "first.csv.record.json"]
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert [release.record.rows.out for release in sfumato.run(policy).values()] == [60, 60]


def small_disk(folder: Path, kilobytes: int) -> bool:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)], check=False, capture_output=True)
    return mounted.returncode == 0


@pytest.mark.parametrize("full", ["sink", "home"])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(
    full: str, tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    disk = tmp_path / "disk"
    if not small_disk(disk, 64):
        pytest.skip("needs to mount a small disk; run as root")
    try:
        wide = "".join(f"P{i},{20 + i % 50},smith,{'long text ' * 20}{i}\n" for i in range(3000))
        columns = {**POLICY["columns"], "illness": {"role": "other", "accept": "singling_out"}}
        sink = str(disk / "release.csv") if full == "sink" else "release.csv"
        policy = write_policy({**POLICY, "columns": columns, "sink": sink}, "name,age,job,illness\n" + wide)
        home = {"SFUMATO_HOME": str(disk / "home")} if full == "home" else {}
        ended = sfumato_command("run", policy, environment=home)
        assert ended.returncode == 5
        assert "disk-full" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "long text" not in ended.stderr + ended.stdout
        left = [path for path in disk.rglob("*") if path.is_file() and path.name != "key"]
        assert left == []
        assert not (tmp_path / "release.csv").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(number: int, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    policy = write_policy(POLICY, rows(400_000))
    # should a library end the process by a fault of its own, this tells where
    command = [sys.executable, "-X", "faulthandler", "-m", "sfumato", "run", str(policy)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    work = Path(os.environ["SFUMATO_HOME"]) / "work"
    deadline = time.monotonic() + 60
    while not (work.exists() and any(work.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(number)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130, message
    assert message.replace(COMPILING, "") == "interrupted; a release is published whole or not at all\n"
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []
    assert list(work.iterdir()) == []


def test_a_second_interrupt_while_the_first_is_told_changes_nothing() -> None:
    program = """
import os, signal, sys
from sfumato.cli import app
said = app._say
def say(*told):
    os.kill(os.getpid(), signal.SIGINT)
    return said(*told)
app._say = say
def run(**_):
    os.kill(os.getpid(), signal.SIGINT)
app.app = run
sys.exit(app.run_command(["run"]))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "interrupted; a release is published whole or not at all\n")


def test_an_interrupt_that_was_handled_in_generated_code_ends_with_our_status(tmp_path: Path) -> None:
    program = """
from sfumato import __main__
from sfumato.cli import app
def run(arguments):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return app.INTERRUPTED
app.run_command = run
__main__.main()
"""
    (tmp_path / "interrupted.py").write_text(program)

    assert subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False).returncode == 130


def test_an_interrupt_that_a_destructor_swallowed_comes_again() -> None:
    program = """
import signal, sys, time
from sfumato.cli import app
# a test that runs in the background may have been told to ignore it
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.unraisablehook = app.interrupt_again
class Swallows:
    def __del__(self):
        raise KeyboardInterrupt
try:
    Swallows()
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")


INTERRUPTED_KERNEL = """
import os, signal, threading
import numpy as np
# a test that runs in the background may have been told to ignore it
signal.signal(signal.SIGINT, signal.default_int_handler)
from sfumato.core.kernels.grouping import group_keys
keys = np.random.default_rng(1).integers(0, 2**62, 6_000_000)
group_keys(keys[:10])
threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        group_keys(keys)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_an_interrupt_within_a_kernel_is_an_interrupt_and_no_crash() -> None:
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", INTERRUPTED_KERNEL], capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout) == (0, "interrupted\n"), ended.stderr


LATE = """
import os, signal, sys
import sfumato.engine.publish as publishing
from sfumato import __main__
from sfumato.core.staging import StagedFile
publish = StagedFile.publish
def interrupted(self):
    # in the middle: the rows have their name, the record not yet
    publish(self)
    os.kill(os.getpid(), signal.{signal})
StagedFile.publish = interrupted
sys.argv = ["sfumato", "run", "{policy}"]
__main__.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_it_is_published_comes_too_late(name: str, tmp_path: Path, write_policy: Callable[..., Path]) -> None:
    policy = write_policy(POLICY, rows(200))

    ended = subprocess.run(
        [sys.executable, "-c", LATE.replace("{signal}", name).replace("{policy}", str(policy))], check=False, capture_output=True, text=True
    )

    assert (ended.returncode, ended.stderr.replace(COMPILING, "")) == (0, "")
    assert "holds" in ended.stdout
    assert visible(tmp_path / "out") == ["release.csv", "release.csv.record.json"]


def test_a_work_folder_without_a_lock_is_cleared_when_it_is_old(write_policy: Callable[..., Path]) -> None:
    import sfumato

    work = Path(os.environ["SFUMATO_HOME"]) / "work"
    old, fresh = work / "0123456789abcdef", work / "fedcba9876543210"
    for folder in (old, fresh):
        folder.mkdir(parents=True, mode=0o700)
        (folder / "spill.arrow").write_text("values")
    os.utime(old, (1, 1))

    try:
        sfumato.run(write_policy(POLICY, rows(50)))
        assert not old.exists()
        assert fresh.exists()
    finally:
        shutil.rmtree(fresh)

"""Processes that outlive the one that started them, known by their number and the moment they began: numbers are given again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from services.account import Account

# the shell ends at once and leaves the server to the system, so that whoever started it need not wait for it
LAUNCH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'


class Process(NamedTuple):
    """A process: its number, and when it began in ticks since the machine did."""

    pid: int
    began: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """Return the process that has this number now; one that has ended and waits to be buried is none."""
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # the name of the program stands in brackets, and may hold any
        fields = status.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return Process.of(self.pid) == self

    def end(self, ending: signal.Signals, seconds: float = 20) -> None:
        """End it in good order, or after that time by force."""
        for chosen in (ending, signal.SIGKILL):
            if self.alive:
                os.kill(self.pid, chosen)
            limit = time.monotonic() + seconds
            while self.alive and time.monotonic() < limit:
                time.sleep(0.02)


@dataclass(frozen=True)
class Surroundings:
    """What the processes of a server see: its folder, its account, and nothing of ours."""

    folder: Path
    account: Account
    environment: Mapping[str, str]

    def run(self, command: Sequence[str], seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            cwd=self.folder,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder), "LC_ALL": "C", **self.environment},
            start_new_session=True,
            user=self.account.user,
            group=self.account.group,
            extra_groups=None if self.account.user is None else [],
        )

    def launch(self, command: Sequence[str], log: Path) -> Process | None:
        """Start a process that goes on; None where it has ended already."""
        return Process.of(int(self.run(["/bin/sh", "-c", LAUNCH, "sh", str(log), *command]).stdout))

"""The first run on a machine: it says that it compiles, and another process helps."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.core.kernels import cache_folder

Command = Callable[..., subprocess.CompletedProcess[str]]
POLICY = {
    "source": "data.csv",
    "columns": {"age": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}},
    "promises": [{"k_anonymity": {"k": 2}}],
    "sink": "release.csv",
}
ROWS = "age,illness\n" + "".join(f"{20 + number % 9},{'ab'[number % 2]}\n" for number in range(40))
WORDS = "compiling for this machine; this happens once for each kind of work and takes from some seconds to two minutes\n"


@pytest.mark.slow
def test_the_first_run_says_that_it_compiles_and_the_second_does_not(
    tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command
) -> None:
    policy = write_policy(POLICY, ROWS)
    kernels = {"SFUMATO_KERNELS": str(tmp_path / "kernels")}

    first = sfumato_command("run", policy, environment=kernels)
    second = sfumato_command("run", policy, environment=kernels)
    # another search has another kernel
    diverse = POLICY | {"promises": [*POLICY["promises"], {"l_diversity": {"column": "illness", "l": 2}}]}
    third = sfumato_command("run", write_policy(diverse, ROWS), environment=kernels)

    assert [(ended.returncode, ended.stderr) for ended in (first, second, third)] == [(0, WORDS), (0, ""), (0, WORDS)]


@pytest.mark.slow
def test_nothing_is_compiled_for_a_policy_that_cannot_run(tmp_path: Path, write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    wrong = write_policy(POLICY | {"columns": {"agee": {"role": "quasi_identifier"}, "illness": {"role": "sensitive"}}}, ROWS)

    ended = sfumato_command("run", wrong, environment={"SFUMATO_KERNELS": str(tmp_path / "kernels")})

    assert ended.returncode == 6
    assert WORDS not in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["partition_by_size", "partition_by_promises", "partition_relaxed", "partition_points", "push", "decide"])
def test_the_helper_compiles_the_kernel_that_a_run_needs(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "SFUMATO_KERNELS": str(tmp_path)}

    subprocess.run([sys.executable, "-m", "sfumato.engine.warm", name], check=True, env=environment)

    assert len(list(tmp_path.rglob(f"*.{name}-*.nbc"))) == 1


@pytest.mark.slow
def test_processes_of_runs_that_were_killed_do_not_all_compile_the_same(tmp_path: Path) -> None:
    name, environment = "partition_by_size", {**os.environ, "SFUMATO_KERNELS": str(tmp_path)}
    folder = tmp_path / cache_folder().name
    folder.mkdir()
    with (folder / f"{name}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen([sys.executable, "-m", "sfumato.engine.warm", name], env=environment)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(8)
        # somebody else has made it meanwhile
        (folder / f"kernel.{name}-1.nbi").touch()
    assert waiting.wait(60) == 0
    assert list(folder.rglob("*.nbc")) == []


@pytest.mark.slow
def test_a_later_run_loads_neither_pandas_nor_what_only_compiling_needs(write_policy: Callable[..., Path], sfumato_command: Command) -> None:
    policy = write_policy(POLICY, ROWS)
    program = "import sys; from sfumato.cli.app import run_command; status = run_command(sys.argv[1:]); print(*sys.modules); sys.exit(status)"

    sfumato_command("run", policy)
    again = subprocess.run([sys.executable, "-c", program, "run", str(policy)], check=True, capture_output=True, text=True)

    loaded = set(again.stdout.splitlines()[-1].split())
    assert "numba" in loaded
    assert not loaded & {"pandas", "scipy.linalg", "numba.np.linalg"}

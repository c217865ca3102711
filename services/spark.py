"""Spark runs within the program that uses it; all it needs of the machine is a Java."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from services.server import UnavailableError

NAME = "spark"
OLDEST_JAVA = 17


def found() -> str:
    """Return which Java Spark would use, or raise :class:`UnavailableError`."""
    java = _java()
    if java is None:
        raise UnavailableError("Spark", "there is no Java on this machine", "sudo apt-get install openjdk-17-jre-headless")
    version = _version(java)
    if version is None or version < OLDEST_JAVA:
        raise UnavailableError("Spark", f"{java} is not Java {OLDEST_JAVA} or later", "sudo apt-get install openjdk-17-jre-headless")
    if find_spec("pyspark") is None:
        raise UnavailableError("Spark", f"Java {version} is there, pyspark is not", "make spark")
    return f"Java {version}, {java}"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    candidate = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    candidate = candidate or shutil.which("java")
    return Path(candidate) if candidate else None


def _version(java: Path) -> int | None:
    """Return the number of the version: 8 of 1.8.0, 17 of 17.0.2."""
    told = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    number = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(number[1]) if number else None

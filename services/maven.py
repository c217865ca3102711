"""Archives that lie in a Maven repository."""

from __future__ import annotations

import zipfile
from pathlib import Path

from services.cache import FetchError, cached, run


def unpacked(artifact: str) -> Path:
    """Return a folder with what the compressed tar file within that jar holds."""
    return cached(artifact.split(":", 1)[1].replace(":", "-"), lambda folder: _fill(folder, artifact))


def _fill(folder: Path, artifact: str) -> None:
    run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"])
    for jar in folder.glob("*.jar"):
        with zipfile.ZipFile(jar) as opened:
            inner = [name for name in opened.namelist() if name.endswith(".txz")]
            opened.extractall(folder, inner)
        jar.unlink()
        for name in inner:
            run(["tar", "--extract", "--xz", "--no-same-owner", "--file", str(folder / name), "--directory", str(folder)])
            (folder / name).unlink()
    if not (folder / "bin").is_dir():
        raise FetchError("what came holds no programs")

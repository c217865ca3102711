"""The private places of an installation are for its owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

SHARE = """
import os
from sfumato.core.places import kernel_cache
os.umask(0o022)
for name in ("0123456789abcdef", "photos"):
    (kernel_cache() / name / "inner").mkdir(parents=True)
"""


def test_folders_of_compiled_kernels_are_closed_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir(mode=0o755)
    subprocess.run([sys.executable, "-c", SHARE], env={**os.environ, "SFUMATO_KERNELS": str(tmp_path / "kernels")}, check=True, timeout=60)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "kernels").iterdir()}
    assert modes == {"0123456789abcdef": 0o700, "photos": 0o755}

"""Arrow without pandas: no command has data frames, and loading pandas wherever it is installed would cost a third of a second each time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def load_arrow_alone() -> None:
    """Let Arrow look for pandas, which it does once, while pandas cannot be found."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    refusal: Any = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(refusal)


class _Refusal:
    """Finds no pandas, and leaves everything else to others."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError(name)

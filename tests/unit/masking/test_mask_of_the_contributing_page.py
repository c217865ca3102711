"""The mask that CONTRIBUTING.md shows is one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.core.mask import Mask, MaskContext
from sfumato.core.masked_column import MaskedColumn

PAGE = Path(__file__).parents[3] / "CONTRIBUTING.md"


def test_the_mask_that_is_shown_masks() -> None:
    (shown,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "(Operation)" in block]
    module: dict[str, Any] = {"__name__": "reverse"}
    exec(compile(shown, str(PAGE), "exec"), module)
    mask = module["Reverse"]()

    assert isinstance(mask, Mask)
    batch = pa.RecordBatch.from_pydict({"name": ["Ada", None, "Zoë"]})
    assert MaskedColumn("name", [mask]).apply(batch, MaskContext("name")).to_pylist() == ["adA", None, "ëoZ"]

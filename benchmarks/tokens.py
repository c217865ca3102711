"""Ten million values that a vault has not seen get ten million tokens: how long it takes, and what the vault weighs.

Run: .venv/bin/python benchmarks/tokens.py [values]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.core.mask import MaskContext
from sfumato.masking.tokenise import Tokenise

AT_ONCE = 500_000


def main(number: int = 10_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SFUMATO_HOME"] = folder
        vault = Path(folder, "large.vault")
        mask = Tokenise(vault=str(vault), namespace="large")
        began = time.perf_counter()
        tokens = np.concatenate([made(mask, np.arange(start, min(start + AT_ONCE, number))) for start in range(0, number, AT_ONCE)])
        seconds = time.perf_counter() - began
        assert len(np.unique(tokens)) == number, "a token is given twice"
        assert made(mask, np.array([7])) == tokens[7], "a value that is known got another token"
        print(f"{number:,} values, as many tokens: {seconds:.0f} s, {number / seconds:,.0f} a second, {vault.stat().st_size / 2**20:,.0f} MiB")


def made(mask: Tokenise, numbers: np.ndarray) -> np.ndarray:
    """Return the tokens of texts."""
    batch = pa.RecordBatch.from_arrays([pa.array(numbers).cast(pa.string())], names=["v"])
    return mask.apply(batch, MaskContext("v")).cast(pa.int64()).to_numpy()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

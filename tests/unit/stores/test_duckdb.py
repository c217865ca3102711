"""The embedded store beyond memory: spilled columns are brought into the order of the release."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import sfumato
from sfumato.stores import _spill


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize("wide", [0, 2048], ids=["fetched one by one", "sorted"])
def test_spilled_columns_of_any_name_stay_with_their_rows(suppressed: bool, wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spill, "_IN_MEMORY", 0)
    monkeypatch.setattr(_spill, "_WIDE", wide)
    monkeypatch.setattr(_spill, "_BATCH", 64)
    rows = 1000
    names = ["place", "Place", "ward", "Ward", "c0"]
    data = pa.table({"age": [i % 7 for i in range(rows)], **{name: [f"{name} {i}" for i in range(rows)] for name in names}})
    age = {"role": "quasi_identifier", "hierarchy": {"interval": {"maximum": 5}}, "on_unknown": "suppress" if suppressed else "generalise"}
    columns = {"age": age, **{name: {"role": "other", "accept": "singling_out"} for name in names}}
    policy = {"columns": columns, "promises": [{"k_anonymity": {"k": 5}}], "suppression_limit": 0.2}
    release = sfumato.run(policy, data=data).table
    kept = [i for i in range(rows) if not (suppressed and i % 7 == 6)]
    expected = Counter(("*" if i % 7 == 6 else str(i % 7), *(f"{name} {i}" for name in names)) for i in kept)
    assert Counter(zip(*(release[name].to_pylist() for name in ["age", *names]), strict=True)) == expected

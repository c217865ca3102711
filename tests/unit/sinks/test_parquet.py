from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from sfumato.sinks.parquet import Parquet


def test_types_are_kept_and_dictionaries_become_text(tmp_path: Path) -> None:
    batch = pa.record_batch({"n": [1, 2], "label": pa.array(["*", None]).dictionary_encode()})
    writer = Parquet(path=str(tmp_path / "release.parquet")).open(batch.schema)
    writer.write(batch)
    writer.finish()
    writer.publish()

    assert parquet.read_schema(tmp_path / "release.parquet").types == [pa.int64(), pa.string()]


def test_what_the_source_s_schema_tells_beside_names_and_types_is_not_written(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("n", pa.int64(), metadata={"from": "canary"})], metadata={"pandas": "canary"})
    writer = Parquet(path=str(tmp_path / "release.parquet"), compression="none").open(schema)
    writer.write(pa.record_batch([pa.array([1])], schema=schema))
    writer.finish()
    writer.publish()

    assert b"canary" not in (tmp_path / "release.parquet").read_bytes()

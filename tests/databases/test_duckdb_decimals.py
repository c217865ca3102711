"""Decimals in files of DuckDB: those of many digits, which it keeps in two halves, and those below one, which it writes in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import sfumato


def released(path: Path, kind: str, values: list[str], column: dict[str, Any], **more: Any) -> Any:
    """Release a column ``x`` of such values within a file, each 20 times."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people (x {kind})")
        connection.executemany("INSERT INTO people VALUES (CAST(? AS VARCHAR))", [[value] for value in values * 20])
    places = {name: {"sql": {"url": f"duckdb:///{path}", "table": table}} for name, table in (("source", "people"), ("sink", "release"))}
    return sfumato.run({**places, "columns": {"x": column}, **more})


@pytest.mark.parametrize("kind", ["DECIMAL(18,0)", "DECIMAL(19,0)", "DECIMAL(38,0)", "HUGEINT", "BIGINT"])
def test_none_and_one_less_are_two_values(tmp_path: Path, kind: str) -> None:
    release = released(tmp_path / "file.duckdb", kind, ["0", "-1"], {"role": "quasi_identifier"}, promises=[{"k_anonymity": {"k": 20}}])

    assert sorted(release.table.column("x").to_pylist()) == ["-1"] * 20 + ["0"] * 20


@pytest.mark.parametrize("kind", ["DECIMAL(2,2)", "DECIMAL(5,5)", "DECIMAL(38,38)", "DECIMAL(6,5)"])
@pytest.mark.parametrize("mask", [{"hash": {"unkeyed": "sha256"}}, {"shorten": {"length": 3}}, {"character_mask": {"keep_first": 2}}], ids=str)
def test_decimals_below_one_are_masked_as_they_are_in_this_process(tmp_path: Path, kind: str, mask: dict[str, Any]) -> None:
    column = {"role": "other", "mask": mask}
    release = released(tmp_path / "file.duckdb", kind, ["0.25", "-0.25", "0", "0.01"], column)
    here: Any = sfumato.run({"columns": {"x": column}, "source": {"sql": {"url": f"duckdb:///{tmp_path}/file.duckdb", "table": "people"}}})

    assert sorted(release.table.column("x").to_pylist()) == sorted(here.table.column("x").to_pylist())

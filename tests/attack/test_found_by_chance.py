"""Masks decided by chance that leave so much of a value that whoever knows it finds the row."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import DataError, PromiseError

ROWS = 400


def table() -> pa.Table:
    chance = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return pa.table(
        {
            "age": chance.integers(30, 34, ROWS),
            "income": np.sort(chance.choice(np.arange(20_000, 90_000, 10), ROWS, replace=False)),
            "name": ["".join(chance.choice(letters, 12)) + str(number) for number in range(10_000_000, 10_000_000 + ROWS)],
            "seen": pa.array(np.sort(chance.choice(500_000, ROWS, replace=False)) * 600_000_000, pa.timestamp("us", tz="UTC")),
        }
    )


def run(column: str, mask: Any, **more: Any) -> Any:
    columns = {"age": {"role": "quasi_identifier"}, column: {"role": "other", "mask": mask, **more}}
    policy = {"columns": columns, "unnamed": "remove", "promises": [{"k_anonymity": {"k": 5}}], "keys": {"main": {"environment": "FOUND_KEY"}}}
    return sfumato.run(policy, table())


@pytest.mark.parametrize(
    ("column", "mask"),
    [
        ("name", "shuffle_characters"),
        ("income", {"noise": {"amount": 3}}),
        ("income", {"noise": {"relative": 0.00005}}),
        ("seen", {"date_jitter": {"minutes": 2}}),
        ("name", {"format_preserving_encrypt": {"key": "main", "keep": "abcdefghijklmnopqrstuvwxyz"}}),
    ],
    ids=str,
)
def test_a_mask_that_moves_too_little_is_refused_unless_it_is_accepted(column: str, mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOUND_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    with pytest.raises(PromiseError) as caught:
        run(column, mask)
    assert caught.value.code == "singling-out"
    assert run(column, mask, accept="singling_out").table.num_rows == ROWS


@pytest.mark.parametrize(("column", "mask"), [("income", {"noise": {"amount": 20_000}}), ("seen", {"date_jitter": {"days": 900}})], ids=str)
def test_a_mask_that_moves_enough_is_not(column: str, mask: Any) -> None:
    assert run(column, mask).table.num_rows == ROWS


@pytest.mark.parametrize("role", ["other", "identifier"])
@pytest.mark.parametrize(
    ("mask", "odd"),
    [
        ({"noise": {"amount": 0.5}}, "n/a"),
        ({"noise": {"amount": 0.5}}, "1e400"),
        ({"date_jitter": {"days": 2}}, "unknown"),
        ({"date_jitter": {"days": 2}}, "1961-05-05T10:00:00"),
    ],
    ids=str,
)
def test_one_odd_value_does_not_hide_that_the_others_moved_too_little(mask: Any, odd: str, role: str) -> None:
    values = [str(date(1950, 1, 1) + timedelta(days=97 * row)) if "date_jitter" in mask else str(1000.5 + 37.25 * row) for row in range(40)]
    columns = {"region": {"role": "quasi_identifier"}, "value": {"role": role, "mask": mask, "on_invalid": "remove"}}
    with pytest.raises(PromiseError, match="most values of column value are moved so little that whoever knows one finds its row"):
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}, pa.table({"region": ["X"] * 40, "value": [*values[:-1], odd]}))


def test_most_odd_values_do_not_hide_that_the_others_moved_too_little() -> None:
    values = [str(date(1950, 1, 1) + timedelta(days=97 * row)) if row % 3 == 0 else str(row) for row in range(40)]
    columns = {"region": {"role": "quasi_identifier"}, "value": {"role": "other", "mask": {"date_jitter": {"days": 2}}, "on_invalid": "remove"}}
    with pytest.raises(PromiseError, match="are moved so little"):
        sfumato.run({"columns": columns, "promises": [{"k_anonymity": {"k": 3}}]}, pa.table({"region": ["X"] * 40, "value": values}))


@pytest.mark.parametrize("values", [[1e308, 1.0, 2.0, 3.0], [1e160, 1.0, 2.0, 3.0], [1e200, 2e200], [-1.7e308, 1.7e308]], ids=str)
def test_groups_of_numbers_of_any_size_are_found(values: list[float]) -> None:
    policy = {"columns": {"a": {"role": "other", "mask": {"microaggregate": {"k": 2, "dominance": 1}}}}}
    found = sfumato.run(policy, pa.table({"a": values})).table["a"].to_pylist()

    assert np.isfinite(found).all()
    assert len(found) == len(values)


@pytest.mark.parametrize(
    ("values", "mask"),
    [
        (pa.array([3.4e38] * 40, pa.float32()), {"noise": {"relative": 0.5}}),
        (pa.array([1.7e308] * 4), {"aggregate": {"function": "sum"}}),
    ],
    ids=str,
)
def test_what_no_number_holds_stops_the_run(values: pa.Array, mask: Any) -> None:
    with pytest.raises(DataError, match="mask-invalid"):
        sfumato.run({"columns": {"a": {"role": "other", "mask": mask}}}, pa.table({"a": values}))


def test_a_stretch_without_values_is_hashed_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOUND_KEY", "one:k9fJ2mQx7Lr4Tz8WbV1nC5yHs0DpG3uE6aRiOoXeMNg=")
    columns = {"a": {"role": "other", "mask": {"hash": {"key": "main", "output": "base64"}}}}
    release: Any = sfumato.run(
        {"columns": columns, "keys": {"main": {"environment": "FOUND_KEY"}}}, pa.table({"a": pa.array([None, None], pa.string())})
    )

    assert release.table["a"].to_pylist() == [None, None]


def test_the_first_nanosecond_that_there_is_has_a_month() -> None:
    instants = pa.array([-9223372036854775807, 0], pa.timestamp("ns"))
    release: Any = sfumato.run({"columns": {"a": {"role": "other", "mask": {"generalise": {"keep": "month"}}}}}, pa.table({"a": instants}))

    assert sorted(release.table["a"].to_pylist()) == ["1677-09", "1970-01"]
